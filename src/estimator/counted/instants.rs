//! The instants of a step at which memory is counted.
//!
//! Between two of them memory changes in one direction, or in a straight line over identical
//! layers, so that the highest lies at one of them.

use crate::estimator::ledger::{Instant, Instants};

/// Where the instants of one pipeline stage stand in the ledger's list.
#[derive(Clone, Copy)]
pub(super) struct StageInstants {
    /// All layers have run and the loss is being computed, or the first backward pass is due.
    pub(super) forward: usize,
    /// The backward pass of the loss; only the last stage has one.
    pub(super) loss: Option<usize>,
    /// Backward pass of the stage's last layer.
    pub(super) last: usize,
    /// Backward pass of the stage's first layer.
    pub(super) first: usize,
    /// Every gradient is there.
    pub(super) end: usize,
    /// The optimizer updates the weights.
    pub(super) step: usize,
}

/// The only stage, or the last of several.
pub(super) const LAST_STAGE: StageInstants =
    StageInstants { forward: 0, loss: Some(1), last: 2, first: 3, end: 4, step: 5 };
/// The first of several stages.
pub(super) const FIRST_STAGE: StageInstants = StageInstants::behind_the_last(0);
/// The second of three stages or more.
pub(super) const SECOND_STAGE: StageInstants = StageInstants::behind_the_last(1);
/// The first of the stages between that has more layers with experts than the second, and the first of them that
/// has as many as any.
pub(super) const FURTHER_STAGES: [StageInstants; 2] =
    [StageInstants::behind_the_last(2), StageInstants::behind_the_last(3)];

impl StageInstants {
    /// Stages without a loss have five instants each, one stage after the other behind those of the last.
    const fn behind_the_last(nth: usize) -> Self {
        let forward = LAST_STAGE.step + 1 + 5 * nth;
        Self { forward, loss: None, last: forward + 1, first: forward + 2, end: forward + 3, step: forward + 4 }
    }

    /// From the end of the forward pass to the last layer's backward pass.
    pub(super) fn all_layers_kept(&self) -> Instants {
        Instants::among(&[Some(self.forward), self.loss, Some(self.last)])
    }

    /// The computation of the loss, there and back.
    pub(super) fn around_loss(&self) -> Instants {
        Instants::among(&[Some(self.forward), self.loss])
    }

    /// While some layer runs backward.
    pub(super) fn in_backward(&self) -> Instants {
        Instants::at(&[self.last, self.first])
    }

    /// Until the backward pass has ended.
    pub(super) fn in_passes(&self) -> Instants {
        self.all_layers_kept().or(self.in_backward())
    }

    /// The whole step.
    pub(super) fn always(&self) -> Instants {
        self.in_passes().or(Instants::at(&[self.end, self.step]))
    }

    /// One instant.
    pub(super) fn only(position: usize) -> Instants {
        Instants::at(&[position])
    }
}

macro_rules! instants {
    ($(in $stage:literal { $($name:literal, $meaning:literal;)+ })+) => {
        &[$($(Instant { name: $name, meaning: $meaning, stage: $stage },)+)+]
    };
}

/// The instants of a run without pipeline.
pub(super) static ONE_STAGE: &[Instant] = instants! {
    in "" {
        "loss, forward", "Every layer’s activations are kept and the loss is being computed from the logits.";
        "loss, backward", "Every layer’s activations are kept and the gradient of the logits is being computed.";
        "backward, last layer", "Every layer’s activations are kept and the last layer’s gradients are being computed.";
        "backward, first layer", "Nearly all gradients are there and the first layer’s are being computed.";
        "end of backward", "Every gradient is there, the embedding’s just now.";
        "optimizer step", "Weights are updated from gradients and optimizer state; no activation is left.";
    }
};

/// The instants of a pipeline: its last stage, its first, and its second, of which those between second and last
/// keep fewer micro-batches. Where dense layers reach beyond the second stage, later ones hold other layers, and
/// up to two of those are counted as well.
pub(super) static STAGES: &[Instant] = instants! {
    in "last" {
        "last stage: loss, forward", "The last stage’s activations are kept and the loss is being computed.";
        "last stage: loss, backward", "The last stage’s activations are kept and the gradient of the logits is computed.";
        "last stage: backward, last layer", "The last layer’s gradients are being computed.";
        "last stage: backward, first layer", "The gradients of the last stage’s first layer are being computed.";
        "last stage: end of backward", "Every gradient of the last stage is there.";
        "last stage: optimizer step", "The last stage’s weights are updated.";
    }
    in "first" {
        "first stage: pipeline full", "The first stage keeps the activations of every micro-batch on its way.";
        "first stage: backward, last layer", "The first stage’s first backward pass begins.";
        "first stage: backward, first layer", "The first stage’s first backward pass ends.";
        "first stage: end of backward", "Every gradient of the first stage is there, the embedding’s just now.";
        "first stage: optimizer step", "The first stage’s weights are updated.";
    }
    in "second" {
        "second stage: pipeline full", "The second stage keeps the activations of every micro-batch on its way.";
        "second stage: backward, last layer", "The second stage’s first backward pass begins.";
        "second stage: backward, first layer", "The second stage’s first backward pass ends.";
        "second stage: end of backward", "Every gradient of the second stage is there.";
        "second stage: optimizer step", "The second stage’s weights are updated.";
    }
    in "more-experts" {
        "stage with more experts: pipeline full", "A stage with more experts than the second keeps the activations of every micro-batch on its way.";
        "stage with more experts: backward, last layer", "The first backward pass of a stage with more experts than the second begins.";
        "stage with more experts: backward, first layer", "The first backward pass of a stage with more experts than the second ends.";
        "stage with more experts: end of backward", "Every gradient of a stage with more experts than the second is there.";
        "stage with more experts: optimizer step", "The weights of a stage with more experts than the second are updated.";
    }
    in "most-experts" {
        "stage with most experts: pipeline full", "The first stage with the most experts keeps the activations of every micro-batch on its way.";
        "stage with most experts: backward, last layer", "The first backward pass of the first stage with the most experts begins.";
        "stage with most experts: backward, first layer", "The first backward pass of the first stage with the most experts ends.";
        "stage with most experts: end of backward", "Every gradient of the first stage with the most experts is there.";
        "stage with most experts: optimizer step", "The weights of the first stage with the most experts are updated.";
    }
};

/// The instants of so many counted stages.
pub(super) fn instants_of(counted: usize) -> &'static [Instant] {
    match counted {
        0 | 1 => ONE_STAGE,
        _ => &STAGES[..STAGES.len().min(1 + 5 * counted)],
    }
}
