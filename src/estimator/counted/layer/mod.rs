//! What one layer keeps from its forward pass for its backward pass, tensor by tensor.
//!
//! Two accounts are kept apart because they differ by half for the same model:
//!
//! * **Eager framework operations**, counted in the model classes of Hugging Face transformers
//!   5.23.0. With H, n·d, k·d and f as widths, and bytes per token, a Llama layer under flash
//!   attention keeps 16H + 4nd + 4kd + 8f in bf16, 26H + 4nd + 4kd + 8f under autocast (and a bf16
//!   copy of its weights) and 24H + 8nd + 8kd + 16f in fp32; a GPT-2 layer 16H + 10f in bf16. Eager
//!   attention repeats keys and values to n heads and keeps 6nS more, 4nS in fp32.
//! * **Fused kernels**, as Korthikanti et al. 2022 count a GPT layer: 34 bytes per element of the
//!   hidden state with dropout, 32 without, and three tensors of width f for a gated block.
//!
//! Beside adapters a matrix is frozen, and what only its gradient would need is not kept, but by products in
//! 8 bits.

mod adapters;
mod attention;
mod feed_forward;
mod norms;

pub(super) use attention::score_bytes;
pub(super) use feed_forward::inner_gradients;

use super::forms::{EXPERT_INNER, INNER, RESIDUAL};
use super::fp8;
use super::types::{InputOf, Types, norms_are_kernels};
use crate::source::{DEEPSEEK_V3, KORTHIKANTI, Source, TRANSFORMERS};
use crate::{Kernels, Scenario, formula::Expr};

/// In which layers a tensor occurs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scope {
    /// In all of them.
    Every,
    /// In those with a dense feed-forward block.
    Dense,
    /// In those with experts.
    Expert,
}

/// One tensor, or several of one kind, that a layer keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor {
    pub(super) name: &'static str,
    pub(super) shape: &'static Expr,
    pub(super) bytes: f64,
    pub(super) source: &'static Source,
    pub(super) scope: Scope,
    /// Elements of a width that no symbol names.
    pub(super) width: f64,
    /// Whether it holds attention scores, which selective recomputation leaves out.
    pub(super) scores: bool,
    /// Whether it is computed again whatever else is.
    pub(super) again: bool,
}

impl Tensor {
    /// Whether it lies inside the feed-forward block, which a recomputed layer has let go of before its
    /// attention runs backward.
    pub(super) fn is_inner(&self) -> bool {
        std::ptr::eq(self.shape, &INNER) || std::ptr::eq(self.shape, &EXPERT_INNER)
    }
}

/// What a layer of `scenario` keeps when nothing is recomputed.
pub(super) fn kept(scenario: &Scenario) -> Vec<Tensor> {
    let mut layer = Layer::new(scenario);
    layer.norms();
    layer.attention();
    layer.position_bias();
    layer.cross_attention();
    layer.feed_forward();
    layer.dropout_masks();
    layer.adapters();
    layer.tensors
}

/// What a layer of `scenario` keeps of its forward pass though it is computed again, beside its input: nothing but for
/// products in 8 bits.
pub(super) fn held(scenario: &Scenario) -> Vec<Tensor> {
    let mut layer = Layer::new(scenario);
    layer.held_by_frozen();
    layer.tensors
}

pub(super) struct Layer<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) types: Types,
    inputs: InputOf,
    fused: bool,
    /// Whether a norm is one operation, which keeps its input once.
    norms_are_kernels: bool,
    pub(super) dropout: bool,
    /// Bytes an element that a product keeps of its input, where it runs in fp8.
    fp8: Option<f64>,
    tensors: Vec<Tensor>,
}

impl<'a> Layer<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            types: Types::of(scenario),
            inputs: InputOf::of(scenario),
            fused: scenario.recipe.kernels == Kernels::Fused,
            norms_are_kernels: norms_are_kernels(scenario),
            dropout: scenario.recipe.dropout.is_on(),
            fp8: fp8::input_bytes(scenario),
            tensors: Vec::with_capacity(24),
        }
    }

    pub(super) fn push(&mut self, name: &'static str, shape: &'static Expr, bytes: f64, source: &'static Source) {
        self.scoped(Scope::Every, name, shape, bytes, source);
    }

    pub(super) fn scoped(
        &mut self,
        scope: Scope,
        name: &'static str,
        shape: &'static Expr,
        bytes: f64,
        source: &'static Source,
    ) {
        if bytes > 0.0 {
            self.tensors.push(Tensor { name, shape, bytes, source, scope, width: 1.0, scores: false, again: false });
        }
    }

    pub(super) fn into_tensors(self) -> Vec<Tensor> {
        self.tensors
    }

    fn counted_in(&self) -> &'static Source {
        if self.fused { &KORTHIKANTI } else { &TRANSFORMERS }
    }

    pub(super) fn trained(&self) -> bool {
        self.inputs == InputOf::Trained
    }

    /// The last tensor is one of attention scores.
    pub(super) fn holds_scores(&mut self) {
        if let Some(tensor) = self.tensors.last_mut() {
            tensor.scores = true;
        }
    }

    /// Products that read the norm before attention: one where queries, keys and values are packed.
    fn attention_products(&self) -> f64 {
        if self.scenario.model.packs_attention() { 1.0 } else { 3.0 }
    }

    /// Products that read the norm before the feed-forward block.
    fn mlp_products(&self) -> f64 {
        if self.scenario.model.mlp.is_gated() { 2.0 } else { 1.0 }
    }

    /// What was pushed since is computed again in the backward pass.
    fn again_from(&mut self, from: usize) {
        for tensor in self.tensors.iter_mut().skip(from) {
            (tensor.again, tensor.source) = (true, &DEEPSEEK_V3);
        }
    }

    /// One byte for each element behind attention and behind the MLP.
    fn dropout_masks(&mut self) {
        if self.dropout {
            let masks = if self.crosses() { 3.0 } else { 2.0 };
            self.push("Masks of the residual dropouts", &RESIDUAL, masks, &KORTHIKANTI);
        }
    }
}
