//! OPT's stack with norms before the sublayers (transformers 5.23.0, models/opt/modeling_opt.py).

use super::Block;
use super::decoder::{Parts, Stack, layer_norm, tokens, with_bias};
use super::llama::mask_form;
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Operator, Place};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, F, H, N, P, S, V};

/// Whether a model's layers are like OPT's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 2, Mlp::Relu, Position::Learned)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::All, QkNorm::Off)
        && model.kv_heads == model.heads
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let shared: Vec<_> = [Form::new(DType::Long, B * S)].into_iter().chain(mask_form(parts)).collect();
    let layers = parts.equal_layers(layer(parts, &shared));
    // `inputs_embeds`, `position_attention_mask` and `pos_embeds`.
    let names = vec![parts.residual(), Form::new(DType::Single, B * S), parts.residual()];
    Stack { names, declares_norm_first: true, ..Stack::new(parts, opening(parts), shared, layers, layer_norm) }
}

/// `OPTDecoder.forward` up to its layers.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let x = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let [ones, positions] = block.add_all(Place::Positions, Operator::CountedPositions);
    let mask = Operator::CausalMask { embedded: x, has_window: false };
    let mask = parts.is_eager().then(|| block.add(Place::Mask, mask));
    let ids = block.add(Place::PositionEmbedding, Operator::OffsetPositions { x: positions });
    let y = block.add(Place::PositionEmbedding, Operator::Embedding { ids, rows: P, width: H });
    let sum = block.add(Place::EmbeddingSum, Operator::Add { x, y });
    let results: Vec<_> = [sum, positions].into_iter().chain(mask).chain([x, ones, y]).collect();
    block.giving(&results)
}

/// `OPTDecoderLayer.forward`.
fn layer(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let (x, mask) = (arguments[0], arguments.get(2).copied());
    let h = block.add(Place::AttentionNorm, Operator::LayerNorm { x, width: H });
    let q = block.add(Place::Query, with_bias(h, H, N * D));
    let q = block.add(Place::QueryScale, Operator::Scale { x: q });
    let q = parts.heads(&mut block, Place::Query, q);
    let k = block.add(Place::Key, with_bias(h, H, N * D));
    // The product that made the keys wants the gradient of all tokens as rows, which columns of several sequences are not.
    let copies_back = parts.is_eager() && parts.call.has_several_sequences;
    let k = block.add(Place::Key, Operator::Heads { x: k, copies_back });
    let v = block.add(Place::Value, with_bias(h, H, N * D));
    let [k, v] = [(Place::Key, k), (Place::Value, v)].map(|(place, x)| parts.heads(&mut block, place, x));
    let (a, weights) = parts.attention(&mut block, [q, k, v], mask, parts.head_layout(false));
    let o = block.add(Place::AttentionOutput, with_bias(a, N * D, H));
    block.named(&[h, q, k, v]);
    let o = parts.dropout(&mut block, Place::AttentionDropout, o);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let x = block.add(Place::Flattened, Operator::Reshape { x });
    let h = block.add(Place::MlpNorm, Operator::LayerNorm { x, width: H });
    let up = block.add(Place::Up, with_bias(h, H, F));
    let active = block.add(Place::Activation, Operator::Relu { x: up });
    let down = block.add(Place::Down, with_bias(active, F, H));
    let down = parts.dropout(&mut block, Place::MlpDropout, down);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    let out = block.add(Place::MlpAdd, Operator::Reshape { x: out });
    block.named(&[x, down]);
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&[
        Place::Key,
        Place::Value,
        Place::Query,
        Place::AttentionOutput,
        Place::AttentionNorm,
        Place::Up,
        Place::Down,
        Place::MlpNorm,
    ])
}
