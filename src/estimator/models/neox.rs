//! GPT-NeoX's stack, as Pythia has it (transformers 5.23.0, models/gpt_neox/modeling_gpt_neox.py): attention and
//! feed-forward block side by side, one matrix for queries, keys and values, and a quarter of each head rotated.

use super::decoder::{Parts, Stack, layer_norm, with_bias};
use super::llama::Tables;
use super::{Block, llama};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Operator, Place, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{D, F, H, N, ROT, UNROT};

/// Whether a model's layers are like GPT-NeoX's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 2, Mlp::Gelu, Position::PartialRotary)
        && (model.packing, model.softmax) == (Packing::Packed, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::On, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::All, QkNorm::Off)
        && model.kv_heads == model.heads
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let shared = shared(parts);
    let layers = parts.equal_layers(layer(parts, &shared));
    // `rotary_pct` of all published models.
    let rotated = parts.model.head_dim / 4;
    Stack::new(parts, opening(parts), shared, layers, layer_norm).rotating(rotated, ROT)
}

/// Tables for a part of each head.
fn tables(parts: &Parts<'_>) -> Tables {
    Tables { dtype: parts.call.dtype, width: ROT }
}

/// What all layers of a model with partly rotated heads are given beside the hidden state.
pub fn shared(parts: &Parts<'_>) -> Vec<Form> {
    llama::shared(parts, tables(parts))
}

/// `GPTNeoXModel.forward` up to its layers, and that of its like.
pub fn opening(parts: &Parts<'_>) -> Block {
    llama::opening(parts, tables(parts), |_, _, embedded| embedded)
}

/// `GPTNeoXLayer.forward`, and the functions that it calls.
fn layer(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let (x, cos, sin, mask) = (arguments[0], arguments[2], arguments[3], arguments.get(4).copied());
    let h = block.add(Place::AttentionNorm, Operator::LayerNorm { x, width: H });
    let packed = block.add(Place::QueryKeyValue, with_bias(h, H, (N * D).by(3)));
    let copies_back = parts.model.heads > 1;
    let packed = block.add(Place::QueryKeyValue, Operator::Heads { x: packed, copies_back });
    let [q, k, v] = block.add_all(Place::QueryKeyValue, Operator::Split { x: packed, parts: 3 });
    let Turned { whole: [q, k], .. } = turned(&mut block, [q, k], [cos, sin]);
    let (a, weights) = parts.attention(&mut block, [q, k, v], mask, parts.head_layout(true));
    let o = block.add(Place::AttentionOutput, with_bias(a, N * D, H));
    block.named(&[h, packed, q, k, v]);
    let o = parts.dropout(&mut block, Place::AttentionDropout, o);
    let h = block.add(Place::MlpNorm, Operator::LayerNorm { x, width: H });
    let down = mlp(&mut block, h, |x| Operator::Gelu { x });
    block.named(&[h]);
    let down = parts.dropout(&mut block, Place::MlpDropout, down);
    let sum = block.add(Place::AttentionAdd, Operator::Add { x: down, y: o });
    let out = block.add(Place::MlpAdd, Operator::Add { x: sum, y: x });
    block.named(&[o, down]);
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&[
        Place::AttentionNorm,
        Place::MlpNorm,
        Place::QueryKeyValue,
        Place::AttentionOutput,
        Place::Up,
        Place::Down,
    ])
}

/// Queries and keys, of which a part is rotated.
pub struct Turned {
    /// The rotated parts.
    pub parts: [Value; 2],
    /// Those joined with the rest of each head.
    pub whole: [Value; 2],
}

/// Rotates the first columns of each head of queries and keys, and joins them with the rest (`apply_rotary_pos_emb`).
pub fn turned(block: &mut Block, [q, k]: [Value; 2], [cos, sin]: [Value; 2]) -> Turned {
    let parts = [(Place::QueryParts, q), (Place::KeyParts, k)]
        .map(|(place, x)| [ROT, UNROT].map(|to| block.add(place, Operator::Slice { x, from: D, to })));
    let turned = [(Place::QueryRotary, parts[0]), (Place::KeyRotary, parts[1])]
        .map(|(place, [x, rest])| (place, block.add(place, Operator::Rotary { x, cos, sin }), rest));
    let whole = turned.map(|(place, x, y)| block.add(place, Operator::Concat { x, y, first: ROT, whole: D }));
    Turned { parts: turned.map(|(_, x, _)| x), whole }
}

/// Two matrices with a function between them.
pub fn mlp(block: &mut Block, h: Value, function: fn(Value) -> Operator) -> Value {
    let up = block.add(Place::Up, with_bias(h, H, F));
    let active = block.add(Place::Activation, function(up));
    block.add(Place::Down, with_bias(active, F, H))
}
