//! What attention keeps.

use super::Layer;
use crate::estimator::counted::forms::{KEYS, OWN_WIDTH, PACKED, QUERIES, ROTARY_QUERIES, ROWS, SCORES};
use crate::estimator::counted::fp8;
use crate::source::{DEEPSEEK, FLASH, Source, TRANSFORMER_ENGINE};
use crate::{AttentionKernel, Fp8, Norm, Position, QkNorm, Scenario, Softmax};

/// Bytes of the score-sized tensors of one layer, per head and pair of tokens: what is kept, and how
/// much one of them takes while its gradient is computed.
pub(in crate::estimator::counted) fn score_bytes(scenario: &Scenario) -> (f64, f64) {
    if scenario.recipe.attention == AttentionKernel::Flash {
        return (0.0, 0.0);
    }
    let layer = Layer::new(scenario);
    let e = layer.types.element;
    // Most families take the softmax in fp32 and cast it back for the product with the values; GPT-2's
    // and Falcon's code takes it in the type of its scores, which autocast makes fp32.
    let in_scores_type = scenario.model.softmax == Softmax::Scores && !layer.types.autocast;
    let softmax = if layer.fused || in_scores_type { e } else { 4.0 };
    let capped = if scenario.model.soft_cap.is_on() { e } else { 0.0 };
    let copy = capped + if softmax == e { 0.0 } else { e };
    let kept = if layer.dropout { softmax + capped + 1.0 + e } else { softmax + copy };
    (kept, softmax)
}

impl Layer<'_> {
    pub(super) fn attention(&mut self) {
        let model = &self.scenario.model;
        let e = self.types.element;
        let latent = model.latent.kv_rank > 0;
        let flash = self.scenario.recipe.attention == AttentionKernel::Flash;
        let packed = model.packs_attention();
        let masked = self.scenario.masks_padding();
        let source: &'static Source = if flash { &FLASH } else { self.counted_in() };
        if model.qk_norm != QkNorm::Off {
            self.query_norms();
        }
        // Rotated queries and keys are new tensors; what is not rotated is a part of the packed product
        // and keeps all of it alive.
        let rotated = model.position.rotates();
        // Falcon's code multiplies with keys and values as they are; where each head has its own, there is nothing to repeat.
        let shares_keys = model.softmax == Softmax::Scores && (packed || model.kv_heads == model.heads);
        if latent {
            self.latent_projections();
            let from = self.tensors.len();
            self.push("Queries, with their rotary part", &ROTARY_QUERIES, e, &DEEPSEEK);
            self.push("Keys, with their rotary part", &ROTARY_QUERIES, e, &DEEPSEEK);
            self.push("Values", &QUERIES, e, &DEEPSEEK);
            if self.scenario.recipe.fp8 == Fp8::DeepSeekV3 {
                self.again_from(from);
            }
        } else if packed && flash && !self.fused {
            self.push("Queries, keys and values, packed", &PACKED, e, source);
            if rotated {
                self.push("Rotated queries", &QUERIES, e, source);
                self.push("Rotated keys", &KEYS, e, source);
            }
        } else {
            self.push("Queries", &QUERIES, e, source);
            // A mask keeps SDPA from sharing keys and values among heads (`use_gqa_in_sdpa` in
            // integrations/sdpa_attention.py, transformers 5.23.0).
            let repeats = masked && model.kv_heads < model.heads;
            if (flash || self.fused || shares_keys) && !repeats {
                self.push("Keys", &KEYS, e, source);
                self.push("Values", &KEYS, e, source);
            } else {
                // The eager code, too, repeats keys and values for every query head before it multiplies.
                self.push("Keys, repeated to n heads", &QUERIES, e, source);
                self.push("Values, repeated to n heads", &QUERIES, e, source);
            }
        }
        self.attention_output(flash, source);
        self.padding(self.scenario);
        if flash {
            self.push("Log-sum-exp of each row", &ROWS, 4.0, source);
        } else {
            let (kept, _) = score_bytes(self.scenario);
            let name = if self.dropout { "Softmax, its dropout and mask" } else { "Softmax of the attention scores" };
            self.push(name, &SCORES, kept, self.counted_in());
            self.holds_scores();
        }
    }

    /// Whether the kernel reads tensors that lie in memory head by head.
    pub(in crate::estimator::counted) fn lies_head_by_head(&self) -> bool {
        // Whisper’s queries, keys and values are copied into that order (`.contiguous()` in
        // transformers/models/whisper/modeling_whisper.py, 5.23.0). The kernel for fp32 puts out tokens in theirs, however
        // the queries lie (`_scaled_dot_product_efficient_attention_cuda` in
        // aten/src/ATen/native/transformers/cuda/attention.cu, 2.15).
        let model = &self.scenario.model;
        let copied = model.position == Position::PartialRotary || model.encoder.mels > 0;
        copied && self.types.element < 4.0 && !self.fused
    }

    /// What attention puts out: the kernel keeps it, and so does the product that reads it. Where a part
    /// of each head is rotated and joined again, queries lie in memory head by head; the kernel's output
    /// lies like them, and the product reads a copy in the order of tokens. Where padding is left out, the output has the
    /// order of tokens.
    fn attention_output(&mut self, flash: bool, source: &'static Source) {
        let e = self.types.element;
        if let Some(kept) = self.fp8 {
            let (output, read) = fp8::attention_output(self.scenario, flash, e, kept);
            self.push("Attention output", &QUERIES, output, source);
            return self.push("Input of the output projection", &QUERIES, read, &TRANSFORMER_ENGINE);
        }
        let adapted = self.adapted().output;
        self.push("Attention output", &QUERIES, if flash { e } else { 0.0 }, source);
        let reordered = !flash || (self.lies_head_by_head() && !self.scenario.lengths.batching.pads());
        let read = match (self.trained(), reordered) {
            (true, true) => e,
            (true, false) => 0.0,
            (false, true) => self.for_adapters(adapted, e),
            (false, false) => self.copies_for_adapters(adapted),
        };
        self.push("Input of the output projection", &QUERIES, read, source);
    }

    /// Norms of queries and keys keep what norms of the residual stream keep, but their outputs are
    /// rotated and not multiplied.
    fn query_norms(&mut self) {
        // Queries come from a product in 16 bits under autocast, and so does what is scaled.
        let normalized = match self.scenario.model.norm {
            _ if !self.trained() => 0.0,
            Norm::RmsNorm if self.types.autocast => 2.0,
            _ => self.normalized_bytes(),
        };
        // LayerNorm spelt out in fp32 keeps its centred input twice.
        let input = if self.scenario.model.norm == Norm::LayerNormFull { 2.0 * 4.0 } else { 4.0 };
        let bytes = if self.norms_are_kernels { self.types.element } else { input + normalized };
        self.push("Inputs of the query norm", &QUERIES, bytes, self.counted_in());
        self.push("Inputs of the key norm", &KEYS, bytes, self.counted_in());
    }

    /// The compressed queries, keys and values and what their norms keep.
    fn latent_projections(&mut self) {
        let latent = self.scenario.model.latent;
        let width = f64::from(latent.query_rank) + f64::from(latent.kv_rank);
        let e = self.types.element;
        let bytes = match (self.fused, self.trained() || self.frozen_keep_inputs()) {
            _ if self.scenario.recipe.fp8 == Fp8::DeepSeekV3 => e,
            (true, true) => e + self.fp8.unwrap_or(e),
            (true, false) => e,
            (false, true) => 4.0 + e + self.fp8.unwrap_or(e),
            (false, false) => 4.0,
        };
        self.push("Compressed queries, keys and values", &OWN_WIDTH, bytes, &DEEPSEEK);
        if let Some(tensor) = self.tensors.last_mut() {
            tensor.width = width;
        }
    }
}
