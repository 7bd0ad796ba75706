//! Attention with scores in full, as classes of models of their own spell it out.

use super::HeadLayout;
use super::attention::{add_mask, bmm, joined_heads, repeated, softmax};
use super::kernel::Effect::New;
use super::kernel::{NOTHING, Slot};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{D, DType, N, S, Shape};

/// `FalconAttention.forward` between heads and output matrix: scores are divided in place, and `F.softmax` takes a type.
/// Where there is one head of keys, `matmul` expands it.
pub fn in_place(
    k: &mut Lowering<'_>,
    [q, key, v]: [Slot; 3],
    mask: Slot,
    layout: HeadLayout,
    dtype: DType,
) -> [Slot; 2] {
    let form = k.form(q);
    let is_apart = layout.has_several_sequences && !layout.has_one_head;
    let expanded = |k: &mut Lowering<'_>, x: Slot| {
        let x = if layout.is_grouped { repeated(k, x, form.shape, true) } else { x };
        if is_apart { k.copy(Part::Copied, x) } else { x }
    };
    let low_keys = k.autocast(key);
    let low_queries = k.autocast(q);
    let first = if is_apart { k.copy(Part::Copied, low_queries) } else { low_queries };
    let second = expanded(k, low_keys);
    let scores = Form { shape: form.shape / D * S, ..k.form(low_queries) };
    let raw = bmm(k, Part::Scores, first, second, scores);
    [low_queries, low_keys].into_iter().for_each(|low| k.hold_until(low, raw));
    let scaled = k.in_place(scores, &[raw.into()]).d(0, NOTHING, &[New]).put();
    let masked = add_mask(k, scaled, mask);
    let wide = k.cast(Part::InFp32, masked, dtype);
    let softmax = softmax(k, wide);
    // `attention_scores` is the name of the scores until then.
    [raw, scaled].into_iter().for_each(|name| k.hold_until(name, softmax));
    let low_values = k.autocast(v);
    let first = k.autocast(softmax);
    let second = expanded(k, low_values);
    let out = bmm(k, Part::Result, first, second, Form { dtype: k.form(first).dtype, ..form });
    [first, low_values].into_iter().for_each(|low| k.hold_until(low, out));
    [joined_heads(k, out, layout), softmax]
}

/// `GPTJAttention._attn`: queries and keys go to fp32, and the softmax is taken in the type of the masked scores, in fp32
/// under autocast.
pub fn in_fp32(k: &mut Lowering<'_>, [q, key, v]: [Slot; 3], mask: Slot, layout: HeadLayout) -> [Slot; 2] {
    let form = k.form(q);
    let is_apart = layout.has_several_sequences && !layout.has_one_head;
    let in_order = |k: &mut Lowering<'_>, x| if is_apart { k.copy(Part::Copied, x) } else { x };
    let [queries, keys] = [q, key].map(|x| k.cast(Part::InFp32, x, DType::Single));
    let low_keys = k.autocast(keys);
    let low_queries = k.autocast(queries);
    let first = in_order(k, low_queries);
    let second = in_order(k, low_keys);
    let raw = bmm(k, Part::Scores, first, second, Form { shape: form.shape / D * S, ..k.form(first) });
    let scaled = k.scale(Part::ScoresScaled, raw);
    let masked = add_mask(k, scaled, mask);
    let wide = if k.types.autocast.is_some() { k.cast(Part::InFp32, masked, DType::Single) } else { masked };
    let softmax = softmax(k, wide);
    let weights = k.cast(Part::InHalf, softmax, k.form(v).dtype);
    let low_values = k.autocast(v);
    let first = k.autocast(weights);
    let second = in_order(k, low_values);
    let out = bmm(k, Part::Result, first, second, Form { dtype: k.form(first).dtype, ..form });
    // Names of the function, then arguments of products.
    [queries, keys].into_iter().for_each(|name| k.hold_until(name, out));
    k.hold_until(masked, softmax);
    [low_queries, low_keys].into_iter().for_each(|low| k.hold_until(low, raw));
    [first, low_values].into_iter().for_each(|low| k.hold_until(low, out));
    [joined_heads(k, out, layout), weights]
}

/// The bias of each head for each distance (`build_mpt_alibi_tensor` in transformers' modeling_mpt.py, 5.23.0), for a
/// number of heads that is a power of two. It is as long as the class of the model allows, whatever the sequence:
/// `max_seq_len` of MptConfig, 2,048.
pub fn alibi(k: &mut Lowering<'_>) -> Slot {
    const LONGEST: Shape = Shape::ONE.by(2048);
    let make =
        |k: &mut Lowering<'_>, dtype, shape, from: &[Slot]| k.constant(Part::Table, Form::new(dtype, shape), from);
    // int32 takes as many bytes as fp32.
    let distances = make(k, DType::Single, LONGEST, &[]);
    let numbers = make(k, DType::Long, N, &[]);
    let numbers = make(k, DType::Single, N, &[numbers]);
    let base = make(k, DType::Single, N, &[numbers]);
    // The 2 of `torch.pow(2, base)` comes to the device as a tensor.
    let powers = k.kernel(Part::Table, Form::new(DType::Single, N), &[base.into()]).brief(Size::Bytes(8)).put();
    let inverse = make(k, DType::Single, N, &[powers]);
    let slopes = make(k, DType::Single, N, &[inverse]);
    k.hold_until(powers, slopes);
    let alibi = make(k, DType::Single, N * LONGEST, &[distances, slopes]);
    // Another name of the function.
    k.hold_until(base, alibi);
    alibi
}
