//! What a feed-forward block keeps, dense or of experts.

use super::{Layer, Scope};
use crate::estimator::counted::forms::{EXPERT_INNER, EXPERT_RESIDUAL, INNER, SHARED_INNER};
use crate::estimator::counted::fp8;
use crate::estimator::counted::types::Types;
use crate::source::TRANSFORMER_ENGINE;
use crate::{Fp8, Kernels, Mlp, Scenario};

impl Layer<'_> {
    pub(super) fn feed_forward(&mut self) {
        let Types { element: e, inner: put_out, routed, .. } = self.types;
        let source = self.counted_in();
        let inner = inner_bytes(self.scenario, put_out);
        let adapted = self.adapted();
        // The last matrix reads the product; ReLU keeps it by itself.
        let read_by_last = match (self.trained(), self.scenario.model.mlp) {
            (true, _) if self.fp8.is_some() => fp8::inner_read(self.scenario),
            (true, Mlp::Relu) => 0.0,
            (true, _) => e,
            (false, Mlp::Relu) => self.copies_for_adapters(adapted.inner),
            (false, _) => self.for_adapters(adapted.inner, put_out),
        };
        let behind = self.behind_the_activation();
        self.scoped(Scope::Dense, "Inside the feed-forward block", &INNER, inner + read_by_last + behind, source);
        if self.scenario.model.experts.count == 0 {
            return;
        }
        // Frozen, a stack of experts keeps nothing of what it reads, unless adapters are added to it: then it has a gradient.
        // Linear layers do as those of a dense block.
        let linear = self.routes_to_linear_layers();
        let merged = self.scenario.recipe.adapts_stacks(&self.scenario.model);
        let (dispatched, read) = match self.fp8 {
            Some(kept) => (kept, fp8::inner_read(self.scenario)),
            None if self.trained() || merged => (routed, routed),
            None if linear => (self.for_adapters(adapted.mlp, put_out), read_by_last),
            None => (0.0, 0.0),
        };
        let dispatched_by = if self.fp8.is_some() { &TRANSFORMER_ENGINE } else { source };
        let inside = inner_bytes(self.scenario, routed) + read;
        self.scoped(Scope::Expert, "Tokens dispatched to experts", &EXPERT_RESIDUAL, dispatched, dispatched_by);
        self.scoped(Scope::Expert, "Inside the experts", &EXPERT_INNER, inside, source);
        self.scoped(
            Scope::Expert,
            "Outputs of the experts, before they are weighted",
            &EXPERT_RESIDUAL,
            routed,
            source,
        );
        if self.scenario.model.experts.shared_width > 0 {
            let read = if self.trained() { read } else { read_by_last };
            self.scoped(Scope::Expert, "Inside the shared experts", &SHARED_INNER, inner + read, source);
        }
    }
}

/// Bytes an element of width f that a feed-forward block keeps between its matrices, which put out `e` bytes an element,
/// without the input of the last one. Gated: both products and the activation's output, unless it is computed again. Plain:
/// the input of the activation, and of ReLU its output alone. Spelt out in operations GELU keeps three
/// tensors more; under CUDA's autocast its power runs in fp32, so that three of the four are in fp32.
fn inner_bytes(scenario: &Scenario, e: f64) -> f64 {
    let types = Types::of(scenario);
    let fused = scenario.recipe.kernels == Kernels::Fused;
    match scenario.model.mlp {
        Mlp::Gated | Mlp::GatedGeluTanh if scenario.recipe.fp8 == Fp8::DeepSeekV3 => 2.0 * fp8::TILE,
        Mlp::Gated if fused => 2.0 * e,
        Mlp::Gated => 3.0 * e,
        // Four of the GELU, whose power autocast takes in fp32, and both factors of the product.
        Mlp::GatedGeluTanh if types.autocast => 4.0 * 4.0 + 2.0 * e,
        Mlp::GatedGeluTanh => 6.0 * e,
        Mlp::GeluTanh if !fused && types.autocast => 3.0 * 4.0 + e,
        Mlp::GeluTanh if !fused => 4.0 * e,
        Mlp::Relu | Mlp::Gelu | Mlp::GeluTanh => e,
    }
}

/// Tensors of width f, or of the experts' width, whose gradients are alive together in the MLP's
/// backward pass, beyond the product that is freed by then.
pub(in crate::estimator::counted) fn inner_gradients(scenario: &Scenario) -> f64 {
    match scenario.model.mlp {
        // Of gate, its activation and the other factor; the product is gone.
        Mlp::Gated => 2.0,
        Mlp::Gelu | Mlp::Relu => 1.0,
        Mlp::GeluTanh => 2.0,
        Mlp::GatedGeluTanh => 3.0,
    }
}
