//! Functions of Megatron Core 0.16.1, and of Transformer Engine 2.20 in it, in bf16.
//!
//! Their gradients of matrices are added to buffers that stand all the time (`main_grad`), so that autograd is handed none: a matrix
//! is no operand here. Gradients of vectors and of the embedding are made, added and given back.

use super::embedding;
use super::kernel::Effect::{Brief, Drop, DropKept, Kept, New, NewView, Pass, PassView, Workspace};
use super::kernel::{ASIDES, FIRST, NOTHING, Operand, Reads, SECOND, Slot};
use super::lowering::Lowering;
use super::size::{CUBLAS, Size};
use super::tensor::{Form, Part};
use super::vocabulary_parallel;
use crate::estimator::units::{B, D, DType, H, K, N, S, Shape, V};

/// Which norm it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Root mean square.
    Rms,
    /// Layer norm, with a bias.
    Layer,
}

/// How devices share a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// How many have a part each of the sequence between products, and of products; 1 where nobody shares.
    pub devices: u32,
}

/// A function, with what decides about its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `VocabParallelEmbedding`, whose result is brought into the order of tokens where there are several sequences
    /// (`LanguageModelEmbedding.forward`). Where the head has its matrix, autograd adds the head's empty gradient to it.
    Embedding { has_several: bool, is_tied: bool, sharing: Sharing },
    /// `LayerNormLinear`, norm and product (transformer_engine/pytorch/module/layernorm_linear.py).
    NormLinear { norm: Norm, to: Shape, sharing: Sharing },
    /// `Linear` (transformer_engine/pytorch/module/linear.py).
    Linear { from: Shape, to: Shape, sharing: Sharing },
    /// `SelfAttention.get_query_key_value_tensors`: three views of one tensor, of which that of queries is copied where heads of
    /// keys are fewer; three results.
    QueriesKeysValues { is_grouped: bool },
    /// `fused_apply_rotary_pos_emb`, by Transformer Engine's kernel.
    Rotary,
    /// `FusedAttnFunc` of three tensors, whose values are brought side by side first (`get_qkv_layout` in
    /// transformer_engine/pytorch/attention/dot_product_attention/utils.py).
    Attention,
    /// `SwiGLUFunction`, compiled.
    SwiGlu,
    /// `bias_dropout_add_fused_train` without bias and dropout, compiled.
    Add,
    /// `TENorm`, the norm by itself.
    FinalNorm { norm: Norm },
    /// `ColumnParallelLinear` of the head, by PyTorch's own product.
    Head { sharing: Sharing },
    /// `_VocabParallelCrossEntropy` (megatron/core/tensor_parallel/cross_entropy.py), in fp32; a loss for each token.
    Loss { has_several: bool },
    /// The same compiled (megatron/core/fusions/fused_cross_entropy.py).
    FusedLoss { has_several: bool },
    /// `loss_func` of pretrain_gpt.py: the sum over tokens that a mask counts, over their number.
    Mean,
}

impl Function {
    /// How many values it puts out.
    pub const fn results(self) -> u16 {
        match self {
            Self::QueriesKeysValues { .. } => 3,
            Self::Mean => 3,
            _ => 1,
        }
    }

    /// Where its rule comes from.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Embedding { .. } | Self::Head { .. } => "Megatron Core 0.16.1, tensor_parallel/layers.py",
            Self::NormLinear { .. } => "Transformer Engine 2.20, module/layernorm_linear.py",
            Self::Linear { .. } => "Transformer Engine 2.20, module/linear.py",
            Self::QueriesKeysValues { .. } => "Megatron Core 0.16.1, transformer/attention.py",
            Self::Rotary => "Transformer Engine 2.20, attention/rope.py",
            Self::Attention => "Transformer Engine 2.20, csrc/extensions/attention.cpp",
            Self::SwiGlu => "Megatron Core 0.16.1, fusions/fused_bias_swiglu.py",
            Self::Add => "Megatron Core 0.16.1, fusions/fused_bias_dropout.py",
            Self::FinalNorm { .. } => "Transformer Engine 2.20, ops/basic/rmsnorm.py",
            Self::Loss { .. } => "Megatron Core 0.16.1, tensor_parallel/cross_entropy.py",
            Self::FusedLoss { .. } => "Megatron Core 0.16.1, fusions/fused_cross_entropy.py",
            Self::Mean => "Megatron-LM core_v0.16.1, pretrain_gpt.py loss_func",
        }
    }

    /// The same where devices share layers.
    pub const fn shared(mut self, devices: u32) -> Self {
        match &mut self {
            Self::Embedding { sharing, .. }
            | Self::NormLinear { sharing, .. }
            | Self::Linear { sharing, .. }
            | Self::Head { sharing } => sharing.devices = devices,
            _ => {}
        }
        self
    }

    /// Adds its kernels; what it puts out.
    pub fn lower(self, k: &mut Lowering<'_>, given: &[Slot]) -> Vec<Slot> {
        let &[x, ref rest @ ..] = given else { return Vec::new() };
        let result = match (self, rest) {
            (Self::Embedding { has_several, is_tied, sharing }, _) if sharing.devices > 1 => {
                embedding_part(k, x, has_several, is_tied, sharing.devices)
            }
            (Self::Embedding { has_several, is_tied, .. }, _) => {
                embedding::in_order_of_tokens(k, x, [V, H], has_several, is_tied)
            }
            (Self::NormLinear { norm, to, sharing }, _) => norm_linear(k, x, norm, to, sharing.devices),
            (Self::Linear { from, to, sharing }, _) => linear(k, x, from, to, sharing.devices),
            (Self::QueriesKeysValues { is_grouped }, _) => return queries_keys_values(k, x, is_grouped).into(),
            (Self::Rotary, _) => k.kernel(Part::Turned, k.form(x), &[x.into()]).d(0, NOTHING, &[New]).put(),
            (Self::Attention, &[key, value, ..]) => attention(k, [x, key, value]),
            (Self::SwiGlu, _) => {
                let form = Form { shape: k.form(x).shape.part(2), ..k.form(x) };
                k.kernel(Part::Result, form, &[x.into()]).d(0, FIRST, &[New]).put()
            }
            (Self::Add, &[y, ..]) => k.add(Part::Result, x, y),
            (Self::FinalNorm { norm }, _) => final_norm(k, x, norm),
            (Self::Head { sharing }, _) => head(k, x, sharing.devices),
            (Self::Loss { has_several }, &[labels, ..]) => loss(k, x, labels, has_several),
            (Self::FusedLoss { has_several }, &[labels, ..]) => fused_loss(k, x, labels, has_several),
            (Self::Mean, &[mask, ..]) => return mean(k, x, mask).into(),
            _ => x,
        };
        vec![result]
    }
}

/// Weights of a norm, as operands.
fn norm_weights(k: &mut Lowering<'_>, norm: Norm) -> Vec<Operand> {
    let form = Form::new(k.types.weights, H);
    let weight = k.weight(Part::Weight, form);
    match norm {
        Norm::Rms => vec![weight],
        Norm::Layer => vec![weight, k.weight(Part::Bias, form)],
    }
}

/// A product behind a norm: both are one function, which keeps its input, the norm’s statistics and what the norm puts out. Its
/// backward pass gives the last of these back behind the product.
fn norm_linear(k: &mut Lowering<'_>, x: Slot, norm: Norm, to: Shape, devices: u32) -> Slot {
    k.matrix(Part::ProductWeight, k.types.weights, [to, H]);
    let form = k.form(x);
    let whole = Form { shape: form.shape.by(devices), ..form };
    let out = Form { shape: whole.shape / H * to, ..form };
    let row = Size::Of(Form::new(DType::Single, form.shape / H));
    let weights = norm_weights(k, norm);
    let operands: Vec<_> = std::iter::once(x.into()).chain(weights).collect();
    let call = k.kernel(Part::Result, out, &operands);
    let (call, statistics) = match norm {
        Norm::Rms => (call, 1),
        Norm::Layer => (call.aside(Part::Mean, row), 2),
    };
    let call = call.aside(Part::InverseRoot, row).aside(Part::Normed, Size::Of(form));
    // Where devices have parts of the sequence, these are gathered, and the gradient is summed up to one.
    let call = if devices > 1 { call.workspace(Size::Of(whole)) } else { call };
    // The input is kept first, and what the norm puts out last.
    let [part, gathered] = [form, whole].map(|form| Workspace(Size::Of(form)));
    let kept = DropKept(1 + statistics);
    let product: &[_] =
        if devices > 1 { &[gathered, gathered, part, kept, Drop(2), New] } else { &[gathered, kept, New] };
    let call = call.then_output().d(0, FIRST | ASIDES, product);
    (1..operands.len()).fold(call, |call, of| call.d(of, FIRST | ASIDES, &[New])).jointly().put()
}

/// A product, which keeps its input. Where devices share it, their results are summed up, and each has a part of the sequence.
fn linear(k: &mut Lowering<'_>, x: Slot, from: Shape, to: Shape, devices: u32) -> Slot {
    k.matrix(Part::Weight, k.types.weights, [to, from]);
    let form = k.form(x);
    let whole = Form { shape: form.shape / from * to, ..form };
    if devices <= 1 {
        return k.kernel(Part::Result, whole, &[x.into()]).d(0, FIRST, &[New]).put();
    }
    let part = Form { shape: whole.shape.part(devices), ..whole };
    let call = k.kernel(Part::Result, part, &[x.into()]).workspace(Size::Of(whole)).then_output();
    call.d(0, FIRST, &[Workspace(Size::Of(whole)), New, Drop(0)]).put()
}

/// Rows of a table of which the device has a part; those of others are zeros until they are summed up, and each keeps a part of the
/// sequence (`reduce_scatter_embeddings`), a copy of it (`clone_scatter_output_in_embedding`).
fn embedding_part(k: &mut Lowering<'_>, ids: Slot, has_several: bool, is_tied: bool, devices: u32) -> Slot {
    let [mask, own] = vocabulary_parallel::own_ids(k, ids);
    let out = embedding::plain(k, own, [V, H], is_tied);
    let form = k.form(out);
    let masked = k.in_place(form, &[out.into(), mask.into()]).d(0, SECOND, &[New]).put();
    let turned = if has_several { k.copy(Part::Copied, masked) } else { masked };
    let part = Form { shape: form.shape.part(devices), ..form };
    let scattered = k.kernel(Part::Sum, part, &[turned.into()]).d(0, NOTHING, &[New]).put();
    k.hold_until(mask, turned);
    k.hold_until(own, turned);
    k.copy(Part::Cloned, scattered)
}

/// Queries, keys and values of one product.
fn queries_keys_values(k: &mut Lowering<'_>, x: Slot, is_grouped: bool) -> [Slot; 3] {
    let (dtype, rows) = (k.form(x).dtype, B * S * D);
    let [queries, keys] = [N, K].map(|heads| Form::new(dtype, rows * heads));
    let first = k.view(x, queries).and(keys).and(keys).d(0, NOTHING, &[New]).put();
    let [q, key, value] = [0, 1, 2].map(|place| Slot(first.0 + place));
    if !is_grouped {
        return [q, key, value];
    }
    let q = k.kernel(Part::Copied, queries, &[q.into()]).d(0, NOTHING, &[PassView]).put();
    [q, key, value]
}

/// Attention by cuDNN: its backward pass adds the gradient of queries up in fp32 (`dQ_accum` and `softmax_sum` in
/// cudnn_frontend/node/scaled_dot_product_flash_attention.h).
fn attention(k: &mut Lowering<'_>, [q, key, value]: [Slot; 3]) -> Slot {
    let form = k.form(q);
    let value = k.copy(Part::Copied, value);
    let row = Form::new(DType::Single, form.shape / D);
    let sums = Size::Both(form.with_dtype(DType::Single), row);
    let call = k.kernel(Part::Result, form, &[q, key, value].map(Operand::Value));
    let call = call.aside(Part::RandomState, Size::Bytes(16)).aside(Part::LogSumExp, Size::Of(row));
    let all = Reads::ALL;
    call.d(0, all, &[New]).d(1, all, &[New]).d(2, all, &[New, Brief(sums)]).jointly().put()
}

/// A norm by itself, whose gradient is a view, and a tensor that is no view of it (`make_viewless_tensor` in
/// megatron/core/utils.py).
fn final_norm(k: &mut Lowering<'_>, x: Slot, norm: Norm) -> Slot {
    let form = k.form(x);
    let row = Size::Of(Form::new(DType::Single, form.shape / H));
    let weights = norm_weights(k, norm);
    let operands: Vec<_> = std::iter::once(x.into()).chain(weights).collect();
    let call = k.kernel(Part::Result, form, &operands);
    let call = if norm == Norm::Layer { call.aside(Part::Mean, row) } else { call };
    let call = call.aside(Part::InverseRoot, row).then_output().d(0, FIRST | ASIDES, &[NewView]);
    let out = (1..operands.len()).fold(call, |call, of| call.d(of, FIRST | ASIDES, &[New])).jointly().put();
    k.view(out, form).brief(Size::Bytes(2)).d(0, NOTHING, &[Pass]).put()
}

/// The head's product. What it is given is gathered in a buffer that stays (`GlobalMemoryBuffer`).
fn head(k: &mut Lowering<'_>, x: Slot, devices: u32) -> Slot {
    k.matrix(Part::Weight, k.types.weights, [V, H]);
    let form = k.form(x);
    let whole = Form { shape: form.shape.by(devices), ..form };
    let out = Form { shape: whole.shape / H * V, ..form };
    let back: &[_] =
        if devices > 1 { &[Workspace(Size::Of(whole)), Brief(CUBLAS), New] } else { &[New, Brief(CUBLAS)] };
    k.kernel(Part::Result, out, &[x.into()]).brief(CUBLAS).d(0, FIRST, back).put()
}

/// Labels in the order of tokens.
fn target(k: &mut Lowering<'_>, labels: Slot, has_several: bool) -> Slot {
    if has_several { k.constant(Part::Labels, k.form(labels), &[labels]) } else { labels }
}

/// Losses in the order of sequences.
fn of_sequences(k: &mut Lowering<'_>, losses: Slot, has_several: bool) -> Slot {
    if has_several {
        k.kernel(Part::Copied, k.form(losses), &[losses.into()]).d(0, NOTHING, &[Pass]).put()
    } else {
        losses
    }
}

/// The loss of each token: logits in fp32 become their softmax in place, and that becomes their gradient.
fn loss(k: &mut Lowering<'_>, logits: Slot, labels: Slot, has_several: bool) -> Slot {
    let target = target(k, labels, has_several);
    let long = k.form(target);
    let (flags, single) = (long.with_dtype(DType::Byte), long.with_dtype(DType::Single));
    let narrow = k.form(logits);
    let wide = k.constant(Part::InFp32, narrow.with_dtype(DType::Single), &[logits]);
    // `calculate_logits_max`: values and their numbers.
    let call = k.kernel(Part::Maximum, single, &[wide.into()]).workspace(Size::Of(long));
    let largest = call.put();
    // `calculate_predicted_logits`.
    let below = k.constant(Part::Mask, flags, &[target]);
    let above = k.constant(Part::Mask, flags, &[target]);
    let mask = k.constant(Part::Mask, flags, &[below, above]);
    let copied = k.constant(Part::Copied, long, &[target]);
    let own = k.constant(Part::Ids, long, &[copied]);
    let range = k.constant(Part::Rows, long, &[]);
    let picked = k.constant(Part::Picked, single, &[wide, range, own]);
    let predicted = k.constant(Part::Cloned, single, &[picked]);
    let sum = k.constant(Part::Sum, single, &[wide]);
    k.hold_until(range, sum);
    // `calculate_cross_entropy_loss`.
    let log = k.constant(Part::LogSumExp, single, &[sum]);
    let [tokens, one] = [long, single].map(|form| Workspace(Size::Of(form)));
    let back = [tokens, one, one, Drop(1), Brief(Size::Of(single)), Kept(0)];
    let operands = [logits, wide, mask, own, log, predicted].map(Operand::Value);
    let reads = SECOND | Reads::operand(2) | Reads::operand(3);
    let call = k.kernel(Part::Result, single, &operands).keeping_behind();
    let losses = call.d_to(0, reads, &back, DType::Single).put();
    [largest, predicted, sum].into_iter().for_each(|name| k.hold_until(name, losses));
    let given = of_sequences(k, losses, has_several);
    // Names of functions until then.
    [target, logits].into_iter().filter(|name| *name != labels).for_each(|name| k.hold_until(name, given));
    given
}

/// The same, compiled: exponentials of logits are a tensor of their own that is copied back, and so is their gradient in fp32, which the
/// function itself casts.
fn fused_loss(k: &mut Lowering<'_>, logits: Slot, labels: Slot, has_several: bool) -> Slot {
    let target = target(k, labels, has_several);
    let long = k.form(target);
    let (flags, single) = (long.with_dtype(DType::Byte), long.with_dtype(DType::Single));
    let whole = k.form(logits).with_dtype(DType::Single);
    let wide = k.constant(Part::InFp32, whole, &[logits]);
    let largest = k.constant(Part::Maximum, single, &[wide]);
    let mask = k.constant(Part::Mask, flags, &[target]);
    let own = k.constant(Part::Ids, long, &[target]);
    let both = Form { shape: single.shape.by(2), ..single };
    let joined = k.kernel(Part::Joined, both, &[wide.into(), own.into()]).brief(Size::Of(whole)).put();
    let operands = [logits, wide, mask, own, joined].map(Operand::Value);
    let reads = SECOND | Reads::operand(2) | Reads::operand(3);
    let call = k.kernel(Part::Result, single, &operands).keeping_behind();
    let losses = call.d(0, reads, &[Workspace(Size::Of(whole)), New, Drop(0)]).put();
    k.hold_until(largest, losses);
    let given = of_sequences(k, losses, has_several);
    [target, logits].into_iter().filter(|name| *name != labels).for_each(|name| k.hold_until(name, given));
    given
}

/// The sum of losses times a mask over how many count, their number, and what is reported of both. The sum is divided and multiplied in
/// place (`forward_step_calc_loss` in megatron/core/pipeline_parallel/schedules.py).
fn mean(k: &mut Lowering<'_>, losses: Slot, mask: Slot) -> [Slot; 3] {
    let form = k.form(losses);
    let one = Form::new(DType::Single, Shape::ONE);
    let number = Size::Of(one);
    let product = k.kernel(Part::Weighted, form, &[losses.into(), mask.into()]).d(0, SECOND, &[New]).put();
    let sum = k.kernel(Part::Sum, one, &[product.into()]).d(0, NOTHING, &[PassView]).put();
    k.hold_until(product, sum);
    let masked = k.constant(Part::Total, one, &[mask]);
    let cloned = k.constant(Part::Cloned, one, &[masked]);
    let count = k.constant(Part::Counted, one.with_dtype(DType::Int), &[cloned]);
    let copied = k.constant(Part::Cloned, one, &[sum]);
    let report = k.kernel(Part::Joined, one, &[copied.into(), count.into()]).sized(Part::Joined, Size::Bytes(8)).put();
    // Whether the loss is a number, and whether it is finite.
    let flag = Form::new(DType::Byte, Shape::ONE);
    let is_number = k.constant(Part::Mask, flag, &[sum]);
    k.hold_until(is_number, is_number);
    let call = k.kernel(Part::Mask, flag, &[sum.into()]).workspace(number).then_output();
    call.put();
    let divisor = k.constant(Part::TotalWeight, one, &[count]);
    let divided = k.alias(one, &[sum.into(), divisor.into()]).d(0, SECOND, &[New]).put();
    let divided = (0..2).fold(divided, |sum, _| k.in_place(one, &[sum.into()]).d(0, NOTHING, &[New]).put());
    [divided, count, report]
}
