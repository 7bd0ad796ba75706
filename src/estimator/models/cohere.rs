//! The stack of Cohere's Command (transformers 5.23.0, models/cohere/modeling_cohere.py): attention and feed-forward block
//! side by side behind one norm that is spelt out, pairs of columns rotated in fp32, and logits that are scaled.

use super::decoder::{Parts, Stack, linear};
use super::{Block, llama};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Operator, Place, Value};
use crate::estimator::scenario::{Experts, Model};
use crate::estimator::units::{D, DType, F, H, K, N};

/// Whether a model's layers are like those of Command. No other class of these features has another layer norm.
pub fn is_like(model: &Model) -> bool {
    matches!(model.norm, Norm::LayerNorm | Norm::LayerNormFull)
        && (model.norms, model.mlp, model.position) == (1, Mlp::Gated, Position::Rotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::On, Switch::Off)
        && (model.bias, model.qk_norm, model.experts) == (Bias::None, QkNorm::Off, Experts::NONE)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let tables = llama::whole_heads(parts);
    let opening = llama::opening(parts, tables, |_, _, embedded| embedded);
    let stack = Stack::new(parts, opening, llama::shared(parts, tables), parts.equal_layers(layer(parts)), norm);
    Stack { scales_logits: true, ..stack.rotating(parts.model.head_dim, D) }
}

/// `CohereDecoderLayer.forward`, and the functions that it calls.
fn layer(parts: &Parts<'_>) -> Block {
    let shared = llama::shared(parts, llama::whole_heads(parts));
    let (mut block, arguments) = Block::new(&[&[parts.residual()][..], &shared].concat());
    let (x, cos, sin, mask) = (arguments[0], arguments[2], arguments[3], arguments.get(4).copied());
    let h = block.add(Place::AttentionNorm, norm(x));
    let [q, k, v] = [(Place::Query, N), (Place::Key, K), (Place::Value, K)].map(|(place, heads)| {
        let x = llama::projected(parts, &mut block, place, h, heads);
        llama::heads(parts, &mut block, place, x)
    });
    let wide = [(Place::QueryRotary, q), (Place::KeyRotary, k)].map(|(place, x)| {
        let wide = block.add(place, Operator::To { x, dtype: DType::Single });
        (place, wide, x)
    });
    let turned = wide.map(|(place, x, like)| (place, block.add(place, Operator::Rotary { x, cos, sin }), like));
    let [turned_q, turned_k] = turned.map(|(place, x, like)| block.add(place, Operator::CastLike { x, like }));
    block.named(&wide.map(|(_, x, _)| x));
    block.named(&turned.map(|(_, x, _)| x));
    block.named(&[q, k]);
    let (a, weights) = parts.attention(&mut block, [turned_q, turned_k, v], mask, parts.head_layout(false));
    let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
    block.named(&[turned_q, turned_k, v]);
    let down = llama::gated(parts, &mut block, h, F, |x| Operator::Silu { x });
    let sum = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let out = block.add(Place::MlpAdd, Operator::Add { x: sum, y: down });
    block.named(&[h, o, down]);
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&llama::DECLARED)
}

/// `CohereLayerNorm.forward`.
fn norm(x: Value) -> Operator {
    Operator::CenteredNorm { x, width: H }
}
