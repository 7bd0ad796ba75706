//! GPT-2's stack (transformers 5.23.0, models/gpt2/modeling_gpt2.py).

use super::Block;
use super::decoder::{Parts, Stack, layer_norm, tokens};
use super::llama::mask_form;
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Operator, Place, Product, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{D, DType, F, H, N, P, S, Shape, V};

/// Whether a model's layers are like GPT-2's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 2, Mlp::GeluTanh, Position::Learned)
        && (model.packing, model.softmax) == (Packing::Packed, Softmax::Scores)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::All, QkNorm::Off)
        && model.kv_heads == model.heads
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let shared: Vec<_> = [Form::new(DType::Long, S)].into_iter().chain(mask_form(parts)).collect();
    let layers = parts.equal_layers(layer(parts, &shared));
    // `inputs_embeds` and `position_embeds`.
    let names = vec![parts.residual(), Form::new(parts.call.dtype, S * H)];
    Stack { names, ..Stack::new(parts, opening(parts), shared, layers, layer_norm) }
}

/// `GPT2Model.forward` up to its layers.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let x = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let ids = block.add(Place::Positions, Operator::PositionIds);
    let y = block.add(Place::PositionEmbedding, Operator::Embedding { ids, rows: P, width: H });
    let is_broadcast = parts.call.has_several_sequences;
    let sum = block.add(Place::EmbeddingSum, Operator::AddToEach { x, y, is_broadcast });
    let mask = Operator::CausalMask { embedded: x, has_window: false };
    let mask = parts.is_eager().then(|| block.add(Place::Mask, mask));
    let sum = parts.dropout(&mut block, Place::EmbeddingDropout, sum);
    let results: Vec<_> = [sum, ids].into_iter().chain(mask).chain([x, y]).collect();
    block.giving(&results)
}

/// `GPT2Block.forward`.
fn layer(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let (x, mask) = (arguments[0], arguments.get(2).copied());
    let h = block.add(Place::AttentionNorm, Operator::LayerNorm { x, width: H });
    let packed = block.add(Place::QueryKeyValue, conv1d(h, H, (N * D).by(3)));
    let [q, k, v] = block.add_all(Place::QueryKeyValue, Operator::Split { x: packed, parts: 3 });
    let [k, v, q] =
        [(Place::Key, k), (Place::Value, v), (Place::Query, q)].map(|(place, x)| parts.heads(&mut block, place, x));
    let (a, weights) = parts.attention(&mut block, [q, k, v], mask, parts.head_layout(false));
    let o = block.add(Place::AttentionOutput, conv1d(a, N * D, H));
    let o = parts.dropout(&mut block, Place::AttentionDropout, o);
    block.named(&[q, k, v]);
    let x = block.add(Place::AttentionAdd, Operator::Add { x: o, y: x });
    block.named(&[h]);
    let h = block.add(Place::MlpNorm, Operator::LayerNorm { x, width: H });
    let up = block.add(Place::Up, conv1d(h, H, F));
    let active = block.add(Place::Activation, Operator::GeluTanh { x: up });
    let down = block.add(Place::Down, conv1d(active, F, H));
    let down = parts.dropout(&mut block, Place::MlpDropout, down);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(&[h, o]);
    block.named(weights.as_slice());
    block.giving(&[out])
}

/// `Conv1D` of transformers' pytorch_utils.py.
fn conv1d(x: Value, from: Shape, to: Shape) -> Operator {
    Operator::Linear { x, from, to, product: Product::Conv1d }
}
