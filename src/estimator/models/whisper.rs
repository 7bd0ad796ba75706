//! Whisper: an encoder of sound and a decoder, in layers whose norms come before their blocks (transformers 5.23.0,
//! models/whisper/modeling_whisper.py).

use super::Block;
use super::bart::{DECLARED, head_layout, is_of_its_kind, memory, shared};
use super::decoder::{Parts, layer_norm, linear, tokens, with_bias};
use super::seq2seq::{Stacks, encoder_layers};
use crate::estimator::operators::{Form, HeadLayout, Operator, Order, Place, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, F, H, MELS, N, P, PE, S, SE, Shape, V};

/// Whether a model's layers are like Whisper's.
pub fn is_like(model: &Model) -> bool {
    is_of_its_kind(model) && model.encoder.hears()
}

/// Its stacks.
pub fn stacks(parts: &Parts<'_>) -> Stacks {
    let shared = shared(parts);
    Stacks {
        opening: opening(parts),
        encoder: encoder_layers(parts, layer(parts, None)),
        between: between(parts).beginning(shared.len()),
        decoder: parts.equal_layers(layer(parts, Some(&shared))),
        closing: closing(parts, &shared),
        source: sound(parts),
        constants: Vec::new(),
        loss: parts.in_fp32_by_autocast(),
    }
}

/// Channels of sound for twice as many frames as the encoder has positions, in the type of the weights unless autocast casts.
fn sound(parts: &Parts<'_>) -> Form {
    let dtype = parts.in_fp32_by_autocast();
    Form::new(dtype, B * MELS * SE.by(2))
}

/// `WhisperForConditionalGeneration.forward` up to the encoder's layers: two convolutions, of which the second takes every
/// other position, and sines that are not trained.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[sound(parts), tokens()]);
    let shifted = block.add(Place::Labels, Operator::ShiftedRight { labels: arguments[1] });
    let convolution = |x, from: Shape, positions, order| {
        // Kernels of three elements.
        Operator::Convolution { x, from: from.by(3), to: H, positions, order }
    };
    let x = block.add(Place::FirstConvolution, convolution(arguments[0], MELS, SE.by(2), Order::First));
    let before = block.add(Place::Activation, Operator::Gelu { x });
    let x = block.add(Place::SecondConvolution, convolution(before, H, SE, Order::Behind));
    let x = block.add(Place::Activation, Operator::Gelu { x });
    block.named(&[before]);
    let positions = block.add(Place::Positions, Operator::Numbers { count: SE });
    let y = Operator::Embedding { ids: positions, rows: PE, width: H };
    let y = block.add(Place::PositionEmbedding, y);
    block.freeze();
    let is_broadcast = parts.call.has_several_sequences;
    let sum = block.add(Place::EmbeddingSum, Operator::AddToEach { x, y, is_broadcast });
    let h = parts.dropout(&mut block, Place::EmbeddingDropout, sum);
    block.giving(&[h, x, positions, shifted])
}

/// The end of `WhisperEncoder.forward`, and `WhisperDecoder.forward` up to its layers.
fn between(parts: &Parts<'_>) -> Block {
    let (last, ids) = (memory(parts), tokens());
    let names = [memory(parts), Form::new(DType::Long, SE), ids, ids];
    let (mut block, arguments) = Block::new(&[&[last][..], &names].concat());
    block.take(&arguments[..4]);
    let memory = Operator::LayerNormOfColumns { x: arguments[0], width: H, from_columns: false };
    let memory = block.add(Place::EncoderNorm, memory);
    block.named(&arguments[1..3]);
    let ids = arguments[3];
    let x = block.add(Place::TokenEmbedding, Operator::Embedding { ids, rows: V, width: H });
    let numbers = block.add(Place::Positions, Operator::PositionIds);
    let positions = block.add(Place::Positions, Operator::RepeatedForEach { x: numbers });
    let y = block.add(Place::PositionEmbedding, Operator::IndexedRows { ids: positions, rows: P, width: H });
    let sum = block.add(Place::EmbeddingSum, Operator::Add { x, y });
    let h = parts.dropout(&mut block, Place::EmbeddingDropout, sum);
    let mask = Operator::CausalMask { embedded: x, has_window: false };
    let mask = parts.is_eager().then(|| block.add(Place::Mask, mask));
    let results: Vec<_> = [h, memory].into_iter().chain(mask).chain([x, positions, y, ids]).collect();
    block.giving(&results)
}

/// `WhisperEncoderLayer.forward`, or with what layers of the decoder are given `WhisperDecoderLayer.forward`.
fn layer(parts: &Parts<'_>, shared: Option<&[Form]>) -> Block {
    let residual = parts.residual();
    let (mut block, arguments) = Block::new(&[&[residual], shared.unwrap_or_default()].concat());
    let (x, mask) = (arguments[0], arguments.get(2).copied());
    // What comes from a convolution lies channel by channel, and sums with it do.
    let norm = |x| match shared {
        Some(_) => layer_norm(x),
        None => Operator::LayerNormOfColumns { x, width: H, from_columns: false },
    };
    let h = block.add(Place::AttentionNorm, norm(x));
    let (o, mut weights) = attention(parts, &mut block, [h, h], mask, None, None);
    let mut x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    if let Some(&memory) = arguments.get(1) {
        let h = block.add(Place::CrossNorm, norm(x));
        let o;
        (o, weights) = attention(parts, &mut block, [h, memory], None, Some(h), weights);
        x = block.add(Place::CrossAdd, Operator::Add { x, y: o });
    }
    let h = block.add(Place::MlpNorm, norm(x));
    let up = block.add(Place::Up, with_bias(h, H, F));
    let active = block.add(Place::Activation, Operator::Gelu { x: up });
    block.named(&[h]);
    let active = parts.dropout(&mut block, Place::Activation, active);
    let down = block.add(Place::Down, with_bias(active, F, H));
    let down = parts.dropout(&mut block, Place::MlpDropout, down);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}

/// `WhisperAttention.forward` of tokens to others, whose queries, keys and values are brought into the order of heads: what it
/// puts out, and the weights of eager attention. It is that to the encoder where `cross` is there; `before` are the weights of
/// the attention before, whose name they get.
fn attention(
    parts: &Parts<'_>,
    block: &mut Block,
    [h, memory]: [Value; 2],
    mask: Option<Value>,
    cross: Option<Value>,
    before: Option<Value>,
) -> (Value, Option<Value>) {
    let is_cross = cross.is_some();
    let place = |own, other| if is_cross { other } else { own };
    let is_eager = parts.is_eager();
    // In fp32 the kernel puts gradients out token by token.
    let is_flash = !is_eager && (parts.call.has_autocast || parts.call.dtype == DType::Half);
    let has_heads = parts.model.heads > 1;
    let heads = |block: &mut Block, place, x, copies_back| {
        let x = block.add(place, Operator::Heads { x, copies_back: copies_back && has_heads });
        block.add(place, Operator::Contiguous { x, is_strided: has_heads })
    };
    let q = block.add(place(Place::Query, Place::CrossQuery), with_bias(h, H, N * D));
    let q = block.add(place(Place::QueryScale, Place::CrossQueryScale), Operator::Scale { x: q });
    let q = heads(block, place(Place::Query, Place::CrossQuery), q, is_eager || is_flash);
    let k = block.add(place(Place::Key, Place::CrossKey), linear(memory, H, N * D));
    let k =
        heads(block, place(Place::Key, Place::CrossKey), k, is_flash || is_eager && parts.call.has_several_sequences);
    let v = block.add(place(Place::Value, Place::CrossValue), with_bias(memory, H, N * D));
    let v = heads(block, place(Place::Value, Place::CrossValue), v, is_eager || is_flash);
    let layout = HeadLayout { are_values_by_head: has_heads, is_by_head: has_heads, ..head_layout(parts) };
    let at = place(Place::Attention, Place::CrossAttention);
    let (a, weights) = if is_eager {
        let [a, weights] = block.add_all(at, Operator::EagerAttention { q, k, v, mask, layout });
        (a, Some(weights))
    } else {
        (block.add(at, Operator::Sdpa { q, k, v, layout }), None)
    };
    let o = block.add(place(Place::AttentionOutput, Place::CrossOutput), with_bias(a, N * D, H));
    block.named(&[h, q, k, v]);
    block.named(before.as_slice());
    let o = parts.dropout(block, place(Place::AttentionDropout, Place::CrossDropout), o);
    (o, weights)
}

/// The end of `WhisperDecoder.forward`, and that of `WhisperForConditionalGeneration.forward`.
fn closing(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let residual = parts.residual();
    let names = [parts.residual(), Form::new(DType::Long, B * S), parts.residual(), tokens()];
    let (mut block, arguments) = Block::new(&[&[residual], shared, &names, &[tokens()]].concat());
    let (labels, ids) = (arguments[arguments.len() - 1], arguments[arguments.len() - 2]);
    block.take(&arguments[..arguments.len() - 1]);
    let x = block.add(Place::FinalNorm, layer_norm(arguments[0]));
    block.named(&arguments[2..arguments.len() - 2]);
    let logits = block.add(Place::Head, linear(x, H, V));
    let loss = block.add(Place::Loss, Operator::CrossEntropy { logits, labels, is_shifted: false });
    block.named(&[x, ids]);
    block.giving(&[loss, logits, arguments[1]])
}
