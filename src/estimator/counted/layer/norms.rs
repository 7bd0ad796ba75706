//! What the norms of a layer keep, and what the products behind them read.

use super::{Layer, Scope};
use crate::estimator::counted::forms::{RESIDUAL, WHOLE_RESIDUAL};
use crate::estimator::counted::types::Types;
use crate::source::TRANSFORMER_ENGINE;
use crate::{Engine, Fp8, Norm, formula::Expr};

impl Layer<'_> {
    /// The inputs and outputs of the norms. The outputs are the inputs of matrix products.
    pub(super) fn norms(&mut self) {
        let model = &self.scenario.model;
        // Attention to an encoder has a norm of its own.
        let crossing = if self.crosses() { 1.0 } else { 0.0 };
        let norms = f64::from(model.norms) + crossing;
        // One norm before attention and one before the MLP, or one for both; further norms stand
        // behind them and feed no product.
        let before = f64::from(model.norms).min(2.0) + crossing;
        // Side by side, both norms read the same input.
        let shared = if model.parallel.is_on() { (norms - 1.0).max(1.0) } else { norms };
        let source = self.counted_in();
        let Types { element: e, residual: r, autocast, .. } = self.types;
        // Autocast runs LayerNorm in fp32, on a copy of its own where the residual stream has 16 bits.
        let copied = autocast && r < 4.0 && !self.norms_are_kernels && model.norm == Norm::LayerNorm;
        let inputs = if copied { norms } else { shared };
        if self.norms_are_kernels {
            self.push("Inputs of the norms", &RESIDUAL, r * inputs, source);
            return self.outputs_of_norms([e * before; 2]);
        }
        match model.norm {
            Norm::RmsNorm | Norm::RmsNormFull => {
                self.push("Inputs of the norms, in fp32", &RESIDUAL, 4.0 * inputs, source);
                self.push("Inputs of the norms", &RESIDUAL, self.undivided() * inputs, source);
                // The gradient of a norm's weight is what needs them.
                if self.trained() {
                    self.push("Normalized inputs", &RESIDUAL, self.normalized_bytes() * norms, source);
                }
            }
            Norm::LayerNorm => {
                let bytes = if copied { 4.0 } else { r };
                self.push("Inputs of the norms", &RESIDUAL, bytes * inputs, source);
            }
            // `CohereLayerNorm.forward` (models/cohere/modeling_cohere.py, transformers 5.23.0) subtracts the mean twice, for
            // the variance and for the product with the root, and each of both differences is kept; what the weight is
            // multiplied with is kept for its gradient.
            Norm::LayerNormFull => {
                self.push("Centred inputs of the norms, twice, in fp32", &RESIDUAL, 2.0 * 4.0 * norms, source);
                if self.trained() {
                    self.push("Normalized inputs", &RESIDUAL, self.normalized_bytes() * norms, source);
                }
            }
            // OLMo's code takes the norm in fp32, of which it keeps a copy.
            Norm::Plain => self.push("Inputs of the norms, in fp32", &RESIDUAL, 4.0 * inputs, source),
        }
        // Under autocast trained weights are in fp32 and so are the outputs of norms, of which every product makes its own
        // 16-bit copy.
        let [attention, mlp] = [self.attention_products(), self.mlp_products()];
        let read = if autocast { attention + mlp + crossing } else { before };
        // What goes to a stack of experts is picked from the norm itself, and autocast casts it for the router alone.
        let shared = if model.experts.shared_width > 0 { mlp } else { 0.0 };
        let by_experts = if self.types.widens_experts() { attention + 1.0 + shared + crossing } else { read };
        self.outputs_of_norms([read, by_experts].map(|read| e * read));
    }

    /// What products keep of the outputs of norms: so many bytes an element where all weights are trained, in a dense layer
    /// and in one with experts.
    fn outputs_of_norms(&mut self, trained: [f64; 2]) {
        if let Some(kept) = self.fp8 {
            return self.norm_outputs_in_fp8(kept);
        }
        let (name, source) = ("Outputs of the norms, inputs of the products", self.counted_in());
        if self.trained() {
            let [dense, experts] = trained;
            self.scoped(Scope::Dense, name, self.norm_outputs(), dense, source);
            return self.scoped(Scope::Expert, name, self.norm_outputs(), experts, source);
        }
        let linear = self.scenario.model.experts.shared_width > 0 || self.routes_to_linear_layers();
        let of_experts = self.adapted_beside_experts();
        for (scope, adapted, linear) in [(Scope::Dense, self.adapted(), true), (Scope::Expert, of_experts, linear)] {
            let read = |adapted: f64| self.for_adapters(adapted, self.types.inner);
            let read = match (self.scenario.model.norms == 1, linear) {
                (true, _) => read(adapted.attention + adapted.mlp),
                (false, true) => read(adapted.attention) + read(adapted.mlp),
                // No linear layer reads the norm before a stack: its router is none either.
                (false, false) => read(adapted.attention),
            };
            self.scoped(scope, name, self.norm_outputs(), read + self.crossed(adapted.crossing), source);
        }
    }

    /// Each linear layer of Transformer Engine keeps a copy of its own in fp8; the router reads 16 bits. Two matrices of
    /// latent attention read the norm (`ctx.save_for_backward` in transformer_engine/pytorch/module/linear.py and
    /// layernorm_linear.py, d0067d0da6cb).
    fn norm_outputs_in_fp8(&mut self, kept: f64) {
        let shape = self.norm_outputs();
        let attention = match (self.scenario.model.latent.kv_rank > 0, self.fused) {
            (true, _) => 2.0,
            (false, true) => 1.0,
            (false, false) => self.attention_products(),
        };
        let mlp = if self.fused { 1.0 } else { self.mlp_products() };
        let shared = if self.scenario.model.experts.shared_width > 0 { mlp } else { 0.0 };
        let from = self.tensors.len();
        self.push("Outputs of the norms, in fp8 for attention", shape, kept * attention, &TRANSFORMER_ENGINE);
        let name = "Outputs of the norms, in fp8 for the feed-forward block";
        self.scoped(Scope::Dense, name, shape, kept * mlp, &TRANSFORMER_ENGINE);
        self.scoped(Scope::Expert, name, shape, kept * shared, &TRANSFORMER_ENGINE);
        self.scoped(Scope::Expert, "Input of the router", shape, self.types.element, &TRANSFORMER_ENGINE);
        if self.scenario.recipe.fp8 == Fp8::DeepSeekV3 {
            // RMSNorm is computed again (DeepSeek-AI 2024b, section 3.2.3).
            self.again_from(from);
        }
    }

    /// Under sequence parallelism the products read tokens gathered over the group. PyTorch's tensor
    /// parallelism keeps what it gathered (torch/distributed/tensor/parallel/style.py); Megatron-LM keeps
    /// its own part and gathers again (megatron/core/tensor_parallel/layers.py).
    pub(super) fn norm_outputs(&self) -> &'static Expr {
        let cluster = &self.scenario.cluster;
        let gathers_again = matches!(cluster.engine, Engine::Megatron | Engine::DeepSpeed);
        if cluster.sequence_parallel.is_on() && !gathers_again { &WHOLE_RESIDUAL } else { &RESIDUAL }
    }

    /// Bytes of an element that RMSNorm has scaled and not yet weighted.
    pub(super) fn normalized_bytes(&self) -> f64 {
        match self.scenario.model.norm {
            Norm::RmsNormFull | Norm::LayerNormFull => 4.0,
            _ => self.types.residual,
        }
    }
}
