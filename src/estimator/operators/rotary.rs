//! Rotary positions.

use super::kernel::Effect::{New, NewOf, PassView, Workspace};
use super::kernel::{NOTHING, SECOND, Slot};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{DType, S, Shape};

/// Cosines and sines of positions for heads of a width (`LlamaRotaryEmbedding.forward`, under no_grad), in fp32 and then
/// in the type that the layers are given, in most models that of the hidden state.
pub fn table(k: &mut Lowering<'_>, positions: Slot, width: Shape, dtype: DType) -> [Slot; 2] {
    let whole = k.form(positions).shape * width;
    let make =
        |k: &mut Lowering<'_>, shape, reads: &[Slot]| k.constant(Part::Table, Form::new(DType::Single, shape), reads);
    let floats = make(k, k.form(positions).shape, &[positions]);
    // `self.inv_freq[None, :, None].float()`.
    let wide = (k.types.buffers != DType::Single).then(|| make(k, width.part(2), &[]));
    let freqs = make(k, whole.part(2), &[&[floats][..], wide.as_slice()].concat());
    let doubled = make(k, whole, &[freqs]);
    let plain = make(k, whole, &[doubled]);
    let cos = make(k, whole, &[plain]);
    let plain = make(k, whole, &[doubled]);
    let sin = make(k, whole, &[plain]);
    // `freqs`, `emb`, `cos` and `sin` are names of the function.
    let tables = [cos, sin].map(|table| {
        let form = k.form(table);
        let is_wanted = form.dtype == dtype;
        if is_wanted { table } else { k.kernel(Part::Table, form.with_dtype(dtype), &[table.into()]).put() }
    });
    for name in [freqs, doubled, cos, sin] {
        if !tables.contains(&name) {
            k.hold(name);
        }
    }
    tables
}

/// `apply_rotary_pos_emb`: x * cos + rotate_half(x) * sin.
pub fn rotated(k: &mut Lowering<'_>, x: Slot, cos: Slot, sin: Slot) -> Slot {
    let form = k.form(x);
    let half = Form { shape: form.shape.part(2), ..form };
    let cosined = times(k, Part::Cosined, x, cos);
    // slice_backward writes into zeros of the whole.
    let [first, second] = [0; 2].map(|_| k.view(x, half).d(0, NOTHING, &[New]).put());
    let negated = k.kernel(Part::HalfNegated, half, &[second.into()]).d(0, NOTHING, &[New]).put();
    let turned = k.kernel(Part::HalvesTurned, form, &[negated.into(), first.into()]);
    let turned = turned.d(0, NOTHING, &[PassView]).d(1, NOTHING, &[PassView]).put();
    let sined = times(k, Part::Sined, turned, sin);
    k.add(Part::Result, cosined, sined)
}

/// `freqs_cis` of `DeepseekV2RotaryEmbedding.forward`, under no_grad: complex numbers of two fp32 each.
pub fn complex_table(k: &mut Lowering<'_>, positions: Slot, width: Shape) -> Slot {
    let tokens = k.form(positions).shape;
    let whole = tokens * width;
    let make =
        |k: &mut Lowering<'_>, shape, reads: &[Slot]| k.constant(Part::Table, Form::new(DType::Single, shape), reads);
    let floats = make(k, tokens, &[positions]);
    let freqs = make(k, whole.part(2), &[floats]);
    k.hold(freqs);
    let ones = make(k, whole.part(2), &[freqs]);
    let plain = make(k, whole, &[ones, freqs]);
    make(k, whole, &[plain])
}

/// `apply_rotary_emb`: pairs in fp32 as complex numbers, times the table, and back.
pub fn complex(k: &mut Lowering<'_>, both: [Slot; 2], table: Slot, copies_back: bool) -> [Slot; 2] {
    // `xq_` and `xk_`, names of the function.
    let wide = both.map(|x| {
        let wide = k.cast(Part::InFp32, x, DType::Single);
        k.hold(wide);
        wide
    });
    let conjugate = Workspace(Size::Of(k.form(table)));
    std::array::from_fn(|of| {
        let form = k.form(wide[of]);
        let call = k.kernel(Part::Turned, form, &[wide[of].into(), table.into()]);
        let turned = call.d(0, SECOND, &[conjugate, New]).put();
        // view_as_real: its gradient must lie in order. That of queries is a part of a whole, unless a cast has copied it.
        let dtype = k.form(both[of]).dtype;
        let is_apart = of == 0 && (copies_back || dtype == DType::Single);
        let back = if is_apart { New } else { PassView };
        let real = k.view(turned, form).d(0, NOTHING, &[back]).put();
        k.cast(Part::Result, real, dtype)
    })
}

/// Complex numbers in a buffer of the model, which is there anyway.
pub fn complex_buffer(k: &mut Lowering<'_>, width: Shape) -> Slot {
    let form = Form::new(DType::Single, S * width);
    k.kernel(Part::Table, form, &[]).sized(Part::Table, Size::Bytes(0)).put()
}

/// `apply_rotary_emb` of torchtitan: both go to fp32, both are turned, and both go back. `xq_`, `xk_`, `xq_out` and `xk_out` are
/// names of the function.
pub fn complex_in_turn(k: &mut Lowering<'_>, both: [Slot; 2], table: Slot) -> [Slot; 2] {
    let wide = both.map(|x| k.cast(Part::InFp32, x, DType::Single));
    let conjugate = Workspace(Size::Of(k.form(table)));
    let turned = wide.map(|x| {
        let call = k.kernel(Part::Turned, k.form(x), &[x.into(), table.into()]);
        call.d(0, SECOND, &[conjugate, New]).put()
    });
    wide.into_iter().chain(turned).for_each(|name| k.hold(name));
    let dtype = k.form(both[0]).dtype;
    turned.map(|x| k.cast(Part::Result, x, dtype))
}

/// The product with a table that wants no gradient.
fn times(k: &mut Lowering<'_>, part: Part, x: Slot, table: Slot) -> Slot {
    let form = k.promoted(x, table);
    let call = k.kernel(part, form, &[x.into(), table.into()]);
    call.d_cast(0, SECOND, NewOf(Size::Of(form)), form.dtype).put()
}

/// `GPTJAttention.forward` looks positions up in a table of its own, of `width` sines and cosines a row, which it repeats
/// for each of them; `gather` wants a position for each column.
pub fn sinusoid_rows(k: &mut Lowering<'_>, positions: Slot, dtype: DType, rows: Shape, width: Shape) -> [Slot; 3] {
    let table = Form::new(DType::Single, rows * width);
    let copy = k.kernel(Part::Table, table, &[]).put();
    let ids = Form { shape: k.form(positions).shape * width, ..k.form(positions) };
    let ids = k.kernel(Part::Ids, ids, &[positions.into()]).put();
    let whole = Form::new(DType::Single, k.form(ids).shape);
    let gathered = k.kernel(Part::Result, whole, &[copy.into(), ids.into()]).put();
    let is_wanted = dtype == DType::Single;
    let found =
        if is_wanted { gathered } else { k.kernel(Part::Result, whole.with_dtype(dtype), &[gathered.into()]).put() };
    [found, copy, ids]
}

/// `apply_rotary_pos_emb` of modeling_gptj.py: each sine and cosine stands for two columns.
pub fn in_pairs(k: &mut Lowering<'_>, x: Slot, rows: Slot) -> Slot {
    let [sin, cos] = [0; 2].map(|_| k.kernel(Part::Table, k.form(rows), &[rows.into()]).put());
    // Names of the function.
    k.hold(sin);
    k.hold(cos);
    rotated(k, x, cos, sin)
}
