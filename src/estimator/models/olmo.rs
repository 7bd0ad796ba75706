//! OLMo's stack (transformers 5.23.0, models/olmo/modeling_olmo.py): Llama's with norms without weights, and tables of
//! rotation in fp32.

use super::decoder::{Parts, Stack};
use super::llama::{self, DECLARED, attended, gated, heads, projected};
use super::{Block, olmo2};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Operator, Place, Value};
use crate::estimator::scenario::{Experts, Model};
use crate::estimator::units::{D, F, H, K, N};

/// Whether a model's layers are like OLMo's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::Plain, 2, Mlp::Gated, Position::Rotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm, model.experts) == (Bias::None, QkNorm::Off, Experts::NONE)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let tables = olmo2::TABLES;
    let opening = llama::opening(parts, tables, |_, _, embedded| embedded);
    Stack::new(parts, opening, llama::shared(parts, tables), parts.equal_layers(layer(parts)), norm)
        .rotating(parts.model.head_dim, D)
}

/// `OlmoDecoderLayer.forward`.
fn layer(parts: &Parts<'_>) -> Block {
    let shared = llama::shared(parts, olmo2::TABLES);
    let (mut block, arguments) = Block::new(&[&[parts.residual()][..], &shared].concat());
    let x = arguments[0];
    let h = block.add(Place::AttentionNorm, norm(x));
    let (o, weights) = attention(parts, &mut block, h, &arguments[1..]);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let h = block.add(Place::MlpNorm, norm(x));
    let down = gated(parts, &mut block, h, F, |x| Operator::Silu { x });
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}

/// `OlmoAttention.forward`, without `clip_qkv`: queries and keys are rotated in fp32 and brought back to their type.
fn attention(parts: &Parts<'_>, block: &mut Block, h: Value, shared: &[Value]) -> (Value, Option<Value>) {
    let products = [(Place::Query, N), (Place::Key, K), (Place::Value, K)]
        .map(|(place, count)| (place, projected(parts, block, place, h, count)));
    let [q, k, v] = products.map(|(place, x)| heads(parts, block, place, x));
    attended(parts, block, h, [q, k, v], shared, true)
}

/// `OlmoLayerNorm.forward`.
fn norm(x: Value) -> Operator {
    Operator::PlainLayerNorm { x, width: H }
}
