//! The order of a step: the model is built, micro-batches run forward and backward, the optimizer updates.

mod tape;

use std::collections::HashMap;

pub use tape::{Event, Moment};

use crate::estimator::engines::{Act, Name, Plan, Update};
use crate::estimator::models::{Block, Model, tokens};
use crate::estimator::operators::{
    Added, CUBLAS, CUBLASLT, Part, Place, Program, Registry, Size, Tensor, TensorId, Weight,
};
use tape::{Instance, KeptWorkspace, Repeated, Storage, Tape, Value};

/// Whether equal layers in a row are played in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Each of them.
    Whole,
    /// The first, the second for all between, and the last. The peak and who is alive then are the same.
    Folded,
}

impl Depth {
    /// How many micro-batches are played at most. The first makes the gradients and all others add to them, so that what
    /// the second does they all do.
    const fn micro_batches(self) -> u32 {
        match self {
            Self::Whole => 64,
            Self::Folded => 2,
        }
    }
}

/// Which steps are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// One that finds the optimizer's state there.
    Steady,
    /// The first ones; the first of all makes that state.
    First(u32),
}

/// All events of a play.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Every tensor that events speak of.
    pub registry: Registry,
    /// What happened.
    pub events: Vec<Event>,
    /// How many storages there were.
    pub storages: usize,
}

/// Blocks in a row that come `times` times.
struct Stage<'p> {
    instances: Vec<Instance<'p>>,
    /// What the optimizer does with each weight of each of them.
    updates: Vec<&'p [Update]>,
    times: u32,
}

/// A block, lowered, with what the optimizer does with each of its weights.
struct Lowered {
    program: Program,
    updates: Vec<Update>,
}

/// The blocks of a model, lowered.
struct Programs {
    opening: [Lowered; 1],
    layers: Vec<Vec<Lowered>>,
    closing: [Lowered; 1],
}

/// A weight in its place.
#[derive(Clone, Copy)]
struct Own<'p> {
    weight: &'p Weight,
    update: &'p Update,
    number: usize,
}

/// Plays steps of a model as its training program runs it.
pub fn play(model: &Model, plan: &Plan, depth: Depth, steps: Steps) -> Trace {
    let mut registry = Registry::default();
    let mut lower = |block: &Block| {
        let program = block.lower(&mut registry, plan.types);
        let updates = program.weights.iter().map(|weight| plan.optimizer.update(weight, &mut registry)).collect();
        Lowered { program, updates }
    };
    let programs = Programs {
        opening: [lower(&model.opening)],
        layers: model.layers.iter().map(|run| run.period.iter().map(&mut lower).collect()).collect(),
        closing: [lower(&model.closing)],
    };
    let mut own = |place, part, size, source| registry.id(Tensor { place, part, size }, source);
    let source = "the training loop";
    let ids = own(Place::Batch, Part::Ids, Size::Of(tokens()), source);
    let one = own(Place::Loss, Part::Gradient, Size::Bytes(model.loss.bytes()), source);
    let libraries = [CUBLAS, CUBLASLT].map(|size| own(Place::Libraries, Part::Workspace, size, source));
    let labels = model.labels.map(|form| own(Place::Batch, Part::Labels, Size::Of(form), source));
    let constants = model.constants.iter();
    let constants: Vec<_> = constants.map(|tensor| own(tensor.place, tensor.part, tensor.size, source)).collect();
    let stages = stages(model, &programs, &registry, depth);
    let count = stages.iter().flat_map(|stage| &stage.instances).map(|instance| instance.weights.len()).sum();
    let mut play = Play {
        tape: Tape::new(count),
        model,
        plan,
        stages: &stages,
        names: [None; Name::COUNT],
        listed: Vec::new(),
        renewed: vec![None; count],
        shared: Vec::new(),
    };

    play.build(&constants);
    play.add_adapters();
    play.tape.mark(Moment::Loaded);
    let ids = Value { storage: play.tape.allocate(ids), node: None };
    let labels = labels.map_or(ids, |labels| Value { storage: play.tape.allocate(labels), node: None });
    let is_steady = steps == Steps::Steady;
    if plan.keeps_workspaces {
        play.keep_workspaces(&libraries, is_steady);
    }
    if is_steady {
        play.update(false, true);
    }
    let count = if let Steps::First(count) = steps { count } else { 1 };
    for step in 0..count {
        for _ in 0..plan.micro_batches.min(depth.micro_batches()) {
            play.micro_batch([ids, labels], one);
        }
        play.tape.mark(Moment::Update);
        play.update(is_steady || step > 0, false);
        play.each_weight(|play, own| play.tape.zero_gradient(own.number));
        play.tape.mark(Moment::End);
    }
    let (events, storages) = play.tape.finish();
    Trace { registry, events, storages }
}

/// All stages of a model, its weights numbered in order.
fn stages<'p>(model: &Model, programs: &'p Programs, registry: &Registry, depth: Depth) -> Vec<Stage<'p>> {
    let mut numbers = 0..;
    let mut stage = |programs: &'p [Lowered], times| {
        let instance = |Lowered { program, .. }: &'p Lowered| Instance {
            program,
            weights: numbers.by_ref().take(program.weights.len()).collect(),
        };
        let updates = programs.iter().map(|lowered| lowered.updates.as_slice()).collect();
        Stage { instances: programs.iter().map(instance).collect(), updates, times }
    };
    let mut all = vec![stage(&programs.opening, 1)];
    for (run, programs) in model.layers.iter().zip(&programs.layers) {
        let members = match (depth, run.times) {
            (Depth::Folded, times @ 4..) => vec![1, times - 2, 1],
            (_, times) => vec![1; times as usize],
        };
        all.extend(members.into_iter().map(|times| stage(programs, times)));
    }
    let mut last = stage(&programs.closing, 1);
    if model.is_tied {
        // The head's matrix is the embedding's, the first of all.
        let is_head = |id: &TensorId| {
            let tensor = registry.tensor(*id);
            (tensor.place, tensor.part) == (Place::Head, Part::Weight)
        };
        let weights = programs.closing[0].program.weights.iter().zip(&mut last.instances[0].weights);
        weights.filter(|(weight, _)| weight.values.iter().any(is_head)).for_each(|(_, number)| *number = EMBEDDING);
    }
    all.push(last);
    all
}

/// The weights of a block in its place.
fn owned<'p>(instance: &'p Instance<'p>, updates: &'p [Update]) -> impl Iterator<Item = Own<'p>> {
    let weights = instance.program.weights.iter().zip(updates).zip(&instance.weights);
    weights.map(|((weight, update), &number)| Own { weight, update, number })
}

/// The number of the token embedding's matrix.
const EMBEDDING: usize = 0;

/// A play under way.
struct Play<'p> {
    tape: Tape<'p>,
    model: &'p Model,
    plan: &'p Plan,
    stages: &'p [Stage<'p>],
    /// What names of the optimizer's function have.
    names: [Option<Storage>; Name::COUNT],
    /// What the optimizer holds until the end of a pass over all weights.
    listed: Vec<Repeated>,
    /// The state of each weight that every step makes anew.
    renewed: Vec<Option<Storage>>,
    /// The states of all weights that are there.
    shared: Vec<TensorId>,
}

impl<'p> Play<'p> {
    /// Goes through the weights of every block, as its class declares them, each once.
    fn each_weight(&mut self, mut visit: impl FnMut(&mut Self, Own<'p>)) {
        let is_tied = self.model.is_tied;
        let mut has_begun = false;
        self.each_declared(|play, own| {
            if !(is_tied && own.number == EMBEDDING && has_begun) {
                visit(play, own);
            }
            has_begun = true;
        });
    }

    /// The same with a tied head's matrix a second time.
    fn each_declared(&mut self, mut visit: impl FnMut(&mut Self, Own<'p>)) {
        let stages = self.stages;
        let [before @ .., Stage { instances: last, updates: last_updates, .. }] = stages else { return };
        // The closing block's weights are those of a norm, and then the head's matrix.
        let norm = last.iter().map(|last| last.weights.len().saturating_sub(1)).sum::<usize>();
        let (first, rest) = if self.model.declares_norm_first { (norm, norm) } else { (0, 0) };
        for (place, Stage { instances, updates, times }) in stages.iter().enumerate() {
            let skipped = if place == before.len() { rest } else { 0 };
            if *times > 1 {
                self.tape.begin_repeat(*times);
            }
            for (instance, updates) in instances.iter().zip(updates) {
                owned(instance, updates).skip(skipped).for_each(|own| visit(self, own));
            }
            if place == 0 {
                for (instance, updates) in last.iter().zip(last_updates) {
                    owned(instance, updates).take(first).for_each(|own| visit(self, own));
                }
            }
            if *times > 1 {
                self.tape.end_repeat();
            }
        }
    }

    /// Has threads keep the workspaces of libraries. In a steady step they have taken those that they ever take.
    fn keep_workspaces(&mut self, libraries: &[TensorId], is_steady: bool) {
        let stages = self.stages;
        let has_checkpoints = self.plan.has_checkpoints;
        let kept = libraries.iter().map(|&tensor| {
            let kernels = || {
                let instances = stages.iter().flat_map(|stage| &stage.instances);
                instances.flat_map(|instance| &instance.program.kernels)
            };
            let takes = |is_backward| kernels().any(|kernel| kernel.takes_briefly(tensor, is_backward));
            // The backward pass runs layers forward again where there are checkpoints.
            let taken = [takes(false), takes(true) || has_checkpoints && takes(false)];
            KeptWorkspace { tensor, taken: if is_steady { taken } else { [false; 2] } }
        });
        let kept = kept.collect();
        self.tape.keep_workspaces(kept);
    }

    /// The model's class makes its weights. A head that is tied later is made as well, and goes. Then matrices are packed one
    /// after another, and what they were made of goes when all are; then what is to have another type is cast.
    fn build(&mut self, constants: &[TensorId]) {
        self.tape.mark(Moment::Load);
        let (mut plain, mut tied_head) = (vec![Vec::new(); self.renewed.len()], Vec::new());
        let mut has_begun = false;
        self.each_declared(|play, Own { weight, number, .. }| {
            if weight.added.is_some() {
                return;
            }
            let tensors = weight.made.map_or(weight.values.clone(), |made| vec![made]);
            let storages = tensors.into_iter().map(|tensor| {
                let storage = play.tape.allocate(tensor);
                play.tape.repeated(storage)
            });
            if number == EMBEDDING && has_begun {
                tied_head = storages.collect();
            } else if weight.made.is_some() {
                plain[number] = storages.collect();
            } else {
                storages.for_each(drop);
            }
            has_begun = true;
        });
        for &constant in constants {
            self.tape.allocate(constant);
        }
        self.tape.release_all(&tied_head);
        let mut packed = Vec::new();
        self.each_weight(|play, Own { weight, number, .. }| {
            if !weight.packing.is_empty() {
                play.tape.make(&weight.packing);
                packed.append(&mut plain[number]);
            }
        });
        self.tape.release_all(&packed);
        self.each_weight(|play, Own { weight, number, .. }| {
            if !plain[number].is_empty() {
                weight.values.iter().for_each(|&tensor| {
                    play.tape.allocate(tensor);
                });
                play.tape.release_all(&plain[number]);
            }
        });
    }

    /// peft makes adapters in the type of the layer, those of parameters last, and then brings them to their own type one by one.
    fn add_adapters(&mut self) {
        let mut made = HashMap::new();
        for added in [Added::ToLayer, Added::ToParameter] {
            self.each_declared(|play, Own { weight, number, .. }| {
                if weight.added == Some(added) {
                    let tensors = weight.made.map_or(weight.values.clone(), |made| vec![made]);
                    made.extend(tensors.into_iter().map(|tensor| (number, play.tape.allocate(tensor))));
                }
            });
        }
        self.each_declared(|play, Own { weight, number, .. }| {
            if let (Some(&before), Some(_)) = (made.get(&number), weight.made) {
                weight.values.iter().for_each(|&tensor| {
                    play.tape.allocate(tensor);
                });
                play.tape.release(before);
            }
        });
    }

    /// One micro-batch: forward, loss, backward.
    fn micro_batch(&mut self, [ids, labels]: [Value; 2], one: TensorId) {
        let [first, between @ .., last] = self.stages else { return };
        let tape = &mut self.tape;
        tape.mark(Moment::Forward);
        let begun = tape.run(&first.instances[0], &[ids]);
        let (shared, names) = begun[1..].split_at(self.model.shared);
        let mut x = begun[0];
        // What the model's function keeps of a layer until the next one is done.
        let mut kept: Vec<Value> = Vec::new();
        for Stage { instances, times, .. } in between {
            x = tape.repeat_both_ways(*times, |tape| {
                instances.iter().fold(x, |x, instance| {
                    let arguments = [&[x], shared].concat();
                    let results = if self.plan.has_checkpoints {
                        tape.checkpoint(instance, &arguments)
                    } else {
                        tape.run(instance, &arguments)
                    };
                    kept.drain(..).for_each(|before| tape.release(before.storage));
                    tape.release(x.storage);
                    kept.extend(results.iter().skip(1));
                    results.first().copied().unwrap_or(x)
                })
            });
        }
        tape.mark(Moment::Loss);
        tape.on_the_way_back(Event::Mark(Moment::Backward));
        let arguments = [&[x], shared, names, &kept, &[labels]].concat();
        let results = tape.run(&last.instances[0], &arguments);
        tape.end_autocast();
        tape.mark(Moment::LossBackward);
        if let Some(loss) = results.first() {
            tape.backward(*loss, one);
        }
        results.iter().for_each(|result| tape.release(result.storage));
    }

    /// The optimizer goes through the weights, as often as it does. Without states it makes them; `only_states` leaves
    /// out the rest.
    fn update(&mut self, has_states: bool, only_states: bool) {
        for pass in 0..self.plan.optimizer.passes() {
            self.each_weight(|play, own| {
                own.update.passes[pass].iter().for_each(|&act| match act {
                    Act::Name(..) | Act::Same(..) | Act::Drop(_) | Act::Brief(_) | Act::Listed(_) if only_states => {}
                    _ => play.act(act, own.number, has_states),
                });
            });
            self.names.iter_mut().filter_map(Option::take).for_each(|storage| self.tape.release(storage));
            self.tape.release_all(&std::mem::take(&mut self.listed));
        }
    }

    fn act(&mut self, act: Act, number: usize, has_states: bool) {
        let tape = &mut self.tape;
        let before = match act {
            Act::State(_) | Act::Shared(_) if has_states => None,
            Act::Shared(tensor) if self.shared.contains(&tensor) => None,
            Act::State(tensor) => {
                tape.allocate(tensor);
                None
            }
            Act::Shared(tensor) => {
                self.shared.push(tensor);
                tape.allocate(tensor);
                None
            }
            Act::Renewed(tensor) => self.renewed[number].replace(tape.allocate(tensor)),
            Act::Name(name, tensor) => self.names[name as usize].replace(tape.allocate(tensor)),
            Act::Same(name, other) => {
                let same = self.names[other as usize].map(|storage| tape.retain(storage));
                std::mem::replace(&mut self.names[name as usize], same)
            }
            Act::Drop(name) => self.names[name as usize].take(),
            Act::Brief(tensor) => {
                tape.brief(tensor);
                None
            }
            Act::Listed(tensor) => {
                let storage = tape.allocate(tensor);
                self.listed.push(tape.repeated(storage));
                None
            }
        };
        before.into_iter().for_each(|storage| tape.release(storage));
    }
}

impl Trace {
    /// Where the last step begins among the events.
    pub fn last_step(&self) -> usize {
        let ends = |event: &Event| *event == Event::Mark(Moment::End);
        let last = self.events.iter().rposition(ends).unwrap_or(self.events.len());
        let before = self.events[..last].iter().rposition(ends);
        before.or_else(|| self.events.iter().position(|event| *event == Event::Mark(Moment::Forward))).unwrap_or(0)
    }
}
