//! GPT-J's stack (transformers 5.23.0, models/gptj/modeling_gptj.py): attention and feed-forward block side by side behind
//! one norm, and pairs of columns of a part of each head rotated.

use super::decoder::{Parts, Stack, layer_norm, linear, tokens};
use super::{Block, NotCounted, composed, neox, phi};
use crate::estimator::operators::{Form, Operator, Part, Place, Product, Size, Tensor};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, H, N, ROT, S, Shape, UNROT, V};

/// Rows of the table of sines and cosines (`n_positions`).
const POSITIONS: u32 = 2048;

/// Whether a model's layers are like GPT-J's. All that a model says of itself is as in Phi-1.5, but for the width of heads,
/// which is 64 or 80 there.
pub fn is_like(model: &Model) -> bool {
    phi::is_like(model) && model.head_dim == 256 && model.kv_heads == model.heads
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Result<Stack, NotCounted> {
    if !parts.is_eager() {
        // Its class has eager attention, and that of the package flash-attn.
        return Ok(Stack { head: Product::LinearWithBias, ..composed::stack(parts)? });
    }
    let dtype = parts.call.dtype;
    let shared = vec![Form::new(DType::Long, S), Form::new(dtype, B * S * S)];
    // `embed_positions` of each layer.
    let buffer = Size::Of(Form::new(DType::Single, ROT.by(POSITIONS)));
    let buffer = Tensor { place: Place::RotaryTable, part: Part::Buffer, size: buffer };
    let layers = parts.equal_layers(layer(parts, &shared));
    Ok(Stack {
        // `outputs`.
        kept: Some(Form::new(dtype, B * N * S * S)),
        head: Product::LinearWithBias,
        constants: vec![buffer; parts.model.layers as usize],
        // `rotary_dim`.
        rotated: 64,
        ..Stack::new(parts, opening(), shared, layers, layer_norm)
    })
}

/// `GPTJModel.forward` up to its layers.
fn opening() -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let embedded = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let positions = block.add(Place::Positions, Operator::PositionIds);
    let mask = block.add(Place::Mask, Operator::CausalMask { embedded, has_window: false });
    block.giving(&[embedded, positions, mask, embedded])
}

/// `GPTJBlock.forward`, and the functions that it calls.
fn layer(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let (x, positions, mask) = (arguments[0], arguments[1], arguments[2]);
    let h = block.add(Place::AttentionNorm, Operator::LayerNorm { x, width: H });
    let [q, k, v] = [Place::Query, Place::Key, Place::Value].map(|place| block.add(place, linear(h, H, N * D)));
    let copies_back = parts.model.heads > 1;
    let v = block.add(Place::Value, Operator::Heads { x: v, copies_back });
    let rows = Operator::SinusoidRows { positions, like: k, rows: Shape::ONE.by(POSITIONS), width: ROT };
    let [rows, table, ids] = block.add_all(Place::RotaryTable, rows);
    let [k_parts, q_parts] = [(Place::KeyParts, k), (Place::QueryParts, q)]
        .map(|(place, x)| [ROT, UNROT].map(|to| block.add(place, Operator::Slice { x, from: D, to })));
    let turned = [(Place::KeyRotary, k_parts), (Place::QueryRotary, q_parts)]
        .map(|(place, [x, rest])| (place, block.add(place, Operator::RotaryPairs { x, rows }), rest));
    let [whole_k, whole_q] =
        turned.map(|(place, x, y)| block.add(place, Operator::Concat { x, y, first: ROT, whole: D }));
    let layout = parts.head_layout(false);
    let scores = Operator::ScoresInFp32 { q: whole_q, k: whole_k, v, mask, layout };
    let [a, weights] = block.add_all(Place::Attention, scores);
    let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
    // `q_pass` and `k_pass` are views of what was not rotated.
    block.named(&[q, k, v, rows, table, ids, whole_k, whole_q]);
    block.named(&turned.map(|(_, x, _)| x));
    let down = neox::mlp(&mut block, h, |x| Operator::GeluTanh { x });
    let sum = block.add(Place::AttentionAdd, Operator::Add { x: o, y: down });
    let out = block.add(Place::MlpAdd, Operator::Add { x: sum, y: x });
    block.named(&[h, o, down]);
    block.giving(&[out, weights]).declaring(&[
        Place::AttentionNorm,
        Place::Key,
        Place::Value,
        Place::Query,
        Place::AttentionOutput,
        Place::Up,
        Place::Down,
    ])
}
