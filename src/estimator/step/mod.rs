//! The order of a step: the model is built, micro-batches run forward and backward, the optimizer updates.

mod tape;

use std::collections::HashMap;

pub use tape::{Event, Moment};

use crate::estimator::engines::{
    Act, DataParallel, HeldPart, Hook, Name, Piece, Plan, Round, Told, Unit, UnitPlace, Update,
};
use crate::estimator::models::{Block, Model, tokens};
use crate::estimator::operators::{
    Added, CUBLAS, CUBLASLT, Part, Place, Program, Registry, Size, Tensor, TensorId, Weight,
};
use crate::estimator::units::{DType, Widths};
use tape::{Call, Instance, KeptWorkspace, Repeated, Storage, Tape, Value};

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
    /// What the engine does with the weights of each of them. Where the first and the last block have none, they are one unit.
    units: Vec<Unit>,
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
    output: Option<Program>,
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
    let programs = Programs::of(model, plan, &mut registry);
    let stages = stages(model, plan, &programs, &mut registry, depth);
    let mut own = |place, part, size, source| registry.id(Tensor { place, part, size }, source);
    let source = "the training loop";
    let ids = own(Place::Batch, Part::Ids, Size::Of(tokens()), source);
    let one = own(Place::Loss, Part::Gradient, Size::Bytes(model.loss.bytes()), source);
    let libraries = [CUBLAS, CUBLASLT].map(|size| own(Place::Libraries, Part::Workspace, size, source));
    let labels = model.labels.map(|form| own(Place::Batch, Part::Labels, Size::Of(form), source));
    let mut constant = |tensor: &Tensor| own(tensor.place, tensor.part, tensor.size, source);
    let constants: Vec<_> = model.constants.iter().map(&mut constant).collect();
    let cast = plan.data_parallel.buffers().map(|dtype| {
        let cast = model.constants.iter().map(|tensor| constant(&tensor.with_dtype(dtype)));
        cast.collect::<Vec<_>>()
    });
    let round = plan.round(&held(&stages, model, plan), &mut registry);
    let output = programs.output.as_ref().map(|program| Instance { program, weights: Vec::new() });
    let output = output.as_ref();
    let plain = Unit::default();
    let root = if let DataParallel::Ddp(ddp) = plan.data_parallel {
        // Its buckets follow the order in which the first backward pass makes gradients.
        let mut dry = Play::new(model, plan, &stages, output, &plain, &round);
        let batch = [ids, labels.unwrap_or(ids)].map(|tensor| Value { storage: dry.tape.allocate(tensor), node: None });
        dry.micro_batch(batch, one);
        let told = dry.told(&constants, &registry);
        ddp.unit(&told, &mut registry)
    } else {
        let before = programs.last_layer();
        let is_apart = plan.data_parallel.has_units_apart();
        let weights = if is_apart { Vec::new() } else { programs.root(model, &registry) };
        let place = UnitPlace { weights: &weights, before: before.as_deref(), is_root: true, stays: false };
        plan.data_parallel.unit(place, &model.widths, &mut registry)
    };
    let mut play = Play::new(model, plan, &stages, output, &root, &round);

    let buffers = if round.builds_parts {
        play.tape.mark(Moment::Load);
        play.tape.mark(Moment::Loaded);
        (0..stages.len()).for_each(|stage| play.each_unit_of(stage, Hook::Wrap));
        play.around(Hook::Build);
        Vec::new()
    } else {
        let buffers = play.build(&constants);
        play.add_adapters();
        play.each_unit(Hook::Wrap);
        play.tape.mark(Moment::Loaded);
        buffers
    };
    let batch = (!round.moves_batches).then(|| {
        let ids = play.tape.allocate(ids);
        let labels = labels.map_or(ids, |labels| play.tape.allocate(labels));
        [ids, labels]
    });
    let is_steady = steps == Steps::Steady;
    if plan.keeps_workspaces {
        play.keep_workspaces(&libraries, is_steady);
    }
    let begin = |play: &mut Play<'_>| {
        for (&buffer, &cast) in buffers.iter().zip(cast.iter().flatten()) {
            play.tape.allocate(cast);
            play.tape.release(buffer);
        }
        play.each_unit(Hook::FirstForward);
    };
    if is_steady {
        begin(&mut play);
        play.each_unit(Hook::SecondForward);
        play.update(false, true);
    }
    let count = if let Steps::First(count) = steps { count } else { 1 };
    let micro_batches = plan.micro_batches.min(depth.micro_batches());
    for step in 0..count {
        if round.builds_parts {
            play.zero_gradients();
        }
        play.around(Hook::BeginStep);
        for micro_batch in 0..micro_batches {
            play.release_results();
            match (is_steady, step, micro_batch) {
                (false, 0, 0) => begin(&mut play),
                (false, 0, 1) => play.each_unit(Hook::SecondForward),
                (false, 1, 0) if micro_batches == 1 => play.each_unit(Hook::SecondForward),
                _ => {}
            }
            if micro_batch == 0 {
                play.each_unit(Hook::BeforeStep);
            }
            play.around(Hook::BeginMicroBatch);
            let batch = batch.unwrap_or_else(|| [Name::Ids, Name::Labels].map(|name| play.last_named(name)));
            play.micro_batch(batch.map(|storage| Value { storage, node: None }), one);
        }
        play.tape.mark(Moment::Update);
        play.clip();
        play.update(is_steady || step > 0, false);
        play.around(Hook::EndStep);
        if step == 0 && !is_steady {
            play.around(Hook::Log);
        }
        play.around(Hook::Forget);
        if !round.builds_parts {
            play.zero_gradients();
        }
        play.release_results();
        play.tape.mark(Moment::End);
    }
    let (events, storages) = play.tape.finish();
    Trace { registry, events, storages }
}

impl Programs {
    /// Every block of a model, with what the optimizer does with its weights as this device holds them.
    fn of(model: &Model, plan: &Plan, registry: &mut Registry) -> Self {
        let updates = |weights: &[&Weight], registry: &mut Registry| {
            let held = plan.data_parallel.held(weights, &model.widths);
            held.iter().map(|weight| plan.optimizer.update(weight, registry)).collect::<Vec<_>>()
        };
        let lower = |block: &Block, registry: &mut Registry| {
            let mut program = block.lower(registry, plan.types);
            plan.data_parallel.prepare(&mut program.weights, registry);
            program
        };
        let mut layer = |block: &Block| {
            let program = lower(block, registry);
            let updates = updates(&program.weights.iter().collect::<Vec<_>>(), registry);
            Lowered { program, updates }
        };
        let layers = model.layers.iter().map(|run| run.period.iter().map(&mut layer).collect()).collect();
        let [opening, closing] = [&model.opening, &model.closing].map(|block| lower(block, registry));
        let is_own: Vec<_> =
            closing.weights.iter().map(|weight| !(model.is_tied && is_head(weight, registry))).collect();
        let own = closing.weights.iter().zip(&is_own).filter(|(_, is_own)| **is_own).map(|(weight, _)| weight);
        let mut updates = updates(&opening.weights.iter().chain(own).collect::<Vec<_>>(), registry);
        let mut own = updates.split_off(opening.weights.len()).into_iter();
        // A tied head's matrix has its turn with the embedding.
        let last = is_own.iter().map(|is_own| if *is_own { own.next() } else { None }.unwrap_or_default()).collect();
        Self {
            opening: [Lowered { program: opening, updates }],
            layers,
            closing: [Lowered { program: closing, updates: last }],
            output: model.output.as_ref().map(|block| lower(block, registry)),
        }
    }

    /// The weights of the first and the last block, a tied head's once.
    fn root(&self, model: &Model, registry: &Registry) -> Vec<&Weight> {
        let [first, last] = [&self.opening, &self.closing].map(|[lowered]| &lowered.program.weights);
        let own = last.iter().filter(|weight| !(model.is_tied && is_head(weight, registry)));
        first.iter().chain(own).collect()
    }

    /// The weights of the last layer.
    fn last_layer(&self) -> Option<Vec<&Weight>> {
        let layers = self.layers.iter().flatten();
        layers.last().map(|lowered| lowered.program.weights.iter().collect())
    }
}

/// Whether a weight is the matrix of the head.
fn is_head(weight: &Weight, registry: &Registry) -> bool {
    weight.values.iter().any(|&id| {
        let tensor = registry.tensor(id);
        (tensor.place, tensor.part) == (Place::Head, Part::Weight)
    })
}

/// What the device holds of each weight.
fn held(stages: &[Stage<'_>], model: &Model, plan: &Plan) -> Vec<HeldPart> {
    let of = |stage: &Stage<'_>| {
        let weights = stage.instances.iter().flat_map(|instance| &instance.program.weights).collect::<Vec<_>>();
        let held = plan.data_parallel.held(&weights, &model.widths);
        let held = held.iter().map(|weight| HeldPart {
            elements: weight.held.elements(weight.form, &model.widths),
            whole: weight.form.shape.elements(&model.widths),
            is_matrix: weight.sides.is_some(),
        });
        let held = held.collect::<Vec<_>>();
        held.repeat(stage.times as usize)
    };
    stages.iter().flat_map(of).collect()
}

/// All stages of a model, its weights numbered in order.
fn stages<'p>(
    model: &Model,
    plan: &Plan,
    programs: &'p Programs,
    registry: &mut Registry,
    depth: Depth,
) -> Vec<Stage<'p>> {
    let mut numbers = 0..;
    let mut stage = |programs: &'p [Lowered], units: Vec<Unit>, times| {
        let instance = |Lowered { program, .. }: &'p Lowered| Instance {
            program,
            weights: numbers.by_ref().take(program.weights.len()).collect(),
        };
        let updates = programs.iter().map(|lowered| lowered.updates.as_slice()).collect();
        Stage { instances: programs.iter().map(instance).collect(), updates, units, times }
    };
    let is_apart = plan.data_parallel.has_units_apart();
    let mut before: Option<Vec<&Weight>> = None;
    let mut unit = |program: &'p Program, stays| {
        let weights: Vec<_> = program.weights.iter().collect();
        let place = UnitPlace { weights: &weights, before: before.as_deref(), is_root: false, stays };
        let unit = plan.data_parallel.unit(place, &model.widths, registry);
        before = Some(weights);
        unit
    };
    let [opening] = &programs.opening;
    let units = if is_apart { vec![unit(&opening.program, false)] } else { Vec::new() };
    let mut all = vec![stage(&programs.opening, units, 1)];
    for (run, programs) in model.layers.iter().zip(&programs.layers) {
        let members = match (depth, run.times) {
            (Depth::Folded, times @ 4..) => vec![1, times - 2, 1],
            (_, times) => vec![1; times as usize],
        };
        for times in members {
            let units = programs.iter().map(|lowered| unit(&lowered.program, false)).collect();
            all.push(stage(programs, units, times));
        }
    }
    let [closing] = &programs.closing;
    let units = if is_apart { vec![unit(&closing.program, true)] } else { Vec::new() };
    let mut last = stage(&programs.closing, units, 1);
    if model.is_tied {
        // The head's matrix is the embedding's, the first of all.
        let weights = programs.closing[0].program.weights.iter().zip(&mut last.instances[0].weights);
        weights.filter(|(weight, _)| is_head(weight, registry)).for_each(|(_, number)| *number = EMBEDDING);
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

/// A tensor as DDP is told of it.
fn piece(tensor: &Tensor, widths: &Widths) -> Piece {
    let dtype = if let Size::Of(form) = tensor.size { form.dtype } else { DType::Byte };
    Piece { bytes: tensor.size.bytes(widths), dtype }
}

/// What each name has.
type Names = [Vec<Storage>; Name::COUNT];

/// The unit of the engine on which acts are done: that of the whole model, or another by its stage and its place there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Root,
    Block(usize, usize),
}

/// Of what an act is.
#[derive(Clone, Copy)]
struct Of {
    /// The unit.
    scope: Scope,
    /// The number of the weight.
    number: usize,
    /// Whether the optimizer's states are there.
    has_states: bool,
}

/// A play under way.
struct Play<'p> {
    tape: Tape<'p>,
    model: &'p Model,
    plan: &'p Plan,
    stages: &'p [Stage<'p>],
    /// What the engine makes of the loss.
    output: Option<&'p Instance<'p>>,
    /// What the loop that trains on several devices keeps of a micro-batch's results until the next or the end of the step.
    kept_results: Vec<Storage>,
    /// What the engine does with the weights of the first and the last block.
    root: &'p Unit,
    /// What the training program does around the passes of a step.
    round: &'p Round,
    /// What names have that there are once.
    names: Names,
    /// What names have that each unit of each stage has.
    unit_names: Vec<Vec<Names>>,
    /// The same of the first and the last block.
    root_names: Names,
    /// What is called for on the way back, by the number of the call.
    calls: Vec<(Scope, Hook)>,
    /// Weights as the model's class made them, where an engine gives them back.
    whole: Vec<Vec<Repeated>>,
    /// What the optimizer holds until the end of a pass over all weights.
    listed: Vec<Repeated>,
    /// The state of each weight that every step makes anew.
    renewed: Vec<Option<Storage>>,
    /// The states of all weights that are there.
    shared: Vec<TensorId>,
}

impl<'p> Play<'p> {
    fn new(
        model: &'p Model,
        plan: &'p Plan,
        stages: &'p [Stage<'p>],
        output: Option<&'p Instance<'p>>,
        root: &'p Unit,
        round: &'p Round,
    ) -> Self {
        let count = stages.iter().flat_map(|stage| &stage.instances).map(|instance| instance.weights.len()).sum();
        let gives_away = matches!(plan.data_parallel, DataParallel::Ddp(ddp) if ddp.has_views);
        Self {
            tape: Tape::new(count, gives_away),
            model,
            plan,
            stages,
            output,
            kept_results: Vec::new(),
            root,
            round,
            calls: Vec::new(),
            names: Default::default(),
            unit_names: stages.iter().map(|stage| vec![Names::default(); stage.units.len()]).collect(),
            root_names: Names::default(),
            whole: vec![Vec::new(); count],
            listed: Vec::new(),
            renewed: vec![None; count],
            shared: Vec::new(),
        }
    }

    /// What DDP is told of the model, when a backward pass was played.
    fn told(&mut self, constants: &[TensorId], registry: &Registry) -> Told {
        let piece = |tensor: TensorId| piece(registry.tensor(tensor), &self.model.widths);
        let mut of_number = vec![(0, None, None); self.whole.len()];
        for (stage, Stage { instances, .. }) in self.stages.iter().enumerate() {
            for instance in instances {
                for (weight, &number) in instance.program.weights.iter().zip(&instance.weights) {
                    of_number[number] =
                        (stage, weight.values.first().copied().map(piece), Some(piece(weight.gradient)));
                }
            }
        }
        let buffers = constants.iter().copied().map(piece).collect();
        let mut declared = Vec::new();
        self.each_weight(|_, own| declared.push(own.number));
        let stages = self.stages;
        // Numbers of one stage in a row come as often as its layers.
        let all = |numbers: &[usize]| {
            let same = numbers.chunk_by(|&one, &other| of_number[one].0 == of_number[other].0);
            same.flat_map(|same| same.repeat(stages[of_number[same[0]].0].times as usize)).collect::<Vec<_>>()
        };
        Told {
            weights: all(&declared).into_iter().filter_map(|number| of_number[number].1).collect(),
            buffers,
            gradients: all(self.tape.arrivals()).into_iter().filter_map(|number| of_number[number].2).collect(),
        }
    }

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
        for (place, Stage { instances, updates, times, .. }) in stages.iter().enumerate() {
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
        let mut programs = stages.iter().flat_map(|stage| &stage.instances).map(|instance| instance.program);
        let has_checkpoints = programs.any(|program| program.checkpoint.is_some());
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
    /// after another, and what they were made of goes when all are; then what is to have another type is cast. Its buffers are what
    /// is put out.
    fn build(&mut self, constants: &[TensorId]) -> Vec<Storage> {
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
            let storages: Vec<_> = storages.collect();
            if number == EMBEDDING && has_begun {
                tied_head = storages;
            } else if play.is_sharded() {
                play.whole[number] = storages;
            } else if weight.made.is_some() {
                plain[number] = storages;
            }
            has_begun = true;
        });
        let buffers = constants.iter().map(|&constant| self.tape.allocate(constant)).collect();
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
        buffers
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

    /// Whether an engine gives whole weights back.
    fn is_sharded(&self) -> bool {
        self.plan.data_parallel.is_sharded()
    }

    /// The engine's part at a hook of every unit, in the order of that hook.
    fn each_unit(&mut self, hook: Hook) {
        if hook.is_root_first() {
            self.hook(Scope::Root, hook);
        }
        let last = self.stages.len() - 1;
        (1..last).chain([0, last]).for_each(|stage| self.each_unit_of(stage, hook));
        if !hook.is_root_first() {
            self.hook(Scope::Root, hook);
        }
    }

    /// The same of every unit of a stage.
    fn each_unit_of(&mut self, stage: usize, hook: Hook) {
        let Stage { units, times, .. } = &self.stages[stage];
        if units.iter().all(|unit| unit.at(hook).is_empty()) {
            return;
        }
        if *times > 1 {
            self.tape.begin_repeat(*times);
        }
        (0..units.len()).for_each(|place| self.hook(Scope::Block(stage, place), hook));
        if *times > 1 {
            self.tape.end_repeat();
        }
    }

    /// The engine's part at a hook of a unit.
    fn hook(&mut self, scope: Scope, hook: Hook) {
        let unit = match scope {
            Scope::Root => self.root,
            Scope::Block(stage, place) => &self.stages[stage].units[place],
        };
        unit.at(hook).iter().for_each(|&act| self.act(act, Of { scope, number: EMBEDDING, has_states: false }));
    }

    /// The gradients of all weights go.
    fn zero_gradients(&mut self) {
        self.each_weight(|play, own| play.tape.zero_gradient(own.number));
        self.each_unit(Hook::ZeroGradients);
    }

    /// What the training program does around the passes of a step.
    fn around(&mut self, hook: Hook) {
        let of = Of { scope: Scope::Root, number: EMBEDDING, has_states: false };
        self.round.unit.at(hook).iter().for_each(|&act| self.act(act, of));
    }

    /// The last tensor that a name has.
    fn last_named(&mut self, name: Name) -> Storage {
        self.named(name, Scope::Root).last().copied().unwrap_or(Storage(0))
    }

    /// The training program clips gradients by the norm of all.
    fn clip(&mut self) {
        let Some(norm) = self.round.norm else { return };
        self.around(Hook::Norms);
        self.each_weight(|play, own| {
            play.act(Act::Listed(norm), Of { scope: Scope::Root, number: own.number, has_states: false });
        });
        self.around(Hook::Norm);
        self.tape.release_all(&std::mem::take(&mut self.listed));
        self.around(Hook::Clip);
    }

    /// Has a hook of a unit happen when the backward pass comes by here.
    fn hook_on_the_way_back(&mut self, scope: Scope, hook: Hook) {
        if self.is_sharded() {
            self.tape.call_on_the_way_back(Call(self.calls.len()));
            self.calls.push((scope, hook));
        }
    }

    /// The weights of a unit by their numbers.
    fn numbers(&self, scope: Scope) -> Vec<usize> {
        let of = |instance: &Instance<'_>| instance.weights.clone();
        match scope {
            Scope::Block(stage, place) => of(&self.stages[stage].instances[place]),
            Scope::Root => {
                let without_unit = self.stages.iter().filter(|stage| stage.units.is_empty());
                without_unit.flat_map(|stage| stage.instances.iter().flat_map(of)).collect()
            }
        }
    }

    /// One micro-batch: forward, loss, backward.
    fn micro_batch(&mut self, [ids, labels]: [Value; 2], one: TensorId) {
        let [first, between @ .., last] = self.stages else { return };
        self.tape.mark(Moment::Forward);
        self.hook(Scope::Root, Hook::BeforeForward);
        let begun = self.run_end(0, &first.instances[0], &[ids]);
        let (shared, names) = begun[1..].split_at(self.model.shared);
        let mut x = begun[0];
        // What the model's function keeps of a layer until the next one is done.
        let mut kept: Vec<Value> = Vec::new();
        for (place, Stage { instances, times, .. }) in between.iter().enumerate() {
            self.begin_both_ways(*times);
            for (unit, instance) in instances.iter().enumerate() {
                let scope = Scope::Block(1 + place, unit);
                self.hook(scope, Hook::BeforeForward);
                self.hook_on_the_way_back(scope, Hook::AfterBackward);
                let arguments = [&[x], shared].concat();
                let results = if instance.program.checkpoint.is_some() {
                    self.tape.checkpoint(instance, &arguments)
                } else {
                    self.tape.run(instance, &arguments)
                };
                kept.drain(..).for_each(|before| self.tape.release(before.storage));
                self.tape.release(x.storage);
                kept.extend(results.iter().skip(1));
                x = results.first().copied().unwrap_or(x);
                self.hook(scope, Hook::AfterForward);
                self.hook_on_the_way_back(scope, Hook::BeforeBackward);
            }
            self.end_both_ways(*times);
        }
        self.tape.mark(Moment::Loss);
        self.tape.on_the_way_back(Event::Mark(Moment::Backward));
        let arguments = [&[x], shared, names, &kept, &[labels]].concat();
        let mut results = self.run_end(self.stages.len() - 1, &last.instances[0], &arguments);
        self.tape.end_autocast();
        self.hook(Scope::Root, Hook::AfterForward);
        self.hook_on_the_way_back(Scope::Root, Hook::BeforeBackward);
        if let Some(output) = self.output {
            let of_loss = self.tape.run(output, &[results[0], labels]);
            self.tape.release(results[0].storage);
            results.splice(..1, of_loss);
        }
        if !self.model.keeps_logits {
            results.drain(1..).for_each(|result| self.tape.release(result.storage));
        }
        self.tape.mark(Moment::LossBackward);
        if let Some(loss) = results.first() {
            self.tape.begin_backward(*loss, one);
            while let Some(Call(call)) = self.tape.run_backward() {
                let (scope, hook) = self.calls[call];
                self.hook(scope, hook);
            }
            self.calls.clear();
            self.hook(Scope::Root, Hook::AfterBackward);
            self.tape.end_backward();
        }
        if self.round.moves_batches {
            let loss = results.drain(..1).map(|loss| loss.storage).collect::<Vec<_>>();
            results.iter().for_each(|result| self.tape.release(result.storage));
            self.named(Name::Losses, Scope::Root).extend(loss);
        } else if self.plan.data_parallel != DataParallel::Alone {
            self.kept_results.extend(results.iter().map(|result| result.storage));
        } else {
            results.iter().for_each(|result| self.tape.release(result.storage));
        }
    }

    /// Runs the first or the last block forward. Its unit, where it has one, ends with the last kernel that has a weight.
    fn run_end(&mut self, stage: usize, instance: &'p Instance<'p>, arguments: &[Value]) -> Vec<Value> {
        if self.stages[stage].units.is_empty() {
            return self.tape.run(instance, arguments);
        }
        let scope = Scope::Block(stage, 0);
        let (middle, end) = (instance.program.end_of_weights(), instance.program.kernels.len());
        let mut slots = arguments.to_vec();
        self.hook(scope, Hook::BeforeForward);
        self.hook_on_the_way_back(scope, Hook::AfterBackward);
        self.tape.run_part(instance, 0..middle, &mut slots);
        self.hook(scope, Hook::AfterForward);
        self.hook_on_the_way_back(scope, Hook::BeforeBackward);
        self.tape.run_part(instance, middle..end, &mut slots);
        self.tape.results(instance, &slots)
    }

    /// The training loop gives up its name for what the model's function gave.
    fn release_results(&mut self) {
        std::mem::take(&mut self.kept_results).into_iter().for_each(|storage| self.tape.release(storage));
    }

    /// Begins what comes `times` times, and what the backward pass undoes as often.
    fn begin_both_ways(&mut self, times: u32) {
        if times > 1 {
            self.tape.begin_repeat(times);
            self.tape.on_the_way_back(Event::Again);
        }
    }

    /// Ends it.
    fn end_both_ways(&mut self, times: u32) {
        if times > 1 {
            self.tape.on_the_way_back(Event::Repeat(times));
            self.tape.end_repeat();
        }
    }

    /// The optimizer goes through the weights, as often as it does. Without states it makes them; `only_states` leaves
    /// out the rest.
    fn update(&mut self, has_states: bool, only_states: bool) {
        for pass in 0..self.plan.optimizer.passes() {
            self.each_weight(|play, own| {
                own.update.passes[pass].iter().for_each(|&act| match act {
                    Act::Name(..) | Act::Same(..) | Act::Drop(_) | Act::Brief(_) | Act::Listed(_) if only_states => {}
                    _ => play.act(act, Of { scope: Scope::Root, number: own.number, has_states }),
                });
            });
            let names = self.names[..Name::OF_UPDATE].iter_mut().flat_map(std::mem::take).collect::<Vec<_>>();
            names.into_iter().for_each(|storage| self.tape.release(storage));
            self.tape.release_all(&std::mem::take(&mut self.listed));
        }
    }

    /// What a name has.
    fn named(&mut self, name: Name, scope: Scope) -> &mut Vec<Storage> {
        let names = match scope {
            _ if !name.is_of_unit() => &mut self.names,
            Scope::Root => &mut self.root_names,
            Scope::Block(stage, place) => &mut self.unit_names[stage][place],
        };
        &mut names[name as usize]
    }

    /// Gives a name other tensors; what it had goes.
    fn name(&mut self, name: Name, scope: Scope, storages: Vec<Storage>) {
        let before = std::mem::replace(self.named(name, scope), storages);
        before.into_iter().for_each(|storage| self.tape.release(storage));
    }

    fn act(&mut self, act: Act, of: Of) {
        let Of { scope, number, has_states } = of;
        match act {
            Act::State(_) | Act::Shared(_) if has_states => {}
            Act::Shared(tensor) if self.shared.contains(&tensor) => {}
            Act::State(tensor) => {
                self.tape.allocate(tensor);
            }
            Act::Shared(tensor) => {
                self.shared.push(tensor);
                self.tape.allocate(tensor);
            }
            Act::Renewed(tensor) => {
                let before = self.renewed[number].replace(self.tape.allocate(tensor));
                before.into_iter().for_each(|storage| self.tape.release(storage));
            }
            Act::Name(name, tensor) => {
                let storage = self.tape.allocate(tensor);
                self.name(name, scope, vec![storage]);
            }
            Act::More(name, tensor) => {
                let storage = self.tape.allocate(tensor);
                self.named(name, scope).push(storage);
            }
            Act::Same(name, other) => {
                let same = self.named(other, scope).clone();
                same.iter().for_each(|&storage| {
                    self.tape.retain(storage);
                });
                self.name(name, scope, same);
            }
            Act::Move(name, other) => {
                let moved = std::mem::take(self.named(other, scope));
                self.name(name, scope, moved);
            }
            Act::Offer(name, other) => {
                let more = std::mem::take(self.named(other, scope));
                if self.named(name, scope).is_empty() {
                    *self.named(name, scope) = more;
                } else {
                    more.into_iter().for_each(|storage| self.tape.release(storage));
                }
            }
            Act::Drop(name) => self.name(name, scope, Vec::new()),
            Act::KeepLast(name) => {
                let last = self.named(name, scope).pop();
                self.name(name, scope, last.into_iter().collect());
            }
            Act::Brief(tensor) => self.tape.brief(tensor),
            Act::Listed(tensor) => {
                let storage = self.tape.allocate(tensor);
                self.listed.push(self.tape.repeated(storage));
            }
            Act::DropGradients => {
                self.numbers(scope).into_iter().rev().for_each(|number| self.tape.zero_gradient(number));
            }
            Act::DropWhole => {
                for number in self.numbers(scope) {
                    let whole = std::mem::take(&mut self.whole[number]);
                    self.tape.release_all(&whole);
                }
            }
        }
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
