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

use super::forms::{
    EXPERT_INNER, EXPERT_RESIDUAL, INNER, KEYS, OWN_WIDTH, QUERIES, RESIDUAL, ROTARY_QUERIES, ROWS, SCORES,
    SHARED_INNER,
};
use crate::source::{DEEPSEEK, FLASH, KORTHIKANTI, Source, TORCHTITAN, TRANSFORMERS};
use crate::{AttentionKernel, Expr, Kernels, Mlp, Norm, Precision, QkNorm, Scenario};

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
}

/// In what the operations of a layer compute: it decides the bytes of nearly everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Compute {
    /// Everything in 16 bits.
    Half,
    /// Matrix products in 16 bits, residual stream and norms in fp32.
    Autocast,
    /// Everything in fp32.
    Full,
}

impl Compute {
    pub(super) const fn of(precision: Precision) -> Self {
        match precision {
            Precision::Fp32 => Self::Full,
            Precision::Autocast => Self::Autocast,
            Precision::Bf16 | Precision::Fp16 | Precision::Mixed | Precision::PureBf16 => Self::Half,
        }
    }

    /// Bytes of an element that goes into a matrix product.
    pub(super) const fn element(self) -> f64 {
        if matches!(self, Self::Full) { 4.0 } else { 2.0 }
    }

    /// Bytes of an element of the residual stream.
    pub(super) const fn residual(self) -> f64 {
        if matches!(self, Self::Half) { 2.0 } else { 4.0 }
    }
}

/// What a layer of `scenario` keeps when nothing is recomputed.
pub(super) fn kept(scenario: &Scenario) -> Vec<Tensor> {
    let mut layer = Layer::new(scenario);
    layer.norms();
    layer.attention();
    layer.feed_forward();
    layer.dropout_masks();
    layer.tensors
}

/// What operator-level selection keeps beside the layer's input: the outputs of every second matrix
/// product, counted in the order in which a layer computes them, and that of attention.
pub(super) fn kept_by_operators(scenario: &Scenario) -> Vec<Tensor> {
    let mut layer = Layer::new(scenario);
    let e = layer.compute.element();
    let source = &TORCHTITAN;
    layer.push("Queries’ product", &QUERIES, e, source);
    layer.push("Values", &KEYS, e, source);
    layer.push("Attention output", &QUERIES, e, source);
    layer.push("Log-sum-exp of each row", &ROWS, 4.0, source);
    let gated = scenario.model.mlp == Mlp::Gated;
    // Queries, keys, values, output, then the matrices of the feed-forward block: the fifth and,
    // where there are three, the seventh are kept.
    layer.scoped(Scope::Dense, "First product of the MLP", &INNER, e, source);
    layer.scoped(Scope::Expert, "First product of the experts", &EXPERT_INNER, e, source);
    if gated {
        layer.push("Last product of the MLP", &RESIDUAL, e, source);
    }
    layer.tensors
}

/// Bytes of the score-sized tensors of one layer, per head and pair of tokens: what is kept, and how
/// much one of them takes while its gradient is computed.
pub(super) fn score_bytes(scenario: &Scenario) -> (f64, f64) {
    if scenario.recipe.attention == AttentionKernel::Flash {
        return (0.0, 0.0);
    }
    let layer = Layer::new(scenario);
    let e = layer.compute.element();
    // GPT-2's code takes the softmax in the type of its scores, which autocast makes fp32; the
    // others always in fp32. What goes into the product with the values is a copy in the products'
    // type, unless the softmax has that type already.
    let softmax = match (layer.fused, layer.spelt_out, layer.compute) {
        (true, _, _) | (_, true, Compute::Half) => e,
        _ => 4.0,
    };
    let capped = if scenario.model.soft_cap.is_on() { e } else { 0.0 };
    let copy = capped + if softmax == e { 0.0 } else { e };
    let kept = if layer.dropout { softmax + capped + 1.0 + e } else { softmax + copy };
    (kept, softmax)
}

struct Layer<'a> {
    scenario: &'a Scenario,
    compute: Compute,
    fused: bool,
    /// GPT-2's code: one packed matrix for queries, keys and values, GELU in eight operations.
    spelt_out: bool,
    dropout: bool,
    tensors: Vec<Tensor>,
}

impl<'a> Layer<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            compute: Compute::of(scenario.recipe.precision),
            fused: scenario.recipe.kernels == Kernels::Fused,
            spelt_out: scenario.model.mlp == Mlp::GeluTanh,
            dropout: scenario.recipe.dropout.is_on(),
            tensors: Vec::with_capacity(24),
        }
    }

    fn push(&mut self, name: &'static str, shape: &'static Expr, bytes: f64, source: &'static Source) {
        self.scoped(Scope::Every, name, shape, bytes, source);
    }

    fn scoped(&mut self, scope: Scope, name: &'static str, shape: &'static Expr, bytes: f64, source: &'static Source) {
        if bytes > 0.0 {
            self.tensors.push(Tensor { name, shape, bytes, source, scope, width: 1.0, scores: false });
        }
    }

    fn counted_in(&self) -> &'static Source {
        if self.fused { &KORTHIKANTI } else { &TRANSFORMERS }
    }

    /// The inputs and outputs of the norms. The outputs are the inputs of matrix products.
    fn norms(&mut self) {
        let model = &self.scenario.model;
        let norms = f64::from(model.norms);
        // One norm before attention and one before the MLP, or one for both; further norms stand
        // behind them and feed no product.
        let before = norms.min(2.0);
        let source = self.counted_in();
        let (e, r) = (self.compute.element(), self.compute.residual());
        if self.fused {
            self.push("Inputs of the norms", &RESIDUAL, r * norms, source);
            self.push("Outputs of the norms, inputs of the products", &RESIDUAL, e * before, source);
            return;
        }
        // Under autocast every product makes its own 16-bit copy of its input.
        let copies = match self.compute {
            Compute::Autocast => self.products_fed(),
            Compute::Half | Compute::Full => before,
        };
        match model.norm {
            Norm::RmsNorm | Norm::RmsNormFull => {
                self.push("Inputs of the norms, in fp32", &RESIDUAL, 4.0 * norms, source);
                self.push("Normalized inputs", &RESIDUAL, self.normalized_bytes() * norms, source);
            }
            Norm::LayerNorm => self.push("Inputs of the norms", &RESIDUAL, r * norms, source),
            // OLMo's code takes the norm in fp32, of which it keeps a copy.
            Norm::Plain => self.push("Inputs of the norms, in fp32", &RESIDUAL, 4.0 * norms, source),
        }
        self.push("Outputs of the norms, inputs of the products", &RESIDUAL, e * copies, source);
    }

    /// Bytes of an element that RMSNorm has scaled and not yet weighted.
    fn normalized_bytes(&self) -> f64 {
        if self.scenario.model.norm == Norm::RmsNormFull { 4.0 } else { self.compute.residual() }
    }

    /// Matrix products that read the output of a norm: queries, keys and values, packed into one in
    /// GPT-2's code, and the first of the MLP, two where it is gated.
    fn products_fed(&self) -> f64 {
        let attention = if self.spelt_out { 1.0 } else { 3.0 };
        attention + if self.scenario.model.mlp == Mlp::Gated { 2.0 } else { 1.0 }
    }

    fn attention(&mut self) {
        let model = &self.scenario.model;
        let e = self.compute.element();
        let latent = model.latent.kv_rank > 0;
        let flash = self.scenario.recipe.attention == AttentionKernel::Flash;
        let source: &'static Source = if flash { &FLASH } else { self.counted_in() };
        if model.qk_norm != QkNorm::Off {
            self.query_norms();
        }
        if latent {
            self.latent_projections();
            self.push("Queries, with their rotary part", &ROTARY_QUERIES, e, &DEEPSEEK);
            self.push("Keys, with their rotary part", &ROTARY_QUERIES, e, &DEEPSEEK);
            self.push("Values", &QUERIES, e, &DEEPSEEK);
        } else if flash || self.fused {
            self.push("Queries", &QUERIES, e, source);
            self.push("Keys", &KEYS, e, source);
            self.push("Values", &KEYS, e, source);
        } else {
            // The eager code repeats keys and values for every query head before it multiplies.
            self.push("Queries", &QUERIES, e, source);
            self.push("Keys, repeated to n heads", &QUERIES, e, source);
            self.push("Values, repeated to n heads", &QUERIES, e, source);
        }
        self.push("Attention output", &QUERIES, e, source);
        if flash {
            self.push("Log-sum-exp of each row", &ROWS, 4.0, source);
        } else {
            let (kept, _) = score_bytes(self.scenario);
            let name = if self.dropout { "Softmax, its dropout and mask" } else { "Softmax of the attention scores" };
            self.push(name, &SCORES, kept, self.counted_in());
            if let Some(tensor) = self.tensors.last_mut() {
                tensor.scores = true;
            }
        }
    }

    /// Norms of queries and keys keep what norms of the residual stream keep, but their outputs are
    /// rotated and not multiplied.
    fn query_norms(&mut self) {
        // Under autocast queries come from a product in 16 bits, and so does what is scaled.
        let normalized = match self.compute {
            Compute::Autocast if self.scenario.model.norm == Norm::RmsNorm => 2.0,
            _ => self.normalized_bytes(),
        };
        let bytes = if self.fused { self.compute.element() } else { 4.0 + normalized };
        self.push("Inputs of the query norm", &QUERIES, bytes, self.counted_in());
        self.push("Inputs of the key norm", &KEYS, bytes, self.counted_in());
    }

    /// The compressed queries, keys and values and what their norms keep.
    fn latent_projections(&mut self) {
        let latent = self.scenario.model.latent;
        let width = f64::from(latent.query_rank) + f64::from(latent.kv_rank);
        let bytes = if self.fused { 2.0 * self.compute.element() } else { 4.0 + 2.0 * self.compute.element() };
        self.push("Compressed queries, keys and values", &OWN_WIDTH, bytes, &DEEPSEEK);
        if let Some(tensor) = self.tensors.last_mut() {
            tensor.width = width;
        }
    }

    fn feed_forward(&mut self) {
        let e = self.compute.element();
        let source = self.counted_in();
        let tensors = inner_tensors(self.scenario);
        self.scoped(Scope::Dense, "Inside the feed-forward block", &INNER, tensors * e, source);
        if self.scenario.model.experts.count == 0 {
            return;
        }
        self.scoped(Scope::Expert, "Tokens dispatched to experts", &EXPERT_RESIDUAL, e, source);
        self.scoped(Scope::Expert, "Inside the experts", &EXPERT_INNER, tensors * e, source);
        self.scoped(Scope::Expert, "Outputs of the experts, before they are weighted", &EXPERT_RESIDUAL, e, source);
        if self.scenario.model.experts.shared_width > 0 {
            self.scoped(Scope::Expert, "Inside the shared experts", &SHARED_INNER, tensors * e, source);
        }
    }

    /// One byte for each element behind attention and behind the MLP.
    fn dropout_masks(&mut self) {
        if self.dropout {
            self.push("Masks of the residual dropouts", &RESIDUAL, 2.0, &KORTHIKANTI);
        }
    }
}

/// Tensors of width f that a feed-forward block keeps. Gated: both products, the activation's output
/// unless it is computed again, and the product of the two. Plain: input and output of the activation;
/// spelt out in GPT-2's code it keeps three more.
pub(super) fn inner_tensors(scenario: &Scenario) -> f64 {
    let fused = scenario.recipe.kernels == Kernels::Fused;
    match (scenario.model.mlp, fused) {
        (Mlp::Gated, true) => 3.0,
        (Mlp::Gated, false) => 4.0,
        (Mlp::GeluTanh, false) => 5.0,
        (Mlp::Gelu | Mlp::GeluTanh, _) => 2.0,
    }
}

/// Tensors of width f, or of the experts' width, whose gradients are alive together in the MLP's
/// backward pass, beyond the product that is freed by then.
pub(super) fn inner_gradients(scenario: &Scenario) -> f64 {
    match scenario.model.mlp {
        // Of gate, its activation and the other factor; the product is gone.
        Mlp::Gated => 2.0,
        Mlp::Gelu => 1.0,
        Mlp::GeluTanh => 2.0,
    }
}
