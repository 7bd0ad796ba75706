//! Generation: what a cache keeps of each token, and how the next token is drawn.

use super::kernel::Effect::PassView;
use super::kernel::{NOTHING, Slot};
use super::log_probs::total;
use super::lowering::{Call, Lowering};
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{DType, S, Shape};

/// `torch.cat([cache, x], dim=-2)`. The first time `cache` has no elements, but the type of the keys (`lazy_initialization`).
/// Its gradient is a view.
pub fn appended(k: &mut Lowering<'_>, [cache, x, keys]: [Slot; 3], shape: Shape) -> Slot {
    let form = Form { shape, ..k.promoted(x, keys) };
    k.kernel(Part::Result, form, &[cache.into(), x.into()]).d_cast(1, NOTHING, PassView, form.dtype).put()
}

/// `x[:, -1:, :]`: a view, which a product reads as it lies.
pub fn last_token(k: &mut Lowering<'_>, x: Slot) -> Slot {
    let form = Form { shape: k.form(x).shape / S, ..k.form(x) };
    k.view(x, form).put()
}

/// `all` or `any` of flags.
pub fn all_of_flags(k: &mut Lowering<'_>, x: Slot) -> Slot {
    let flag = Form::new(DType::Byte, Shape::ONE);
    let inputs = k.form(x).shape;
    shared(k.kernel(Part::Result, flag, &[x.into()]), Shape::ONE, inputs, DType::Byte.bytes()).put()
}

/// `torch.multinomial` of one sample: the largest quotient of a probability and an exponential random number. It is looked
/// before whether all are finite and none is negative, and whether a row is zero; an extremum has two numbers a block.
pub fn multinomial(k: &mut Lowering<'_>, x: Slot, width: Shape) -> Slot {
    let form = k.form(x);
    let rows = form.shape / width;
    let one = Form { shape: Shape::ONE, ..form };
    let flag = Form::new(DType::Byte, Shape::ONE);
    let numbers = Form::new(DType::Long, rows);
    let out = k.kernel(Part::Ids, numbers, &[x.into()]).put();
    let least = k.constant(Part::Result, one, &[x]);
    let most = shared(k.kernel(Part::Maximum, one, &[x.into()]), Shape::ONE, form.shape, 2 * form.dtype.bytes()).put();
    let [is_finite, is_positive] = [most, least].map(|of| k.constant(Part::Mask, flag, &[of]));
    let is_valid = k.constant(Part::Mask, flag, &[is_finite, is_positive]);
    let sums = total(k, x, form.dtype, width);
    let zeros = k.constant(Part::Mask, numbers.with_dtype(DType::Byte), &[sums]);
    let any = k.constant(Part::Mask, flag, &[zeros]);
    k.hold_until(sums, any);
    k.constant(Part::Mask, flag, &[any, is_valid]);
    let quotients = k.constant(Part::Exponential, form, &[x]);
    let call = k.alias(numbers, &[out.into(), quotients.into()]);
    let drawn = shared(call, rows, width, 16).put();
    [least, most, is_valid, any].into_iter().for_each(|name| k.hold(name));
    drawn
}

/// The workspaces of a reduction whose blocks find `each` bytes.
pub fn shared<'l, 'r>(call: Call<'l, 'r>, outputs: Shape, inputs: Shape, each: u64) -> Call<'l, 'r> {
    let semaphores = Size::Reduction { outputs, inputs, fast: true, semaphores: true };
    call.workspace(Size::Found { outputs, inputs, each }).workspace(semaphores)
}
