//! What happens to memory while a step is played, in order.

use crate::estimator::operators::TensorId;

/// The places of a step that a person asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Moment {
    /// The model is built.
    Load,
    /// The model is there, and what building it cached is given back.
    Loaded,
    /// The prompts of what is generated are read.
    Prompt,
    /// Token after token is generated.
    Generate,
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
    /// Training is over, and the model is evaluated.
    Evaluate,
    /// Weights are gathered, written, or merged.
    Checkpoint,
}

impl Moment {
    /// What a reader calls it. Nothing is decided by this text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "building the model",
            Self::Loaded => "model loaded",
            Self::Prompt => "reading prompts",
            Self::Generate => "generating",
            Self::Score => "forward, without gradients",
            Self::Forward => "layers, forward",
            Self::Loss => "loss, forward",
            Self::LossBackward => "loss, backward",
            Self::Backward => "layers, backward",
            Self::Update => "optimizer step",
            Self::End => "end of the step",
            Self::Evaluate => "evaluation",
            Self::Checkpoint => "checkpoint",
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
    pub const GONE: Self = Self(u32::MAX);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}
