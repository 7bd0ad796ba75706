//! Embeddings of tokens and positions.

use super::kernel::Effect::{Brief, Drop, New, Pass, Workspace};
use super::kernel::{NOTHING, SECOND, Slot};
use super::lowering::{Lowering, Sum};
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{B, DType, S, Shape};

/// Rows of a table. With many ids `embedding_dense_backward` sorts them and adds up each row's segment of gradients
/// (aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu).
pub fn embedding(k: &mut Lowering<'_>, ids: Slot, rows: Shape, width: Shape) -> Slot {
    let tokens = k.form(ids).shape;
    let weight = k.weight(Part::Weight, Form::new(k.types.weights, rows * width));
    let out = Form::new(k.types.weights, tokens * width);
    let sorting = |each, fixed| Size::Sorting { tokens, each, fixed };
    let partial = |dtype, shape| Workspace(Size::Partial { tokens, rows, each: Form::new(dtype, shape) });
    let (each, one) = (Workspace(sorting(8, 0)), Workspace(sorting(0, 8)));
    let segment = Workspace(Size::Segments { tokens, rows });
    // sorted_indices, orig_indices and an arange that goes when they are sorted; then the gradient.
    let sort = [each, each, each, Brief(Size::Sort { tokens, rows }), Drop(0), New];
    // segment_offsets, num_of_segments, and the counts that unique_by_key drops.
    let find = [each, one, each, Brief(sorting(0, 1279)), Drop(0)];
    // partials_per_segment, their offsets by a scan, num_of_partial_segments.
    let count = [segment, segment, Brief(Size::SegmentScan { tokens, rows }), one];
    // partial_segment_offset, grad_weight_per_segment.
    let sums = [partial(DType::Long, Shape::ONE), partial(DType::Single, width)];
    let effects = [&sort[..], &find, &count, &sums].concat();
    k.kernel(Part::Result, out, &[weight, ids.into()]).d(0, SECOND, &effects).put()
}

/// `torch.arange(S) + past_seen_tokens`.
pub fn position_ids(k: &mut Lowering<'_>) -> Slot {
    let form = Form::new(DType::Long, S);
    let plain = k.kernel(Part::Ids, form, &[]).put();
    k.kernel(Part::Ids, form, &[plain.into()]).put()
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

/// `position_ids + self.offset` (`OPTLearnedPositionalEmbedding.forward`).
pub fn offset_positions(k: &mut Lowering<'_>, x: Slot) -> Slot {
    k.kernel(Part::Ids, k.form(x), &[x.into()]).put()
}

/// The sum of a value and one that is the same for all sequences, whose gradient is summed up over them.
pub fn add_to_each(k: &mut Lowering<'_>, x: Slot, y: Slot, is_broadcast: bool) -> Slot {
    let (form, row) = (k.form(x), k.form(y).shape);
    let sum = Sum { outputs: row, inputs: form.shape / row, fast: false };
    let call = k.kernel(Part::Result, form, &[x.into(), y.into()]).d(0, NOTHING, &[Pass]);
    if is_broadcast { call.d_sum(1, NOTHING, &[Pass], sum).put() } else { call.d(1, NOTHING, &[Pass]).put() }
}
