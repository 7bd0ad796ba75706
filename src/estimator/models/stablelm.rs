//! StableLM 2's stack (transformers 5.23.0, models/stablelm/modeling_stablelm.py), without dropout: Llama's with layer norms,
//! and a quarter of each head rotated.

use super::decoder::{Parts, Stack, layer_norm, linear};
use super::neox::{self, Turned};
use super::{Block, llama};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Operator, Place};
use crate::estimator::scenario::{Experts, Model};
use crate::estimator::units::{D, F, H, K, N, ROT};

/// Whether a model's layers are like StableLM 2's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 2, Mlp::Gated, Position::PartialRotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && matches!(model.bias, Bias::None | Bias::Qkv)
        && (model.qk_norm, model.experts) == (QkNorm::Off, Experts::NONE)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let shared = neox::shared(parts);
    let layers = parts.equal_layers(layer(parts));
    // `partial_rotary_factor`.
    let rotated = parts.model.head_dim / 4;
    Stack::new(parts, neox::opening(parts), shared, layers, layer_norm).rotating(rotated, ROT)
}

/// `StableLmDecoderLayer.forward`, and the functions that it calls.
fn layer(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()][..], &neox::shared(parts)].concat());
    let (x, cos, sin, mask) = (arguments[0], arguments[2], arguments[3], arguments.get(4).copied());
    let h = block.add(Place::AttentionNorm, Operator::LayerNorm { x, width: H });
    let [q, k, v] = [(Place::Query, N), (Place::Key, K), (Place::Value, K)]
        .map(|(place, heads)| (place, llama::projected(parts, &mut block, place, h, heads)))
        .map(|(place, x)| llama::heads(parts, &mut block, place, x));
    let Turned { parts: turned, whole } = neox::turned(&mut block, [q, k], [cos, sin]);
    let (a, weights) = parts.attention(&mut block, [whole[0], whole[1], v], mask, parts.head_layout(true));
    let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
    // `query_pass` and `key_pass` are views of what was not rotated.
    block.named(&[q, k, v]);
    block.named(&turned);
    block.named(&whole);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let next = block.add(Place::MlpNorm, Operator::LayerNorm { x, width: H });
    let down = llama::gated(parts, &mut block, next, F, |x| Operator::Silu { x });
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(&[h, o, down]);
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&llama::DECLARED)
}
