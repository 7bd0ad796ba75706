//! Embeddings of tokens and positions.

use super::kernel::Effect::{Brief, Drop, New, NewOf, Pass, Workspace};
use super::kernel::{Effect, NOTHING, Operand, SECOND, Slot};
use super::lowering::{Lowering, Sum};
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{B, DType, S, S1, Shape};

/// Rows of a table. With many ids `embedding_dense_backward` sorts them and adds up each row's segment of gradients
/// (aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu).
pub fn embedding(k: &mut Lowering<'_>, ids: Slot, rows: Shape, width: Shape) -> Slot {
    // partial_segment_offset, grad_weight_per_segment.
    let tokens = k.form(ids).shape;
    let partial = |dtype, shape| Workspace(Size::Partial { tokens, rows, each: Form::new(dtype, shape) });
    let sums = [partial(DType::Long, Shape::ONE), partial(DType::Single, width)];
    rows_of(k, ids, [rows, rows], width, &[], &sums)
}

/// The same where the device has one of `parts` of the rows, and the gradient is that of all.
pub fn part(k: &mut Lowering<'_>, ids: Slot, rows: Shape, width: Shape, parts: u32) -> Slot {
    let (tokens, all) = (k.form(ids).shape, rows.by(parts));
    let partial = |dtype, shape| Workspace(Size::Partial { tokens, rows: all, each: Form::new(dtype, shape) });
    let sums = [partial(DType::Long, Shape::ONE), partial(DType::Single, width)];
    rows_of(k, ids, [rows, all], width, &[], &sums)
}

/// The same brought into the order of tokens, where there are several sequences, and back for the gradient, to which another one
/// is added where the table is that of the head, too.
pub fn in_order_of_tokens(
    k: &mut Lowering<'_>,
    ids: Slot,
    sides: [Shape; 2],
    has_several: bool,
    is_tied: bool,
) -> Slot {
    let whole = Workspace(Size::Of(Form::new(k.types.weights, k.form(ids).shape * sides[1])));
    if !has_several {
        let out = summed(k, ids, sides, &[], is_tied);
        // `make_viewless_tensor` of Megatron Core.
        return k.view(out, k.form(out)).brief(Size::Bytes(2)).d(0, NOTHING, &[Pass]).put();
    }
    let out = summed(k, ids, sides, &[whole], is_tied);
    k.kernel(Part::Copied, k.form(out), &[out.into()]).d(0, NOTHING, &[Pass]).put()
}

/// Rows of a table, to whose gradient another one is added where it is that of the head, too.
pub fn plain(k: &mut Lowering<'_>, ids: Slot, sides: [Shape; 2], is_tied: bool) -> Slot {
    summed(k, ids, sides, &[], is_tied)
}

/// The same, whose derivative does something before it begins.
fn summed(k: &mut Lowering<'_>, ids: Slot, [rows, width]: [Shape; 2], before: &[Effect<Size>], is_tied: bool) -> Slot {
    let tokens = k.form(ids).shape;
    let partial = |dtype, shape| Workspace(Size::Partial { tokens, rows, each: Form::new(dtype, shape) });
    let sums = [partial(DType::Long, Shape::ONE), partial(DType::Single, width)];
    let sum: &[_] = if is_tied { &[Brief(Size::Of(Form::new(k.types.weights, rows * width)))] } else { &[] };
    rows_of(k, ids, [rows, rows], width, before, &[&sums, sum].concat())
}

/// The same for types of tokens: one row that stands for several sequences is copied for each, forward and backward. Where
/// a table has few rows, partial sums are added to its gradient at once, of 16 bits to one in fp32, as recorded.
pub fn of_types(k: &mut Lowering<'_>, types: Slot, rows: Shape, width: Shape, is_expanded: bool) -> Slot {
    let all = Form::new(DType::Long, B * S);
    let each = Form::new(DType::Long, Shape::ONE);
    let partial = Workspace(Size::Partial { tokens: all.shape, rows, each });
    let mut sums = vec![partial, partial];
    if k.types.weights != DType::Single {
        let sum = Form::new(DType::Single, rows * width);
        sums.push(Workspace(Size::SortedSum { tokens: all.shape, sum }));
    }
    if !is_expanded {
        return rows_of(k, types, [rows, rows], width, &[], &sums);
    }
    let types = k.view(types, all).put();
    let copied = k.kernel(Part::Copied, all, &[types.into()]).put();
    let out = rows_of(k, types, [rows, rows], width, &[Workspace(Size::Of(all))], &sums);
    k.hold_until(copied, out);
    out
}

/// `table[ids]`. `index_backward` puts gradients into zeros of the whole by `index_put_` with `accumulate`, which sorts
/// (aten/src/ATen/native/cuda/Indexing.cu); what it takes is as recorded.
pub fn indexed(k: &mut Lowering<'_>, ids: Slot, rows: Shape, width: Shape) -> Slot {
    let form = k.form(ids);
    let weight = k.matrix(Part::Weight, k.types.weights, [rows, width]);
    let out = Form::new(k.types.weights, form.shape * width);
    let each = Workspace(Size::Of(form));
    let sort = Brief(Size::IndexSort { entries: form.shape, rows });
    let effects = [New, each, each, Drop(1), each, each, each, sort];
    k.kernel(Part::Result, out, &[weight, ids.into()]).d(0, SECOND, &effects).put()
}

/// Rows of a table that has so many, and whose gradient has so many; its derivative does something before it begins, and has `sums` of segments.
pub fn rows_of(
    k: &mut Lowering<'_>,
    ids: Slot,
    [held, rows]: [Shape; 2],
    width: Shape,
    before: &[Effect<Size>],
    sums: &[Effect<Size>],
) -> Slot {
    let tokens = k.form(ids).shape;
    let weight = k.matrix(Part::Weight, k.types.weights, [held, width]);
    let out = Form::new(k.types.weights, tokens * width);
    let sorting = |each, fixed| Size::Sorting { tokens, each, fixed };
    let (each, one) = (Workspace(sorting(8, 0)), Workspace(sorting(0, 8)));
    let segment = Workspace(Size::Segments { tokens, rows });
    // sorted_indices, orig_indices and an arange that goes when they are sorted; then the gradient.
    let gradient = if held == rows { New } else { NewOf(Size::Of(Form::new(k.types.weights, rows * width))) };
    let sort = [each, each, each, Brief(Size::Sort { tokens, rows }), Drop(0), gradient];
    // segment_offsets, num_of_segments, and the counts that unique_by_key drops.
    let find = [each, one, each, Brief(Size::Ends { tokens }), Drop(0)];
    // partials_per_segment, their offsets by a scan, num_of_partial_segments.
    let count = [segment, segment, Brief(Size::SegmentScan { tokens, rows }), one];
    let effects = [before, &sort, &find, &count, sums].concat();
    k.kernel(Part::Result, out, &[weight, ids.into()]).d(0, SECOND, &effects).put()
}

/// `super().forward(input_ids) * self.embed_scale.to(self.weight.dtype)` (`GemmaTextScaledWordEmbedding.forward`).
pub fn scaled(k: &mut Lowering<'_>, x: Slot, is_cast: bool) -> Slot {
    let form = k.form(x);
    let number = Form { shape: Shape::ONE, ..form };
    let number = is_cast.then(|| k.kernel(Part::Table, number, &[]).put());
    let operands: Vec<_> = [x].into_iter().chain(number).map(Operand::Value).collect();
    k.kernel(Part::Result, form, &operands).d(0, SECOND, &[New]).put()
}

/// `torch.arange(S) + past_seen_tokens`.
pub fn position_ids(k: &mut Lowering<'_>) -> Slot {
    let form = Form::new(DType::Long, S);
    let plain = k.kernel(Part::Ids, form, &[]).put();
    k.kernel(Part::Ids, form, &[plain.into()]).put()
}

/// `torch.arange` of the tokens of a sequence.
pub fn range(k: &mut Lowering<'_>) -> Slot {
    k.kernel(Part::Ids, Form::new(DType::Long, S), &[]).put()
}

/// As many numbers for each sequence, as a view or copied.
pub fn expanded(k: &mut Lowering<'_>, x: Slot, is_copied: bool) -> Slot {
    let form = k.form(x);
    let form = Form { shape: B * form.shape, ..form };
    if is_copied { k.constant(Part::Ids, form, &[x]) } else { k.view(x, form).put() }
}

/// Labels shifted by one token: zeros, into which all but the last are copied by way of a clone, and a mask of those
/// that do not count.
pub fn shifted_right(k: &mut Lowering<'_>, labels: Slot) -> Slot {
    let form = k.form(labels);
    let shifted = k.constant(Part::Ids, form, &[labels]);
    k.constant(Part::Cloned, Form { shape: B * S1, ..form }, &[labels]);
    k.constant(Part::Table, form.with_dtype(DType::Byte), &[shifted]);
    shifted
}

/// Ones of all tokens, and the number of each among them (`OPTDecoder.forward`).
pub fn counted_positions(k: &mut Lowering<'_>) -> [Slot; 2] {
    let form = Form::new(DType::Single, B * S);
    let ones = k.kernel(Part::Table, form, &[]).put();
    let sums = k.kernel(Part::Ids, form, &[ones.into()]).brief(Size::RowScan).put();
    let masked = k.kernel(Part::Ids, form, &[sums.into(), ones.into()]).put();
    let less = k.kernel(Part::Ids, form, &[masked.into()]).put();
    let ids = k.kernel(Part::Ids, form.with_dtype(DType::Long), &[less.into()]).put();
    // `position_ids` is their name until then.
    k.hold_until(sums, ids);
    [ones, ids]
}

/// Numbers of positions in a buffer of the model, which is there anyway.
pub fn position_buffer(k: &mut Lowering<'_>, count: Shape) -> Slot {
    k.kernel(Part::Ids, Form::new(DType::Long, count), &[]).sized(Part::Ids, Size::Bytes(0)).put()
}

/// As many new numbers as there are: `position_ids + self.offset` (`OPTLearnedPositionalEmbedding.forward`), or what
/// `torch.gather` takes out of a buffer.
pub fn renumbered(k: &mut Lowering<'_>, x: Slot) -> Slot {
    k.constant(Part::Ids, k.form(x), &[x])
}

/// `create_position_ids_from_input_ids`: tokens that are no padding, counted.
pub fn positions_of_ids(k: &mut Lowering<'_>, ids: Slot, is_one_sequence: bool) -> Slot {
    let form = |dtype| Form::new(dtype, B * S);
    let mut make = |part, dtype, from: Slot| k.kernel(part, form(dtype), &[from.into()]).put();
    let is_token = make(Part::Mask, DType::Byte, ids);
    let mask = make(Part::Mask, DType::Int, is_token);
    // `cumsum` casts what it adds up, and has CUB scan one sequence (aten/src/ATen/native/cuda/ScanUtils.cuh).
    let wide = Size::Of(form(DType::Long));
    let call = k.kernel(Part::Counted, form(DType::Long), &[mask.into()]).workspace(wide);
    let summed = if is_one_sequence { call.workspace(Size::Scan { elements: B * S }).put() } else { call.put() };
    let mut make = |part, dtype, from: Slot| k.kernel(part, form(dtype), &[from.into()]).put();
    let narrow = make(Part::Counted, DType::Int, summed);
    let later = make(Part::Counted, DType::Int, narrow);
    let counted = make(Part::Counted, DType::Int, later);
    let long = make(Part::Ids, DType::Long, counted);
    let out = make(Part::Ids, DType::Long, long);
    // Names of the function.
    k.hold(mask);
    k.hold(counted);
    out
}

/// The sum of a value and one that is the same for all sequences, whose gradient is summed up over them.
pub fn add_to_each(k: &mut Lowering<'_>, x: Slot, y: Slot, is_broadcast: bool) -> Slot {
    let (form, row) = (k.promoted(x, y), k.form(y).shape);
    let sum = Sum { outputs: row, inputs: form.shape / row, fast: false };
    let call = k.kernel(Part::Result, form, &[x.into(), y.into()]).d_cast(0, NOTHING, Pass, form.dtype);
    let call =
        if is_broadcast { call.d_sum(1, NOTHING, &[Pass], sum) } else { call.d_cast(1, NOTHING, Pass, form.dtype) };
    call.put()
}
