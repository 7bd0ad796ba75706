//! Images beside text: which tokens they stand for, and what attends to what.

use super::attention::{arange, mask_in, table};
use super::kernel::Effect::{Brief, Drop, New, Workspace};
use super::kernel::{FIRST, SECOND, Slot};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{B, DType, S, Shape};

/// Which tokens stand for images, and how many these are, which is compared with how many features there are
/// (`get_placeholder_mask` of classes that see images).
pub fn placeholders(k: &mut Lowering<'_>, ids: Slot) -> Slot {
    let form = k.form(ids);
    let mask = table(k, form.shape, &[ids]);
    let one = Form::new(DType::Long, Shape::ONE);
    // `sum` casts what it adds up.
    let count = k.kernel(Part::Counted, one, &[mask.into()]).brief(Size::Of(form)).put();
    let elements = k.constant(Part::Counted, one, &[count]);
    let is_equal = table(k, Shape::ONE, &[elements]);
    k.hold_until(elements, is_equal);
    k.hold_until(count, is_equal);
    mask
}

/// `masked_scatter` of features into the places of a mask of tokens: a clone, into which they are written by the sum of the flags
/// before each (`masked_scatter__cuda` in aten/src/ATen/native/cuda/IndexKernel.cpp). The gradient of features is picked by the
/// numbers of their elements in all dimensions (`masked_scatter_backward_symint` in torch/csrc/autograd/FunctionsManual.cpp).
pub fn scattered(k: &mut Lowering<'_>, x: Slot, mask: Slot, features: Slot) -> Slot {
    let form = k.form(x);
    let flags = Form { dtype: DType::Byte, ..form };
    let picked = Form { dtype: DType::Long, shape: k.form(features).shape.by(3) };
    let count = Workspace(Size::Of(Form::new(DType::Int, Shape::ONE)));
    let [counts, lists] = [Size::CountOfFlags { flags: form.shape }, Size::FlagList { flags: form.shape }];
    let numbers = Workspace(Size::Of(picked));
    // The numbers come last, when they are counted; what was recorded has them first.
    let picks = [numbers, Workspace(Size::Of(flags)), count, Brief(counts), Brief(lists), Drop(0), Drop(0), New];
    let call = k.kernel(Part::Result, form, &[x.into(), mask.into(), features.into()]);
    let call = call.workspace(Size::Of(form.with_dtype(DType::Long))).workspace(Size::Of(flags));
    call.brief(Size::FlagScan { flags: form.shape }).d(0, SECOND, &[New]).d(2, SECOND, &picks).put()
}

/// The image that each token belongs to, or −1 (`get_block_sequence_ids_for_mask` in transformers'
/// models/gemma3/modeling_gemma3.py, 5.23.0).
pub fn blocks(k: &mut Lowering<'_>, types: Slot, is_one_sequence: bool) -> Slot {
    let form = k.form(types);
    let flags = form.with_dtype(DType::Byte);
    let is_image = table(k, form.shape, &[types]);
    let one_more = Size::Both(flags, Form::new(DType::Byte, B));
    let before = k.kernel(Part::Table, flags, &[is_image.into()]).sized(Part::Table, one_more).put();
    let not_before = table(k, form.shape, &[before]);
    let begins = table(k, form.shape, &[is_image, not_before]);
    let numbers = k.constant(Part::Counted, form.with_dtype(DType::Int), &[begins]);
    let call = k.kernel(Part::Counted, form, &[numbers.into()]).workspace(Size::Of(form));
    // CUB scans one sequence (aten/src/ATen/native/cuda/ScanUtils.cuh).
    let sums = if is_one_sequence { call.workspace(Size::Scan { elements: form.shape }).put() } else { call.put() };
    let groups = k.constant(Part::Ids, form, &[sums]);
    let none = k.constant(Part::Table, Form::new(DType::Long, Shape::ONE), &[]);
    let ids = k.constant(Part::Ids, form, &[is_image, groups, none]);
    [is_image, before, begins, groups].into_iter().for_each(|name| k.hold(name));
    ids
}

/// The mask in which tokens of an image attend to one another, beside those before, as booleans or as numbers that are added to
/// scores (`create_masks_for_vision_model` there). With a window, each function of positions is called for all pairs by `vmap`.
pub fn blockwise_mask(k: &mut Lowering<'_>, ids: Slot, added: Option<DType>, has_window: bool) -> Slot {
    let form = k.form(ids);
    let pairs = B * S * S;
    let [batch, head] = [B, Shape::ONE].map(|shape| arange(k, shape, &[]));
    let [queries, keys] = [0; 2].map(|_| {
        let plain = arange(k, S, &[]);
        arange(k, S, &[plain])
    });
    let each = if has_window { S } else { Shape::ONE };
    let all = has_window.then(|| table(k, each, &[]));
    let none = table(k, each, &[]);
    let earlier = table(k, S * S, &[queries, keys]);
    let causal = table(k, S * S, &[none, earlier]);
    k.hold_until(none, causal);
    let [of_query, of_key] = [queries, keys].map(|positions| {
        // Indices of both, broadcast; those of a single sequence have the form of positions.
        let rows = arange(k, form.shape, &[batch, positions]);
        let columns = k.kernel(Part::Ids, form, &[batch.into(), positions.into()]);
        let columns = columns.sized(Part::Ids, Size::OfSeveral(form)).put();
        k.constant(Part::Gathered, form, &[ids, rows, columns])
    });
    let is_same = table(k, pairs, &[of_query, of_key]);
    let is_image = table(k, form.shape, &[of_query]);
    let block = table(k, pairs, &[is_same, is_image]);
    [of_query, of_key].into_iter().for_each(|group| k.hold_until(group, block));
    let mut seen = table(k, pairs, &[causal, block]);
    if let Some(all) = all {
        let whole = table(k, pairs, &[all, seen]);
        let first = arange(k, S, &[queries]);
        let near = table(k, S * S, &[first, keys]);
        seen = table(k, pairs, &[whole, near]);
    }
    [batch, head, queries, keys].into_iter().for_each(|indices| k.hold_until(indices, seen));
    added.map_or(seen, |dtype| mask_in(k, seen, dtype, Part::Result))
}

/// `avg_pool2d` over so many places (`avg_pool2d_backward` reads its input).
pub fn averaged(k: &mut Lowering<'_>, x: Slot, places: Shape, is_strided: bool) -> Slot {
    let form = k.form(x);
    let out = Form { shape: form.shape / places, ..form };
    // The gradient is brought into the order of images.
    let copy = is_strided.then_some(Workspace(Size::Of(out)));
    let effects: Vec<_> = [New].into_iter().chain(copy).collect();
    k.kernel(Part::Result, out, &[x.into()]).d(0, FIRST, &effects).put()
}
