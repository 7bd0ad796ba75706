//! The tape: storages with reference counts, autograd's graph, and the events that follow from both.
//!
//! It knows kernels, and nothing of operators, models or engines. Nodes run in the reverse of their order, as those of
//! autograd's queue do (`sequence_nr` in torch/csrc/autograd/engine.cpp, PyTorch 2.15), so that nodes and what they keep
//! are two stacks. It asks no size: what has no bytes at some widths is an event all the same, which counters leave out.

use std::collections::VecDeque;
use std::ops::Range;

use crate::estimator::operators::{
    ASIDES, Conversion, Effect, Kernel, NOTHING, OPERANDS, OUTPUT, Operand, Program, Reads, Slot, TensorId,
};

/// The places of a step that a person asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Moment {
    /// The model is built.
    Load,
    /// The model is there, and what building it cached is given back.
    Loaded,
    /// A network runs without gradients, for what it says of the batch.
    Score,
    /// The layers run forward.
    Forward,
    /// Final norm, head and loss run forward.
    Loss,
    /// The loss, the head and the final norm run backward.
    LossBackward,
    /// The layers run backward.
    Backward,
    /// The optimizer updates the weights.
    Update,
    /// The step is over.
    End,
}

impl Moment {
    /// What a reader calls it. Nothing is decided by this text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "building the model",
            Self::Loaded => "model loaded",
            Self::Score => "forward, without gradients",
            Self::Forward => "layers, forward",
            Self::Loss => "loss, forward",
            Self::LossBackward => "loss, backward",
            Self::Backward => "layers, backward",
            Self::Update => "optimizer step",
            Self::End => "end of the step",
        }
    }
}

/// What happens to memory, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A storage for a tensor is asked for.
    Allocate(TensorId, Storage),
    /// A storage is given back.
    Free(TensorId, Storage),
    /// What is cached is given back.
    EmptyCache,
    /// A moment begins.
    Mark(Moment),
    /// What follows until [`Event::Again`] comes this many times.
    Repeat(u32),
    /// The end of what is repeated.
    Again,
}

/// A storage by its number, in the order in which they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage(pub u32);

impl Storage {
    /// What is no more.
    const GONE: Self = Self(u32::MAX);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node by its place in the graph.
type Node = u32;

/// A storage, and the output of a node that it is, where it wants a gradient.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its storage.
    pub storage: Storage,
    /// The node, and which of its outputs.
    pub node: Option<(Node, u8)>,
}

impl Value {
    /// A name without a value.
    pub const NONE: Self = Self { storage: Storage::GONE, node: None };
}

/// A gradient on its way.
#[derive(Clone, Copy, Debug)]
pub struct Gradient {
    /// Its storage.
    pub storage: Storage,
    /// Whether it is a view, to which the engine never adds in place.
    is_view: bool,
}

/// A storage that was made within a repetition, and how often that comes.
#[derive(Clone, Copy, Debug)]
pub struct Repeated {
    storage: Storage,
    times: u32,
}

impl Repeated {
    /// A storage that comes once.
    pub const fn once(storage: Storage) -> Self {
        Self { storage, times: 1 }
    }

    /// The storage.
    pub const fn storage(self) -> Storage {
        self.storage
    }

    /// Whether nothing was there.
    pub fn is_gone(self) -> bool {
        self.storage == Storage::GONE
    }
}

/// A block in its place: the program that it shares with its like, and weights of its own, by their numbers in the model.
#[derive(Clone, Debug)]
pub struct Instance<'p> {
    /// The program.
    pub program: &'p Program,
    /// The number of each of its weights.
    pub weights: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Work<'p> {
    /// The kernel at this position of the instance's program, for the operands that need a gradient.
    Kernel(&'p Instance<'p>, usize, Reads),
    /// A value from which derivation starts, with its storage (`AccumulateGrad::variable`).
    Leaf(Storage),
    /// An event on the way back.
    Edge(Event),
    /// A call on the way back, of whoever plays.
    Call(Call),
    /// Values that a list holds, whose gradients are parts of that of the list, from one number to another.
    List(usize, usize),
    /// The gradient of a list, which values that were played once for several hold together.
    ListGradient,
}

/// What whoever plays is called for on the way back, by a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call(pub usize);

/// Why the backward pass stops for whoever plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// For a call.
    Call(Call),
    /// The gradient of the weight of a number is complete.
    Gradient(usize),
}

/// Outputs of a node at most.
const RESULTS: usize = 3;

struct Entry<'p> {
    work: Work<'p>,
    inputs: [Option<(Node, u8)>; OPERANDS],
    gradients: [Option<Gradient>; RESULTS],
    /// Gradients of the parts into which its output was taken apart, where it is.
    parts: Vec<Repeated>,
    /// How many tensors it keeps.
    kept: usize,
    /// The checkpoint that has promised them.
    frame: Option<usize>,
}

/// A call of `torch.utils.checkpoint` (`_CheckpointFrame` in torch/utils/checkpoint.py): its nodes keep places, until one
/// of them is asked for.
struct Frame<'p> {
    instance: &'p Instance<'p>,
    arguments: Vec<Value>,
    /// The last kernel that keeps anything: the second pass stops there.
    last: usize,
    /// What it has saved, in the order in which kernels made it.
    saved: VecDeque<Storage>,
    /// Nodes that still have places; the arguments go with the last of them.
    places: usize,
    is_redeemed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Nodes keep what their derivatives read.
    Keep,
    /// Nodes count what they would keep for this frame.
    Promise(usize),
    /// What they would keep is kept, and no nodes are made.
    Redeem(usize),
}

/// The graph of a forward pass: its nodes, and what they keep for the backward pass.
#[derive(Default)]
pub struct Graph<'p> {
    entries: Vec<Entry<'p>>,
    kept: Vec<Storage>,
    /// Nodes of what lists hold.
    listed: Vec<Option<(Node, u8)>>,
    frames: Vec<Frame<'p>>,
    /// How many nodes will hand each weight a gradient; weights behind the last one get none.
    awaited: Vec<u32>,
}

/// What a weight has of gradients.
#[derive(Clone, Copy, Default)]
struct WeightGradient {
    /// Its gradient (`.grad`).
    whole: Option<Gradient>,
    /// What has come in the present backward pass and waits for the rest (`InputBuffer`).
    buffer: Option<Gradient>,
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
    events: Vec<Event>,
    weights: Vec<WeightGradient>,
    /// The tensor of each storage, and how many hold it.
    storages: Vec<(TensorId, u32)>,
    /// The graph that is at work.
    graph: Graph<'p>,
    /// Whether nodes are made (`torch.is_grad_enabled`).
    is_recording: bool,
    mode: Mode,
    /// Autocast's copies of weights.
    copies: Vec<Repeated>,
    /// How often comes what is played now.
    times: u32,
    workspaces: Vec<Storage>,
    /// Workspaces that threads keep.
    kept_workspaces: Vec<KeptWorkspace>,
    /// Whether autograd's thread is at work.
    is_backward: bool,
    /// The gradient of the loss, while it is.
    seed: Option<Storage>,
    /// The gradient of a leaf that is no weight.
    of_leaf: Option<Storage>,
    /// Values from which derivation started, with their gradients, until the graph goes.
    leaves: Vec<Storage>,
    /// Weights whose gradients are complete, where whoever plays wants to know; the first is at the end.
    complete: Option<Vec<usize>>,
}

impl<'p> Tape<'p> {
    /// A tape of a model with so many weights.
    pub fn new(weights: usize) -> Self {
        Self {
            events: Vec::new(),
            weights: vec![WeightGradient::default(); weights],
            storages: Vec::new(),
            graph: Graph::default(),
            is_recording: true,
            mode: Mode::Keep,
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
        let storage = Storage(u32::try_from(self.storages.len()).unwrap_or(u32::MAX));
        self.storages.push((tensor, 1));
        self.events.push(Event::Allocate(tensor, storage));
        storage
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

    fn push(
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

    /// Runs a block forward. Its results are the caller's; there are none where a second pass has all that it wants.
    pub fn run(&mut self, instance: &'p Instance<'p>, arguments: &[Value]) -> Vec<Value> {
        let mut slots = Vec::with_capacity(instance.program.slots);
        slots.extend_from_slice(arguments);
        self.run_part(instance, 0..instance.program.kernels.len(), &mut slots);
        if let Mode::Redeem(_) = self.mode {
            // An exception ends the pass: all names go.
            for slot in arguments.len()..slots.len() {
                self.drop_slot(&mut slots, Slot(slot as u16));
            }
            return Vec::new();
        }
        self.results(instance, &slots)
    }

    /// Runs some kernels of a block forward, behind those before them. The slots have the arguments first.
    pub fn run_part(&mut self, instance: &'p Instance<'p>, part: Range<usize>, slots: &mut Vec<Value>) {
        let program = instance.program;
        for (position, kernel) in part.clone().zip(&program.kernels[part]) {
            let (inputs, needed, reads) = self.asked(instance, kernel, slots);
            let stops_early = program.checkpoint.is_some_and(|checkpoint| checkpoint.stops_early);
            let is_last =
                matches!(self.mode, Mode::Redeem(frame) if stops_early && self.graph.frames[frame].last == position);
            if is_last && !reads.overlaps(OUTPUT | ASIDES) {
                // The inputs are packed before the kernel runs, and the last of them ends the second pass.
                self.keep(kernel, reads, slots, Storage::GONE, &[]);
                break;
            }
            let (ahead, behind) = kernel.asides.split_at(kernel.asides_ahead);
            let mut asides: Vec<_> =
                ahead.iter().map(|aside| (self.made(kernel, aside.tensor), aside.is_kept)).collect();
            let storage = match (kernel.output, kernel.values().next()) {
                (Some(tensor), _) => self.made(kernel, tensor),
                (None, Some((_, viewed))) if slots[viewed.index()].storage != Storage::GONE => {
                    self.retain(slots[viewed.index()].storage)
                }
                // A view of a weight, which is there anyway.
                (None, _) => Storage::GONE,
            };
            asides.extend(behind.iter().map(|aside| (self.made(kernel, aside.tensor), aside.is_kept)));
            let is_brought = kernel.is_saved && matches!(self.mode, Mode::Redeem(_));
            kernel.brief.filter(|_| !is_brought).into_iter().for_each(|tensor| self.brief(tensor));
            let node = if kernel.is_leaf && self.is_recording { self.leaf(storage).node } else { None };
            let node = node.or_else(|| {
                if needed.is_empty() {
                    return None;
                }
                let kept = self.keep(kernel, reads, slots, storage, &asides);
                Some((self.record(instance, position, inputs, needed, reads, kept), 0))
            });
            if kernel.is_cached {
                self.retain(storage);
                self.copies.push(self.repeated(storage));
            }
            asides.into_iter().for_each(|(aside, _)| self.release(aside));
            // A program numbers its values in the order in which kernels make them.
            for result in 0..kernel.results {
                let storage = if result == 0 { storage } else { self.retain(storage) };
                slots.push(Value { storage, node: node.map(|(node, _)| (node, result as u8)) });
            }
            if is_last {
                break;
            }
            for &slot in &kernel.drops {
                self.drop_slot(slots, slot);
            }
        }
    }

    /// What a kernel makes. A checkpoint that saves it holds it as well, and hands it over in the second pass.
    fn made(&mut self, kernel: &Kernel, tensor: TensorId) -> Storage {
        let saved = match self.mode {
            Mode::Redeem(frame) if kernel.is_saved => self.graph.frames[frame].saved.pop_front(),
            _ => None,
        };
        let storage = saved.unwrap_or_else(|| self.allocate(tensor));
        if let Mode::Promise(frame) = self.mode
            && kernel.is_saved
        {
            self.retain(storage);
            self.graph.frames[frame].saved.push_back(storage);
        }
        storage
    }

    /// What a block that has run puts out.
    pub fn results(&mut self, instance: &Instance<'p>, slots: &[Value]) -> Vec<Value> {
        let program = instance.program;
        let mut results: Vec<Value> = Vec::with_capacity(program.results.len());
        for (position, &slot) in program.results.iter().enumerate() {
            let value = slots[slot.index()];
            if program.results[..position].contains(&slot) {
                self.retain(value.storage);
            }
            results.push(value);
        }
        results
    }

    fn drop_slot(&mut self, slots: &mut [Value], slot: Slot) {
        let storage = std::mem::replace(&mut slots[slot.index()].storage, Storage::GONE);
        if storage != Storage::GONE {
            self.release(storage);
        }
    }

    /// Where gradients of operands go, which are needed, and what their derivatives read.
    fn asked(
        &self,
        instance: &Instance<'_>,
        kernel: &Kernel,
        slots: &[Value],
    ) -> ([Option<(Node, u8)>; OPERANDS], Reads, Reads) {
        let (mut inputs, mut needed) = ([None; OPERANDS], NOTHING);
        if kernel.derivatives.is_empty() || !self.is_recording {
            return (inputs, NOTHING, NOTHING);
        }
        for (place, operand) in kernel.operands.iter().enumerate() {
            let is_needed = match *operand {
                Operand::Value(slot) => {
                    inputs[place] = slots[slot.index()].node;
                    inputs[place].is_some()
                }
                Operand::Weight(weight) => instance.program.weights[weight].is_trained,
            };
            needed = if is_needed { needed | Reads::operand(place) } else { needed };
        }
        let is_joint = kernel.is_joint && !needed.is_empty();
        let asked = kernel.derivatives.iter();
        let asked = asked.filter(|derivative| is_joint || needed.overlaps(Reads::operand(derivative.of)));
        (inputs, needed, asked.fold(NOTHING, |reads, derivative| reads | derivative.reads))
    }

    /// Keeps what a node's derivatives read, or counts it where a checkpoint promises it. Weights are there anyway.
    fn keep(
        &mut self,
        kernel: &Kernel,
        reads: Reads,
        slots: &[Value],
        output: Storage,
        asides: &[(Storage, bool)],
    ) -> usize {
        let before = self.graph.kept.len();
        let read = kernel.values().filter(|(place, _)| reads.overlaps(Reads::operand(*place)));
        let read = read.map(|(_, slot)| slots[slot.index()].storage);
        self.graph.kept.extend(read.filter(|storage| *storage != Storage::GONE));
        self.graph.kept.extend(Some(output).filter(|_| reads.overlaps(OUTPUT)));
        self.graph.kept.extend(asides.iter().filter(|aside| aside.1 && reads.overlaps(ASIDES)).map(|aside| aside.0));
        let kept = self.graph.kept.len() - before;
        match self.mode {
            Mode::Promise(_) => self.graph.kept.truncate(before),
            Mode::Keep | Mode::Redeem(_) => {
                self.graph.kept[before..].iter().for_each(|storage| self.storages[storage.index()].1 += 1);
            }
        }
        kept
    }

    fn record(
        &mut self,
        instance: &'p Instance<'p>,
        position: usize,
        inputs: [Option<(Node, u8)>; OPERANDS],
        needed: Reads,
        reads: Reads,
        kept: usize,
    ) -> Node {
        let frame = match self.mode {
            Mode::Keep => None,
            // It is only asked whether there is one.
            Mode::Redeem(_) => return Node::MAX,
            Mode::Promise(_) if reads.is_empty() => None,
            Mode::Promise(frame) => {
                self.graph.frames[frame].last = position;
                self.graph.frames[frame].places += 1;
                Some(frame)
            }
        };
        for (place, operand) in instance.program.kernels[position].operands.iter().enumerate() {
            if let Operand::Weight(weight) = *operand
                && needed.overlaps(Reads::operand(place))
            {
                let (weight, awaited) = (instance.weights[weight], &mut self.graph.awaited);
                awaited.resize(awaited.len().max(weight + 1), 0);
                awaited[weight] += 1;
            }
        }
        self.push(Work::Kernel(instance, position, needed), inputs, kept, frame)
    }

    /// Runs a block forward whose nodes keep nothing but a promise.
    pub fn checkpoint(&mut self, instance: &'p Instance<'p>, arguments: &[Value]) -> Vec<Value> {
        let mut given = arguments.to_vec();
        instance.program.left_out.iter().for_each(|slot| given[slot.index()].storage = Storage::GONE);
        given.iter().filter(|argument| argument.storage != Storage::GONE).for_each(|argument| {
            self.retain(argument.storage);
        });
        self.graph.frames.push(Frame {
            instance,
            arguments: given,
            last: 0,
            saved: VecDeque::new(),
            places: 0,
            is_redeemed: false,
        });
        let frame = self.graph.frames.len() - 1;
        self.mode = Mode::Promise(frame);
        let results = self.run(instance, arguments);
        self.mode = Mode::Keep;
        if self.graph.frames[frame].places == 0 {
            self.leave(frame);
        }
        results
    }

    /// Runs a block forward again, up to the last tensor that a node wants.
    fn redeem(&mut self, frame: usize) {
        self.graph.frames[frame].is_redeemed = true;
        let (instance, arguments) = (self.graph.frames[frame].instance, self.graph.frames[frame].arguments.clone());
        let copies = std::mem::take(&mut self.copies);
        self.mode = Mode::Redeem(frame);
        self.run(instance, &arguments);
        self.mode = Mode::Keep;
        self.end_autocast();
        self.copies = copies;
    }

    /// Ends autocast, which gives back its copies of weights.
    pub fn end_autocast(&mut self) {
        let copies = std::mem::take(&mut self.copies);
        self.release_all(&copies);
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

    /// Begins to run backward from a loss whose own gradient is `one`.
    pub fn begin_backward(&mut self, loss: Value, one: TensorId) {
        let seed = self.allocate(one);
        self.seed = Some(seed);
        self.begin_backward_from(loss, seed, one);
    }

    /// Begins to run backward from a value whose gradient is `seed`, of the form of `tensor`.
    pub fn begin_backward_from(&mut self, value: Value, seed: Storage, tensor: TensorId) {
        self.is_backward = true;
        let gradient = Gradient { storage: self.retain(seed), is_view: false };
        self.deliver(value.node, gradient, tensor);
    }

    /// Has the backward pass stop for the gradient of each weight when it is complete.
    pub fn stop_at_gradients(&mut self) {
        self.complete = Some(Vec::new());
    }

    /// Runs backward to the next stop, or to the end. Gradients of weights come before all other nodes
    /// (`AccumulateGrad` has the highest `sequence_nr`).
    pub fn run_backward(&mut self) -> Option<Stop> {
        loop {
            if let Some(weight) = self.complete.as_mut().and_then(Vec::pop) {
                return Some(Stop::Gradient(weight));
            }
            let entry = self.graph.entries.pop()?;
            match (entry.work, entry.gradients.iter().any(Option::is_some)) {
                (Work::Edge(event), _) => {
                    self.times = if let Event::Repeat(times) = event { times } else { 1 };
                    self.events.push(event);
                }
                (Work::List(first, end), _) => {
                    for value in self.graph.listed.get(first..end).unwrap_or_default().to_vec() {
                        for gradient in entry.gradients.iter().flatten() {
                            self.retain(gradient.storage);
                            let tensor = self.storages[gradient.storage.index()].0;
                            self.deliver(value, Gradient { is_view: true, ..*gradient }, tensor);
                        }
                    }
                    entry.gradients.into_iter().flatten().for_each(|gradient| self.release(gradient.storage));
                }
                (Work::Call(call), _) => return Some(Stop::Call(call)),
                (Work::Kernel(instance, position, needed), true) => {
                    self.differentiate(instance, position, needed, &entry);
                }
                (work, _) => {
                    self.forget(&entry);
                    let mut gradients = entry.gradients.into_iter().flatten().map(|gradient| gradient.storage);
                    if let Work::Leaf(storage) = work {
                        // The graph holds a leaf, and the leaf its gradient.
                        let before = std::mem::replace(&mut self.of_leaf, gradients.next());
                        self.leaves.extend(before.into_iter().chain([storage]));
                    }
                    gradients.for_each(|gradient| self.release(gradient));
                }
            }
        }
    }

    /// Takes the gradient of the value from which derivation started, where that is no weight (`.grad` of that value).
    pub fn take_gradient_of_leaf(&mut self) -> Option<Storage> {
        self.of_leaf.take()
    }

    /// Ends the backward pass.
    pub fn end_backward(&mut self) {
        self.leaves.extend(self.of_leaf.take());
        self.seed.take().into_iter().for_each(|seed| self.release(seed));
        self.is_backward = false;
    }

    /// Gives back leaves and their gradients: the loss goes, and the graph with it.
    pub fn forget_leaves(&mut self) {
        std::mem::take(&mut self.leaves).into_iter().for_each(|storage| self.release(storage));
    }

    /// Gives back what a node kept.
    fn forget(&mut self, entry: &Entry<'p>) {
        for _ in 0..entry.kept {
            let Some(storage) = self.graph.kept.pop() else { return };
            self.release(storage);
        }
    }

    /// Runs one node (`evaluate_function` in torch/csrc/autograd/engine.cpp), in the order in which C++ drops what is not
    /// needed any more.
    fn differentiate(&mut self, instance: &'p Instance<'p>, position: usize, needed: Reads, entry: &Entry<'p>) {
        let kernel = &instance.program.kernels[position];
        entry
            .frame
            .filter(|&frame| !self.graph.frames[frame].is_redeemed)
            .into_iter()
            .for_each(|frame| self.redeem(frame));
        let incoming = entry.gradients.iter().flatten().next().copied();
        let mut made = self.compute(kernel, needed, incoming);
        // What was computed with the rest and nobody asked for.
        for (place, gradient) in made.iter_mut().enumerate() {
            if !needed.overlaps(Reads::operand(place)) {
                gradient.take().into_iter().for_each(|gradient| self.release(gradient.storage));
            }
        }
        // What a checkpoint brought back is the function's alone.
        entry.frame.into_iter().for_each(|_| self.forget(entry));
        for (place, gradient) in made.iter_mut().enumerate() {
            for step in kernel.derivative(place).into_iter().flat_map(|derivative| &derivative.conversion) {
                *gradient = gradient.map(|before| self.convert(step, before));
            }
        }
        if entry.parts.is_empty() {
            entry.gradients.into_iter().flatten().for_each(|gradient| self.release(gradient.storage));
        } else {
            self.release_all(&entry.parts);
        }
        match entry.frame {
            None => self.forget(entry),
            Some(frame) => {
                self.graph.frames[frame].places -= 1;
                if self.graph.frames[frame].places == 0 {
                    self.leave(frame);
                }
            }
        }
        for (place, gradient) in made.into_iter().enumerate() {
            let (Some(gradient), Some(derivative)) = (gradient, kernel.derivative(place)) else { continue };
            match kernel.operands[place] {
                Operand::Weight(weight) => {
                    let sum = instance.program.weights[weight].gradient_sum;
                    self.accumulate(instance.weights[weight], gradient, sum);
                }
                Operand::Value(_) => self.deliver(entry.inputs[place], gradient, derivative.gradient),
            }
        }
    }

    /// The gradients that a kernel's derivatives make of the one that comes in.
    fn compute(&mut self, kernel: &Kernel, needed: Reads, incoming: Option<Gradient>) -> [Option<Gradient>; OPERANDS] {
        let mut made = [None; OPERANDS];
        for derivative in &kernel.derivatives {
            if !kernel.is_joint && !needed.overlaps(Reads::operand(derivative.of)) {
                continue;
            }
            for effect in &derivative.effects {
                let (storage, is_view) = match *effect {
                    Effect::New => (self.allocate(derivative.gradient), false),
                    Effect::NewOf(tensor) => (self.allocate(tensor), false),
                    Effect::NewView => (self.allocate(derivative.gradient), true),
                    Effect::Pass | Effect::PassView => {
                        let Some(incoming) = incoming else { continue };
                        (self.retain(incoming.storage), incoming.is_view || *effect == Effect::PassView)
                    }
                    Effect::Workspace(tensor) => {
                        let storage = self.allocate(tensor);
                        self.workspaces.push(storage);
                        continue;
                    }
                    Effect::Brief(tensor) => {
                        self.brief(tensor);
                        continue;
                    }
                    Effect::Drop(before) => {
                        self.drop_workspace(before);
                        continue;
                    }
                };
                made[derivative.of] = Some(Gradient { storage, is_view });
            }
        }
        self.end_workspaces();
        made
    }

    /// Takes a workspace that stays until it is dropped.
    pub fn take_workspace(&mut self, tensor: TensorId) {
        let storage = self.allocate(tensor);
        self.workspaces.push(storage);
    }

    fn end_workspaces(&mut self) {
        while let Some(storage) = self.workspaces.pop() {
            self.release(storage);
        }
    }

    /// Makes a tensor as its effects say: what is new stays, workspaces go.
    pub fn make(&mut self, effects: &[Effect<TensorId>]) {
        for effect in effects {
            match *effect {
                Effect::NewOf(tensor) => {
                    self.allocate(tensor);
                }
                Effect::Workspace(tensor) => {
                    let storage = self.allocate(tensor);
                    self.workspaces.push(storage);
                }
                Effect::Brief(tensor) => self.brief(tensor),
                Effect::Drop(before) => self.drop_workspace(before),
                Effect::New | Effect::NewView | Effect::Pass | Effect::PassView => {}
            }
        }
        self.end_workspaces();
    }

    /// Gives back the workspace that came so many before the last.
    pub fn drop_workspace(&mut self, before: usize) {
        if let Some(place) = self.workspaces.len().checked_sub(1 + before) {
            let storage = self.workspaces.remove(place);
            self.release(storage);
        }
    }

    /// Brings a gradient to another form.
    fn convert(&mut self, step: &Conversion, before: Gradient) -> Gradient {
        let storage = self.allocate(step.gradient);
        for &workspace in &step.workspaces {
            let storage = self.allocate(workspace);
            self.workspaces.push(storage);
        }
        self.end_workspaces();
        self.release(before.storage);
        Gradient { storage, is_view: false }
    }

    /// Gives back the arguments of a checkpoint, none of whose places is left.
    fn leave(&mut self, frame: usize) {
        for argument in std::mem::take(&mut self.graph.frames[frame].arguments) {
            if argument.storage != Storage::GONE {
                self.release(argument.storage);
            }
        }
    }

    fn deliver(&mut self, to: Option<(Node, u8)>, gradient: Gradient, tensor: TensorId) {
        let Some((node, output)) = to else { return self.release(gradient.storage) };
        let (node, output) = (node as usize, usize::from(output));
        if let Work::Kernel(instance, position, _) = self.graph.entries[node].work
            && instance.program.kernels[position].is_taken_apart
        {
            let part = self.repeated(gradient.storage);
            self.graph.entries[node].gradients[output] = Some(gradient);
            return self.graph.entries[node].parts.push(part);
        }
        let before = self.graph.entries[node].gradients[output];
        self.graph.entries[node].gradients[output] = Some(self.sum(before, gradient, tensor));
    }

    /// Hands a gradient to a weight. When all of a backward pass are there, the first pass's is taken as it is, and what
    /// comes later is added to it in place (torch/csrc/autograd/functions/accumulate_grad.h).
    fn accumulate(&mut self, number: usize, gradient: Gradient, tensor: TensorId) {
        let buffer = self.weights[number].buffer.take();
        let sum = self.sum(buffer, gradient, tensor);
        let awaited = self.graph.awaited.get_mut(number);
        let is_last = awaited.is_none_or(|awaited| {
            *awaited = awaited.saturating_sub(1);
            *awaited == 0
        });
        let weight = &mut self.weights[number];
        if !is_last {
            weight.buffer = Some(sum);
            return;
        }
        if weight.whole.is_none() {
            weight.whole = Some(sum);
        } else {
            self.release(sum.storage);
        }
        self.complete.as_mut().into_iter().for_each(|complete| complete.insert(0, number));
    }

    /// Takes the gradient of a weight away, as `zero_grad(set_to_none=True)` does.
    pub fn zero_gradient(&mut self, weight: usize) {
        let gradient = self.weights[weight].whole.take();
        gradient.into_iter().for_each(|gradient| self.release(gradient.storage));
    }

    /// The sum of two gradients of one value: in place where nobody else holds the first, nor its storage
    /// (`accumulate` in torch/csrc/autograd/input_buffer.cpp).
    fn sum(&mut self, before: Option<Gradient>, more: Gradient, tensor: TensorId) -> Gradient {
        let Some(before) = before else { return more };
        let is_alone = !before.is_view && self.storages[before.storage.index()].1 == 1;
        let sum = if is_alone { before } else { Gradient { storage: self.allocate(tensor), is_view: false } };
        if !is_alone {
            self.release(before.storage);
        }
        self.release(more.storage);
        sum
    }
}
