//! What a training program does outside its step, each of it off until it is asked for.

use serde::Serialize;

use super::Scenario;
use super::choice::{Evaluation, Gather, Gathered, Load, Merge, Resume, Save, Switch};

/// The instants outside the training step that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// Whether the model is evaluated, and what is kept of it.
    pub evaluation: Evaluation,
    /// Sequences of a pass of the evaluation; 0 for the micro-batch.
    pub eval_batch: u32,
    /// Sequences of the evaluation set.
    pub eval_sequences: u32,
    /// Batches after which kept logits go to CPU memory; 0 for never.
    pub eval_steps: u32,
    /// Whether the evaluation generates.
    pub eval_generate: Switch,
    /// Tokens that an evaluation generates at the end of each sequence; 0 for all of them.
    pub eval_tokens: u32,
    /// Where a full state dict is gathered.
    pub gather: Gather,
    /// What of the states is gathered.
    pub gathered: Gathered,
    /// How a checkpoint is written.
    pub save: Save,
    /// How weights are read.
    pub load: Load,
    /// How the optimizer's state is read.
    pub resume: Resume,
    /// How adapters are merged.
    pub merge: Merge,
}

impl Outside {
    /// Nothing but the step. The numbers are those of transformers 5.23.0 (`per_device_eval_batch_size` and
    /// `eval_accumulation_steps` in transformers/training_args.py) and a small evaluation set.
    pub const OFF: Self = Self {
        evaluation: Evaluation::Off,
        eval_batch: 8,
        eval_sequences: 128,
        eval_steps: 0,
        eval_generate: Switch::Off,
        eval_tokens: 0,
        gather: Gather::Off,
        gathered: Gathered::Weights,
        save: Save::Off,
        load: Load::Off,
        resume: Resume::Off,
        merge: Merge::Off,
    };

    /// Whether anything outside the step is counted.
    pub const fn is_on(&self) -> bool {
        !matches!(
            self,
            Self {
                evaluation: Evaluation::Off,
                gather: Gather::Off,
                save: Save::Off,
                load: Load::Off,
                resume: Resume::Off,
                merge: Merge::Off,
                ..
            }
        )
    }

    /// Whether an evaluation generates.
    pub fn generates(&self) -> bool {
        self.evaluation != Evaluation::Off && self.eval_generate.is_on()
    }
}

impl Scenario {
    /// Whether no device has all weights of the model.
    pub fn divides_weights(&self) -> bool {
        super::counted::outside::divides_weights(self)
    }
}
