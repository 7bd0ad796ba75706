//! Llama's stack (transformers 5.23.0, models/llama/modeling_llama.py), with the biases of Qwen 2.5 and the norms of heads
//! of Qwen 3 (models/qwen2, models/qwen3).

use super::Block;
use super::decoder::{Parts, Stack, linear, tokens};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Operator, Part, Place, Product, Size, Tensor, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, F, H, K, N, S, Shape, V};

/// Whether a model's layers are like Llama's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::RmsNorm, 2, Mlp::Gated, Position::Rotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && matches!(model.bias, Bias::None | Bias::Qkv)
        && matches!(model.qk_norm, QkNorm::Off | QkNorm::Head)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let table = Form::new(parts.call.dtype, S * D);
    let mask = parts.is_eager().then(|| Form::new(parts.call.dtype, B * S * S));
    let shared: Vec<_> = [Form::new(DType::Long, S), table, table].into_iter().chain(mask).collect();
    // `inv_freq` and `original_inv_freq` of LlamaRotaryEmbedding.
    let frequencies = Size::Of(Form::new(DType::Single, D.part(2)));
    let frequencies = Tensor { place: Place::RotaryTable, part: Part::Table, size: frequencies };
    Stack {
        opening: opening(parts),
        layers: parts.equal_layers(layer(parts, &shared)),
        shared,
        // `inputs_embeds`.
        names: vec![parts.residual()],
        final_norm: |x| Operator::RmsNorm { x, width: H },
        constants: vec![frequencies; 2],
    }
}

/// `LlamaModel.forward` up to its layers.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let embedded = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let positions = block.add(Place::Positions, Operator::PositionIds);
    let mask = parts.is_eager().then(|| block.add(Place::Mask, Operator::CausalMask { embedded }));
    let [cos, sin] = block.add_all(Place::RotaryTable, Operator::RotaryTable { positions, width: D });
    let shared = [positions, cos, sin].into_iter().chain(mask);
    let results: Vec<_> = [embedded].into_iter().chain(shared).chain([embedded]).collect();
    block.giving(&results)
}

/// `LlamaDecoderLayer.forward`, and the functions that it calls.
fn layer(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let (x, cos, sin, mask) = (arguments[0], arguments[2], arguments[3], arguments.get(4).copied());
    let h = block.add(Place::AttentionNorm, Operator::RmsNorm { x, width: H });
    let q = heads(parts, &mut block, Place::Query, h, N, parts.model.heads);
    let q = head_norm(parts, &mut block, Place::QueryNorm, q);
    let k = heads(parts, &mut block, Place::Key, h, K, parts.model.kv_heads);
    let k = head_norm(parts, &mut block, Place::KeyNorm, k);
    let v = heads(parts, &mut block, Place::Value, h, K, parts.model.kv_heads);
    let turned_q = block.add(Place::QueryRotary, Operator::Rotary { x: q, cos, sin });
    let turned_k = block.add(Place::KeyRotary, Operator::Rotary { x: k, cos, sin });
    block.named(&[q, k]);
    let (a, weights) = parts.attention(&mut block, [turned_q, turned_k, v], mask);
    let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
    block.named(&[h, turned_q, turned_k, v]);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let out = gated_mlp(&mut block, x);
    // `hidden_states, _ = self.self_attn(…)` keeps the weights until the end of the layer.
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&[
        Place::Query,
        Place::Key,
        Place::Value,
        Place::AttentionOutput,
        Place::QueryNorm,
        Place::KeyNorm,
        Place::Gate,
        Place::Up,
        Place::Down,
        Place::AttentionNorm,
        Place::MlpNorm,
    ])
}

/// A product of the hidden state, in heads. One head has one order; the gradients of queries and keys come out of their
/// rotation in the order of the heads, those of values out of eager attention.
fn heads(parts: &Parts<'_>, block: &mut Block, place: Place, h: Value, heads: Shape, count: u32) -> Value {
    let product = if parts.model.bias == Bias::None { Product::Linear } else { Product::LinearWithBias };
    let x = block.add(place, Operator::Linear { x: h, from: H, to: heads * D, product });
    let copies_back = count > 1 && (place != Place::Value || parts.is_eager());
    block.add(place, Operator::Heads { x, copies_back })
}

fn head_norm(parts: &Parts<'_>, block: &mut Block, place: Place, x: Value) -> Value {
    match parts.model.qk_norm {
        QkNorm::Head => block.add(place, Operator::RmsNorm { x, width: D }),
        QkNorm::Off | QkNorm::Full => x,
    }
}

/// `LlamaMLP.forward` between its norm and its residual.
fn gated_mlp(block: &mut Block, x: Value) -> Value {
    let h = block.add(Place::MlpNorm, Operator::RmsNorm { x, width: H });
    let gate = block.add(Place::Gate, linear(h, H, F));
    let gate = block.add(Place::Activation, Operator::Silu { x: gate });
    let up = block.add(Place::Up, linear(h, H, F));
    let product = block.add(Place::Product, Operator::Multiply { x: gate, y: up });
    let down = block.add(Place::Down, linear(product, F, H));
    block.named(&[h]);
    block.add(Place::MlpAdd, Operator::Add { x, y: down })
}
