//! What lengths that vary add to a step: masks, positions, and what attention makes of them.
//!
//! Counted in transformers 5.23.0 (data/data_collator.py, masking_utils.py, modeling_flash_attention_utils.py and
//! integrations/sdpa_attention.py), trl 1.10.0 (trainer/sft_trainer.py) and PyTorch 2.15, and seen in runs of them
//! (tests/vectors/README.md).

use super::Assembly;
use super::forms::{INDICES, MASK, QUERIES, TOKENS};
use super::layer::Layer;
use super::stage::Stage;
use crate::estimator::ledger::{Bucket, Line};
use crate::source::{PYTORCH, TRANSFORMERS};
use crate::{AttentionKernel, Batching, PaddedAttention, Scenario};

/// What a collator gives beside ids and labels, and the mask of pairs that is made of it.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let at = &stage.at;
    let mut push = |name, bucket, coefficient, shape, alive| {
        to.lines.push(Line { coefficient, ..Line::new(name, bucket, shape, &TRANSFORMERS, alive) });
    };
    match scenario.lengths.batching {
        Batching::Equal => {}
        // 64-bit whole numbers, as ids and labels are.
        Batching::Flattened | Batching::Packed => {
            push("Positions within documents", Bucket::Batch, 8.0, &TOKENS, at.in_passes());
        }
        Batching::Padded | Batching::Bucketed => {
            push("Padding mask", Bucket::Batch, 8.0, &TOKENS, at.in_passes());
            if scenario.masks_padding() && stage.recomputed_part(scenario) > 0.0 {
                // A byte a pair, once for all layers (`sdpa_mask` in masking_utils.py). Those that are computed again
                // hold on to it; otherwise it is gone with the forward pass.
                push("Attention mask of every pair", Bucket::Activations, 1.0, &MASK, at.in_passes());
            }
        }
    }
}

impl Layer<'_> {
    /// What attention keeps because sequences are padded.
    ///
    /// SDPA casts a mask to the type of the queries in each layer (`convert_boolean_attn_mask` in
    /// aten/src/ATen/native/transformers/attention.cpp), and its kernel keeps the result. The package flash-attn puts
    /// its output back among the padding (`_pad_input` in modeling_flash_attention_utils.py), and keeps it without.
    pub(super) fn padding(&mut self, scenario: &Scenario) {
        if scenario.masks_padding() {
            self.push("Attention mask in the type of the queries", &MASK, self.types.element, &PYTORCH);
        } else if unpads(scenario) {
            self.push("Attention output, without padding", &QUERIES, self.types.element, &TRANSFORMERS);
            self.push("Places of tokens among padding", &INDICES, 8.0, &TRANSFORMERS);
        }
    }
}

/// Whether padding is taken out before the kernel.
fn unpads(scenario: &Scenario) -> bool {
    let lengths = &scenario.lengths;
    scenario.recipe.attention == AttentionKernel::Flash
        && lengths.attention == PaddedAttention::Unpadded
        && lengths.batching.pads()
}
