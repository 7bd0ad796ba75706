//! Convolutions over a sequence or over images.

use super::kernel::Effect::{Brief, New, Workspace};
use super::kernel::{FIRST, SECOND, Slot};
use super::linear::autocast_weight;
use super::lowering::Lowering;
use super::size::{CUBLAS, Size};
use super::tensor::{Form, Part};
use crate::estimator::units::{B, Shape};

/// Tells convolutions apart by their input and by the order in which their gradients lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first of several, whose input has no gradient.
    First,
    /// One behind others. Its own gradient comes in another order, which is copied.
    Behind,
    /// Of patches of images, whose kernels do not overlap. Its own gradient comes patch by patch, which is copied.
    OfPatches {
        /// Images.
        images: Shape,
        /// Whether there is a bias.
        has_bias: bool,
    },
}

/// `slow_conv2d_forward` and `slow_conv2d_backward` (aten/src/ATen/native/cuda/ConvolutionMM2d.cu), which PyTorch takes without
/// cuDNN: each sequence or image is unfolded, in `from` rows, and multiplied, one after another. One product stands for those of
/// all.
pub fn unfolded(k: &mut Lowering<'_>, x: Slot, [from, to]: [Shape; 2], positions: Shape, order: Order) -> Slot {
    let (dtype, is_trained) = (k.types.weights, k.is_trained());
    let (count, has_bias) = match order {
        Order::OfPatches { images, has_bias } => (images, has_bias),
        Order::First | Order::Behind => (B, true),
    };
    let weight = k.matrix(Part::Weight, dtype, [to, from]);
    let bias = has_bias.then(|| k.weight(Part::Bias, Form::new(dtype, to)));
    let bias = bias.map(|bias| autocast_weight(k, bias, Form::new(dtype, to), is_trained));
    let weight = autocast_weight(k, weight, Form::new(dtype, to * from), is_trained);
    let x = k.autocast(x);
    let form = Form { shape: count * to * positions, ..k.form(x) };
    let columns = Size::Of(Form { shape: from * positions, ..form });
    let both = FIRST | SECOND;
    let operands: Vec<_> = [x.into(), weight].into_iter().chain(bias).collect();
    let call = k.kernel(Part::Result, form, &operands).workspace(columns).brief(CUBLAS);
    let (ordered, product) = (Workspace(Size::Of(form)), [New, Workspace(columns), Brief(CUBLAS)]);
    match order {
        Order::First => call.d(2, both, &[New]).d(1, both, &product).put(),
        Order::Behind => {
            let input = [ordered, New, Workspace(columns), Brief(CUBLAS)];
            call.d(0, both, &input).d(2, both, &[New]).d(1, both, &[New, Brief(CUBLAS)]).put()
        }
        Order::OfPatches { has_bias: true, .. } => call.d(2, both, &[ordered, New]).d(1, both, &product).put(),
        Order::OfPatches { .. } => call.d(1, both, &[&[ordered][..], &product].concat()).put(),
    }
}
