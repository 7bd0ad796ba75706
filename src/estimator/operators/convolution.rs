//! Convolutions over a sequence.

use super::kernel::Effect::{Brief, New, Workspace};
use super::kernel::{FIRST, SECOND, Slot};
use super::linear::autocast_weight;
use super::lowering::Lowering;
use super::size::{CUBLAS, Size};
use super::tensor::{Form, Part};
use crate::estimator::units::{B, Shape};

/// Elements of a kernel.
const KERNEL: u32 = 3;

/// `slow_conv2d_forward` and `slow_conv2d_backward` (aten/src/ATen/native/cuda/ConvolutionMM2d.cu), which PyTorch takes without
/// cuDNN: each sequence is unfolded and multiplied, one after another. One product stands for those of all sequences. The
/// second of two convolutions has a gradient in another order, which is copied, and one of its input.
pub fn unfolded(k: &mut Lowering<'_>, x: Slot, [from, to]: [Shape; 2], positions: Shape, is_first: bool) -> Slot {
    let (dtype, is_trained) = (k.types.weights, k.is_trained());
    let weight = k.matrix(Part::Weight, dtype, [to, from.by(KERNEL)]);
    let bias = k.weight(Part::Bias, Form::new(dtype, to));
    let bias = autocast_weight(k, bias, Form::new(dtype, to), is_trained);
    let weight = autocast_weight(k, weight, Form::new(dtype, to * from.by(KERNEL)), is_trained);
    let x = k.autocast(x);
    let form = Form { shape: B * to * positions, ..k.form(x) };
    let columns = Size::Of(Form { shape: from.by(KERNEL) * positions, ..form });
    let both = FIRST | SECOND;
    let call = k.kernel(Part::Result, form, &[x.into(), weight, bias]).workspace(columns).brief(CUBLAS);
    if is_first {
        return call.d(2, both, &[New]).d(1, both, &[New, Workspace(columns), Brief(CUBLAS)]).put();
    }
    let ordered = Workspace(Size::Of(form));
    let input = [ordered, New, Workspace(columns), Brief(CUBLAS)];
    call.d(0, both, &input).d(2, both, &[New]).d(1, both, &[New, Brief(CUBLAS)]).put()
}
