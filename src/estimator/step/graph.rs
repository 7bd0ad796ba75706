//! Autograd's graph: its nodes, what they keep for the backward pass, and what checkpoints promise them.

use std::collections::VecDeque;

use super::event::{Event, Storage};
use crate::estimator::operators::{Crossing, OPERANDS, Program, Reads, Slot};

/// A node by its place in the graph.
pub type Node = u32;

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
    pub is_view: bool,
}

/// A storage that was made within a repetition, and how often that comes.
#[derive(Clone, Copy, Debug)]
pub struct Repeated {
    pub storage: Storage,
    pub times: u32,
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
pub enum Work<'p> {
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
    /// A block that runs a second time, by the name that whoever plays gave it, enters or leaves a module.
    Crossing(usize, Crossing),
}

/// A block that runs forward.
pub struct Pass<'p> {
    pub instance: &'p Instance<'p>,
    pub slots: Vec<Value>,
    /// How many values it was given.
    pub given: usize,
    /// How many kernels have run.
    pub done: usize,
    /// How many borders of modules it has passed.
    pub passed: usize,
    /// Values that modules were given which are not left.
    pub given_to: Vec<Given>,
}

/// A value that a module is given.
pub struct Given {
    /// The number of the module.
    pub module: usize,
    /// The value.
    pub slot: Slot,
    /// Where its gradient goes outside of the module.
    pub outside: Option<(Node, u8)>,
}

/// A block that runs a second time.
pub struct Second<'p> {
    pub pass: Pass<'p>,
    /// The checkpoint that asked for it.
    pub frame: usize,
    /// Autocast's copies of the pass within which it runs.
    pub copies: Vec<Repeated>,
}

/// Outputs of a node at most.
pub const RESULTS: usize = 3;

pub struct Entry<'p> {
    pub work: Work<'p>,
    pub inputs: [Option<(Node, u8)>; OPERANDS],
    pub gradients: [Option<Gradient>; RESULTS],
    /// Gradients of the parts into which its output was taken apart, where it is.
    pub parts: Vec<Repeated>,
    /// How many tensors it keeps.
    pub kept: usize,
    /// The checkpoint that has promised them.
    pub frame: Option<usize>,
}

/// A call of `torch.utils.checkpoint` (`_CheckpointFrame` in torch/utils/checkpoint.py): its nodes keep places, until one
/// of them is asked for.
pub struct Frame<'p> {
    pub instance: &'p Instance<'p>,
    pub arguments: Vec<Value>,
    /// What whoever plays calls the block.
    pub name: usize,
    /// The last kernel that keeps anything: the second pass stops there.
    pub last: usize,
    /// What it has saved, in the order in which kernels made it.
    pub saved: VecDeque<Storage>,
    /// What a function in Python that runs it has until the block has run backward.
    pub held: Vec<Storage>,
    /// Nodes that still have places; the arguments go with the last of them.
    pub places: usize,
    pub is_redeemed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
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
    pub entries: Vec<Entry<'p>>,
    pub kept: Vec<Storage>,
    /// Nodes of what lists hold.
    pub listed: Vec<Option<(Node, u8)>>,
    pub frames: Vec<Frame<'p>>,
    /// How many nodes will hand each weight a gradient; weights behind the last one get none.
    pub awaited: Vec<u32>,
}
