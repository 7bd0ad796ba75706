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

use super::forms::{
    EXPERT_INNER, EXPERT_RESIDUAL, INNER, KEYS, OWN_WIDTH, PACKED, QUERIES, RANKS, RESIDUAL, ROTARY_QUERIES, ROWS,
    SCORES, SHARED_INNER, SOURCE_RANKS, SOURCE_RESIDUAL, WHOLE_RESIDUAL,
};
use super::fp8;
use super::types::{InputOf, Types};
use crate::source::{DEEPSEEK, DEEPSEEK_V3, FLASH, KORTHIKANTI, PEFT, Source, TRANSFORMER_ENGINE, TRANSFORMERS};
use crate::{
    Adapter, AdapterTargets, AttentionKernel, Engine, Fp8, Kernels, Mlp, Norm, Packing, Position, QkNorm, Scenario,
    Softmax, formula::Expr,
};

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

/// Bytes of the score-sized tensors of one layer, per head and pair of tokens: what is kept, and how
/// much one of them takes while its gradient is computed.
pub(super) fn score_bytes(scenario: &Scenario) -> (f64, f64) {
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

/// Adapted matrices of a layer, by what they read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Adapted {
    /// The norm before attention.
    attention: f64,
    /// The attention output.
    pub(super) output: f64,
    /// The norm before attention to an encoder.
    crossing: f64,
    /// The encoder’s output.
    pub(super) source: f64,
    /// The norm before the feed-forward block.
    mlp: f64,
    /// The feed-forward block's inner product.
    inner: f64,
}

impl<'a> Layer<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            types: Types::of(scenario),
            inputs: InputOf::of(scenario),
            fused: scenario.recipe.kernels == Kernels::Fused,
            norms_are_kernels: scenario.recipe.kernels == Kernels::Fused
                || scenario.cluster.engine == Engine::Torchtitan,
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

    /// What adapters keep of the norm before attention to an encoder.
    fn crossed(&self, adapted: f64) -> f64 {
        if self.crosses() { self.for_adapters(adapted) } else { 0.0 }
    }

    /// Products that read the norm before attention: one where queries, keys and values are packed.
    fn attention_products(&self) -> f64 {
        if self.scenario.model.packing == Packing::Packed { 1.0 } else { 3.0 }
    }

    /// Products that read the norm before the feed-forward block.
    fn mlp_products(&self) -> f64 {
        if self.scenario.model.mlp.is_gated() { 2.0 } else { 1.0 }
    }

    pub(super) fn adapted(&self) -> Adapted {
        let (projections, fed) = (self.attention_products(), self.mlp_products());
        let crossing = if self.crosses() { 1.0 } else { 0.0 };
        let none = Adapted { crossing, source: 2.0 * crossing, ..Adapted::default() };
        match (self.inputs, self.scenario.recipe.targets) {
            (InputOf::Trained, _) => Adapted::default(),
            (_, AdapterTargets::QueryValue) => Adapted { attention: projections.min(2.0), source: crossing, ..none },
            (_, AdapterTargets::Attention) => Adapted { attention: projections, output: 1.0, ..none },
            (_, AdapterTargets::All) => Adapted { attention: projections, output: 1.0, mlp: fed, inner: 1.0, ..none },
        }
    }

    /// Whether frozen products keep what they read: LLM.int8's do (`ctx.tensors` of `MatMul8bitLt` in
    /// bitsandbytes/autograd/_functions.py, 95f9af309d4d), in the type in which it comes; those in 4 bits do not
    /// (`MatMul4Bit` there).
    fn frozen_keep_inputs(&self) -> bool {
        self.scenario.recipe.adapter == Adapter::Lora8
    }

    /// Bytes an element that frozen matrices and `adapted` adapters keep of the tensor they read, where nothing
    /// else does.
    pub(super) fn for_adapters(&self, adapted: f64) -> f64 {
        if self.frozen_keep_inputs() {
            return self.types.inner + self.copies_for_adapters(adapted);
        }
        match self.inputs {
            InputOf::Trained => 0.0,
            InputOf::SharedAdapter => self.types.element * adapted.min(1.0),
            InputOf::OwnCopy(bytes) => bytes * adapted,
        }
    }

    /// The same of a tensor that is kept anyway, so that only copies add to it.
    pub(super) fn copies_for_adapters(&self, adapted: f64) -> f64 {
        if let InputOf::OwnCopy(bytes) = self.inputs { bytes * adapted } else { 0.0 }
    }

    /// The inputs and outputs of the norms. The outputs are the inputs of matrix products.
    fn norms(&mut self) {
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
        let adapted = self.adapted();
        let read_by_adapters = if model.norms == 1 {
            self.for_adapters(adapted.attention + adapted.mlp)
        } else {
            self.for_adapters(adapted.attention) + self.for_adapters(adapted.mlp)
        } + self.crossed(adapted.crossing);
        if self.norms_are_kernels {
            self.push("Inputs of the norms", &RESIDUAL, r * inputs, source);
            if let Some(kept) = self.fp8 {
                return self.norm_outputs_in_fp8(kept);
            }
            let outputs = if self.trained() { e * before } else { read_by_adapters };
            self.push("Outputs of the norms, inputs of the products", self.norm_outputs(), outputs, source);
            return;
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
            // OLMo's code takes the norm in fp32, of which it keeps a copy.
            Norm::Plain => self.push("Inputs of the norms, in fp32", &RESIDUAL, 4.0 * inputs, source),
        }
        if let Some(kept) = self.fp8 {
            return self.norm_outputs_in_fp8(kept);
        }
        // Under autocast every product makes its own 16-bit copy of an fp32 input.
        let fp32_outputs = autocast && (r > e || model.norm == Norm::LayerNorm);
        let outputs = match (self.trained(), fp32_outputs) {
            (true, true) => e * (self.attention_products() + self.mlp_products() + crossing),
            (true, false) => e * before,
            (false, _) => read_by_adapters,
        };
        self.push("Outputs of the norms, inputs of the products", self.norm_outputs(), outputs, source);
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

    /// What was pushed since is computed again in the backward pass.
    fn again_from(&mut self, from: usize) {
        for tensor in self.tensors.iter_mut().skip(from) {
            (tensor.again, tensor.source) = (true, &DEEPSEEK_V3);
        }
    }

    /// Under sequence parallelism the products read tokens gathered over the group. PyTorch's tensor
    /// parallelism keeps what it gathered (torch/distributed/tensor/parallel/style.py); Megatron-LM keeps
    /// its own part and gathers again (megatron/core/tensor_parallel/layers.py).
    fn norm_outputs(&self) -> &'static Expr {
        let cluster = &self.scenario.cluster;
        let gathers_again = matches!(cluster.engine, Engine::Megatron | Engine::DeepSpeed);
        if cluster.sequence_parallel.is_on() && !gathers_again { &WHOLE_RESIDUAL } else { &RESIDUAL }
    }

    /// Bytes of an element that RMSNorm has scaled and not yet weighted.
    fn normalized_bytes(&self) -> f64 {
        if self.scenario.model.norm == Norm::RmsNormFull { 4.0 } else { self.types.residual }
    }

    fn attention(&mut self) {
        let model = &self.scenario.model;
        let e = self.types.element;
        let latent = model.latent.kv_rank > 0;
        let flash = self.scenario.recipe.attention == AttentionKernel::Flash;
        let packed = model.packing == Packing::Packed;
        let masked = self.scenario.masks_padding();
        let source: &'static Source = if flash { &FLASH } else { self.counted_in() };
        if model.qk_norm != QkNorm::Off {
            self.query_norms();
        }
        // Rotated queries and keys are new tensors; what is not rotated is a part of the packed product
        // and keeps all of it alive.
        let rotated = model.position.rotates();
        let shares_keys = model.softmax == Softmax::Scores;
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
            if let Some(tensor) = self.tensors.last_mut() {
                tensor.scores = true;
            }
        }
    }

    /// Whether the kernel reads tensors that lie in memory head by head.
    pub(super) fn lies_head_by_head(&self) -> bool {
        // Whisper’s queries, keys and values are copied into that order (`.contiguous()` in
        // transformers/models/whisper/modeling_whisper.py, 5.23.0); the kernel for fp32 puts out tokens in theirs.
        let model = &self.scenario.model;
        let copied = model.encoder.mels > 0 && self.types.element < 4.0;
        (model.position == Position::PartialRotary || copied) && !self.fused
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
            (false, true) => self.for_adapters(adapted),
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
        let bytes = if self.norms_are_kernels { self.types.element } else { 4.0 + normalized };
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
            (true, true) if self.fp8.is_some() => e + self.fp8.unwrap_or(e),
            (false, true) if self.fp8.is_some() => 4.0 + e + self.fp8.unwrap_or(e),
            (true, true) => 2.0 * e,
            (true, false) => e,
            (false, true) => 4.0 + 2.0 * e,
            (false, false) => 4.0,
        };
        self.push("Compressed queries, keys and values", &OWN_WIDTH, bytes, &DEEPSEEK);
        if let Some(tensor) = self.tensors.last_mut() {
            tensor.width = width;
        }
    }

    fn feed_forward(&mut self) {
        let e = self.types.element;
        let source = self.counted_in();
        let inner = inner_bytes(self.scenario);
        // The last matrix reads the product; ReLU keeps it by itself.
        let adapted = self.adapted().inner;
        let read = match (self.trained(), self.scenario.model.mlp) {
            (true, _) if self.fp8.is_some() => fp8::inner_read(self.scenario),
            (true, Mlp::Relu) => 0.0,
            (true, _) => e,
            (false, Mlp::Relu) => self.copies_for_adapters(adapted),
            (false, _) => self.for_adapters(adapted),
        };
        let behind = self.behind_the_activation();
        self.scoped(Scope::Dense, "Inside the feed-forward block", &INNER, inner + read + behind, source);
        if self.scenario.model.experts.count == 0 {
            return;
        }
        // Experts have no adapters; frozen, they do not keep their inputs unless they are in 8 bits.
        let read = if let Some(kept) = self.fp8 {
            self.scoped(Scope::Expert, "Tokens dispatched to experts", &EXPERT_RESIDUAL, kept, &TRANSFORMER_ENGINE);
            fp8::inner_read(self.scenario)
        } else if self.trained() {
            e
        } else if self.frozen_keep_inputs() {
            self.types.inner
        } else {
            0.0
        };
        if self.fp8.is_none() {
            self.scoped(Scope::Expert, "Tokens dispatched to experts", &EXPERT_RESIDUAL, read, source);
        }
        self.scoped(Scope::Expert, "Inside the experts", &EXPERT_INNER, inner + read, source);
        self.scoped(Scope::Expert, "Outputs of the experts, before they are weighted", &EXPERT_RESIDUAL, e, source);
        if self.scenario.model.experts.shared_width > 0 {
            self.scoped(Scope::Expert, "Inside the shared experts", &SHARED_INNER, inner + read, source);
        }
    }

    /// One byte for each element behind attention and behind the MLP.
    fn dropout_masks(&mut self) {
        if self.dropout {
            let masks = if self.crosses() { 3.0 } else { 2.0 };
            self.push("Masks of the residual dropouts", &RESIDUAL, masks, &KORTHIKANTI);
        }
    }

    /// What the first of the two thin matrices puts out, which the second reads, and a byte for each element
    /// that a dropout before them has passed or not.
    fn adapters(&mut self) {
        let Adapted { attention, output, mlp, inner, crossing, source } = self.adapted();
        let output = if self.crosses() { 2.0 * output } else { output };
        let bytes = match self.inputs {
            InputOf::OwnCopy(bytes) => bytes,
            _ => self.types.element,
        };
        self.push(
            "Outputs of the adapters’ first matrices",
            &RANKS,
            bytes * (attention + output + mlp + inner + crossing),
            &PEFT,
        );
        self.push("Outputs of first matrices over the encoder’s output", &SOURCE_RANKS, bytes * source, &PEFT);
        if self.scenario.recipe.adapter_dropout.is_on() {
            let norms = self.norm_outputs();
            self.push("Masks of the adapters’ dropout, behind the norms", norms, attention + mlp + crossing, &PEFT);
            self.push("Masks of the adapters’ dropout, behind the encoder", &SOURCE_RESIDUAL, source, &PEFT);
            self.push("Masks of the adapters’ dropout, behind attention", &QUERIES, output, &PEFT);
            let scope = Scope::Dense;
            self.scoped(scope, "Masks of the adapters’ dropout, inside the block", &INNER, inner, &PEFT);
        }
    }
}

/// Bytes an element of width f that a feed-forward block keeps between its matrices, without the input of
/// the last one. Gated: both products and the activation's output, unless it is computed again. Plain:
/// the input of the activation, and of ReLU its output alone. Spelt out in operations GELU keeps three
/// tensors more; under CUDA's autocast its power runs in fp32, so that three of the four are in fp32.
fn inner_bytes(scenario: &Scenario) -> f64 {
    let types = Types::of(scenario);
    let e = types.inner;
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
pub(super) fn inner_gradients(scenario: &Scenario) -> f64 {
    match scenario.model.mlp {
        // Of gate, its activation and the other factor; the product is gone.
        Mlp::Gated => 2.0,
        Mlp::Gelu | Mlp::Relu => 1.0,
        Mlp::GeluTanh => 2.0,
        Mlp::GatedGeluTanh => 3.0,
    }
}
