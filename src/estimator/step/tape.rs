//! The tape: storages with reference counts, autograd's graph, and the events that follow from both.
//!
//! It knows kernels, and nothing of operators, models or engines. Nodes run in the reverse of their order, as those of
//! autograd's queue do (`sequence_nr` in torch/csrc/autograd/engine.cpp, PyTorch 2.15), so that nodes and what they keep
//! are two stacks. It asks no size: what has no bytes at some widths is an event all the same, which counters leave out.

use super::event::{Event, Moment, Storage};
use super::graph::{Call, Entry, Gradient, Graph, Mode, Node, RESULTS, Repeated, Second, Value, Work};
use crate::estimator::operators::{Effect, OPERANDS, TensorId};

/// What a weight has.
#[derive(Clone, Copy, Default)]
pub struct WeightState {
    /// Its values, where an engine gives and takes them.
    pub value: Option<Storage>,
    /// Its gradient (`.grad`).
    pub whole: Option<Gradient>,
    /// What has come in the present backward pass and waits for the rest (`InputBuffer`).
    pub buffer: Option<Gradient>,
}

/// A workspace that each thread keeps once it has taken it.
#[derive(Clone, Copy, Debug)]
pub struct KeptWorkspace {
    /// The workspace.
    pub tensor: TensorId,
    /// Whether the thread of the forward pass has taken it, and that of the backward pass.
    pub taken: [bool; 2],
}

/// A tape that is being played.
pub struct Tape<'p> {
    pub events: Vec<Event>,
    pub weights: Vec<WeightState>,
    /// The tensors that stand for others now, by the numbers of those.
    pub stand_ins: Vec<Option<TensorId>>,
    /// The tensor of each storage, and how many hold it.
    pub storages: Vec<(TensorId, u32)>,
    /// The graph that is at work.
    pub graph: Graph<'p>,
    /// Whether nodes are made (`torch.is_grad_enabled`).
    pub is_recording: bool,
    pub mode: Mode,
    /// The node that has stopped the backward pass for a call.
    pub called: Option<Entry<'p>>,
    /// The block that runs a second time.
    pub second: Option<Second<'p>>,
    /// Autocast's copies of weights.
    pub copies: Vec<Repeated>,
    /// How often comes what is played now.
    pub times: u32,
    pub workspaces: Vec<Storage>,
    /// Workspaces that threads keep.
    pub kept_workspaces: Vec<KeptWorkspace>,
    /// Whether autograd's thread is at work.
    pub is_backward: bool,
    /// The gradient of the loss, while it is.
    pub seed: Option<Storage>,
    /// The gradient of a leaf that is no weight.
    pub of_leaf: Option<Storage>,
    /// Values from which derivation started, with their gradients, until the graph goes.
    pub leaves: Vec<Storage>,
    /// Weights whose gradients are complete, where whoever plays wants to know; the first is at the end.
    pub complete: Option<Vec<usize>>,
}

impl<'p> Tape<'p> {
    /// A tape of a model with so many weights.
    pub fn new(weights: usize) -> Self {
        Self {
            events: Vec::new(),
            weights: vec![WeightState::default(); weights],
            stand_ins: Vec::new(),
            storages: Vec::new(),
            graph: Graph::default(),
            is_recording: true,
            mode: Mode::Keep,
            called: None,
            second: None,
            copies: Vec::new(),
            times: 1,
            workspaces: Vec::new(),
            kept_workspaces: Vec::new(),
            is_backward: false,
            seed: None,
            of_leaf: None,
            complete: None,
            leaves: Vec::new(),
        }
    }

    /// Takes another graph up, as where micro-batches are in flight at once; the one that was at work.
    pub fn take_up(&mut self, graph: Graph<'p>) -> Graph<'p> {
        std::mem::replace(&mut self.graph, graph)
    }

    /// All events, and how many storages they speak of.
    pub fn finish(self) -> (Vec<Event>, usize) {
        (self.events, self.storages.len())
    }

    /// The tensor of a storage.
    pub fn tensor(&self, storage: Storage) -> TensorId {
        self.storages[storage.index()].0
    }

    /// Asks for a storage.
    pub fn allocate(&mut self, tensor: TensorId) -> Storage {
        let tensor = self.stand_ins.get(tensor.index()).copied().flatten().unwrap_or(tensor);
        let storage = Storage(u32::try_from(self.storages.len()).unwrap_or(u32::MAX));
        self.storages.push((tensor, 1));
        self.events.push(Event::Allocate(tensor, storage));
        storage
    }

    /// Has tensors stand for others, by the numbers of those.
    pub fn stand_in(&mut self, stand_ins: Vec<Option<TensorId>>) {
        self.stand_ins = stand_ins;
    }

    /// Holds a storage once more.
    pub fn retain(&mut self, storage: Storage) -> Storage {
        self.storages[storage.index()].1 += 1;
        storage
    }

    /// Holds a storage no more; it is given back when nobody does.
    pub fn release(&mut self, storage: Storage) {
        let (tensor, count) = &mut self.storages[storage.index()];
        *count -= 1;
        if *count == 0 {
            self.events.push(Event::Free(*tensor, storage));
        }
    }

    /// Gives a weight other values, or none; what it had goes.
    pub fn set_value(&mut self, weight: usize, value: Option<Storage>) {
        let before = std::mem::replace(&mut self.weights[weight].value, value);
        before.into_iter().for_each(|storage| self.release(storage));
    }

    /// Has each thread keep workspaces that it has taken once; `taken` says which it has taken already, forward and backward.
    pub fn keep_workspaces(&mut self, kept: Vec<KeptWorkspace>) {
        for KeptWorkspace { tensor, taken } in &kept {
            taken.iter().filter(|is_taken| **is_taken).for_each(|_| {
                self.allocate(*tensor);
            });
        }
        self.kept_workspaces = kept;
    }

    /// Takes a workspace that is given back at once, unless the thread keeps it.
    pub fn brief(&mut self, tensor: TensorId) {
        if let Some(kept) = self.kept_workspaces.iter_mut().find(|kept| kept.tensor == tensor) {
            if !std::mem::replace(&mut kept.taken[usize::from(self.is_backward)], true) {
                self.allocate(tensor);
            }
            return;
        }
        let storage = self.allocate(tensor);
        self.release(storage);
    }

    /// Has nodes be made from here on, or none (`torch.set_grad_enabled`).
    pub fn set_recording(&mut self, is_recording: bool) {
        self.is_recording = is_recording;
    }

    /// A value of a list that holds the gradient of that until the backward pass comes by here.
    pub fn list_gradient(&mut self) -> Value {
        let node = self.push(Work::ListGradient, [None; OPERANDS], 0, None);
        Value { storage: Storage::GONE, node: Some((node, 0)) }
    }

    /// A list of values as one: what reads it hands each a part of its gradient.
    pub fn list(&mut self, values: impl Iterator<Item = Value>) -> Value {
        let first = self.graph.listed.len();
        self.graph.listed.extend(values.map(|value| value.node));
        if self.graph.listed[first..].iter().all(Option::is_none) {
            self.graph.listed.truncate(first);
            return Value::NONE;
        }
        let node = self.push(Work::List(first, self.graph.listed.len()), [None; OPERANDS], 0, None);
        Value { storage: Storage::GONE, node: Some((node, 0)) }
    }

    /// Begins a moment.
    pub fn mark(&mut self, moment: Moment) {
        self.events.push(Event::Mark(moment));
    }

    /// Has the allocator give back what it has cached.
    pub fn empty_cache(&mut self) {
        self.events.push(Event::EmptyCache);
    }

    /// Has an event happen when the backward pass comes by here.
    pub fn on_the_way_back(&mut self, event: Event) {
        self.push(Work::Edge(event), [None; OPERANDS], 0, None);
    }

    /// Has the backward pass stop for a call when it comes by here.
    pub fn call_on_the_way_back(&mut self, call: Call) {
        self.push(Work::Call(call), [None; OPERANDS], 0, None);
    }

    /// A value from which derivation starts; its node holds it.
    pub fn leaf(&mut self, storage: Storage) -> Value {
        self.retain(storage);
        let node = self.push(Work::Leaf(storage), [None; OPERANDS], 0, None);
        Value { storage, node: Some((node, 0)) }
    }

    pub fn push(
        &mut self,
        work: Work<'p>,
        inputs: [Option<(Node, u8)>; OPERANDS],
        kept: usize,
        frame: Option<usize>,
    ) -> Node {
        self.graph.entries.push(Entry { work, inputs, gradients: [None; RESULTS], parts: Vec::new(), kept, frame });
        self.graph.entries.len() as Node - 1
    }

    /// Plays once what is done `times` times.
    pub fn repeat<T>(&mut self, times: u32, work: impl FnOnce(&mut Self) -> T) -> T {
        if times == 1 {
            return work(self);
        }
        self.begin_repeat(times);
        let done = work(self);
        self.end_repeat();
        done
    }

    /// Begins what comes `times` times. Repetitions do not contain each other.
    pub fn begin_repeat(&mut self, times: u32) {
        self.events.push(Event::Repeat(times));
        self.times = times;
    }

    /// Ends what is repeated.
    pub fn end_repeat(&mut self) {
        self.events.push(Event::Again);
        self.times = 1;
    }

    /// A storage with how often it comes.
    pub fn repeated(&self, storage: Storage) -> Repeated {
        Repeated { storage, times: self.times }
    }

    /// Holds storages no more, each as often as it came.
    pub fn release_all(&mut self, all: &[Repeated]) {
        for same in all.chunk_by(|one, other| one.times == other.times) {
            let times = if self.times == same[0].times { 1 } else { same[0].times };
            self.repeat(times, |tape| same.iter().for_each(|one| tape.release(one.storage)));
        }
    }

    /// Takes a workspace that stays until it is dropped.
    pub fn take_workspace(&mut self, tensor: TensorId) {
        let storage = self.allocate(tensor);
        self.workspaces.push(storage);
    }

    pub fn end_workspaces(&mut self) {
        while let Some(storage) = self.workspaces.pop() {
            self.release(storage);
        }
    }

    /// Makes a tensor as its effects say: what is new stays, workspaces go.
    pub fn make(&mut self, effects: &[Effect<TensorId>]) -> Vec<Storage> {
        let mut made = Vec::new();
        for effect in effects {
            match *effect {
                Effect::NewOf(tensor) => made.push(self.allocate(tensor)),
                Effect::Workspace(tensor) => {
                    let storage = self.allocate(tensor);
                    self.workspaces.push(storage);
                }
                Effect::Brief(tensor) => self.brief(tensor),
                Effect::Drop(before) => self.drop_workspace(before),
                Effect::New
                | Effect::NewView
                | Effect::Pass
                | Effect::PassView
                | Effect::Kept(_)
                | Effect::DropKept(_) => {}
            }
        }
        self.end_workspaces();
        made
    }

    /// Gives back the workspace that came so many before the last.
    pub fn drop_workspace(&mut self, before: usize) {
        if let Some(place) = self.workspaces.len().checked_sub(1 + before) {
            let storage = self.workspaces.remove(place);
            self.release(storage);
        }
    }
}
