//! What PyTorch runs, as data: kernels with their derivatives, and blocks of them.
//!
//! A kernel says for each of its derivatives what that derivative reads. What is kept for the backward pass follows as
//! in autograd's generated code: the union of what the derivatives read that anybody needs.

use std::ops::BitOr;

use super::size::Held;
use super::tensor::{Form, Part, Place, Side, TensorId};
use crate::estimator::units::Shape;

/// A value of a program: what a kernel puts out, or an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// Its place in a list that has an item a value.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a kernel is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A value of the program.
    Value(Slot),
    /// A weight of the program, by its number there.
    Weight(usize),
}

impl From<Slot> for Operand {
    fn from(slot: Slot) -> Self {
        Self::Value(slot)
    }
}

/// Operands that a kernel has at most.
pub const OPERANDS: usize = 8;

/// A set of what a derivative may read of its kernel: operands by their place, the output, and what stands beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads(u16);

/// Nothing is read.
pub const NOTHING: Reads = Reads(0);
/// The first operand.
pub const FIRST: Reads = Reads(1);
/// The second operand.
pub const SECOND: Reads = Reads(2);
/// The third operand.
pub const THIRD: Reads = Reads(4);
/// The output.
pub const OUTPUT: Reads = Reads(256);
/// What a kernel puts out beside its output for the backward pass.
pub const ASIDES: Reads = Reads(512);

impl Reads {
    /// All operands, the output and what stands beside it.
    pub const ALL: Self = Self(1023);

    /// All of these but the output.
    pub const ALL_BUT_OUTPUT: Self = Self(1023 - OUTPUT.0);

    /// The operand at a place.
    pub const fn operand(place: usize) -> Self {
        Self(1 << place)
    }

    /// Whether the two sets have anything in common.
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether nothing is read.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Reads {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a derivative does, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect<T> {
    /// A gradient of the operand's form.
    New,
    /// A gradient of another form, which is summed up or cast afterwards.
    NewOf(T),
    /// A gradient that is a view of what was made. The engine never adds to a view in place.
    NewView,
    /// The gradient that comes in.
    Pass,
    /// A view of the gradient that comes in.
    PassView,
    /// The value at a place among those that the node keeps: a gradient that was made in the forward pass.
    Kept(usize),
    /// A workspace until the derivative is done or drops it.
    Workspace(T),
    /// A workspace that is given back at once.
    Brief(T),
    /// The workspace that came so many before the last goes.
    Drop(usize),
    /// The value at a place among those that the node keeps is kept no longer.
    DropKept(usize),
}

impl<T: Copy> Effect<T> {
    /// The same effect of other tensors: gradients and workspaces.
    pub fn map<U>(&self, mut tensor: impl FnMut(T, Part) -> U) -> Effect<U> {
        match *self {
            Self::New => Effect::New,
            Self::NewOf(of) => Effect::NewOf(tensor(of, Part::Gradient)),
            Self::NewView => Effect::NewView,
            Self::Pass => Effect::Pass,
            Self::PassView => Effect::PassView,
            Self::Kept(place) => Effect::Kept(place),
            Self::Workspace(of) => Effect::Workspace(tensor(of, Part::Workspace)),
            Self::Brief(of) => Effect::Brief(tensor(of, Part::Workspace)),
            Self::Drop(before) => Effect::Drop(before),
            Self::DropKept(place) => Effect::DropKept(place),
        }
    }
}

/// The derivative of a kernel with respect to one operand.
#[derive(Clone, Debug)]
pub struct Derivative {
    /// The operand, by its place.
    pub of: usize,
    /// What it reads of the kernel.
    pub reads: Reads,
    /// Whether a call that computes all derivatives leaves it out where nobody asks.
    pub is_apart: bool,
    /// The gradient of the operand.
    pub gradient: TensorId,
    /// What it does.
    pub effects: Vec<Effect<TensorId>>,
    /// How the engine brings the gradient to the operand's form (`validate_outputs` in torch/csrc/autograd/engine.cpp):
    /// a sum, then a cast; nothing where the gradient has that form.
    pub conversion: Vec<Conversion>,
}

/// A step from one form of a gradient to another.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// What it makes.
    pub gradient: TensorId,
    /// The workspaces that it takes.
    pub workspaces: Vec<TensorId>,
}

/// A tensor that a kernel makes beside its output.
#[derive(Clone, Copy, Debug)]
pub struct Aside {
    /// Which tensor it is.
    pub tensor: TensorId,
    /// Whether derivatives read it; otherwise it goes when the kernel is done.
    pub is_kept: bool,
    /// Whether it is made for derivatives alone, and not where nobody derives.
    pub is_for_derivatives: bool,
}

/// A node of autograd: one call of PyTorch's library.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What it is given, in the order in which gradients are handed on.
    pub operands: Vec<Operand>,
    /// Its output; `None` for a view of its first value.
    pub output: Option<TensorId>,
    /// The first value that it puts out.
    pub slot: Slot,
    /// How many values it puts out: parts of one tensor where there are several.
    pub results: u16,
    /// Whether the output is a copy of a weight that autocast keeps until it ends.
    pub is_cached: bool,
    /// Whether derivation starts from the output.
    pub is_leaf: bool,
    /// Whether each of its results is the operand at its place, changed in place, whose gradient is that of the result.
    pub changes_each: bool,
    /// Whether its readers have a part of the output each, whose gradients are kept apart until all are there.
    pub is_taken_apart: bool,
    /// Whether the output is a gradient of the weight that it is given: it is added to what the weight has of them.
    pub is_gradient: bool,
    /// Whether a checkpoint saves what it makes (`create_selective_checkpoint_contexts` in torch/utils/checkpoint.py).
    pub is_saved: bool,
    /// Whether gradients of its output are added up in a new tensor each time, as those of tensor subclasses are
    /// (`can_accumulate_inplace` in torch/csrc/autograd/input_buffer.cpp).
    pub adds_anew: bool,
    /// Whether the module that has the weight before ends with it.
    pub ends_module: bool,
    /// What it makes beside its output.
    pub asides: Vec<Aside>,
    /// How many of these are made before the output.
    pub asides_ahead: usize,
    /// The workspace of the call.
    pub brief: Option<TensorId>,
    /// Whether it is a function in Python, which keeps what its derivatives read when it has run (`setup_context` of
    /// `torch.autograd.Function`).
    pub keeps_behind: bool,
    /// Its derivatives, in the order in which they are computed.
    pub derivatives: Vec<Derivative>,
    /// Whether one call computes all derivatives, whoever asked.
    pub is_joint: bool,
    /// Values that nobody reads any more when it is done.
    pub drops: Vec<Slot>,
}

impl Kernel {
    /// The operands that are values, with their places.
    pub fn values(&self) -> impl Iterator<Item = (usize, Slot)> {
        self.operands.iter().enumerate().filter_map(|(place, operand)| match operand {
            Operand::Value(slot) => Some((place, *slot)),
            Operand::Weight(_) => None,
        })
    }

    /// The operands that are weights, with their places.
    pub fn weights(&self) -> impl Iterator<Item = (usize, usize)> {
        self.operands.iter().enumerate().filter_map(|(place, operand)| match operand {
            Operand::Weight(weight) => Some((place, *weight)),
            Operand::Value(_) => None,
        })
    }

    /// Whether it is given a value.
    pub fn reads(&self, slot: Slot) -> bool {
        self.values().any(|(_, value)| value == slot)
    }

    /// Whether it takes a workspace that is given back at once, forward or in a derivative.
    pub fn takes_briefly(&self, tensor: TensorId, is_backward: bool) -> bool {
        let takes = |effect: &Effect<TensorId>| *effect == Effect::Brief(tensor);
        if is_backward {
            self.derivatives.iter().any(|derivative| derivative.effects.iter().any(takes))
        } else {
            self.brief == Some(tensor)
        }
    }

    /// The derivative with respect to the operand at a place.
    pub fn derivative(&self, of: usize) -> Option<&Derivative> {
        self.derivatives.iter().find(|derivative| derivative.of == of)
    }
}

/// A weight, with all tensors that belong to it.
#[derive(Clone, Debug)]
pub struct Weight {
    /// The operator that it belongs to.
    pub place: Place,
    /// Its elements.
    pub form: Form,
    /// The last two dimensions of a matrix, or of a stack of matrices; `None` for a vector.
    pub sides: Option<[Shape; 2]>,
    /// Its values: one tensor, or those of a packed weight.
    pub values: Vec<TensorId>,
    /// What is made first, where that is another tensor: the class of a model or peft makes it in the type in which the
    /// model is loaded, and it is then cast or packed.
    pub made: Option<TensorId>,
    /// How it is packed: tensors that stay, and workspaces. Nothing for a weight that is cast.
    pub packing: Vec<Effect<TensorId>>,
    /// Its gradient.
    pub gradient: TensorId,
    /// The sum of the gradients of several uses, where it is not made in place.
    pub gradient_sum: TensorId,
    /// What becomes of its gradient before devices that train on other sequences sum it: those that share layers add up what
    /// each has of it, or divide it.
    pub redistributed: Option<TensorId>,
    /// What its first gradient of a step is cast to, where later ones are added to it in another type.
    pub first_gradient: Option<TensorId>,
    /// Whether it is trained.
    pub is_trained: bool,
    /// To which stack of layers it belongs.
    pub side: Side,
    /// Whether the class declares it behind the layers behind its block.
    pub is_declared_late: bool,
    /// What of it the device holds beside what it gathers.
    pub held: Held,
    /// To what an engine added it, as peft adds adapters; `None` where it is the model's own.
    pub added: Option<Added>,
}

impl Weight {
    /// Its first dimension.
    pub fn rows(&self) -> Shape {
        let whole = self.form.shape;
        match self.sides {
            Some([rows, columns]) if rows * columns == whole => rows,
            // A stack of matrices.
            Some([rows, columns]) => whole / (rows * columns),
            None => whole,
        }
    }
}

/// To what peft adds an adapter. It makes those of all layers first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// A linear layer (`target_modules`).
    ToLayer,
    /// A parameter (`target_parameters`).
    ToParameter,
}

/// A module of the model's class that a block calls.
#[derive(Clone, Debug)]
pub struct Module {
    /// Which one it is to engines that treat some apart.
    pub kind: ModuleKind,
    /// Its own weights, those of modules in it left out, by their numbers in the program.
    pub weights: Vec<usize>,
}

/// Which module it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleKind {
    /// One of the model's class, or one that peft put around it.
    Plain,
    /// One of the two linear layers of an adapter.
    Adapter,
}

/// Where a block enters or leaves a module, which its forward and backward hooks see.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    /// How many kernels ran before.
    pub at: usize,
    /// What happens there.
    pub crossing: Crossing,
    /// What the module is given first, or what it puts out; `None` where it is given nothing by position.
    pub value: Option<Slot>,
}

/// What happens at a border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// The module of a number begins.
    Enter(usize),
    /// It is done.
    Leave(usize),
    /// The first module asks for a weight of the second, which has not begun.
    Read(usize, usize),
    /// The module that has embedding, layers and final norm is done.
    LeaveModel,
}

/// A block, lowered to the kernels that PyTorch runs.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its kernels in order.
    pub kernels: Vec<Kernel>,
    /// The modules that it calls.
    pub modules: Vec<Module>,
    /// Where it enters and leaves them, in order; nothing where no engine asks.
    pub borders: Vec<Border>,
    /// Its weights, in the order in which the class of the model declares them, those that were added last.
    pub weights: Vec<Weight>,
    /// How many values it has, its arguments first.
    pub slots: usize,
    /// How many results, behind the hidden state, layers behind it are given from here on, where it begins another stack.
    pub begins: Option<usize>,
    /// Whether its weights are declared before those that were declared late.
    pub declares_ahead: bool,
    /// Arguments that it is not handed.
    pub left_out: Vec<Slot>,
    /// What it puts out.
    pub results: Vec<Slot>,
    /// How the backward pass computes it again, where it does.
    pub checkpoint: Option<Checkpoint>,
}

/// How the backward pass computes a block again (`torch.utils.checkpoint`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Whether it stops with the last tensor that is asked for (`early_stop`).
    pub stops_early: bool,
    /// Whether a function in Python runs it forward and backward at once, and has what it puts out and the gradient of that until
    /// then (`CheckpointFunction.backward` in megatron/core/tensor_parallel/random.py).
    pub is_reentrant: bool,
}

impl Program {
    /// The program with another one behind it, of so many arguments, which is given its first result in the place of the first and
    /// its other arguments as they are. What it puts out goes when the other one is done.
    #[must_use]
    pub fn followed_by(mut self, mut next: Self, arguments: usize) -> Self {
        let (results, slots, weights) = (self.results.clone(), self.slots, self.weights.len());
        let moved = |slot: Slot| match slot.index() {
            0 => results.first().copied().unwrap_or(slot),
            place if place < arguments => slot,
            place => Slot((place - arguments + slots) as u32),
        };
        for kernel in &mut next.kernels {
            kernel.slot = moved(kernel.slot);
            kernel.drops.iter_mut().for_each(|slot| *slot = moved(*slot));
            for operand in &mut kernel.operands {
                *operand = match *operand {
                    Operand::Value(slot) => Operand::Value(moved(slot)),
                    Operand::Weight(weight) => Operand::Weight(weight + weights),
                };
            }
        }
        let last = next.results.iter().map(|&slot| moved(slot)).collect::<Vec<_>>();
        let over = results.iter().filter(|slot| slot.index() >= arguments && !last.contains(slot));
        next.kernels.last_mut().into_iter().for_each(|kernel| kernel.drops.extend(over.clone()));
        self.left_out.retain(|slot| next.left_out.contains(slot));
        self.kernels.extend(next.kernels);
        self.weights.extend(next.weights);
        self.slots = slots + next.slots.saturating_sub(arguments);
        self.results = last;
        self
    }

    /// How many kernels there are up to the end of the last module that has a weight.
    pub fn end_of_weights(&self) -> usize {
        let has_weight = |kernel: &Kernel| kernel.operands.iter().any(|of| matches!(of, Operand::Weight(_)));
        self.kernels.iter().rposition(|kernel| has_weight(kernel) || kernel.ends_module).map_or(0, |last| last + 1)
    }
}
