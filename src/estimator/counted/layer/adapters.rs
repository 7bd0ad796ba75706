//! What adapters beside the matrices of a layer keep.

use super::{Layer, Scope};
use crate::estimator::counted::forms::{
    EXPERT_INNER, EXPERT_RANKS, EXPERT_RESIDUAL, INNER, QUERIES, RANKS, SHARED_INNER, SOURCE_RANKS, SOURCE_RESIDUAL,
};
use crate::estimator::counted::types::{InputOf, Types};
use crate::source::{LLM_INT8, PEFT};
use crate::{Adapter, AdapterTargets, ExpertMatrices};

/// Adapted matrices of a layer, by what they read.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::estimator::counted) struct Adapted {
    /// The norm before attention.
    pub(super) attention: f64,
    /// The attention output.
    pub(in crate::estimator::counted) output: f64,
    /// The norm before attention to an encoder.
    pub(super) crossing: f64,
    /// The encoder’s output.
    pub(in crate::estimator::counted) source: f64,
    /// What goes into a feed-forward block, or into an expert.
    pub(super) mlp: f64,
    /// The inner product of either.
    pub(super) inner: f64,
}

impl Layer<'_> {
    pub(in crate::estimator::counted) fn adapted(&self) -> Adapted {
        let projections = self.attention_products();
        let fed = if self.scenario.model.joins_gate() { 1.0 } else { self.mlp_products() };
        let crossing = if self.crosses() { 1.0 } else { 0.0 };
        let none = Adapted { crossing, source: 2.0 * crossing, ..Adapted::default() };
        match (self.inputs, self.scenario.recipe.targets) {
            (InputOf::Trained, _) => Adapted::default(),
            (_, AdapterTargets::QueryValue) => Adapted { attention: projections.min(2.0), source: crossing, ..none },
            (_, AdapterTargets::Attention) => Adapted { attention: projections, output: 1.0, ..none },
            // The names of feed-forward matrices are taken for those of stacks.
            (_, AdapterTargets::All) if self.scenario.recipe.stacks_experts(&self.scenario.model) => {
                Adapted { attention: projections, output: 1.0, ..none }
            }
            (_, AdapterTargets::All) => Adapted { attention: projections, output: 1.0, mlp: fed, inner: 1.0, ..none },
        }
    }

    /// Adapted matrices of a layer with experts but for those of routed ones: experts that every token visits have the
    /// same matrices as a dense block.
    pub(super) fn adapted_beside_experts(&self) -> Adapted {
        let adapted = self.adapted();
        if self.scenario.model.experts.shared_width > 0 { adapted } else { Adapted { mlp: 0.0, inner: 0.0, ..adapted } }
    }

    /// Whether routed experts are linear layers, which are quantized and adapted like all others.
    pub(super) fn routes_to_linear_layers(&self) -> bool {
        self.scenario.recipe.expert_matrices == ExpertMatrices::Linear
    }

    /// What adapters keep of the norm before attention to an encoder.
    pub(super) fn crossed(&self, adapted: f64) -> f64 {
        if self.crosses() { self.for_adapters(adapted, self.types.inner) } else { 0.0 }
    }

    /// Whether frozen products keep what they read: LLM.int8's do (`ctx.tensors` of `MatMul8bitLt` in
    /// bitsandbytes/autograd/_functions.py, 95f9af309d4d), in the type in which it comes; those in 4 bits do not
    /// (`MatMul4Bit` there).
    pub(super) fn frozen_keep_inputs(&self) -> bool {
        self.scenario.recipe.adapter == Adapter::Lora8
    }

    /// What frozen 8-bit products keep of a layer that is computed again. They keep it as attributes of their `ctx`, not
    /// through `save_for_backward`, so that no checkpoint without re-entry knows of it or lets go of it
    /// (torch/utils/checkpoint.py, `_checkpoint_without_reentrant_generator`, hooks saved tensors alone).
    pub(super) fn held_by_frozen(&mut self) {
        if !self.frozen_keep_inputs() {
            return;
        }
        let Types { element: e, inner: put_out, .. } = self.types;
        let experts = &self.scenario.model.experts;
        let (norms, routed) = (self.norm_outputs(), self.routes_to_linear_layers());
        let crossing = if self.crosses() { 1.0 } else { 0.0 };
        for (scope, linear) in [(Scope::Dense, true), (Scope::Expert, routed || experts.shared_width > 0)] {
            let read = if linear && self.scenario.model.norms > 1 { 2.0 } else { 1.0 };
            self.scoped(scope, "8-bit products’ inputs from the norms", norms, put_out * (read + crossing), &LLM_INT8);
        }
        let outputs = e * (1.0 + crossing);
        self.push("8-bit products’ inputs from attention", &QUERIES, outputs, &LLM_INT8);
        self.scoped(Scope::Dense, "8-bit products’ inputs in the MLP", &INNER, put_out, &LLM_INT8);
        let shared = if experts.shared_width > 0 { put_out } else { 0.0 };
        self.scoped(Scope::Expert, "8-bit products’ inputs in the shared experts", &SHARED_INNER, shared, &LLM_INT8);
        let routed = if routed { put_out } else { 0.0 };
        self.scoped(Scope::Expert, "8-bit products’ inputs of the experts", &EXPERT_RESIDUAL, routed, &LLM_INT8);
        self.scoped(Scope::Expert, "8-bit products’ inputs in the experts", &EXPERT_INNER, routed, &LLM_INT8);
    }

    /// Bytes an element that frozen matrices and `adapted` adapters keep of the tensor they read, in which an element has
    /// `read` bytes, where nothing else does.
    pub(in crate::estimator::counted) fn for_adapters(&self, adapted: f64, read: f64) -> f64 {
        if self.frozen_keep_inputs() {
            return read + self.copies_for_adapters(adapted);
        }
        match self.inputs {
            InputOf::Trained => 0.0,
            InputOf::SharedAdapter => self.types.element * adapted.min(1.0),
            InputOf::OwnCopy(bytes) => bytes * adapted,
        }
    }

    /// The same of a tensor that is kept anyway, so that only copies add to it.
    pub(in crate::estimator::counted) fn copies_for_adapters(&self, adapted: f64) -> f64 {
        if let InputOf::OwnCopy(bytes) = self.inputs { bytes * adapted } else { 0.0 }
    }

    /// What the first of the two thin matrices puts out, which the second reads, and a byte for each element
    /// that a dropout before them has passed or not.
    pub(super) fn adapters(&mut self) {
        let beside = [(Scope::Dense, self.adapted()), (Scope::Expert, self.adapted_beside_experts())];
        let Adapted { output, source, mlp, inner, .. } = self.adapted();
        let output = if self.crosses() { 2.0 * output } else { output };
        let bytes = match self.inputs {
            InputOf::OwnCopy(bytes) => bytes,
            _ => self.types.element,
        };
        let name = "Outputs of the adapters’ first matrices";
        for (scope, Adapted { attention, mlp, inner, crossing, .. }) in beside {
            self.scoped(scope, name, &RANKS, bytes * (attention + output + mlp + inner + crossing), &PEFT);
        }
        self.push("Outputs of first matrices over the encoder’s output", &SOURCE_RANKS, bytes * source, &PEFT);
        let routed = if self.routes_to_linear_layers() { 1.0 } else { 0.0 };
        let name = "Outputs of the adapters’ first matrices, in experts";
        self.scoped(Scope::Expert, name, &EXPERT_RANKS, routed * bytes * (mlp + inner), &PEFT);
        if self.scenario.recipe.adapter_dropout.is_on() {
            let norms = self.norm_outputs();
            let name = "Masks of the adapters’ dropout, behind the norms";
            for (scope, Adapted { attention, mlp, crossing, .. }) in beside {
                self.scoped(scope, name, norms, attention + mlp + crossing, &PEFT);
            }
            self.push("Masks of the adapters’ dropout, behind the encoder", &SOURCE_RESIDUAL, source, &PEFT);
            self.push("Masks of the adapters’ dropout, behind attention", &QUERIES, output, &PEFT);
            let name = "Masks of the adapters’ dropout, inside the block";
            self.scoped(Scope::Dense, name, &INNER, inner, &PEFT);
            let [_, (scope, shared)] = beside;
            self.scoped(scope, name, &SHARED_INNER, shared.inner, &PEFT);
            let name = "Masks of the adapters’ dropout, before and inside experts";
            self.scoped(scope, name, &EXPERT_RESIDUAL, routed * mlp, &PEFT);
            self.scoped(scope, name, &EXPERT_INNER, routed * inner, &PEFT);
        }
    }
}
