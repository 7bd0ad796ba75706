//! OLMo 2's stack (transformers 5.23.0, models/olmo2/modeling_olmo2.py).

use super::Block;
use super::decoder::{Parts, Stack};
use super::llama::{DECLARED, Tables, attended, gated, heads, opening, projected, shared};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Operator, Place, Value, Weighting};
use crate::estimator::scenario::Model;
use crate::estimator::units::{D, DType, F, H, K, N, Shape};

/// Cosines and sines as `Olmo2RotaryEmbedding.forward` leaves them.
pub const TABLES: Tables = Tables { dtype: DType::Single, width: D };

/// Whether a model's layers are like OLMo 2's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::RmsNormFull, 2, Mlp::Gated, Position::Rotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::None, QkNorm::Full)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let opening = opening(parts, TABLES, |_, _, embedded| embedded);
    Stack::new(parts, opening, shared(parts, TABLES), parts.equal_layers(layer(parts)), |x| norm(x, H))
        .rotating(parts.model.head_dim, D)
}

/// `Olmo2DecoderLayer.forward`, whose norms follow attention and MLP.
fn layer(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()][..], &shared(parts, TABLES)].concat());
    let x = arguments[0];
    let (o, weights) = attention(parts, &mut block, x, &arguments[1..]);
    let o = block.add(Place::AttentionPostNorm, norm(o, H));
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let down = gated(parts, &mut block, x, F, |x| Operator::Silu { x });
    let down = block.add(Place::MlpPostNorm, norm(down, H));
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}

/// `Olmo2Attention.forward`: queries and keys are normalized before they are heads, and rotated back to their type.
fn attention(parts: &Parts<'_>, block: &mut Block, h: Value, shared: &[Value]) -> (Value, Option<Value>) {
    let q = projected(parts, block, Place::Query, h, N);
    let q = block.add(Place::QueryNorm, norm(q, N * D));
    let k = projected(parts, block, Place::Key, h, K);
    let k = block.add(Place::KeyNorm, norm(k, K * D));
    let v = projected(parts, block, Place::Value, h, K);
    let [q, k, v] =
        [(Place::Query, q), (Place::Key, k), (Place::Value, v)].map(|(place, x)| heads(parts, block, place, x));
    attended(parts, block, h, [q, k, v], shared, true)
}

fn norm(x: Value, width: Shape) -> Operator {
    Operator::RmsNorm { x, width, weighting: Weighting::Full }
}
