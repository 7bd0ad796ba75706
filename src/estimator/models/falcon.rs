//! The stack of Falcon 7B (transformers 5.23.0, models/falcon/modeling_falcon.py): attention and feed-forward block side by
//! side behind one norm, and one matrix for many queries and one head of keys and values.

use super::Block;
use super::decoder::{Parts, Stack, layer_norm, tokens};
use super::llama::mask_form;
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Masking, Operator, Place, Product, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, F, H, N, NKV, S, Shape, V};

/// Whether a model's layers are like Falcon 7B's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 1, Mlp::Gelu, Position::Rotary)
        && (model.packing, model.softmax) == (Packing::Packed, Softmax::Scores)
        && (model.parallel, model.soft_cap) == (Switch::On, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::None, QkNorm::Off)
        && model.kv_heads == 1
        && model.heads > 1
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let dtype = parts.call.dtype;
    let table = Form::new(dtype, S * D);
    let mask = mask_form(parts).unwrap_or(Form::new(DType::Byte, S * S));
    let shared = vec![Form::new(DType::Long, S), table, table, mask];
    let layers = parts.equal_layers(layer(parts, &shared));
    // `outputs`.
    let kept = parts.is_eager().then(|| Form::new(dtype, B * N * S * S));
    let stack = Stack::new(parts, opening(parts), shared, layers, layer_norm).rotating(parts.model.head_dim, D);
    Stack { kept, ..stack }
}

/// `FalconModel.forward` up to its layers.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let embedded = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let positions = block.add(Place::Positions, Operator::PositionIds);
    let mask = if parts.is_eager() {
        Operator::CausalMask { embedded, has_window: false }
    } else {
        Operator::BooleanMask { has_window: false }
    };
    let mask = block.add(Place::Mask, mask);
    let [cos, sin] =
        block.add_all(Place::RotaryTable, Operator::RotaryTable { positions, width: D, dtype: parts.call.dtype });
    block.giving(&[embedded, positions, cos, sin, mask, embedded])
}

/// `FalconDecoderLayer.forward`, and the functions that it calls.
fn layer(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let (x, cos, sin, mask) = (arguments[0], arguments[2], arguments[3], arguments[4]);
    let h = block.add(Place::AttentionNorm, Operator::LayerNorm { x, width: H });
    let packed = block.add(Place::QueryKeyValue, linear(h, H, NKV * D));
    let q = block.add(Place::Query, Operator::Slice { x: packed, from: NKV, to: N });
    let [k, v] = [Place::Key, Place::Value]
        .map(|place| block.add(place, Operator::Pick { x: packed, from: NKV, to: Shape::ONE }));
    let turned = [(Place::QueryRotary, q), (Place::KeyRotary, k)]
        .map(|(place, x)| block.add(place, Operator::Rotary { x, cos, sin }));
    block.named(&[k]);
    let [q, k] = turned;
    let (a, weights) = attention(parts, &mut block, [q, k, v], mask, h);
    let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
    block.named(&[packed, q, k, v]);
    let up = block.add(Place::Up, linear(h, H, F));
    let active = block.add(Place::Activation, Operator::Gelu { x: up });
    let down = block.add(Place::Down, linear(active, F, H));
    let sum = block.add(Place::AttentionAdd, Operator::AddInPlace { x: down, y: o });
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: sum });
    block.named(&[h, o, down]);
    let results: Vec<_> = [out].into_iter().chain(weights).collect();
    block.giving(&results).declaring(&[
        Place::QueryKeyValue,
        Place::AttentionOutput,
        Place::Up,
        Place::Down,
        Place::AttentionNorm,
    ])
}

/// What attention puts out, and its weights where it has any.
fn attention(
    parts: &Parts<'_>,
    block: &mut Block,
    [q, k, v]: [Value; 3],
    mask: Value,
    hidden: Value,
) -> (Value, Option<Value>) {
    let layout = parts.head_layout(false);
    if !parts.is_eager() {
        let masking = Masking { repeats_keys: false, ..parts.masking() };
        return (block.add(Place::Attention, Operator::MaskedSdpa { q, k, v, mask, layout, masking }), None);
    }
    let [out, weights] = block.add_all(Place::Attention, Operator::ScoresInPlace { q, k, v, mask, hidden, layout });
    (out, Some(weights))
}

/// `FalconLinear`.
fn linear(x: Value, from: Shape, to: Shape) -> Operator {
    Operator::Linear { x, from, to, product: Product::Transposed }
}
