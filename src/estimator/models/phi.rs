//! The stack of Phi-1.5 and Phi-2 (transformers 5.23.0, models/phi/modeling_phi.py): attention and feed-forward block side
//! by side behind one norm, and a part of each head rotated.

use super::decoder::{Parts, Stack, layer_norm, with_bias};
use super::neox::{self, Turned};
use super::{Block, llama};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Operator, Place, Product};
use crate::estimator::scenario::Model;
use crate::estimator::units::{D, H, K, N, ROT};

/// Whether a model's layers are like those of Phi-1.5.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 1, Mlp::GeluTanh, Position::PartialRotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::On, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::All, QkNorm::Off)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let shared = neox::shared(parts);
    let layers = parts.equal_layers(layer(parts, &shared));
    // `partial_rotary_factor` is 0.5 unless a configuration says another, as that of Phi-2 does: 0.4 of 80.
    let rotated = if parts.model.head_dim == 80 { 32 } else { parts.model.head_dim / 2 };
    let stack = Stack::new(parts, neox::opening(parts), shared, layers, layer_norm).rotating(rotated, ROT);
    Stack { head: Product::LinearWithBias, ..stack }
}

/// `PhiDecoderLayer.forward`, and the functions that it calls.
fn layer(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let (x, cos, sin, mask) = (arguments[0], arguments[2], arguments[3], arguments.get(4).copied());
    let h = block.add(Place::AttentionNorm, Operator::LayerNorm { x, width: H });
    let [q, k, v] = [(Place::Query, N), (Place::Key, K), (Place::Value, K)].map(|(place, heads)| {
        let x = llama::projected(parts, &mut block, place, h, heads);
        llama::heads(parts, &mut block, place, x)
    });
    let Turned { parts: turned, whole } = neox::turned(&mut block, [q, k], [cos, sin]);
    let (a, weights) = parts.attention(&mut block, [whole[0], whole[1], v], mask, parts.head_layout(true));
    let o = block.add(Place::AttentionOutput, with_bias(a, N * D, H));
    // `query_pass` and `key_pass` are views of what was not rotated.
    block.named(&[q, k, v]);
    block.named(&turned);
    block.named(&whole);
    let o = parts.dropout(&mut block, Place::AttentionDropout, o);
    let down = neox::mlp(&mut block, h, |x| Operator::GeluTanh { x });
    let down = parts.dropout(&mut block, Place::MlpDropout, down);
    let sum = block.add(Place::AttentionAdd, Operator::Add { x: o, y: down });
    let out = block.add(Place::MlpAdd, Operator::Add { x: sum, y: x });
    block.named(&[h, o, down]);
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&[
        Place::Query,
        Place::Key,
        Place::Value,
        Place::AttentionOutput,
        Place::Up,
        Place::Down,
        Place::AttentionNorm,
    ])
}
