//! The divergence of two distributions over the vocabulary, as trl's distillation spells it out.

use super::kernel::Effect::{Brief, Drop, New, Pass, PassView, Workspace};
use super::kernel::{FIRST, NOTHING, OUTPUT, SECOND, Slot};
use super::log_probs::{log_softmax, masked_places, sum_of};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{DType, Shape};

/// The generalized Jensen-Shannon divergence of the rows of two tensors of logits, of which `rows` are picked by a mask,
/// summed up and divided by a number (`generalized_jsd_loss` in trl's gkd_trainer.py, with a β between 0 and 1).
pub fn jensen_shannon(
    k: &mut Lowering<'_>,
    [student, teacher, labels, items]: [Slot; 4],
    rows: Shape,
    width: Shape,
) -> Slot {
    let form = k.form(student);
    let number = Form { shape: Shape::ONE, ..form };
    let quotient = k.scale(Part::Result, student);
    let teacher_quotient = k.scale(Part::Result, teacher);
    let student_logs = log_softmax(k, quotient);
    let teacher_logs = log_softmax(k, teacher_quotient);
    let beta = k.constant(Part::Table, number, &[]);
    let negated = k.constant(Part::Table, number, &[beta]);
    let rest = k.constant(Part::Table, number, &[negated]);
    let first = shifted(k, student_logs, rest);
    let log = k.constant(Part::Table, number, &[beta]);
    let second = shifted(k, teacher_logs, log);
    let both = Form { shape: form.shape.by(2), ..form };
    let stacked = k.kernel(Part::Joined, both, &[first.into(), second.into()]);
    let stacked = stacked.d(0, NOTHING, &[PassView]).d(1, NOTHING, &[PassView]).put();
    k.hold_until(first, stacked);
    k.hold_until(second, stacked);
    let mixture = log_sum_of_two(k, stacked, form, both);
    let of_teacher = divergence(k, mixture, teacher_logs);
    let of_student = divergence(k, mixture, student_logs);
    let first = weighted(k, beta, of_teacher);
    let rest = k.constant(Part::Table, number, &[beta]);
    let second = weighted(k, rest, of_student);
    let all = k.kernel(Part::Sum, form, &[first.into(), second.into()]);
    let all = all.d(0, NOTHING, &[Pass]).d(1, NOTHING, &[Pass]).put();
    let mask = k.constant(Part::Mask, k.form(labels).with_dtype(DType::Byte), &[labels]);
    let picked = masked_rows(k, all, mask, rows, width);
    k.hold_until(all, picked);
    let sum = sum_of(k.kernel(Part::Sum, number, &[picked.into()]), Shape::ONE, rows * width)
        .d(0, NOTHING, &[PassView])
        .put();
    let form = number.with_dtype(number.dtype.promoted(k.form(items).dtype));
    let out = k.kernel(Part::Result, form, &[sum.into(), items.into()]).d(0, SECOND, &[New]).put();
    // Names of the function.
    let names = [quotient, teacher_quotient, student_logs, teacher_logs, beta, mixture, of_teacher, of_student, mask];
    names.into_iter().chain([picked, sum]).for_each(|name| k.hold(name));
    out
}

/// The sum with a number that is a tensor.
fn shifted(k: &mut Lowering<'_>, x: Slot, number: Slot) -> Slot {
    k.kernel(Part::Sum, k.form(x), &[x.into(), number.into()]).d(0, NOTHING, &[Pass]).put()
}

/// The product with a number that is a tensor, which is kept.
fn weighted(k: &mut Lowering<'_>, number: Slot, x: Slot) -> Slot {
    k.kernel(Part::Weighted, k.form(x), &[number.into(), x.into()]).d(1, FIRST, &[New]).put()
}

/// `logsumexp` of two tensors that are stacked (`logsumexp_out_impl` in aten/src/ATen/native/ReduceOps.cpp).
fn log_sum_of_two(k: &mut Lowering<'_>, stacked: Slot, form: Form, both: Form) -> Slot {
    let most = k.constant(Part::Maximum, form, &[stacked]);
    let absolute = k.constant(Part::Absolute, form, &[most]);
    k.constant(Part::Mask, form.with_dtype(DType::Byte), &[absolute]);
    let less = k.constant(Part::Difference, both, &[stacked, most]);
    let all = Workspace(Size::Of(both));
    let out = k.kernel(Part::LogSumExp, form, &[stacked.into(), less.into()]);
    let out = out.d(0, FIRST | OUTPUT, &[all, all, New]).put();
    k.hold_until(most, out);
    out
}

/// `kl_div` of logarithms: exp(target) · (target − input) (`_kl_div_log_target` in aten/src/ATen/native/Loss.cpp).
fn divergence(k: &mut Lowering<'_>, input: Slot, target: Slot) -> Slot {
    let form = k.form(target);
    // C++ evaluates the second factor first.
    let difference = super::log_probs::difference(k, target, input);
    let exponentials = k.kernel(Part::Exponential, form, &[target.into()]).d(0, OUTPUT, &[New]).put();
    let call = k.kernel(Part::Result, form, &[exponentials.into(), difference.into()]);
    call.d(1, FIRST, &[New]).d(0, SECOND, &[New]).put()
}

/// `x[mask]`: a copy of `rows` rows of `width`. `index_backward` puts their gradients, which are copied, into zeros by
/// `index_put_` with `accumulate`, which sorts the places (aten/src/ATen/native/cuda/Indexing.cu); what it takes is as recorded.
fn masked_rows(k: &mut Lowering<'_>, x: Slot, mask: Slot, rows: Shape, width: Shape) -> Slot {
    let places = masked_places(k, mask, rows);
    let form = Form { shape: rows * width, ..k.form(x) };
    let each = Workspace(Size::Of(Form::new(DType::Long, rows)));
    let linear = [New, each, each, Drop(1), each, each, Drop(1), Drop(0)];
    let sorted = [Workspace(Size::Of(form)), each, each, each, Brief(Size::Bytes(1))];
    let call = k.kernel(Part::Picked, form, &[x.into(), places.into()]);
    call.d(0, SECOND, &[&linear[..], &sorted].concat()).put()
}
