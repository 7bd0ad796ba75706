//! From logits to log-probabilities of tokens and to entropies, as trl takes them, and what losses are made of.

use super::kernel::Effect::{Brief, Drop, New, Pass, PassView, Workspace};
use super::kernel::{FIRST, NOTHING, OUTPUT, Operand, SECOND, Slot, THIRD};
use super::lowering::{Call, Lowering};
use super::sampling::shared;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{B, DType, S, SC1, Shape};

/// `torch.gather(x, dim=-1, index=ids)`, whose derivative wants the form of `x` and keeps it for that (derivatives.yaml:
/// `gather_backward`).
pub fn gather_columns(k: &mut Lowering<'_>, x: Slot, ids: Slot, width: Shape) -> Slot {
    let form = Form { shape: k.form(x).shape / width, ..k.form(x) };
    k.kernel(Part::Picked, form, &[x.into(), ids.into()]).d(0, FIRST | SECOND, &[New]).put()
}

/// `x[:, -count:]` of the tokens of the completion and the one before it (`slice_logits_to_keep`): a view. Those of several
/// sequences are copied before a product, which keeps the copy.
pub fn last_tokens(k: &mut Lowering<'_>, x: Slot, is_copied: bool) -> Slot {
    let form = Form { shape: k.form(x).shape / S * SC1, ..k.form(x) };
    let view = k.view(x, form).d(0, NOTHING, &[New]).put();
    if is_copied { k.copy(Part::Copied, view) } else { view }
}

/// `logits[arange(batch), last_non_pad_token]`, where the last token that is no padding is looked for in the ids.
/// `index_backward` puts gradients into zeros by `index_put_` with `accumulate`, which sorts
/// (aten/src/ATen/native/cuda/Indexing.cu); what it takes is as recorded for a few sequences.
pub fn score_of_last(k: &mut Lowering<'_>, scores: Slot, ids: Slot) -> Slot {
    let of = |dtype, shape| Form::new(dtype, shape);
    let differs = k.constant(Part::Mask, of(DType::Byte, B * S), &[ids]);
    let mask = k.constant(Part::Mask, of(DType::Int, B * S), &[differs]);
    let numbers = k.constant(Part::Ids, of(DType::Int, S), &[]);
    let numbered = k.constant(Part::Ids, of(DType::Int, B * S), &[numbers, mask]);
    let last = k.constant(Part::Ids, of(DType::Long, B), &[numbered]);
    let rows = k.constant(Part::Ids, of(DType::Long, B), &[]);
    let form = Form { shape: B, ..k.form(scores) };
    let out = k.kernel(Part::Picked, form, &[scores.into(), rows.into(), last.into()]);
    // The places of both indices in one, and their sort.
    let each = Workspace(Size::Of(of(DType::Long, B)));
    let places = [New, each, each, Drop(1), each, each, Drop(1), Drop(0)];
    let sort = [each, each, each, Brief(Size::Bytes(1))];
    let out = out.d(0, SECOND | THIRD, &[&places[..], &sort].concat()).put();
    [mask, numbers, last].into_iter().for_each(|name| k.hold(name));
    out
}

/// One of `rows` rows of a tensor that is iterated over (`unbind`): a view. The gradients of all rows are stacked.
pub fn row(k: &mut Lowering<'_>, x: Slot, rows: Shape) -> Slot {
    let form = Form { shape: k.form(x).shape / rows, ..k.form(x) };
    k.view(x, form).d(0, NOTHING, &[New]).taken_apart().put()
}

/// `logsumexp` along the last dimension (`logsumexp_out_impl` in aten/src/ATen/native/ReduceOps.cpp).
pub fn log_sum_exp(k: &mut Lowering<'_>, x: Slot, width: Shape) -> Slot {
    let whole = k.form(x);
    let form = Form { shape: whole.shape / width, ..whole };
    let each = form.dtype.bytes();
    let most = shared(k.kernel(Part::Maximum, form, &[x.into()]), form.shape, width, each).put();
    let absolute = k.constant(Part::Absolute, form, &[most]);
    k.constant(Part::Mask, form.with_dtype(DType::Byte), &[absolute]);
    let less = k.constant(Part::Difference, whole, &[x, most]);
    let out = k.kernel(Part::LogSumExp, form, &[x.into(), less.into()]);
    let out = sum_of(out, form.shape, width);
    let all = Workspace(Size::Of(whole));
    let out = out.d(0, FIRST | OUTPUT, &[all, all, New]).put();
    k.hold_until(most, out);
    out
}

/// `log_softmax` along the last dimension.
pub fn log_softmax(k: &mut Lowering<'_>, x: Slot) -> Slot {
    k.kernel(Part::LogSoftmax, k.form(x), &[x.into()]).d(0, OUTPUT, &[New]).put()
}

/// The items of a list in one tensor (`stack`, `cat`). Their gradients are views of its own.
pub fn joined(k: &mut Lowering<'_>, list: Slot, shape: Shape) -> Slot {
    let form = Form { shape, ..k.form(list) };
    k.kernel(Part::Result, form, &[list.into()]).d(0, NOTHING, &[PassView]).put()
}

/// The difference of two values, in the wider of their types.
pub fn difference(k: &mut Lowering<'_>, x: Slot, y: Slot) -> Slot {
    let form = k.promoted(x, y);
    let call = k.kernel(Part::Difference, form, &[x.into(), y.into()]);
    call.d_cast(0, NOTHING, Pass, form.dtype).d_cast(1, NOTHING, New, form.dtype).put()
}

/// `x[mask == 0] = 0.0`, in place of a view of `x`. The derivative copies the gradient of the whole, clones it, and fills the
/// clone (`CopySlices::apply_impl` in torch/csrc/autograd/functions/tensor.cpp, and `index_put` for that of IndexPut).
pub fn fill_masked(k: &mut Lowering<'_>, x: Slot, mask: Slot) -> Slot {
    let form = k.form(x);
    let hidden = k.constant(Part::Mask, k.form(mask).with_dtype(DType::Byte), &[mask]);
    let again = Workspace(Size::Of(form));
    k.in_place(form, &[x.into(), hidden.into()]).d(0, SECOND, &[New, again, again]).put()
}

/// The sum of `inputs` elements that lie side by side. Its derivative is expanded, and here copied for who reads it.
pub fn sum(k: &mut Lowering<'_>, x: Slot, inputs: Shape) -> Slot {
    let form = Form { shape: k.form(x).shape / inputs, ..k.form(x) };
    sum_of(k.kernel(Part::Sum, form, &[x.into()]), form.shape, inputs).d(0, NOTHING, &[New]).put()
}

/// A tensor that is computed of others without a gradient.
pub fn computed(k: &mut Lowering<'_>, x: Slot, y: Option<Slot>, form: Form) -> Slot {
    let operands: Vec<_> = [Some(x), y].into_iter().flatten().map(Operand::Value).collect();
    k.kernel(Part::Result, form, &operands).put()
}

/// The same, summed up over `inputs` elements that lie side by side.
pub fn total(k: &mut Lowering<'_>, x: Slot, dtype: DType, inputs: Shape) -> Slot {
    let form = Form::new(dtype, k.form(x).shape / inputs);
    sum_of(k.kernel(Part::Sum, form, &[x.into()]), form.shape, inputs).put()
}

/// The number of flags that are set: a sum casts them to what it adds up in.
pub fn total_of_flags(k: &mut Lowering<'_>, x: Slot) -> Slot {
    let whole = k.form(x).with_dtype(DType::Long);
    let one = Form { shape: Shape::ONE, ..whole };
    k.kernel(Part::Sum, one, &[x.into()]).workspace(Size::Of(whole)).put()
}

/// A sum with a number, which is no tensor that is kept.
pub fn plus_number(k: &mut Lowering<'_>, x: Slot) -> Slot {
    k.kernel(Part::Sum, k.form(x), &[x.into()]).d(0, NOTHING, &[Pass]).put()
}

/// The sum over all of the means of the rows `x[mask.bool()]`, of which there are `rows`.
pub fn sum_of_masked_rows(k: &mut Lowering<'_>, x: Slot, mask: Slot, rows: Shape, width: Shape) -> Slot {
    let flags = k.form(mask).with_dtype(DType::Byte);
    let flags = k.constant(Part::Mask, flags, &[mask]);
    let places = masked_places(k, flags, rows);
    k.hold_until(flags, places);
    let picked = k.constant(Part::Picked, Form { shape: rows * width, ..k.form(x) }, &[x, places]);
    let mean = k.constant(Part::Mean, Form { shape: rows, ..k.form(x) }, &[picked]);
    total(k, mean, k.form(x).dtype, rows)
}

/// Places of `rows` flags that are set, in both dimensions: `nonzero` counts them, and then lists them
/// (aten/src/ATen/native/cuda/Nonzero.cu).
pub fn masked_places(k: &mut Lowering<'_>, flags: Slot, rows: Shape) -> Slot {
    let count = Form::new(DType::Int, Shape::ONE);
    let all = Size::CountOfFlags { flags: k.form(flags).shape };
    let count = k.kernel(Part::Counted, count, &[flags.into()]).brief(all).put();
    let list = Size::FlagList { flags: k.form(flags).shape };
    let places = k.kernel(Part::Order, Form::new(DType::Long, rows.by(2)), &[flags.into(), count.into()]);
    places.brief(list).put()
}

/// The workspaces of a sum of `inputs` elements for each of `outputs`.
pub fn sum_of<'l, 'r>(call: Call<'l, 'r>, outputs: Shape, inputs: Shape) -> Call<'l, 'r> {
    let part = |semaphores| Size::Reduction { outputs, inputs, fast: true, semaphores };
    call.workspace(part(false)).workspace(part(true))
}
