//! Attention: heads, kernels of `scaled_dot_product_attention`, and scores in full.

use super::activation::soft_cap;
use super::kernel::Effect::{Brief, Drop, New, NewOf, NewView, Pass, PassView, Workspace};
use super::kernel::{ASIDES, FIRST, NOTHING, OUTPUT, Operand, Reads, SECOND, Slot};
use super::linear::dropout;
use super::lowering::{Lowering, Sum};
use super::size::{CUBLAS, Size};
use super::tensor::{Form, Part};
use super::{HeadLayout, HeadWidths};
use crate::estimator::units::{B, D, D32, DType, K, N, S, S8, S16, S32, S128, SE8, SE16, Shape, Width};

/// `x.split(…)`: views, whose gradients are joined in a new tensor.
pub fn split(k: &mut Lowering<'_>, x: Slot, parts: u16) -> Vec<Slot> {
    let form = k.form(x);
    let part = Form { shape: form.shape.part(u32::from(parts)), ..form };
    let first = k.view(x, part).parts(parts).d(0, NOTHING, &[New]).put();
    (first.0..first.0 + u32::from(parts)).map(Slot).collect()
}

/// `x[..., :to]`: a view. `slice_backward` writes into zeros of the whole.
pub fn slice(k: &mut Lowering<'_>, x: Slot, from: Shape, to: Shape) -> Slot {
    let form = k.form(x);
    k.view(x, Form { shape: form.shape / from * to, ..form }).d(0, NOTHING, &[New]).put()
}

/// `x[..., [-1], :]`: a copy, by a list of one index. `index_backward` puts it into zeros of the whole by `index_put_` with
/// `accumulate`, which sorts (aten/src/ATen/native/cuda/Indexing.cu); what it takes is as recorded.
pub fn pick(k: &mut Lowering<'_>, x: Slot, from: Shape, to: Shape) -> Slot {
    let form = k.form(x);
    let [index, flag] = [Size::Of(Form::new(DType::Long, Shape::ONE)), Size::Of(Form::new(DType::Byte, Shape::ONE))];
    let each = Workspace(index);
    let call = k.kernel(Part::Result, Form { shape: form.shape / from * to, ..form }, &[x.into()]);
    let call = call.aside(Part::Ids, index).then_output();
    call.d(0, ASIDES, &[New, each, each, Drop(1), each, each, each, Brief(flag)]).put()
}

/// `x[:, 0]`: a view. `select_backward` writes into zeros of the whole.
pub fn first_token(k: &mut Lowering<'_>, x: Slot) -> Slot {
    let form = k.form(x);
    k.view(x, Form { shape: form.shape / S, ..form }).d(0, NOTHING, &[New]).put()
}

/// `view(…).transpose(1, 2)`. Where its gradient was made anew in the order of the heads, `reshape` copies it.
pub fn heads(k: &mut Lowering<'_>, x: Slot, copies_back: bool) -> Slot {
    k.view(x, k.form(x)).d(0, NOTHING, &[if copies_back { New } else { PassView }]).put()
}

/// `.contiguous()`: a copy where the value lies in another order. The gradient goes back through it as it comes, as a view.
pub fn contiguous(k: &mut Lowering<'_>, x: Slot, is_strided: bool) -> Slot {
    if is_strided { k.copy(Part::Copied, x) } else { k.view(x, k.form(x)).d(0, NOTHING, &[Pass]).put() }
}

/// Tokens of keys, as many as there are for each head.
fn key_tokens(k: &Lowering<'_>, q: Slot, key: Slot) -> Shape {
    let tokens = k.form(key).shape / k.form(q).shape * S;
    if tokens.has(Width::KvHeads) { tokens * N / K } else { tokens }
}

/// `scaled_dot_product_attention`: flash attention in 16 bits, memory-efficient attention in fp32, as PyTorch 2.15
/// chooses below compute capability 9.0 (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp).
pub fn sdpa(k: &mut Lowering<'_>, [q, key, v]: [Slot; 3], layout: HeadLayout) -> Slot {
    // Autocast casts its arguments from the last to the first.
    let [v, key, q] = [v, key, q].map(|x| k.autocast(x));
    let form = k.form(q);
    // Flash attention wants keys and values of one width.
    if form.dtype == DType::Single || layout.widths.keys != layout.widths.values {
        memory_efficient(k, &[q, key, v], form, layout)
    } else {
        let out = flash(k, [q, key, v], form, layout);
        // `.transpose(1, 2).contiguous()`.
        if layout.is_by_head { k.copy(Part::Copied, out) } else { out }
    }
}

/// How a mask and what it says of keys reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masking {
    /// Whether the tokens of a sequence are no multiple of 8, to which the kernel wants the mask padded.
    pub pads_mask: bool,
    /// Whether keys and values are repeated for each head of queries before (`sdpa_attention_forward` in transformers'
    /// integrations/sdpa_attention.py).
    pub repeats_keys: bool,
}

/// The same with a mask, which becomes numbers of the type of the queries; memory-efficient attention alone takes it.
pub fn masked_sdpa(
    k: &mut Lowering<'_>,
    [q, mut key, mut v]: [Slot; 3],
    mask: Slot,
    mut layout: HeadLayout,
    Masking { pads_mask, repeats_keys }: Masking,
) -> Slot {
    if repeats_keys && layout.is_grouped {
        let shape = k.form(q).shape;
        [key, v] = [key, v].map(|x| {
            let x = repeated(k, x, shape, layout.has_one_key_head);
            k.hold(x);
            x
        });
        layout.is_grouped = false;
    }
    let [v, key, q] = [v, key, q].map(|x| k.autocast(x));
    let form = k.form(q);
    let added = mask_in(k, mask, form.dtype, Part::MaskInNumbers);
    let added = if pads_mask {
        let padded = Form { shape: B * S * S8, ..k.form(added) };
        k.kernel(Part::MaskPadded, padded, &[added.into()]).put()
    } else {
        added
    };
    memory_efficient(k, &[q, key, v, added], form, layout)
}

/// How a bias on scores reaches a fused kernel that takes it for a mask (`create_position_bias_mask` in transformers'
/// integrations/sdpa_attention.py, 5.23.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Biasing {
    /// As it is, in the order in which the kernel wants it.
    Plain,
    /// Copied into that order.
    Copied,
    /// The same, with later tokens hidden.
    Causal,
}

/// The same with a bias for each head and pair of tokens, which is that of all sequences; memory-efficient attention alone
/// takes it.
pub fn biased_sdpa(
    k: &mut Lowering<'_>,
    [q, key, v]: [Slot; 3],
    bias: Slot,
    layout: HeadLayout,
    biasing: Biasing,
    pads_mask: bool,
) -> Slot {
    let bias = match biasing {
        Biasing::Plain => bias,
        Biasing::Copied => k.copy(Part::Copied, bias),
        Biasing::Causal => {
            let [queries, keys] = [0; 2].map(|_| arange(k, S, &[]));
            let earlier = table(k, S * S, &[queries, keys]);
            let form = k.form(bias);
            let least = Size::Of(Form { shape: Shape::ONE, ..form });
            let call = k.kernel(Part::ScoresMasked, form, &[bias.into(), earlier.into()]).workspace(least);
            let masked = call.then_output().d(0, SECOND, &[Workspace(least), New]).put();
            let copied = k.copy(Part::Copied, masked);
            k.hold_until(earlier, copied);
            copied
        }
    };
    // A name of the function, and arguments of the kernel.
    k.hold(bias);
    let tokens = key_tokens(k, q, key);
    let [by_8, by_16] = if tokens == S { [S8, S16] } else { [SE8, SE16] };
    let [v, key, q] = [v, key, q].map(|x| k.autocast(x));
    let low = k.autocast(bias);
    k.hold(low);
    let form = k.form(low);
    let mask = if pads_mask {
        let padded = Form { shape: form.shape / tokens * by_8, ..form };
        let padded = k.kernel(Part::MaskPadded, padded, &[low.into()]).d(0, NOTHING, &[New]).put();
        k.hold(padded);
        k.view(padded, form).d(0, NOTHING, &[New]).put()
    } else {
        low
    };
    let each = Form { shape: B * form.shape, ..form };
    let sum = Sum { outputs: form.shape, inputs: B, fast: false };
    let call = k.view(mask, each);
    let call =
        if layout.has_several_sequences { call.d_sum(0, NOTHING, &[Pass], sum) } else { call.d(0, NOTHING, &[Pass]) };
    let mask = call.put();
    let gradient = Size::Of(Form { shape: each.shape / tokens * by_16, ..each });
    let form = k.form(q);
    memory_efficient_of(k, &[q, key, v, mask], form, layout, Some(gradient))
}

/// Everything that the backward pass of a fused kernel reads.
const ALL: Reads = Reads::ALL;

/// `_scaled_dot_product_flash_attention`: `mha_fwd` and `mha_bwd` of csrc/flash_attn/flash_api.cpp. The output lies as the
/// queries do, and the backward pass copies it where that is head by head
/// (`_scaled_dot_product_flash_attention_backward_cuda` in aten/src/ATen/native/transformers/cuda/attention_backward.cu).
fn flash(k: &mut Lowering<'_>, inputs: [Slot; 3], form: Form, layout: HeadLayout) -> Slot {
    let row = Form::new(DType::Single, form.shape / D);
    let padded = |shape: Shape| Workspace(Size::Of(Form { shape: row.shape / S * S128 * shape, ..row }));
    let keys = key_tokens(k, inputs[0], inputs[1]);
    let split = |columns| Size::Splits { rows: row.shape, columns, keys };
    // softmax_d and dq_accum; keys and values of all heads where they were fewer.
    let expanded: &[_] = if layout.is_grouped { &[Workspace(Size::Of(form)); 2] } else { &[] };
    let last = [&[New, padded(Shape::ONE), padded(D32)], expanded].concat();
    let call = k.kernel(Part::Result, form, &inputs.map(Operand::Value)).savable();
    // softmax_lse, the sums of split keys, the state of the random numbers and its seed.
    let call = call.aside(Part::LogSumExp, Size::Of(row));
    // Keys are not split where weights are dropped (`set_params_splitkv`).
    let call = if layout.has_dropout { call } else { call.workspace(split(Shape::ONE)).workspace(split(D32)) };
    let (state, seed) = (Size::Bytes(16), Size::Bytes(8));
    let call = if layout.has_dropout {
        // A state is made that another one replaces, as recorded.
        call.workspace(state).aside(Part::RandomState, seed).aside(Part::RandomState, state)
    } else {
        call.aside(Part::RandomState, state).aside(Part::RandomState, seed)
    };
    let whole = [Workspace(Size::Of(form)), New];
    let first = if layout.is_by_head { &whole[..] } else { &[New] };
    call.d(0, ALL, first).d(1, ALL, &[New]).d(2, ALL, &last).jointly().put()
}

/// `_scaled_dot_product_efficient_attention`: attention.cu and attention_backward.cu of mem_eff_attention.
fn memory_efficient(k: &mut Lowering<'_>, inputs: &[Slot], form: Form, layout: HeadLayout) -> Slot {
    memory_efficient_of(k, inputs, form, layout, None)
}

/// The same, with how large the gradient of a mask is where it has one.
fn memory_efficient_of(
    k: &mut Lowering<'_>,
    inputs: &[Slot],
    form: Form,
    layout: HeadLayout,
    gradient: Option<Size>,
) -> Slot {
    let HeadWidths { keys, values } = layout.widths;
    let row = Form::new(DType::Single, form.shape / keys);
    let out = Form { shape: row.shape * values, ..form };
    let expanded: &[_] = if layout.is_grouped { &[Workspace(Size::Of(form)); 2] } else { &[] };
    // In fp32 grad · out and its sum over the columns leave delta, copied into the order of the heads; in 16 bits the
    // kernel computes it itself. Then the tiles of gradients.
    let [whole, sum] = [out, row].map(|form| Workspace(Size::Of(form)));
    let is_half = form.dtype != DType::Single;
    let tiles = Workspace(Size::Tiles { rows: row.shape, keys, values, is_half });
    let delta: &[_] = match (form.dtype, layout.has_one_head) {
        (DType::Single, false) => &[whole, sum, sum, Drop(1), Drop(1)],
        (DType::Single, true) => &[whole, sum, Drop(1)],
        _ => &[sum],
    };
    let last = [&[New], expanded].concat();
    let workspaces = [delta, &[tiles]].concat();
    let operands: Vec<_> = inputs.iter().map(|&x| x.into()).collect();
    let call = k.kernel(Part::Result, out, &operands).savable();
    // Seed and offset are on the device unless there is a dropout, as recorded.
    let states = if layout.has_dropout { 0 } else { 2 };
    let call = (0..states).fold(call, |call, _| call.aside(Part::RandomState, Size::Bytes(8))).then_output();
    // `should_compute_logsumexp` in aten/src/ATen/native/transformers/attention.cpp.
    let call = call.aside_for_derivatives(Part::LogSumExp, Size::Of(Form { shape: row.shape / S * S32, ..row }));
    let call = if is_half { call.workspace(Size::LongHeads { output: out.shape, keys }) } else { call };
    let call = call.d(0, ALL, &[New]).d(1, ALL, &[New]).d(2, ALL, &last);
    let call = if let Some(size) = gradient { call.d_apart(3, ALL, &[NewOf(size)]) } else { call };
    call.d(2, ALL, &workspaces).jointly().put()
}

/// The mask of eager attention: 0 or the least number of the type, for each sequence (`create_causal_mask`).
///
/// With a window, positions that are too far away are taken out before those that are later
/// (`create_sliding_window_causal_mask`).
pub fn causal_mask(k: &mut Lowering<'_>, embedded: Slot, has_window: bool) -> Slot {
    let dtype = k.form(embedded).dtype;
    let seen = boolean_mask(k, has_window);
    mask_in(k, seen, dtype, Part::Result)
}

/// Which pairs count, for one sequence.
pub fn boolean_mask(k: &mut Lowering<'_>, has_window: bool) -> Slot {
    let batch = arange(k, B, &[]);
    let head = arange(k, Shape::ONE, &[]);
    let [queries, keys] = [0; 2].map(|_| {
        let plain = arange(k, S, &[]);
        arange(k, S, &[plain])
    });
    let near = has_window.then(|| {
        let all = table(k, Shape::ONE, &[]);
        let first = arange(k, S, &[queries]);
        let near = table(k, S * S, &[first, keys]);
        table(k, S * S, &[all, near])
    });
    let mut seen = table(k, S * S, &[queries, keys]);
    if let Some(near) = near {
        seen = table(k, S * S, &[near, seen]);
    }
    // The indices are arguments until all is known.
    [batch, head, queries, keys].into_iter().for_each(|indices| k.hold_until(indices, seen));
    seen
}

/// Numbers of rows or columns.
pub fn arange(k: &mut Lowering<'_>, shape: Shape, from: &[Slot]) -> Slot {
    k.constant(Part::Ids, Form::new(DType::Long, shape), from)
}

/// A table of booleans.
pub fn table(k: &mut Lowering<'_>, shape: Shape, from: &[Slot]) -> Slot {
    k.constant(Part::Table, Form::new(DType::Byte, shape), from)
}

/// Those pairs as numbers to add, for each sequence: 0 or the least of the type.
pub fn mask_in(k: &mut Lowering<'_>, seen: Slot, dtype: DType, part: Part) -> Slot {
    let [zero, least] = [0; 2].map(|_| k.constant(Part::Table, Form::new(dtype, Shape::ONE), &[]));
    k.constant(part, Form::new(dtype, B * S * S), &[seen, zero, least])
}

/// `eager_attention_forward`: scores, mask, softmax in fp32 and two batched products. With a bias on scores, the mask says
/// where they are filled (`MptAttention.forward`). The output, the weights, and the scores that the softmax is given.
pub fn eager(
    k: &mut Lowering<'_>,
    [q, key, v]: [Slot; 3],
    mask: Option<Slot>,
    bias: Option<Slot>,
    layout: HeadLayout,
) -> [Slot; 3] {
    let bias = bias.map(|bias| (bias, ScoreBias::Fixed));
    eager_with(k, [q, key, v], mask, bias, layout)
}

/// What a bias on scores is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreBias {
    /// Fixed, beside a mask that says where scores are filled.
    Fixed,
    /// Learned, beside a mask that is added, if there is one. It is that of all sequences.
    Learned,
}

/// The same with a bias of either kind.
pub fn eager_with(
    k: &mut Lowering<'_>,
    [q, key, v]: [Slot; 3],
    mask: Option<Slot>,
    bias: Option<(Slot, ScoreBias)>,
    layout: HeadLayout,
) -> [Slot; 3] {
    let HeadLayout { is_grouped, is_by_head, has_one_key_head, has_one_head, has_several_sequences, .. } = layout;
    let form = k.form(q);
    let tokens = key_tokens(k, q, key);
    let [keys, values] = [key, v].map(|x| if is_grouped { repeated(k, x, form.shape, has_one_key_head) } else { x });
    // Names of the function.
    k.hold(keys);
    k.hold(values);
    let low_keys = k.autocast(keys);
    let low_queries = k.autocast(q);
    // What is not in the order [b, n, S, d] is no view of [b·n, S, d], and bmm copies it. A cast keeps the order of what
    // is dense, and brings heads that are one and the same into order.
    let is_apart = has_several_sequences && !has_one_head;
    let is_strided = |is_by_head: bool| is_apart && if is_grouped { has_one_key_head } else { !is_by_head };
    let in_order = |k: &mut Lowering<'_>, x, is_copied| if is_copied { k.copy(Part::Copied, x) } else { x };
    let copied = |low: Slot, plain: Slot, is_by_head| is_strided(is_by_head) && (!is_grouped || low == plain);
    let first = in_order(k, low_queries, is_apart && !is_by_head);
    let second = in_order(k, low_keys, copied(low_keys, keys, is_by_head));
    let HeadWidths { keys: key_width, values: value_width } = layout.widths;
    let scores = Form { shape: form.shape / key_width * tokens, ..k.form(first) };
    let raw = bmm(k, Part::Scores, first, second, scores);
    [low_queries, low_keys].into_iter().for_each(|low| k.hold_until(low, raw));
    let mut scaled = k.scale(Part::ScoresScaled, raw);
    if layout.is_capped {
        scaled = soft_cap(k, scaled);
    }
    let masked = match (mask, bias) {
        (mask, Some((bias, ScoreBias::Learned))) => {
            let sum = k.promoted(scaled, bias);
            let over = Sum { outputs: k.form(bias).shape, inputs: B, fast: false };
            let call = k.kernel(Part::ScoresBiased, sum, &[scaled.into(), bias.into()]);
            let call = call.d_cast(0, NOTHING, Pass, sum.dtype);
            let call = if has_several_sequences {
                call.d_sum(1, NOTHING, &[Pass], over)
            } else {
                call.d_cast(1, NOTHING, Pass, sum.dtype)
            };
            let biased = call.put();
            mask.map_or(biased, |mask| add_mask(k, biased, mask))
        }
        (Some(mask), Some((bias, ScoreBias::Fixed))) => {
            let biased = add_to_scores(k, Part::ScoresBiased, scaled, bias);
            k.kernel(Part::ScoresMasked, k.form(biased), &[biased.into(), mask.into()]).d(0, SECOND, &[New]).put()
        }
        (Some(mask), None) => add_mask(k, scaled, mask),
        (None, Some((_, ScoreBias::Fixed)) | None) => scaled,
    };
    // Autocast takes a softmax in fp32.
    let is_wide = layout.has_wide_softmax || k.types.autocast.is_some();
    let wide = if is_wide { k.cast(Part::InFp32, masked, DType::Single) } else { masked };
    let softmax = softmax(k, wide);
    // `.to(query.dtype)`.
    let weights = if layout.casts_softmax_back { k.cast(Part::InHalf, softmax, form.dtype) } else { softmax };
    // `attn_weights` is the name of the masked scores until then, unless that of the softmax comes between.
    k.hold_until(masked, if layout.has_wide_softmax { weights } else { softmax });
    let weights = if layout.has_dropout { dropout(k, weights) } else { weights };
    let low_values = k.autocast(values);
    let first = k.autocast(weights);
    let second = in_order(k, low_values, copied(low_values, values, layout.are_values_by_head));
    let shape = form.shape / key_width * value_width;
    let out = bmm(k, Part::Result, first, second, Form { shape, ..k.form(first) });
    [first, low_values].into_iter().for_each(|low| k.hold_until(low, out));
    [joined_heads(k, out, layout), weights, masked]
}

/// `repeat_kv`: `expand` and a copy, or a view where there is one head; the gradient is summed up over the copies.
pub fn repeated(k: &mut Lowering<'_>, x: Slot, shape: Shape, has_one_key_head: bool) -> Slot {
    let form = Form { shape, ..k.form(x) };
    let call = if has_one_key_head { k.view(x, form) } else { k.kernel(Part::Repeated, form, &[x.into()]) };
    call.d(0, NOTHING, &[New]).put()
}

/// Scores and the mask, which wants no gradient.
pub fn add_mask(k: &mut Lowering<'_>, x: Slot, mask: Slot) -> Slot {
    add_to_scores(k, Part::ScoresMasked, x, mask)
}

/// Scores and what is added to them without a gradient of its own.
fn add_to_scores(k: &mut Lowering<'_>, part: Part, x: Slot, mask: Slot) -> Slot {
    let form = k.promoted(x, mask);
    let call = k.kernel(part, form, &[x.into(), mask.into()]);
    call.d_cast(0, NOTHING, Pass, form.dtype).put()
}

/// `softmax`, whose derivative takes as much again while it runs.
pub fn softmax(k: &mut Lowering<'_>, x: Slot) -> Slot {
    let form = k.form(x);
    k.kernel(Part::Softmax, form, &[x.into()]).d(0, OUTPUT, &[New, Brief(Size::Of(form))]).put()
}

/// `.transpose(1, 2).contiguous()`: a copy in the order of tokens, which one head has already.
pub fn joined_heads(k: &mut Lowering<'_>, out: Slot, layout: HeadLayout) -> Slot {
    if layout.has_one_head {
        return out;
    }
    let back = if layout.has_several_sequences { New } else { PassView };
    k.kernel(Part::Copied, k.form(out), &[out.into()]).d(0, NOTHING, &[back]).put()
}

/// `bmm`, whose gradients are computed for the second factor first (derivatives.yaml: mat2, self).
pub fn bmm(k: &mut Lowering<'_>, part: Part, x: Slot, y: Slot, form: Form) -> Slot {
    let both = [NewView, Brief(CUBLAS)];
    k.kernel(part, form, &[x.into(), y.into()]).brief(CUBLAS).d(1, FIRST, &both).d(0, SECOND, &both).put()
}
