//! Functions of log-probabilities and values, element by element, with their gradients, as losses of policies have them.

use super::kernel::Effect::{Drop, New, PassView, Workspace};
use super::kernel::{FIRST, NOTHING, OUTPUT, Operand, SECOND, Slot, THIRD};
use super::log_probs::{sum_of, total_of_flags};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{DType, Shape};

/// Which function it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointwise {
    /// A number where a mask says so, in a new tensor.
    Filled,
    /// A value between two numbers.
    Clamped,
    /// A value between two others.
    ClampedBetween,
    /// The square.
    Squared,
    /// The larger of two values.
    Larger,
    /// The exponential.
    Exponential,
    /// The mean of what a mask names.
    MeanOfMasked,
}

impl Pointwise {
    /// Where its rule comes from.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Filled => "PyTorch 2.15, derivatives.yaml masked_fill",
            Self::Clamped | Self::ClampedBetween => "PyTorch 2.15, FunctionsManual.cpp clamp_backward",
            Self::Squared => "PyTorch 2.15, FunctionsManual.cpp pow_backward",
            Self::Larger => "PyTorch 2.15, derivatives.yaml maximum",
            Self::Exponential => "PyTorch 2.15, derivatives.yaml exp",
            Self::MeanOfMasked => "trl 1.10.0, experimental/ppo/ppo_trainer.py masked_mean",
        }
    }

    /// Adds its kernels for what it is given; what it puts out.
    pub fn lower(self, k: &mut Lowering<'_>, given: &[Slot]) -> Slot {
        let x = given[0];
        let form = k.form(x);
        let [whole, flags] = [form, form.with_dtype(DType::Byte)].map(|form| Workspace(Size::Of(form)));
        let zero = Workspace(Size::Of(Form { shape: Shape::ONE, ..form }));
        let operands: Vec<_> = given.iter().copied().map(Operand::Value).collect();
        if self == Self::MeanOfMasked {
            return mean_of_masked(k, x, given[1]);
        }
        let out = k.kernel(Part::Result, form, &operands);
        match self {
            Self::Filled => out.d(0, SECOND, &[New]).put(),
            // Zero, and whether it is above the least and below the most.
            Self::Clamped => out.d(0, FIRST, &[zero, flags, flags, New]).put(),
            // The same of tensors: whether either of them is the value goes before zeros of the whole are made.
            Self::ClampedBetween => {
                let effects =
                    [&[flags; 5][..], &[Drop(1), Drop(1), Drop(1)], &[flags; 3], &[Drop(1), Drop(1)], &[whole, New]];
                out.d(0, FIRST | SECOND | THIRD, &effects.concat()).put()
            }
            // `grad * (2 * x.pow(1))`.
            Self::Squared => out.d(0, FIRST, &[whole, whole, New]).put(),
            // `where(x == y, grad / 2, grad).masked_fill_(x < y, 0)`, for the second first.
            Self::Larger => {
                let effects = [flags, whole, flags, New, Drop(0), Drop(0), Drop(0)];
                let both = FIRST | SECOND;
                out.d(1, both, &effects).d(0, both, &effects).put()
            }
            Self::Exponential | Self::MeanOfMasked => out.d(0, OUTPUT, &[New]).put(),
        }
    }
}

/// `(values * mask).sum() / mask.sum()`.
fn mean_of_masked(k: &mut Lowering<'_>, x: Slot, mask: Slot) -> Slot {
    let form = k.form(x);
    let one = Form { shape: Shape::ONE, ..form };
    let product = k.kernel(Part::Weighted, form, &[x.into(), mask.into()]).d(0, SECOND, &[New]).put();
    let sum = k.kernel(Part::Sum, one, &[product.into()]);
    let sum = sum_of(sum, Shape::ONE, form.shape).d(0, NOTHING, &[PassView]).put();
    let count = total_of_flags(k, mask);
    k.kernel(Part::Mean, one, &[sum.into(), count.into()]).d(0, SECOND, &[New]).put()
}

/// A part of a tensor, `to` for each of `from` elements, that is divided by a number in place, as a view. The gradient of the
/// part becomes one of all, which is copied; a clone of its part is divided, and written back (`CopySlices::apply_impl` in
/// torch/csrc/autograd/functions/tensor.cpp).
pub fn scaled_part(k: &mut Lowering<'_>, x: Slot, from: Shape, to: Shape) -> Slot {
    let whole = k.form(x);
    let part = Form { shape: whole.shape / from * to, ..whole };
    let each = Workspace(Size::Of(part));
    let changed = k.in_place(whole, &[x.into()]).d(0, NOTHING, &[New, each, each]).put();
    k.view(changed, part).d(0, NOTHING, &[New]).put()
}
