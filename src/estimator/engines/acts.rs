//! What a training program does with memory beside the operators, as data: an optimizer with each weight, and an engine with
//! the weights that it gathers together.

use crate::estimator::operators::TensorId;

/// A name that a training program has for tensors. They live until it gets others, or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// The gradient in fp32.
    Gradient,
    /// The weight in fp32.
    Weight,
    /// The square of the gradient.
    Square,
    /// Means over rows.
    Rows,
    /// Means over columns.
    Columns,
    /// A mean of means.
    Mean,
    /// The second moment that follows from rows and columns.
    Estimate,
    /// The update.
    Update,
    /// A root.
    Root,
    /// A root and ε.
    Denominator,
    /// A number.
    Number,
    /// A sum on its way to a name.
    Sum,
    /// What blocks of a sum share.
    Buffer,
    /// The semaphores beside it.
    Semaphores,
    /// Shards in the type in which they are gathered.
    Shards,
    /// Weights that were gathered ahead.
    Ahead,
    /// Weights that a recomputation has gathered.
    Again,
    /// Weights of a unit that were gathered with all of its stage, and are to be copied out.
    OfStage,
    /// Weights that were gathered last, and copied out.
    Copied,
    /// Gradients of a unit, joined.
    Flat,
    /// Gradients that are being summed over devices.
    Reducing,
    /// The sum of them.
    Reduced,
    /// Gathered weights of a unit.
    Weights,
    /// The part of a unit's gradients that the device holds.
    Gradients,
    /// Buckets into which gradients are copied.
    Buckets,
    /// The gradients of a backward pass that the device updates with.
    Partition,
    /// The gradients of all backward passes of a step that the device updates with.
    Averaged,
    /// The gradients that the device updates with, in fp32.
    Single,
    /// The norm of all gradients.
    Norm,
    /// The norm of all gradients, as the engine tells it after the step.
    ToldNorm,
    /// Token ids of micro-batches.
    Ids,
    /// The labels of a micro-batch.
    Labels,
    /// A number of tokens.
    Counted,
    /// The losses of micro-batches.
    Losses,
    /// A table that the model keeps.
    Table,
}

impl Name {
    /// How many there are.
    pub const COUNT: usize = Self::Table as usize + 1;

    /// How many are names of the function that updates weights, which come first and go when it has gone through all of them.
    pub const OF_UPDATE: usize = Self::Semaphores as usize + 1;

    /// Whether each unit has its own; otherwise there is one for all.
    pub const fn is_of_unit(self) -> bool {
        matches!(self, Self::Weights | Self::Gradients | Self::OfStage)
    }
}

/// What is done, with an optimizer's weight or with an engine's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A state that the first step makes, and that stays.
    State(TensorId),
    /// The same for all weights; the first one makes it.
    Shared(TensorId),
    /// A state that every step makes anew, before the one of the step before goes.
    Renewed(TensorId),
    /// A name gets a new tensor, before what it had goes.
    Name(Name, TensorId),
    /// A name gets a new tensor where the optimizer's states are not there yet.
    NameFirst(Name, TensorId),
    /// A name gets one more tensor.
    More(Name, TensorId),
    /// The first name gets the tensors of the second as well.
    Same(Name, Name),
    /// The first name gets the tensors of the second, which has none then.
    Move(Name, Name),
    /// The first name gets the tensors of the second, unless it has some already: then those of the second go.
    Offer(Name, Name),
    /// A name goes.
    Drop(Name),
    /// What a name has goes, but for the last.
    KeepLast(Name),
    /// Nothing that comes behind it at the hook is done where a name has anything.
    UnlessNamed(Name),
    /// A workspace that is given back at once.
    Brief(TensorId),
    /// A tensor that goes when all weights had their turn.
    Listed(TensorId),
    /// The gradients of the unit's weights go, those of the last weight first.
    DropGradients,
    /// The gradients of the unit's weights become what devices that share layers make of them, where they make anything.
    RedistributeGradients,
    /// The whole weights of the unit go, as the model's class made them.
    DropWhole,
    /// The whole tensors of the weight of a number go.
    DropWholeOf(usize),
    /// The gradient of the weight of a number goes.
    DropGradient(usize),
    /// The weight of a number gets a tensor with its values, before what it had goes.
    Value(usize, TensorId),
    /// The weight of a number has no values any more.
    DropValue(usize),
    /// A tensor with a number of the engine's.
    Numbered(usize, TensorId),
    /// The tensor with a number of the engine's goes.
    DropNumbered(usize),
    /// The allocator gives back what it has cached.
    EmptyCache,
    /// A workspace that stays until it is ended.
    Workspace(TensorId),
    /// The workspace that came so many before the last ends.
    EndWorkspace(usize),
}

impl Act {
    /// Whether it makes what stays from step to step.
    pub const fn is_state(self) -> bool {
        matches!(self, Self::State(_) | Self::Shared(_) | Self::Renewed(_))
    }
}

/// When an engine acts on the weights that it gathers together, or around the passes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The engine takes the model over.
    Wrap,
    /// The first forward pass of all begins.
    FirstForward,
    /// The second forward pass of all begins.
    SecondForward,
    /// The first forward pass of a step begins.
    BeforeStep,
    /// Its block is about to run forward.
    BeforeForward,
    /// Its block has run forward.
    AfterForward,
    /// Its module is about to run forward a second time, where the block around it is recomputed.
    BeforeForwardAgain,
    /// Its module is about to run forward a second time, and was gathered ahead.
    TakeAhead,
    /// Its module has run forward a second time.
    AfterForwardAgain,
    /// The unit that ran before it is gathered ahead, on the way back.
    Ahead,
    /// The gradient of its block's output is there.
    BeforeBackward,
    /// Its block has run backward.
    AfterBackward,
    /// A schedule has all of a stage gathered.
    GatherStage,
    /// A schedule waits for a stage that is gathered.
    AwaitStage,
    /// A schedule gives the weights of a stage back.
    GiveStageBack,
    /// All micro-batches have run backward, and gradients were added up on the device until now.
    Reduce,
    /// All micro-batches have run forward and backward, and the step has their losses.
    EndPasses,
    /// The optimizer has updated, and gradients go.
    ZeroGradients,
    /// A step begins.
    BeginStep,
    /// A micro-batch is about to run forward.
    BeginMicroBatch,
    /// All gradients are there, and the norm of each is about to be taken.
    Norms,
    /// The norms of all are there.
    Norm,
    /// The norm of all is there.
    Clip,
    /// The optimizer has updated.
    EndStep,
    /// The first step is logged.
    Log,
    /// A step is over, and names of it go.
    Forget,
}

impl Hook {
    /// How many there are.
    pub const COUNT: usize = Self::Forget as usize + 1;

    /// Whether the unit of the whole model has its turn before those of layers.
    pub const fn is_root_first(self) -> bool {
        matches!(self, Self::FirstForward | Self::BeforeStep)
    }
}

/// When a hook of a module is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleHook {
    /// It is about to run forward; a second time in the backward pass, where it is recomputed.
    BeforeForward {
        /// Whether it is recomputed.
        again: bool,
    },
    /// It has run forward.
    AfterForward {
        /// Whether it was recomputed.
        again: bool,
    },
    /// The gradient of its result is there.
    BeforeBackward,
    /// The gradient of its input is there.
    AfterBackward,
    /// It reads a weight of the module of a number.
    Reads(usize),
}

impl ModuleHook {
    /// The hook of a unit at which it is called, where there is one.
    pub const fn of_unit(self) -> Option<Hook> {
        match self {
            Self::BeforeForward { again: false } => Some(Hook::BeforeForward),
            Self::BeforeForward { again: true } => Some(Hook::BeforeForwardAgain),
            Self::AfterForward { again: false } => Some(Hook::AfterForward),
            Self::AfterForward { again: true } => Some(Hook::AfterForwardAgain),
            Self::BeforeBackward => Some(Hook::BeforeBackward),
            Self::AfterBackward => Some(Hook::AfterBackward),
            Self::Reads(_) => None,
        }
    }
}

/// Weights that an engine gathers together, by what it does with them.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    acts: [Vec<Act>; Hook::COUNT],
}

impl Unit {
    /// What is done at a hook, in order.
    pub fn at(&self, hook: Hook) -> &[Act] {
        &self.acts[hook as usize]
    }

    /// Whether nothing is done at any hook.
    pub fn is_empty(&self) -> bool {
        self.acts.iter().all(Vec::is_empty)
    }

    /// Adds what is done at a hook.
    #[must_use]
    pub fn with(mut self, hook: Hook, acts: impl IntoIterator<Item = Act>) -> Self {
        self.acts[hook as usize].extend(acts);
        self
    }
}

/// What a training program does around the passes of a step.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// What it does at a hook.
    pub unit: Unit,
    /// The norm of a gradient, where it takes them.
    pub norm: Option<TensorId>,
    /// Whether the model is built on the device as this device's part of it alone, which no emptied cache follows, and gradients
    /// go when the next step begins.
    pub builds_parts: bool,
    /// Acts that give the weights of each network that engines divide their first values, when these weights are there.
    pub builds: Vec<Vec<Act>>,
}
