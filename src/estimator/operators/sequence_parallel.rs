//! What devices that share layers do between them where each keeps a part of every sequence: DTensor's redistribution of
//! activations (torch/distributed/tensor/placement_types.py and torch/distributed/_functional_collectives.py, PyTorch 2.15).
//!
//! Collectives put out tensors that stand one behind the other by devices. Where a part is one of a sequence, and there are
//! several sequences, a copy brings them into the order of sequences.

use super::kernel::Effect::{Drop, New, Pass, Workspace};
use super::kernel::{NOTHING, Slot};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};

/// Parts of a sequence from all of `parts` devices, side by side (`all_gather_tensor`). The gradient is summed over devices,
/// and each keeps its part.
pub fn gathered(k: &mut Lowering<'_>, x: Slot, parts: u32, has_several: bool) -> Slot {
    let part = k.form(x);
    let whole = Form { shape: part.shape.by(parts), ..part };
    let call = k.kernel(Part::Gathered, whole, &[x.into()]);
    // `_maybe_view_chunk_cat`.
    let call = if has_several { call.workspace(Size::Of(whole)).then_output() } else { call };
    // It is a DTensor, and so are its gradients.
    call.adding_anew().d(0, NOTHING, &[Workspace(Size::Of(whole)), New, Drop(0)]).put()
}

/// Sums over devices, of which each keeps its part of every sequence (`reduce_scatter_tensor`). The gradient is gathered.
pub fn scattered(k: &mut Lowering<'_>, x: Slot, parts: u32, has_several: bool) -> Slot {
    let whole = k.form(x);
    let part = Form { shape: whole.shape.part(parts), ..whole };
    // `_chunk_or_narrow_cat`.
    let joined = k.kernel(Part::Joined, whole, &[x.into()]).d(0, NOTHING, &[Pass]).put();
    let gather: &[_] = if has_several { &[Workspace(Size::Of(whole)), New, Drop(0)] } else { &[New] };
    k.kernel(Part::Result, part, &[joined.into()]).savable().d(0, NOTHING, gather).ends_module().put()
}
