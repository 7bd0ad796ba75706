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

/// `ForCausalLMLoss`: labels are padded by one each and shifted, which copies those of several sequences; then
/// `log_softmax` and `nll_loss`.
pub fn cross_entropy(k: &mut Lowering<'_>, logits: Slot) -> Slot {
    let labels = Form::new(DType::Long, B * S);
    let padded = k.kernel(Part::PaddedLabels, labels, &[]).sized(Part::PaddedLabels, Size::PaddedLabels).put();
    let target = k.kernel(Part::Labels, labels, &[padded.into()]).sized(Part::Labels, Size::ShiftedLabels).put();
    // Names of the function.
    k.hold(padded);
    k.hold(target);
    let log = k.kernel(Part::LogSoftmax, k.form(logits), &[logits.into()]).d(0, OUTPUT, &[New]).put();
    let one = Form::new(DType::Single, Shape::ONE);
    let call = k.kernel(Part::Result, one, &[log.into(), target.into()]).aside(Part::TotalWeight, Size::Of(one));
    call.d(0, FIRST | SECOND | ASIDES, &[New]).put()
}
