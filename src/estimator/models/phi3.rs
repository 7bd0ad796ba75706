//! Phi-3's stack (transformers 5.23.0, models/phi3/modeling_phi3.py), without dropout and without a window: Llama's, with one
//! matrix for queries, keys and values and one for gate and up.

use super::decoder::{Parts, Stack, linear};
use super::llama::{self, norm, shared, whole_heads};
use super::{Block, liger};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Operator, Place, Value};
use crate::estimator::scenario::{Experts, Model};
use crate::estimator::units::{D, F, H, K, N, NKV, ROT, UNROT};

/// Whether a model's layers are like Phi-3's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::RmsNorm, 2, Mlp::Gated, Position::Rotary)
        && matches!(model.packing, Packing::Packed | Packing::PackedGate)
        && model.softmax == Softmax::Full
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::None, QkNorm::Off)
        && model.experts == Experts::NONE
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let tables = whole_heads(parts);
    let opening = llama::opening(parts, tables, |_, _, embedded| embedded);
    Stack::new(parts, opening, shared(parts, tables), parts.equal_layers(layer(parts)), |x| norm(x, H))
        .rotating(parts.model.head_dim, ROT)
}

/// `Phi3DecoderLayer.forward`.
fn layer(parts: &Parts<'_>) -> Block {
    let shared = shared(parts, whole_heads(parts));
    let (mut block, arguments) = Block::new(&[&[parts.residual()][..], &shared].concat());
    let x = arguments[0];
    let h = block.add(Place::AttentionNorm, norm(x, H));
    let (o, weights) = attention(parts, &mut block, h, &arguments[1..]);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let h = block.add(Place::MlpNorm, norm(x, H));
    let down = gated(parts, &mut block, h);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    // `hidden_states, self_attn_weights = self.self_attn(…)`.
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&PHI3)
}

/// The order in which `Phi3DecoderLayer` declares its weights: the matrix of attention's output before that of its input.
const PHI3: [Place; 6] =
    [Place::AttentionOutput, Place::QueryKeyValue, Place::Gate, Place::Down, Place::AttentionNorm, Place::MlpNorm];

/// `Phi3Attention.forward`, which cuts queries, keys and values out of one tensor. All columns of a head are rotated, and the
/// rest, of none, is joined with them all the same.
fn attention(parts: &Parts<'_>, block: &mut Block, h: Value, shared: &[Value]) -> (Value, Option<Value>) {
    let packed = block.add(Place::QueryKeyValue, linear(h, H, NKV * D));
    let cut = [(Place::Query, N), (Place::Key, K), (Place::Value, K)]
        .map(|(place, to)| (place, block.add(place, Operator::Slice { x: packed, from: NKV, to })));
    let [q, k, v] = cut.map(|(place, x)| llama::heads(parts, block, place, x));
    let (cos, sin) = (shared[1], shared[2]);
    let mask = shared.get(3).copied();
    if parts.has_liger() {
        let [turned_q, turned_k] = liger::turned(parts, block, [q, k], [cos, sin], true);
        block.named(&[q, k]);
        let (a, weights) = parts.attention(block, [turned_q, turned_k, v], mask, parts.head_layout(false));
        let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
        block.named(&[h, packed, turned_q, turned_k, v]);
        return (o, weights);
    }
    let parts_of = [(Place::QueryParts, q), (Place::KeyParts, k)].map(|(place, x)| {
        let all = block.add(place, Operator::Return { x });
        [all, block.add(place, Operator::Slice { x, from: D, to: UNROT })]
    });
    let [turned_q, turned_k] =
        [(Place::QueryRotary, parts_of[0]), (Place::KeyRotary, parts_of[1])].map(|(place, [x, y])| {
            let x = block.add(place, Operator::Rotary { x, cos, sin });
            block.add(place, Operator::Concat { x, y, first: ROT, whole: D })
        });
    block.named(&[q, k]);
    let (a, weights) = parts.attention(block, [turned_q, turned_k, v], mask, parts.head_layout(true));
    let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
    block.named(&[h, packed, turned_q, turned_k, v]);
    (o, weights)
}

/// `Phi3MLP.forward`.
fn gated(parts: &Parts<'_>, block: &mut Block, h: Value) -> Value {
    let both = block.add(Place::Gate, linear(h, H, F.by(2)));
    let [gate, up] = block.add_all(Place::Gate, Operator::Split { x: both, parts: 2 });
    let mut held = vec![h, gate];
    let product = if parts.has_liger() {
        held.push(up);
        block.add(Place::Product, Operator::LigerProduct { x: gate, y: up, is_copied: true })
    } else {
        let active = block.add(Place::Activation, Operator::Silu { x: gate });
        block.add(Place::Product, Operator::Multiply { x: up, y: active })
    };
    let down = block.add(Place::Down, linear(product, F, H));
    block.named(&held);
    down
}
