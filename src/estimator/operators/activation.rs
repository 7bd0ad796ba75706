//! Functions of one element at a time.

use super::kernel::Effect::{New, NewOf, Pass, Workspace};
use super::kernel::{FIRST, NOTHING, OUTPUT, SECOND, Slot};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::Part;
use crate::estimator::units::DType;

/// A function that is one kernel, whose derivative reads its input (`silu`, `gelu`).
pub fn of_input(k: &mut Lowering<'_>, x: Slot) -> Slot {
    k.kernel(Part::Result, k.form(x), &[x.into()]).d(0, FIRST, &[New]).put()
}

/// A function that is one kernel, whose derivative reads its output (`relu`, `tanh`).
pub fn of_output(k: &mut Lowering<'_>, part: Part, x: Slot) -> Slot {
    k.kernel(part, k.form(x), &[x.into()]).d(0, OUTPUT, &[New]).put()
}

/// The soft cap of Gemma 2: divided by a number, through tanh, and multiplied by it (`eager_attention_forward`).
pub fn soft_cap(k: &mut Lowering<'_>, x: Slot) -> Slot {
    let divided = k.scale(Part::CapDivided, x);
    let tanh = of_output(k, Part::Tanh, divided);
    k.scale(Part::Capped, tanh)
}

/// The product of two values, whose gradients are computed for the second first (derivatives.yaml: other, self).
pub fn multiply(k: &mut Lowering<'_>, x: Slot, y: Slot) -> Slot {
    let form = k.promoted(x, y);
    let whole = NewOf(Size::Of(form));
    let call = k.kernel(Part::Result, form, &[x.into(), y.into()]);
    call.d_cast(1, FIRST, whole, form.dtype).d_cast(0, SECOND, whole, form.dtype).put()
}

/// `NewGELUActivation`: 0.5 * x * (1 + tanh(√(2/π) * (x + 0.044715 * x³))). Autocast runs the power in fp32.
pub fn gelu_tanh(k: &mut Lowering<'_>, x: Slot) -> Slot {
    let halved = k.scale(Part::Halved, x);
    let base = match k.types.autocast {
        Some(_) => k.cast(Part::InFp32, x, DType::Single),
        None => x,
    };
    let form = k.form(base);
    let whole = Workspace(Size::Of(form));
    let cube = k.kernel(Part::Cube, form, &[base.into()]).d(0, FIRST, &[whole, whole, New]).put();
    let scaled = k.scale(Part::CubeScaled, cube);
    let inner = k.add(Part::Inner, x, scaled);
    let inner = k.scale(Part::InnerScaled, inner);
    let tanh = of_output(k, Part::Tanh, inner);
    let one = k.kernel(Part::OnePlusTanh, k.form(tanh), &[tanh.into()]).d(0, NOTHING, &[Pass]).put();
    let form = k.promoted(halved, one);
    let whole = NewOf(Size::Of(form));
    let call = k.kernel(Part::Result, form, &[halved.into(), one.into()]);
    call.d(1, FIRST, &[New]).d_cast(0, SECOND, whole, form.dtype).put()
}
