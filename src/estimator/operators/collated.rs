//! Sequences of several lengths: the mask of padding, and attention over documents that stand one behind the other.

use super::attention::{arange, mask_in, table};
use super::experts::gather;
use super::kernel::Effect::{New, PassView, Workspace};
use super::kernel::{NOTHING, Operand, Reads, Slot, THIRD};
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use super::{HeadLayout, HeadWidths};
use crate::estimator::units::{B, D32, DOCS, DType, EDGES, S, Shape};

/// The mask of every pair of tokens that a mask of tokens makes (`create_causal_mask` in transformers' masking_utils.py).
/// Eager attention adds it as numbers; for a fused kernel it stays one of booleans, and it is looked whether anything is
/// hidden at all, twice (`_ignore_causal_mask_sdpa`).
pub fn mask_of_padding(k: &mut Lowering<'_>, mask: Slot, embedded: Slot, is_added: bool) -> Slot {
    let dtype = k.form(embedded).dtype;
    let form = k.form(mask);
    let tokens = table(k, form.shape, &[mask]);
    k.hold(tokens);
    if !is_added {
        for _ in 0..2 {
            // `sum` casts what it adds up.
            let one = Form::new(DType::Long, Shape::ONE);
            let sum = k.kernel(Part::Counted, one, &[tokens.into()]).brief(Size::Of(form)).put();
            let is_all = table(k, Shape::ONE, &[sum]);
            k.hold_until(sum, is_all);
        }
    }
    let [batch, head] = [B, Shape::ONE].map(|shape| arange(k, shape, &[]));
    let [queries, keys] = [0; 2].map(|_| {
        let plain = arange(k, S, &[]);
        arange(k, S, &[plain])
    });
    // `and_mask`: ones, those pairs that are not later, and those whose key is no padding.
    let ones = table(k, Shape::ONE, &[]);
    let earlier = table(k, S * S, &[queries, keys]);
    let both = table(k, S * S, &[ones, earlier]);
    k.hold_until(ones, both);
    // Indices of both, broadcast to the form of the mask; the keys of a single sequence have it.
    let rows = arange(k, form.shape, &[batch, keys]);
    let indices = k.form(rows);
    let columns = k.kernel(Part::Ids, indices, &[batch.into(), keys.into()]);
    let columns = columns.sized(Part::Ids, Size::OfSeveral(indices)).put();
    let seen = table(k, form.shape, &[tokens, rows, columns]);
    let pairs = table(k, B * S * S, &[both, seen]);
    [batch, head, queries, keys].into_iter().for_each(|indices| k.hold_until(indices, pairs));
    if is_added { mask_in(k, pairs, dtype, Part::Result) } else { pairs }
}

/// Attention over documents of a row: `varlen_attn` of torch/nn/attention/varlen.py, a custom operator around FlashAttention for documents of several lengths.
/// Its backward pass is given gradients of everything that it puts out, zeros for what nobody derived, and has 128 rows of
/// sums more for each document (`mha_varlen_bwd` in csrc/flash_attn/flash_api.cpp).
pub fn documents(k: &mut Lowering<'_>, inputs: [Slot; 3], layout: HeadLayout) -> Slot {
    let whole = varlen(k, inputs, None, layout);
    // `.contiguous()` in the order of tokens.
    if layout.is_by_head { k.copy(Part::Copied, whole) } else { whole }
}

/// The same between `_index_first_axis`, which takes padding out, and `_pad_input`, which puts it back (transformers'
/// modeling_flash_attention_utils.py). What is counted is the worst micro-batch, which has no padding.
pub fn unpadded(k: &mut Lowering<'_>, inputs: [Slot; 3], layout: HeadLayout) -> Slot {
    let form = k.form(inputs[0]);
    let tokens = Form::new(DType::Long, B * S);
    let indices = k.kernel(Part::Ids, tokens, &[]).put();
    let edges = k.kernel(Part::Ids, Form::new(DType::Int, EDGES), &[]).put();
    let taken = inputs.map(|x| {
        let is_turned = layout.is_by_head && x != inputs[2];
        let x =
            if is_turned { k.kernel(Part::Copied, k.form(x), &[x.into()]).d(0, NOTHING, &[PassView]).put() } else { x };
        gather(k, Part::Gathered, x, indices, k.form(x), tokens.shape)
    });
    let layout = HeadLayout { is_by_head: false, ..layout };
    let whole = varlen(k, taken, Some(edges), layout);
    taken.into_iter().for_each(|x| k.hold_until(x, whole));
    let zeros = k.kernel(Part::Restored, form.with_dtype(k.form(whole).dtype), &[]).put();
    [indices, edges].into_iter().for_each(|name| k.hold(name));
    k.alias(k.form(zeros), &[zeros.into(), whole.into(), indices.into()]).d(1, THIRD, &[New]).put()
}

/// `varlen_attn`; `edges` are those that nobody else keeps.
fn varlen(k: &mut Lowering<'_>, inputs: [Slot; 3], edges: Option<Slot>, layout: HeadLayout) -> Slot {
    // `states.to(torch.bfloat16)`, each in turn.
    let inputs = inputs.map(|x| k.autocast(x));
    let HeadWidths { keys: head, .. } = layout.widths;
    let form = k.form(inputs[0]);
    let row = Form::new(DType::Single, form.shape / head);
    let state = Form::new(DType::Byte, Shape::ONE.by(16));
    let operands = inputs.map(Operand::Value);
    let out = k.kernel(Part::Result, form, &operands).put();
    let sums = k.kernel(Part::LogSumExp, row, &operands).put();
    let states = k.kernel(Part::RandomState, state, &[]).brief(Size::Bytes(8)).put();
    let copy = k.kernel(Part::RandomState, state, &[states.into()]).put();
    let gaps = |shape: Shape| Workspace(Size::Of(Form { shape: row.shape / (B * S) * DOCS * shape, ..row }));
    let expanded: &[_] = if layout.is_grouped { &[Workspace(Size::Of(form)); 2] } else { &[] };
    // `dout` in the order of `out`.
    let copied: &[_] = if layout.is_by_head { &[Workspace(Size::Of(form))] } else { &[] };
    let first = [&[Workspace(Size::Of(row)), Workspace(Size::Of(state))], copied, &[New]].concat();
    let last = [&[New, gaps(Shape::ONE), gaps(D32)], expanded].concat();
    let kept = [out].into_iter().chain(inputs).chain([sums, copy]).chain(edges);
    let operands: Vec<_> = kept.map(Operand::Value).collect();
    let all = Reads::ALL;
    let whole = k.alias(form, &operands);
    whole.d(1, all, &first).d(2, all, &[New]).d(3, all, &last).jointly().put()
}
