//! Mixtures of experts in the place of the feed-forward block (transformers 5.23.0, models/mixtral and
//! models/qwen3_moe): `MixtralSparseMoeBlock.forward`.

use super::Block;
use crate::estimator::choice::{Bias, QkNorm};
use crate::estimator::operators::{Operator, Place, Routing, Stack, Value};
use crate::estimator::scenario::{Experts, Model};
use crate::estimator::units::{A, E, FE, H};

/// Whether a model's layers all have routed experts, as those of Mixtral and Qwen 3, or none has.
pub fn are_like(model: &Model) -> bool {
    let Experts { count, shared_width, dense_layers, .. } = model.experts;
    count == 0 || ((shared_width, dense_layers, model.bias) == (0, 0, Bias::None) && have_several_active(model))
}

/// Whether a token goes to several experts. What goes to one is not summed up, and no view of it is copied.
pub fn have_several_active(model: &Model) -> bool {
    model.experts.active > 1
}

/// Whether they are declared and weighted as in Qwen 3; otherwise as in Mixtral.
pub fn are_qwen(model: &Model) -> bool {
    model.qk_norm == QkNorm::Head
}

/// `MixtralSparseMoeBlock.forward` and that of Qwen 3.
pub fn sparse(model: &Model, block: &mut Block, h: Value) -> Value {
    let (out, kept) = routed(block, h, if are_qwen(model) { Routing::Narrowed } else { Routing::Normalized });
    block.named(&kept);
    out
}

/// What the experts of each token make of the hidden state; the router's logits and weights, names of the caller.
pub fn routed(block: &mut Block, h: Value, routing: Routing) -> (Value, [Value; 3]) {
    let stack = Stack { experts: E, active: A, hidden: H, inner: FE };
    let router = Operator::Router { x: h, stack, routing, adapter: None };
    let [logits, scores, ids] = block.add_all(Place::Router, router);
    // Mixtral and Qwen 3 have this view before the router, and its gradient waits for the router's anyway.
    let x = if routing.is_wide() { block.add(Place::Dispatch, Operator::Reshape { x: h }) } else { h };
    let out = block.add(Place::Dispatch, Operator::Experts { x, scores, ids, stack, adapter: None });
    (out, [logits, scores, ids])
}
