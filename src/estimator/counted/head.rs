//! From the last hidden state to the loss, and back: the tensors with one number per token and
//! vocabulary entry.

use super::Assembly;
use super::forms;
use super::layer::Compute;
use super::moments::Moments;
use super::states::Stage;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{LIGER, MEGATRON, TORCHTITAN, TRANSFORMERS};
use crate::{Expr, Kernels, LossHead, Norm, Scenario, Source};

/// The loss of a stage that has one.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    if !stage.has_head {
        return;
    }
    let compute = Compute::of(scenario.recipe.precision);
    let moments = &stage.moments;
    final_norm(to, scenario, stage, compute);
    let forward = Moments::only(moments.forward);
    let backward = Instants::among(&[moments.loss]);
    let both = moments.around_loss();
    let e = compute.element();
    let mut push = |name, bucket, shape: &'static Expr, bytes, alive, source: &'static Source| {
        to.lines.push(Line { coefficient: bytes, ..Line::new(name, bucket, shape, source, alive) });
    };
    use Bucket::{Activations, Temporary};
    if scenario.model.soft_cap.is_on() && scenario.recipe.loss != LossHead::Fused {
        push("Tanh of the soft-capped logits", Activations, &forms::LOGITS, e, both, &TRANSFORMERS);
    }
    match scenario.recipe.loss {
        // 8 bytes in fp32 and 10 at 16 bits where the forward pass ends, 12 in the backward pass.
        LossHead::Plain => {
            push("Logits", Temporary, &forms::LOGITS, e, forward, &TRANSFORMERS);
            if e < 4.0 {
                push("Logits in fp32", Temporary, &forms::LOGITS, 4.0, forward, &TRANSFORMERS);
            }
            push("Log-softmax of the logits", Activations, &forms::LOGITS, 4.0, both, &TRANSFORMERS);
            push("Gradient of the log-softmax", Temporary, &forms::LOGITS, 4.0, backward, &TRANSFORMERS);
            push("Gradient of the logits", Temporary, &forms::LOGITS, 4.0, backward, &TRANSFORMERS);
        }
        // The shifted logits are a copy of the fp32 ones; their exponentials, the softmax and its
        // gradient follow in the same place.
        LossHead::VocabularyParallel => {
            push("Logits", Activations, &forms::LOGITS, e, forward, &MEGATRON);
            push("Logits in fp32, less their maximum", Temporary, &forms::LOGITS, 4.0, forward, &MEGATRON);
            push("Softmax of the logits, then its gradient", Activations, &forms::LOGITS, 4.0, both, &MEGATRON);
            push("Gradient of the logits", Temporary, &forms::LOGITS, e, backward, &MEGATRON);
        }
        LossHead::Chunked => {
            push("Logits", Activations, &forms::LOGITS, e, both, &TORCHTITAN);
            push("Gradient of the logits", Temporary, &forms::LOGITS, e, backward, &TORCHTITAN);
            push("One chunk in fp32, forward", Temporary, &forms::LOGITS_CHUNK, 8.0, forward, &TORCHTITAN);
            push("One chunk in fp32, backward", Temporary, &forms::LOGITS_CHUNK, 12.0, backward, &TORCHTITAN);
        }
        LossHead::Kernel => {
            push("Logits", Activations, &forms::LOGITS, e, both, &LIGER);
            push("Gradient of the logits", Temporary, &forms::LOGITS, e, backward, &LIGER);
        }
        // The kernel takes as many tokens at a time as make a chunk no larger than the hidden states.
        LossHead::Fused => {
            push("Gradient of the last hidden state", Activations, &forms::RESIDUAL, e, both, &LIGER);
            push("One chunk of logits", Temporary, &forms::RESIDUAL, e + 4.0, both, &LIGER);
            let head = f64::from(scenario.model.vocabulary) * f64::from(scenario.model.hidden) / to.tensor_parallel;
            to.lines.push(Line {
                coefficient: e,
                weights: head,
                ..Line::new(
                    "Head’s gradient, made in the forward pass",
                    Bucket::Gradients,
                    &forms::OWN_WEIGHTS,
                    &LIGER,
                    both,
                )
            });
        }
        LossHead::Classifier => {}
    }
}

/// What the norm before the head and the head's product keep.
fn final_norm(to: &mut Assembly, scenario: &Scenario, stage: &Stage, compute: Compute) {
    let (e, r) = (compute.element(), compute.residual());
    let bytes = match (scenario.recipe.kernels, scenario.model.norm) {
        (Kernels::Fused, _) | (_, Norm::LayerNorm) => r + e,
        (Kernels::Eager, Norm::Plain) => 4.0 + e,
        (Kernels::Eager, Norm::RmsNorm) => 4.0 + r + e,
        (Kernels::Eager, Norm::RmsNormFull) => 8.0 + e,
    };
    to.lines.push(Line {
        coefficient: bytes,
        ..Line::new(
            "Last norm and input of the head",
            Bucket::Activations,
            &forms::RESIDUAL,
            &TRANSFORMERS,
            stage.moments.around_loss(),
        )
    });
}
