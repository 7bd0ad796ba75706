//! MPT's stack (transformers 5.23.0, models/mpt/modeling_mpt.py), without dropout. Its class knows eager attention alone.

use super::composed::{self, Norms};
use super::decoder::{Parts, Stack, linear, tokens};
use super::{Block, NotCounted};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Operator, Place, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, F, H, N, S, Shape, V};

/// Whether a model's layers are like MPT's, with heads whose number is a power of two.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 2, Mlp::Gelu, Position::None)
        && (model.packing, model.softmax) == (Packing::Packed, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::None, QkNorm::Off)
        && model.kv_heads == model.heads
        && model.heads.is_power_of_two()
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Result<Stack, NotCounted> {
    if !parts.is_eager() {
        // The kernel of flash-attn takes a slope for each head in the place of the bias.
        let of_layers = |x, width| Operator::UnbiasedLayerNorm { x, width };
        return composed::stack_of(parts, Norms { of_layers, last: norm });
    }
    let shared = vec![Form::new(DType::Byte, B * S * S), Form::new(DType::Single, N * Shape::ONE.by(2048))];
    let weights = parts.in_half_by_autocast();
    let layers = parts.equal_layers(layer(parts, &shared));
    // `outputs` has the weights of attention.
    let kept = Some(Form::new(weights, B * N * S * S));
    Ok(Stack { kept, ..Stack::new(parts, opening(), shared, layers, norm) })
}

/// `MptModel.forward` up to its layers.
fn opening() -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let x = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let bias = block.add(Place::ScoreBias, Operator::Alibi);
    let mask = block.add(Place::Mask, Operator::CausalMask { embedded: x, has_window: false });
    let mask = block.add(Place::Mask, Operator::AsBooleans { mask });
    block.giving(&[x, mask, bias, x])
}

/// `MptBlock.forward`, which puts out the weights of attention, too.
fn layer(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let (x, mask, bias) = (arguments[0], arguments[1], arguments[2]);
    let h = block.add(Place::AttentionNorm, norm(x));
    let packed = block.add(Place::QueryKeyValue, linear(h, H, (N * D).by(3)));
    let [q, k, v] = block.add_all(Place::QueryKeyValue, Operator::Split { x: packed, parts: 3 });
    let [q, k, v] =
        [(Place::Query, q), (Place::Key, k), (Place::Value, v)].map(|(place, x)| parts.heads(&mut block, place, x));
    let layout = parts.head_layout(false);
    let attention = Operator::BiasedAttention { q, k, v, mask, bias, layout };
    let [a, weights, scores] = block.add_all(Place::Attention, attention);
    let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
    block.named(&[packed, q, k, v, scores]);
    let x = block.add(Place::AttentionAdd, Operator::Add { x: o, y: x });
    // `layernorm_output` and `attn_outputs`.
    let next = block.add(Place::MlpNorm, norm(x));
    block.named(&[h]);
    let up = block.add(Place::Up, linear(next, H, F));
    let active = block.add(Place::Activation, Operator::Gelu { x: up });
    let down = block.add(Place::Down, linear(active, F, H));
    let out = block.add(Place::MlpAdd, Operator::Add { x: down, y: x });
    // Names of this function and of `MptMLP.forward`.
    block.named(&[next, o, active]);
    block.giving(&[out, weights])
}

fn norm(x: Value) -> Operator {
    Operator::UnbiasedLayerNorm { x, width: H }
}
