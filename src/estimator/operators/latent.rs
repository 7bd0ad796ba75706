//! Heads of two parts, as latent attention has them.

use super::kernel::Effect::{Brief, New, PassView, Workspace};
use super::kernel::{NOTHING, Slot};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::Shape;

/// `torch.split` into two parts of a last dimension of `whole`: views, whose gradients are joined in a new tensor.
pub fn split_at(k: &mut Lowering<'_>, x: Slot, whole: Shape, parts: [Shape; 2]) -> [Slot; 2] {
    let form = k.form(x);
    let [first, second] = parts.map(|part| Form { shape: form.shape / whole * part, ..form });
    let first = k.view(x, first).and(second).d(0, NOTHING, &[New]).put();
    [first, Slot(first.0 + 1)]
}

/// `torch.cat` along a last dimension of `whole`, in the wider of two types. Its gradients are views, and are cast back.
pub fn concat(k: &mut Lowering<'_>, [x, y]: [Slot; 2], first: Shape, whole: Shape) -> Slot {
    let form = k.promoted(x, y);
    let form = Form { shape: form.shape / first * whole, ..form };
    let call = k.kernel(Part::Result, form, &[x.into(), y.into()]);
    call.d_cast(0, NOTHING, PassView, form.dtype).d_cast(1, NOTHING, PassView, form.dtype).put()
}

/// Keys whose parts are written into a new tensor one after the other. Each write is a `CopySlices` node
/// (torch/csrc/autograd/custom_function.cpp and functions/tensor.cpp): it copies the whole gradient and takes the part's
/// out of it, and where the tensor had a gradient before, zeros are written there.
pub fn shared_keys(k: &mut Lowering<'_>, x: Slot, shared: Slot, heads: Shape, first: Shape, whole: Shape) -> Slot {
    let form = k.form(x);
    let of_all = Form { shape: k.form(shared).shape * heads, ..k.form(shared) };
    // `expand`, whose gradient is summed up over the heads.
    let of_all = k.view(shared, of_all).d(0, NOTHING, &[New]).put();
    let keys = Form { shape: form.shape / first * whole, ..form };
    let made = k.kernel(Part::Result, keys, &[x.into()]).d(0, NOTHING, &[Workspace(Size::Of(keys)), New]).put();
    let zeros = Brief(Size::Of(k.form(of_all)));
    k.alias(keys, &[made.into(), of_all.into()]).d(0, NOTHING, &[New]).d(1, NOTHING, &[New, zeros]).put()
}
