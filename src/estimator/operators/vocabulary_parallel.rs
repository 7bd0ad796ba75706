//! Embedding and loss of devices that have a part of the vocabulary each.

use super::embedding;
use super::kernel::Effect::{Drop, New, Pass, Workspace};
use super::kernel::{Effect, FIRST, OUTPUT, SECOND, Slot, THIRD};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{DType, Shape};

/// Flags of ids that another device has, and ids with zeros in their places (`MaskPartial._mask_tensor` in
/// torch/distributed/tensor/placement_types.py, PyTorch 2.15).
pub fn own_ids(k: &mut Lowering<'_>, ids: Slot) -> [Slot; 2] {
    let whole = k.form(ids);
    let flags = whole.with_dtype(DType::Byte);
    let below = k.constant(Part::Mask, flags, &[ids]);
    let above = k.constant(Part::Mask, flags, &[ids]);
    let mask = k.constant(Part::Mask, flags, &[below, above]);
    let copied = k.constant(Part::Copied, whole, &[ids]);
    let own = k.constant(Part::Ids, whole, &[copied]);
    [mask, own]
}

/// Rows of a table of which this device has one of `parts`; those of others are zeros, and are added later. The gradient is that of
/// the whole table (`embedding_dense_backward` of a DTensor).
pub fn embedding(k: &mut Lowering<'_>, ids: Slot, rows: Shape, width: Shape, parts: u32) -> Slot {
    let [mask, own] = own_ids(k, ids);
    let out = embedding::part(k, ids, rows, width, parts);
    k.hold_until(mask, out);
    k.hold_until(own, out);
    out
}

/// `cross_entropy` of logits of which each device has a part of the columns, in fp32 (`_log_softmax` and `_nll_loss_forward` in
/// torch/distributed/tensor/parallel/loss.py, PyTorch 2.15).
pub fn cross_entropy(k: &mut Lowering<'_>, logits: Slot, target: Slot, columns: Shape) -> Slot {
    let log = log_softmax(k, logits, columns);
    let long = k.form(target);
    let (flags, single) = (long.with_dtype(DType::Byte), long.with_dtype(DType::Single));
    let [zero, one] = [DType::Long, DType::Single].map(|dtype| Form::new(dtype, Shape::ONE));
    // `torch.where(target != ignore_index, target, 0)`.
    let is_target = k.constant(Part::Mask, flags, &[target]);
    let nothing = k.constant(Part::Counted, zero, &[]);
    let safe = k.constant(Part::Labels, long, &[is_target, nothing]);
    let [mask, own] = own_ids(k, safe);
    let picked = k.constant(Part::Picked, single, &[log, own]);
    k.hold_until(mask, picked);
    let summed = k.constant(Part::Sum, single, &[picked]);
    let negative = k.constant(Part::Difference, single, &[summed]);
    let is_target = k.constant(Part::Mask, flags, &[target]);
    let nothing = k.constant(Part::Counted, one, &[]);
    let each = k.constant(Part::Filled, single, &[negative, is_target, nothing]);
    let is_target = k.constant(Part::Mask, flags, &[target]);
    let count = k.kernel(Part::Counted, zero, &[is_target.into()]).workspace(Size::Of(long)).put();
    let total = k.constant(Part::TotalWeight, one, &[count]);
    let call = k.kernel(Part::Result, one, &[log.into(), target.into(), total.into(), each.into()]);
    let result = call
        .d(
            0,
            FIRST | SECOND | THIRD,
            &gradient(Forms { id: long, logits: Form::new(DType::Single, long.shape * columns) }),
        )
        .put();
    // Names of the function.
    [safe, own, picked, summed].into_iter().for_each(|slot| k.hold_until(slot, result));
    result
}

/// Forms of a token's id and of its logits.
struct Forms {
    id: Form,
    logits: Form,
}

/// `_log_softmax`, whose derivative is that of the loss behind it.
fn log_softmax(k: &mut Lowering<'_>, logits: Slot, columns: Shape) -> Slot {
    let whole = k.form(logits);
    let row = Form { shape: whole.shape / columns, ..whole };
    let largest = k.constant(Part::Maximum, row, &[logits]);
    let largest = k.constant(Part::Maximum, row, &[largest]);
    let shifted = k.constant(Part::Difference, whole, &[logits, largest]);
    let exponentials = k.constant(Part::Exponential, whole, &[shifted]);
    let sum = k.constant(Part::Sum, row, &[exponentials]);
    let sum = k.constant(Part::Sum, row, &[sum]);
    let log = k.constant(Part::LogSumExp, row, &[sum]);
    let operands = [logits, shifted, log].map(Into::into);
    let result = k.kernel(Part::LogSoftmax, whole, &operands).d(0, OUTPUT, &[Pass]).put();
    [largest, sum].into_iter().for_each(|slot| k.hold_until(slot, result));
    result
}

/// `_nll_loss_and_log_softmax_backward`.
fn gradient(forms: Forms) -> Vec<Effect<Size>> {
    let Forms { id, logits } = forms;
    let of = |form: Form| Workspace(Size::Of(form));
    let flags = of(id.with_dtype(DType::Byte));
    let single = of(id.with_dtype(DType::Single));
    let [zero, one] = [DType::Long, DType::Single].map(|dtype| of(Form::new(dtype, Shape::ONE)));
    vec![
        // Labels without those that are ignored, and zeros for all logits.
        flags,
        zero,
        of(id),
        Drop(1),
        Drop(1),
        of(logits),
        // `_mask_tensor`.
        flags,
        flags,
        flags,
        Drop(2),
        Drop(1),
        of(id),
        of(id),
        Drop(1),
        // Less one where a label is this device's, and the numbers of rows.
        single,
        single,
        Drop(1),
        of(id),
        // The gradient of each token.
        flags,
        one,
        single,
        Drop(1),
        Drop(1),
        // `(grad_input + torch.exp(x)) * grad_output`.
        of(logits),
        of(logits),
        Drop(1),
        New,
        Drop(0),
    ]
}
