//! A step of one rank of a pipeline: several micro-batches are in flight, each with a graph of its own.

use std::collections::HashMap;

use super::Depth;
use super::event::{Moment, Storage};
use super::graph::{Graph, Repeated, Value};
use super::play::Play;
use super::tape::Tape;
use crate::estimator::engines::{ActionKind, Hook, Name, Pipeline, Plan};
use crate::estimator::operators::{Form, Part, Place, Registry, Size, Tensor, TensorId};
use crate::estimator::units::{B, DType, H, S, V};

/// The tensors that ranks hand to each other, and the one that a step ends with.
#[derive(Clone, Copy)]
struct Transfers {
    /// The hidden state.
    hidden: TensorId,
    /// Its gradient.
    gradient: TensorId,
    /// The logits of all micro-batches.
    merged: TensorId,
}

impl Transfers {
    /// Those of a model whose weights have a type.
    fn new(dtype: DType, pipeline: Pipeline, registry: &mut Registry) -> Self {
        let hidden = Size::Of(Form::new(dtype, B * S * H));
        let logits = Form::new(dtype, (B * S * V).by(pipeline.micro_batches));
        let mut own = |place, part, size| {
            registry.id(Tensor { place, part, size }, "PyTorch 2.15, torch/distributed/pipelining/stage.py")
        };
        Self {
            hidden: own(Place::Pipeline, Part::Received, hidden),
            gradient: own(Place::Pipeline, Part::Gradient, hidden),
            merged: own(Place::Logits, Part::Merged, Size::Of(logits)),
        }
    }
}

/// A micro-batch on its way through a chunk.
#[derive(Default)]
struct InFlight<'p> {
    graph: Graph<'p>,
    /// What was received.
    input: Option<Storage>,
    /// What backward starts from: the output, or the loss.
    root: Option<Value>,
    /// The output.
    output: Option<Storage>,
    /// The gradient that was received for it.
    gradient: Option<Storage>,
    /// The gradient of what was received.
    of_input: Option<Storage>,
}

/// A rank of a pipeline.
pub struct Rank<'p> {
    pipeline: Pipeline,
    transfers: Transfers,
    in_flight: HashMap<(u32, u32), InFlight<'p>>,
    /// Losses.
    losses: Vec<Repeated>,
    /// What the last rank has received, which the graphs of losses hold (`AccumulateGrad::variable`).
    received: Vec<Repeated>,
    /// Gradients that were sent, of micro-batches that are not played.
    gradients: Vec<Repeated>,
    /// Logits, which the last stage keeps until the next step (`output_chunks` of stage.py).
    outputs: Vec<Repeated>,
    /// What a name of the schedule has: what was received last.
    named: Option<Storage>,
}

impl<'p> Rank<'p> {
    /// A rank before its first step.
    pub fn new(pipeline: Pipeline, plan: &Plan, registry: &mut Registry) -> Self {
        let dtype = plan.task.networks.first().map_or(DType::Half, |network| network.model.dtype);
        let transfers = Transfers::new(dtype, pipeline, registry);
        let in_flight = HashMap::new();
        let [losses, received, gradients, outputs] = [const { Vec::new() }; 4];
        Self { pipeline, transfers, in_flight, losses, received, gradients, outputs, named: None }
    }

    /// All passes of a step (`step` of schedules.py), of which some stand for those that are not played.
    pub fn step(&mut self, play: &mut Play<'p>) {
        let depth = play.score.depth;
        play.begin_micro_batch();
        play.tape.mark(Moment::Forward);
        play.tape.release_all(&std::mem::take(&mut self.outputs));
        let played = self.pipeline.played(depth == Depth::Whole);
        let mut left_out = self.pipeline.micro_batches - played;
        for action in self.pipeline.actions(played) {
            let tape = &mut play.tape;
            let key = (action.chunk, action.micro_batch);
            match action.kind {
                ActionKind::Gather => play.each_unit_of_network(key.0 as usize, Hook::GatherStage),
                ActionKind::GiveBack => play.each_unit_of_network(key.0 as usize, Hook::GiveStageBack),
                ActionKind::Forward => self.forward(play, key),
                ActionKind::Backward => {
                    self.backward(play, key);
                    if action.chunk == 0 {
                        self.stand_in(&mut play.tape, std::mem::take(&mut left_out), depth);
                    }
                }
                ActionKind::Receive => {
                    let received = tape.allocate(self.transfers.hidden);
                    self.at(key).input = Some(received);
                    if self.pipeline.names_received() {
                        drop_held(tape, &mut self.named);
                        self.named = Some(tape.retain(received));
                    }
                }
                ActionKind::ReceiveGradient => self.at(key).gradient = Some(tape.allocate(self.transfers.gradient)),
                ActionKind::Sent => drop_held(tape, &mut self.at(key).output),
                ActionKind::DropGradient => drop_held(tape, &mut self.at(key).gradient),
                ActionKind::SentGradient => drop_held(tape, &mut self.at(key).of_input),
                ActionKind::Reduce => play.reduce_all(key.0 as usize),
            }
        }
        self.in_flight.clear();
        let tape = &mut play.tape;
        drop_held(tape, &mut self.named);
        tape.release_all(&std::mem::take(&mut self.gradients));
        let merged = (!self.outputs.is_empty()).then(|| tape.allocate(self.transfers.merged));
        if !self.pipeline.sums_losses {
            // The graph of a sum keeps what was received until the sum goes.
            tape.release_all(&std::mem::take(&mut self.received));
        }
        play.around(Hook::EndPasses);
        let tape = &mut play.tape;
        tape.release_all(&std::mem::take(&mut self.losses));
        merged.into_iter().for_each(|merged| tape.release(merged));
    }

    /// Another loss has the name of the step's own, whose graph goes.
    pub fn forget(&mut self, play: &mut Play<'p>) {
        play.tape.release_all(&std::mem::take(&mut self.received));
    }

    fn at(&mut self, key: (u32, u32)) -> &mut InFlight<'p> {
        self.in_flight.entry(key).or_default()
    }

    /// Runs a chunk forward, in a graph of its own.
    fn forward(&mut self, play: &mut Play<'p>, key: (u32, u32)) {
        let ids = play.given(Name::Ids);
        self.wait(play, key.0);
        let (tape, state) = (&mut play.tape, self.in_flight.entry(key).or_default());
        let before = tape.take_up(Graph::default());
        let input = state.input.map_or(ids, |received| {
            // A name of the module's function.
            tape.retain(received);
            tape.leaf(received)
        });
        let output = play.forward(key.0 as usize, &[input], &[], true).first().copied();
        (state.root, state.output) = (output, output.map(|output| output.storage));
        if let Some(output) = output.filter(|_| self.pipeline.is_last(key.0)) {
            let (functions, labels) = (&play.score.functions, play.given(Name::Labels));
            if self.pipeline.keeps_outputs {
                let outputs = play.tape.retain(output.storage);
                self.outputs.push(play.tape.repeated(outputs));
            }
            let loss = functions.first().map(|(objective, _)| play.tape.run(objective, &[output, labels]));
            state.root = loss.and_then(|results| results.first().copied());
        }
        state.graph = play.tape.take_up(before);
    }

    /// Waits for the weights of a chunk that were gathered.
    fn wait(&self, play: &mut Play<'p>, chunk: u32) {
        if self.pipeline.gathers_stages() {
            play.each_unit_of_network(chunk as usize, Hook::AwaitStage);
        }
    }

    /// Runs it backward.
    fn backward(&mut self, play: &mut Play<'p>, key: (u32, u32)) {
        self.wait(play, key.0);
        let (state, is_last) = (self.in_flight.entry(key).or_default(), self.pipeline.is_last(key.0));
        let Some(root) = state.root else { return };
        let before = play.tape.take_up(std::mem::take(&mut state.graph));
        play.tape.mark(if is_last { Moment::LossBackward } else { Moment::Backward });
        match state.gradient {
            Some(seed) => play.tape.begin_backward_from(root, seed, self.transfers.gradient),
            None => play.tape.begin_backward(root, play.score.tensors.one[1]),
        }
        play.run_backward();
        let tape = &mut play.tape;
        state.of_input = tape.take_gradient_of_leaf();
        tape.end_backward();
        tape.forget_leaves();
        if is_last {
            drop_held(tape, &mut state.output);
            self.losses.push(tape.repeated(root.storage));
            self.received.extend(state.input.take().map(|received| tape.repeated(received)));
        } else {
            drop_held(tape, &mut state.input);
        }
        tape.take_up(before);
    }

    /// Takes what micro-batches leave behind that are not played: what one has left that was.
    fn stand_in(&mut self, tape: &mut Tape<'p>, micro_batches: u32, depth: Depth) {
        let of_input = |chunk| self.in_flight.get(&(chunk, 0)).and_then(|state: &InFlight<'_>| state.of_input);
        let chunks = 0..if self.pipeline.holds_gradients() { self.pipeline.chunks } else { 0 };
        let gradients: Vec<_> = chunks.filter_map(of_input).collect();
        let [losses, received, outputs] = [&self.losses, &self.received, &self.outputs]
            .map(|held| held.iter().take(1).map(|held| held.storage()).collect());
        let lists = [
            (&mut self.losses, losses),
            (&mut self.received, received),
            (&mut self.outputs, outputs),
            (&mut self.gradients, gradients),
        ];
        for (held, one) in lists {
            let one: Vec<_> = one.into_iter().map(|storage| tape.tensor(storage)).collect();
            if micro_batches == 0 || one.is_empty() {
                continue;
            }
            let (times, rounds) = if depth == Depth::Whole { (1, micro_batches) } else { (micro_batches, 1) };
            for _ in 0..rounds {
                tape.repeat(times, |tape| {
                    held.extend(one.iter().map(|&tensor| {
                        let storage = tape.allocate(tensor);
                        tape.repeated(storage)
                    }));
                });
            }
        }
    }
}

/// Holds a storage no more that something holds.
fn drop_held(tape: &mut Tape<'_>, held: &mut Option<Storage>) {
    held.take().into_iter().for_each(|storage| tape.release(storage));
}
