//! From logits to the loss.

use super::kernel::Effect::{New, Pass};
use super::kernel::{ASIDES, FIRST, NOTHING, OUTPUT, SECOND, Slot};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{B, DType, S, Shape};

/// `x.to(dtype)`: the value itself where it has that type.
pub fn to(k: &mut Lowering<'_>, part: Part, x: Slot, dtype: DType) -> Slot {
    let form = k.form(x);
    if form.dtype == dtype {
        return k.view(x, form).d(0, NOTHING, &[Pass]).put();
    }
    k.cast(part, x, dtype)
}

/// `ForCausalLMLoss`: labels are padded by one each and shifted, which copies those of several sequences.
pub fn of_next_tokens(k: &mut Lowering<'_>, logits: Slot) -> Slot {
    let labels = Form::new(DType::Long, B * S);
    let padded = k.kernel(Part::PaddedLabels, labels, &[]).sized(Part::PaddedLabels, Size::PaddedLabels).put();
    let target = k.kernel(Part::Labels, labels, &[padded.into()]).sized(Part::Labels, Size::ShiftedLabels).put();
    // Names of the function.
    k.hold(padded);
    k.hold(target);
    cross_entropy(k, logits, target)
}

/// `cross_entropy`: `log_softmax` in the type of the logits, and `nll_loss`, which autocast runs in fp32
/// (aten/src/ATen/autocast_mode.h).
pub fn cross_entropy(k: &mut Lowering<'_>, logits: Slot, target: Slot) -> Slot {
    let log = k.kernel(Part::LogSoftmax, k.form(logits), &[logits.into()]).d(0, OUTPUT, &[New]).put();
    let log = if k.types.autocast.is_some() { k.cast(Part::InFp32, log, DType::Single) } else { log };
    let one = Form::new(k.form(log).dtype, Shape::ONE);
    let call = k.kernel(Part::Result, one, &[log.into(), target.into()]).aside(Part::TotalWeight, Size::Of(one));
    call.d(0, FIRST | SECOND | ASIDES, &[New]).put()
}

/// The sum with a buffer of a type. The gradient is cast where the sum has another type.
pub fn add_buffer(k: &mut Lowering<'_>, x: Slot, dtype: DType) -> Slot {
    let form = k.form(x);
    let sum = form.with_dtype(form.dtype.promoted(dtype));
    k.kernel(Part::Sum, sum, &[x.into()]).d_cast(0, NOTHING, Pass, sum.dtype).put()
}

/// A quotient by a number that wants no gradient, and is kept for that of the dividend.
pub fn quotient(k: &mut Lowering<'_>, x: Slot, y: Slot) -> Slot {
    k.kernel(Part::Result, k.form(x), &[x.into(), y.into()]).d(0, SECOND, &[New]).put()
}

/// `x *= number`.
pub fn scaled_in_place(k: &mut Lowering<'_>, x: Slot) -> Slot {
    k.in_place(k.form(x), &[x.into()]).d(0, NOTHING, &[New]).put()
}
