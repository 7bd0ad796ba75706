//! Losses that take the place of transformers' own: one kernel on finished logits, head and loss in one function, and both in
//! chunks of the tokens.

use super::kernel::Effect::{Brief, Drop, Kept, New, NewView, Pass, Workspace};
use super::kernel::{ASIDES, FIRST, NOTHING, OUTPUT, Operand, Reads, SECOND, Slot, THIRD};
use super::linear::autocast_weight;
use super::log_probs::sum_of;
use super::loss::{cross_entropy, to};
use super::lowering::Lowering;
use super::size::{CUBLAS, Size};
use super::tensor::{Form, Part, Place};
use crate::estimator::units::{B, CHUNK, DType, H, S, S1, Shape, V};

/// Chunks of torchtune's and torchtitan's losses (`num_output_chunks`, `num_chunks`).
const CHUNKS: u32 = 8;

/// A loss that is not transformers' own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// flash-attention takes logits and makes their gradient beside them.
    BesideLogits {
        /// Whether labels are a copy; those of one sequence begin within 16 bytes, and are padded once more.
        is_copied: bool,
    },
    /// Liger takes logits and writes their gradient over them.
    InPlace,
    /// transformers before version 4.46 takes logits that stay, and shifts them.
    Shifted {
        /// Whether those of all tokens but the last do not lie side by side, so that they are copied.
        is_copied: bool,
    },
    /// Liger takes the hidden state in so many chunks of rows.
    Fused {
        /// How many chunks there are.
        chunks: u32,
    },
    /// torchtune takes the hidden state, and makes all logits in chunks of tokens.
    Chunked {
        /// Whether the tokens of a chunk do not lie side by side, so that they are copied.
        is_copied: bool,
    },
    /// torchtitan takes the hidden state, and runs forward and backward chunk by chunk.
    ChunkedHead {
        /// Whether the tokens of a chunk do not lie side by side, so that they are copied.
        is_copied: bool,
    },
}

impl Loss {
    /// Where its rule comes from.
    pub const fn source(self) -> &'static str {
        match self {
            Self::BesideLogits { .. } => "flash-attention 2.8, flash_attn/ops/triton/cross_entropy.py",
            Self::Shifted { .. } => "transformers 4.45.2, modeling_llama.py LlamaForCausalLM.forward",
            Self::InPlace => "Liger 0.8.5, ops/cross_entropy.py",
            Self::Fused { .. } => "Liger 0.8.5, ops/fused_linear_cross_entropy.py",
            Self::Chunked { .. } => "torchtune 0.6.1, modules/loss/ce_chunked_output_loss.py",
            Self::ChunkedHead { .. } => "torchtitan 0.3.0, components/loss.py ChunkedLossWrapper",
        }
    }

    /// Adds its kernels.
    pub fn lower(self, k: &mut Lowering<'_>, x: Slot) -> Slot {
        match self {
            Self::BesideLogits { is_copied } => beside_logits(k, x, is_copied),
            Self::Shifted { is_copied } => shifted(k, x, is_copied),
            Self::InPlace => in_place(k, x),
            Self::Fused { chunks } => fused(k, x, chunks),
            Self::Chunked { is_copied } => chunked(k, x, is_copied),
            Self::ChunkedHead { is_copied } => chunked_head(k, x, is_copied),
        }
    }
}

/// Chunks of Liger's loss that are played one by one at most: what comes after them takes no more memory.
const MOST_CHUNKS: u32 = 1024;

/// The form of a number in fp32.
const ONE: Form = Form::new(DType::Single, Shape::ONE);

/// The form of what has a number for every token.
fn of_tokens(dtype: DType) -> Form {
    Form::new(dtype, B * S)
}

/// Labels of the next tokens: padded by one each, which may be a name of the loss, and shifted, which copies those of several
/// sequences.
fn next_labels(k: &mut Lowering<'_>, has_name: bool) -> Slot {
    let labels = of_tokens(DType::Long);
    let padded = k.kernel(Part::PaddedLabels, labels, &[]).sized(Part::PaddedLabels, Size::PaddedLabels).put();
    if has_name {
        k.hold(padded);
    }
    k.kernel(Part::Labels, labels, &[padded.into()]).sized(Part::Labels, Size::ShiftedLabels).put()
}

/// How many labels count: a flag each, and their sum, which casts them.
fn counted(k: &mut Lowering<'_>, labels: Slot) -> [Slot; 2] {
    let flags = k.constant(Part::Mask, of_tokens(DType::Byte), &[labels]);
    [flags, super::log_probs::total_of_flags(k, flags)]
}

/// `logits[..., :-1, :].contiguous()` and `labels[..., 1:].contiguous()`, which copy those of several sequences, and
/// `cross_entropy` (`LlamaForCausalLM.forward` of transformers 4.45.2).
fn shifted(k: &mut Lowering<'_>, logits: Slot, is_copied: bool) -> Slot {
    let whole = k.form(logits);
    let form = Form { shape: whole.shape / S * S1, ..whole };
    let view = k.view(logits, form).d(0, NOTHING, &[New]).put();
    let labels = Form::new(DType::Long, B * S1);
    let size = if is_copied { Size::Of(labels) } else { Size::Bytes(0) };
    let shifted = if is_copied { k.copy(Part::Copied, view) } else { view };
    let target = k.kernel(Part::Labels, labels, &[]).sized(Part::Labels, size).put();
    [shifted, target].into_iter().for_each(|name| k.hold(name));
    cross_entropy(k, shifted, target)
}

/// flash-attention's `CrossEntropyLoss` with `inplace_backward=False` (flash_attn/ops/triton/cross_entropy.py and
/// flash_attn/losses/cross_entropy.py, 2.8): its backward pass makes gradients beside the logits, and a gradient of zeros for its
/// second result.
fn beside_logits(k: &mut Lowering<'_>, logits: Slot, is_copied: bool) -> Slot {
    let given = next_labels(k, true);
    let labels = if is_copied {
        given
    } else {
        // `F.pad(labels, (0, 1))[..., :-1]`.
        k.hold(given);
        let padded = k.kernel(Part::PaddedLabels, k.form(given), &[given.into()]);
        padded.sized(Part::PaddedLabels, Size::ShiftedLabels).put()
    };
    let rows = of_tokens(DType::Single);
    let losses = k.constant(Part::Result, rows, &[]);
    let sums = k.constant(Part::LogSumExp, rows, &[]);
    let second = k.constant(Part::Sum, rows, &[]);
    let zeros = Workspace(Size::Of(rows));
    let reads = SECOND | THIRD | Reads::operand(3);
    let losses_again = k.alias(rows, &[losses.into(), labels.into(), sums.into(), logits.into()]);
    let losses_again = losses_again.d(3, reads, &[zeros, New]).put();
    let call = sum_of(k.kernel(Part::Sum, ONE, &[losses_again.into()]), Shape::ONE, B * S);
    // A view, which the kernel takes as it is.
    let sum = call.d(0, NOTHING, &[Pass]).put();
    let [_, count] = counted(k, labels);
    let loss = k.kernel(Part::Result, ONE, &[sum.into(), count.into()]).d(0, SECOND, &[New]).put();
    [losses, losses_again, second].into_iter().for_each(|name| k.hold_until(name, loss));
    loss
}

/// Liger's `LigerCrossEntropyFunction` (liger_kernel/ops/cross_entropy.py, 0.8.5): one kernel writes the gradient of the logits
/// over them, and the backward pass hands it on.
fn in_place(k: &mut Lowering<'_>, logits: Slot) -> Slot {
    let labels = next_labels(k, true);
    let dtype = k.form(logits).dtype;
    let losses = k.constant(Part::Result, of_tokens(dtype), &[]);
    // Autocast sums up in fp32.
    let one = Form::new(if k.types.autocast.is_some() { DType::Single } else { dtype }, Shape::ONE);
    let [flags, _] = counted(k, labels);
    for _ in 0..2 {
        // `(target * target_mask).max()` and its like, and what the assertion makes of them.
        let masked = k.constant(Part::Labels, of_tokens(DType::Long), &[labels, flags]);
        let number = Form::new(DType::Long, Shape::ONE);
        let most = sum_of(k.kernel(Part::Maximum, number, &[masked.into()]), Shape::ONE, B * S).put();
        k.constant(Part::Mask, Form::new(DType::Byte, Shape::ONE), &[most]);
    }
    let loss = sum_of(k.kernel(Part::Sum, one, &[losses.into()]), Shape::ONE, B * S).put();
    k.hold_until(flags, loss);
    [labels, losses].into_iter().for_each(|name| k.hold(name));
    let call = k.alias(one, &[loss.into(), logits.into()]);
    call.d(1, SECOND, &[&is_one()[..], &[Kept(0)]].concat()).put()
}

/// `torch.equal(grad_output, torch.tensor(1.0))`.
fn is_one() -> [super::kernel::Effect<Size>; 6] {
    let flag = Workspace(Size::Bytes(1));
    [Workspace(Size::Bytes(4)), flag, flag, Drop(0), Drop(0), Drop(0)]
}

/// Liger's `LigerFusedLinearCrossEntropyFunction` (liger_kernel/ops/fused_linear_cross_entropy.py, 0.8.5): rows of hidden
/// states in so many chunks, each with its logits, the loss and their gradient in the place of the logits, from which the
/// gradients of hidden states and head follow at once. The backward pass hands these on.
fn fused(k: &mut Lowering<'_>, x: Slot, chunks: u32) -> Slot {
    let chunks = chunks.min(MOST_CHUNKS);
    let labels = next_labels(k, true);
    let whole = k.form(x);
    let dtype = k.types.weights;
    k.at(Place::Head);
    let weight = k.matrix(Part::Weight, dtype, [V, H]);
    k.at(Place::Loss);
    let is_trained = k.is_trained();
    let of_hidden = k.constant(Part::Gradient, whole, &[]);
    let of_head = Form::new(dtype, V * H);
    let of_head = is_trained.then(|| k.kernel(Part::WeightGradient, of_head, &[]).put());
    let losses = k.constant(Part::Result, of_tokens(DType::Single), &[]);
    let [flags, _] = counted(k, labels);
    let low = k.types.autocast.filter(|low| *low != whole.dtype);
    let logits = Form::new(low.unwrap_or(whole.dtype), CHUNK * V);
    let products = if is_trained { 3 } else { 2 };
    if low.is_none() {
        let mut storage = k.constant(Part::ChunkLogits, logits, &[]);
        for product in 0..chunks * products {
            let is_third = is_trained && product % 3 == 2;
            storage = if is_third && logits.dtype == DType::Single {
                // `grad_weight += torch.mm(…).float()`, where the product is in fp32.
                let product = k.kernel(Part::WeightGradient, Form::new(logits.dtype, V * H), &[]).brief(CUBLAS).put();
                k.alias(logits, &[storage.into(), product.into()]).put()
            } else {
                k.view(storage, logits).brief(CUBLAS).put()
            };
        }
    } else {
        let mut copy: Option<Operand> = None;
        for _ in 0..chunks {
            low_chunk(k, weight, logits, &mut copy);
        }
    }
    let loss = sum_of(k.kernel(Part::Sum, ONE, &[losses.into()]), Shape::ONE, B * S).put();
    k.hold_until(flags, loss);
    let operands = [loss.into(), of_hidden.into()].into_iter().chain(of_head.map(Operand::from));
    let operands: Vec<_> = operands.chain([x.into(), weight]).collect();
    let (hidden, head) = (operands.len() - 2, operands.len() - 1);
    [labels, losses].into_iter().for_each(|name| k.hold(name));
    let reads = SECOND | if is_trained { THIRD } else { NOTHING };
    let call = k.alias(ONE, &operands).d(hidden, reads, &[&is_one()[..], &[Kept(0)]].concat());
    if is_trained { call.d(head, reads, &[Kept(1)]).put() } else { call.put() }
}

/// A chunk of Liger's loss runs under autocast, which casts hidden states and head for each product: the head as it is once, where it is trained,
/// and each time as the transposed view that it is for the logits.
fn low_chunk(k: &mut Lowering<'_>, weight: Operand, logits: Form, copy: &mut Option<Operand>) {
    let head = Form::new(logits.dtype, V * H);
    let rows = Form::new(logits.dtype, CHUNK * H);
    let is_trained = k.is_trained();
    let turned = k.kernel(Part::AutocastWeight, head, &[weight]).put();
    let input = k.constant(Part::AutocastInput, rows, &[]);
    let logits = k.kernel(Part::ChunkLogits, logits, &[turned.into(), input.into()]).brief(CUBLAS).put();
    let head = copy.unwrap_or_else(|| k.kernel(Part::AutocastWeight, head, &[weight]).cached(is_trained).put().into());
    *copy = is_trained.then_some(head);
    let mut last = k.kernel(Part::Gradient, rows, &[head, logits.into()]).brief(CUBLAS).put();
    if is_trained {
        let input = k.constant(Part::AutocastInput, rows, &[]);
        last = k.view(input, rows).brief(CUBLAS).put();
    }
    k.hold_until(logits, last);
}

/// torchtune's `CEWithChunkedOutputLoss` (torchtune/modules/loss/ce_chunked_output_loss.py, 0.6.1), for whose chunks of tokens
/// the head makes logits one after another (`TransformerDecoder.chunked_output`). Those of several sequences are copied.
fn chunked(k: &mut Lowering<'_>, x: Slot, is_copied: bool) -> Slot {
    let labels = next_labels(k, false);
    let whole = k.form(x);
    let form = Form { shape: whole.shape.part(CHUNKS), ..whole };
    let dtype = k.types.weights;
    k.at(Place::Head);
    let weight = k.matrix(Part::Weight, dtype, [V, H]);
    let is_trained = k.is_trained();
    let chunks: Vec<_> = (0..CHUNKS).map(|_| k.view(x, form).d(0, NOTHING, &[New]).put()).collect();
    // A cast brings the tokens of a chunk together as well, and the product of several sequences with a frozen matrix takes them as
    // they are (`should_fold` in aten/src/ATen/native/LinearAlgebra.cpp, PyTorch 2.15).
    let is_cast = k.types.autocast.is_some_and(|low| low != whole.dtype);
    let is_joined = is_copied && !is_cast && is_trained;
    let mut weight_now = None;
    let mut logits = Vec::with_capacity(CHUNKS as usize);
    for &chunk in &chunks {
        let weight = match weight_now.filter(|_| is_trained) {
            Some(weight) => weight,
            None => autocast_weight(k, weight, Form::new(dtype, V * H), is_trained),
        };
        weight_now = Some(weight);
        let part = if is_joined { k.copy(Part::Copied, chunk) } else { chunk };
        let part = k.autocast(part);
        let form = Form { shape: k.form(part).shape / H * V, ..k.form(part) };
        let both = [NewView, Brief(CUBLAS)];
        let call = k.kernel(Part::Result, form, &[part.into(), weight]).brief(CUBLAS);
        logits.push(call.d(1, FIRST, &both).d(0, SECOND, &both).put());
    }
    k.at(Place::Loss);
    let [_, count] = counted(k, labels);
    let of_chunk = Form::new(DType::Long, (B * S).part(CHUNKS));
    let targets: Vec<_> = (0..CHUNKS)
        .map(|_| if is_copied { k.constant(Part::Labels, of_chunk, &[labels]) } else { k.view(labels, of_chunk).put() })
        .collect();
    let mut total: Option<Slot> = None;
    for (logits, target) in logits.iter().zip(&targets) {
        let wide = to(k, Part::InFp32, *logits, DType::Single);
        let log = k.kernel(Part::LogSoftmax, k.form(wide), &[wide.into()]).d(0, OUTPUT, &[New]).put();
        let call = k.kernel(Part::Result, ONE, &[log.into(), (*target).into()]).aside(Part::TotalWeight, Size::Of(ONE));
        let loss = call.d(0, FIRST | SECOND | ASIDES, &[New]).put();
        k.hold_until(wide, loss);
        total = Some(match total {
            None => k.kernel(Part::Sum, ONE, &[loss.into()]).d(0, NOTHING, &[Pass]).put(),
            Some(total) => k.add_in_place(total, loss),
        });
    }
    [labels].into_iter().chain(logits).for_each(|name| k.hold(name));
    let total = total.unwrap_or(count);
    k.kernel(Part::Result, ONE, &[total.into(), count.into()]).d(0, SECOND, &[New]).put()
}

/// torchtitan's `ChunkedLossWrapper` (torchtitan/components/loss.py, 0.3.0): head, loss and their backward pass run chunk by chunk
/// in the forward pass, which adds up the gradients of the head, and those of the hidden states in fp32. Autocast keeps its copies
/// of the chunks, from which derivation starts.
fn chunked_head(k: &mut Lowering<'_>, x: Slot, is_copied: bool) -> Slot {
    let labels = next_labels(k, false);
    let whole = k.form(x);
    let form = Form { shape: whole.shape.part(CHUNKS), ..whole };
    let dtype = k.types.weights;
    k.at(Place::Head);
    let weight = k.matrix(Part::Weight, dtype, [V, H]);
    k.at(Place::Loss);
    let is_trained = k.is_trained();
    let of_chunk = Form::new(DType::Long, (B * S).part(CHUNKS));
    let mut held = vec![labels];
    for (form, of) in [(form, x), (of_chunk, labels)] {
        for _ in 0..CHUNKS {
            held.push(if is_copied { k.constant(Part::Copied, form, &[of]) } else { k.view(of, form).put() });
        }
    }
    let sum = k.constant(Part::GradientInFp32, whole.with_dtype(DType::Single), &[]);
    let mut total = k.constant(Part::Sum, ONE, &[]);
    let head = Form::new(dtype, V * H);
    let mut low_weight = None;
    let (mut logits_before, mut loss_before): (Option<Slot>, Option<Slot>) = (None, None);
    for _ in 0..CHUNKS {
        let weight_now = low_weight.unwrap_or_else(|| autocast_weight(k, weight, head, is_trained));
        low_weight = is_trained.then_some(weight_now);
        let low = k.types.autocast.filter(|low| *low != form.dtype);
        let form = form.with_dtype(low.unwrap_or(form.dtype));
        let part = match low {
            Some(_) => k.kernel(Part::AutocastInput, form, &[]).cached(true).put(),
            None => x,
        };
        let of_logits = Form { shape: form.shape / H * V, ..form };
        let logits = k.kernel(Part::ChunkLogits, of_logits, &[part.into(), weight_now]).brief(CUBLAS).put();
        logits_before.into_iter().for_each(|before| k.hold_until(before, logits));
        let wide = of_logits.with_dtype(DType::Single);
        let is_wide = of_logits == wide;
        let in_fp32 = if is_wide { logits } else { k.constant(Part::InFp32, wide, &[logits]) };
        let log = k.constant(Part::LogSoftmax, wide, &[in_fp32]);
        let loss = k.constant(Part::Result, ONE, &[log]);
        let weights = k.constant(Part::TotalWeight, ONE, &[log]);
        if !is_wide {
            k.hold_until(in_fp32, weights);
        }
        // Over the number of labels, and added to the total.
        let loss = k.constant(Part::Mean, ONE, &[loss]);
        loss_before.into_iter().for_each(|before| k.hold_until(before, loss));
        total = k.constant(Part::Sum, ONE, &[total, loss]);
        // The backward pass of the chunk.
        let seed = k.constant(Part::Gradient, ONE, &[]);
        let of_loss = k.constant(Part::Gradient, ONE, &[]);
        let of_log = k.constant(Part::Gradient, wide, &[of_loss, weights]);
        let of_wide = k.constant(Part::Gradient, wide, &[of_log, log]);
        let gradient = if is_wide { of_wide } else { k.constant(Part::Gradient, of_logits, &[of_wide]) };
        let of_weight = Form::new(k.types.autocast.unwrap_or(dtype), V * H);
        let is_cast = of_weight != head;
        let of_weight = is_trained.then(|| {
            let call = k.kernel(Part::WeightGradient, of_weight, &[gradient.into(), weight]).brief(CUBLAS);
            if is_cast { call.put() } else { call.granted().put() }
        });
        let of_part = k.kernel(Part::Gradient, form, &[gradient.into()]).brief(CUBLAS).put();
        // `h_chunk.grad`, and what is added up of it.
        let added = match form.dtype {
            DType::Single => of_part,
            _ => k.constant(Part::InFp32, form.with_dtype(DType::Single), &[of_part]),
        };
        let end = match of_weight.filter(|_| is_cast) {
            Some(of_weight) => k.kernel(Part::WeightGradient, head, &[of_weight.into(), weight]).granted().put(),
            None => added,
        };
        k.hold_until(seed, if low.is_some() { end } else { of_part });
        k.hold_until(added, end);
        of_weight.filter(|_| !is_cast).into_iter().for_each(|made| k.hold_until(made, of_part));
        (logits_before, loss_before) = (Some(logits), Some(loss));
    }
    let summed = k.cast(Part::Gradient, sum, whole.dtype);
    held.extend([sum]);
    held.extend(logits_before.into_iter().chain(loss_before));
    held.into_iter().for_each(|name| k.hold(name));
    k.alias(ONE, &[total.into(), summed.into(), x.into()]).d(2, SECOND, &[Kept(0)]).put()
}
