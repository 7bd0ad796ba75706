//! BART: an encoder and a decoder of layers whose norms come behind their blocks (transformers 5.23.0,
//! models/bart/modeling_bart.py).

use super::Block;
use super::decoder::{Parts, constant, linear, tokens, with_bias};
use super::seq2seq::{Stacks, encoder_layers};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Switch};
use crate::estimator::operators::{Form, HeadLayout, Operator, Place, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, F, H, N, P, PE, S, SE, V};

/// Whether a model's layers are like BART's.
pub fn is_like(model: &Model) -> bool {
    is_of_its_kind(model) && !model.encoder.hears()
}

/// Whether a model has the layers of BART, or those of Whisper, which are like them.
pub fn is_of_its_kind(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 2, Mlp::Gelu, Position::Learned)
        && model.packing == Packing::Separate
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::All, QkNorm::Off)
        && model.kv_heads == model.heads
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
        source: source_tokens(),
        constants: vec![constant(Place::HeadBias, Form::new(parts.call.dtype, V))],
        // `CrossEntropyLoss` in the type of the logits, which autocast and a bias in fp32 bring to fp32.
        loss: parts.in_fp32_by_autocast(),
    }
}

/// Token ids of the encoder.
fn source_tokens() -> Form {
    Form::new(DType::Long, B * SE)
}

/// What the encoder puts out.
pub fn memory(parts: &Parts<'_>) -> Form {
    Form::new(parts.call.dtype, B * SE * H)
}

/// What all layers of the decoder are given: what the encoder put out, and the mask of eager attention.
pub fn shared(parts: &Parts<'_>) -> Vec<Form> {
    let mask = parts.is_eager().then(|| Form::new(parts.call.dtype, B * S * S));
    [memory(parts).with_dtype(parts.in_fp32_by_autocast())].into_iter().chain(mask).collect()
}

/// `BartForConditionalGeneration.forward` up to the encoder's layers.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[source_tokens(), tokens()]);
    let (ids, labels) = (arguments[0], arguments[1]);
    let shifted = block.add(Place::Labels, Operator::ShiftedRight { labels });
    let embedded = embedded(&mut block, ids);
    let numbers = block.add(Place::Positions, Operator::Numbers { count: SE });
    let each = block.add(Place::Positions, Operator::Expanded { x: numbers });
    let positions = block.add(Place::PositionEmbedding, Operator::OffsetPositions { x: each });
    let y = block.add(Place::PositionEmbedding, Operator::Embedding { ids: positions, rows: PE, width: H });
    block.named(&[numbers, each]);
    let sum = block.add(Place::EmbeddingSum, Operator::Add { x: embedded, y });
    let x = block.add(Place::EmbeddingNorm, Operator::LayerNorm { x: sum, width: H });
    let x = parts.dropout(&mut block, Place::EmbeddingDropout, x);
    block.giving(&[x, embedded, y, shifted]).declaring(&ENDS).declaring_late(&[Place::EmbeddingNorm])
}

/// The order in which the classes of stacks declare what comes before their layers.
const ENDS: [Place; 3] = [Place::TokenEmbedding, Place::PositionEmbedding, Place::EmbeddingNorm];

/// `BartScaledWordEmbedding.forward`.
fn embedded(block: &mut Block, ids: Value) -> Value {
    let x = block.add(Place::TokenEmbedding, Operator::Embedding { ids, rows: V, width: H });
    block.add(Place::EmbeddingScale, Operator::Scale { x })
}

/// The end of `BartEncoder.forward`, and `BartDecoder.forward` up to its layers.
fn between(parts: &Parts<'_>) -> Block {
    let last = memory(parts).with_dtype(parts.in_fp32_by_autocast());
    let ids = tokens();
    let (mut block, arguments) = Block::new(&[last, memory(parts), memory(parts), ids, ids]);
    block.take(&arguments[..4]);
    let memory = block.add(Place::FinalNorm, Operator::Return { x: arguments[0] });
    block.named(&arguments[1..3]);
    let ids = arguments[3];
    let x = embedded(&mut block, ids);
    let positions = block.add(Place::Positions, Operator::PositionIds);
    let ones = block.add(Place::Mask, Operator::Ones { like: x, inputs: H });
    let mask = if parts.is_eager() {
        let mask = Operator::PaddingMask { mask: ones, embedded: x, is_added: true };
        Some(block.add(Place::Mask, mask))
    } else {
        block.add(Place::Mask, Operator::AsBooleans { mask: ones });
        block.add(Place::Mask, Operator::Return { x: ones });
        None
    };
    let offset = block.add(Place::PositionEmbedding, Operator::OffsetPositions { x: positions });
    let y = block.add(Place::PositionEmbedding, Operator::Embedding { ids: offset, rows: P, width: H });
    let is_broadcast = parts.call.has_several_sequences;
    let sum = block.add(Place::EmbeddingSum, Operator::AddToEach { x, y, is_broadcast });
    let h = block.add(Place::EmbeddingNorm, Operator::LayerNorm { x: sum, width: H });
    let h = parts.dropout(&mut block, Place::EmbeddingDropout, h);
    let results: Vec<_> = [h, memory].into_iter().chain(mask).chain([x, positions, y, ids]).collect();
    block.giving(&results).declaring(&ENDS).declaring_late(&[Place::EmbeddingNorm])
}

/// The places of an attention.
#[derive(Clone, Copy)]
pub struct Places {
    query: Place,
    key: Place,
    value: Place,
    attention: Place,
    output: Place,
    dropout: Place,
    add: Place,
    norm: Place,
}

const OWN: Places = Places {
    query: Place::Query,
    key: Place::Key,
    value: Place::Value,
    attention: Place::Attention,
    output: Place::AttentionOutput,
    dropout: Place::AttentionDropout,
    add: Place::AttentionAdd,
    norm: Place::AttentionPostNorm,
};

const CROSS: Places = Places {
    query: Place::CrossQuery,
    key: Place::CrossKey,
    value: Place::CrossValue,
    attention: Place::CrossAttention,
    output: Place::CrossOutput,
    dropout: Place::CrossDropout,
    add: Place::CrossAdd,
    norm: Place::CrossPostNorm,
};

/// How heads lie in memory: the softmax of eager attention is taken in the type of the scores.
pub fn head_layout(parts: &Parts<'_>) -> HeadLayout {
    HeadLayout { has_wide_softmax: false, casts_softmax_back: false, ..parts.head_layout(false) }
}

/// `BartEncoderLayer.forward`, or with what layers of the decoder are given `BartDecoderLayer.forward`.
fn layer(parts: &Parts<'_>, shared: Option<&[Form]>) -> Block {
    let residual = parts.residual().with_dtype(parts.in_fp32_by_autocast());
    let (mut block, arguments) = Block::new(&[&[residual], shared.unwrap_or_default()].concat());
    let (x, mask) = (arguments[0], arguments.get(2).copied());
    let (mut x, mut weights) = attention(parts, &mut block, [x, x], mask, OWN, None);
    if let Some(&memory) = arguments.get(1) {
        (x, weights) = attention(parts, &mut block, [x, memory], None, CROSS, weights);
    }
    let up = block.add(Place::Up, with_bias(x, H, F));
    let active = block.add(Place::Activation, Operator::Gelu { x: up });
    let active = parts.dropout(&mut block, Place::Activation, active);
    let down = block.add(Place::Down, with_bias(active, F, H));
    let down = parts.dropout(&mut block, Place::MlpDropout, down);
    let sum = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    let out = block.add(Place::MlpPostNorm, Operator::LayerNorm { x: sum, width: H });
    block.named(&[x]);
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}

/// The order in which the classes of layers declare their weights.
pub const DECLARED: [Place; 15] = [
    Place::Key,
    Place::Value,
    Place::Query,
    Place::AttentionOutput,
    Place::AttentionNorm,
    Place::AttentionPostNorm,
    Place::CrossKey,
    Place::CrossValue,
    Place::CrossQuery,
    Place::CrossOutput,
    Place::CrossNorm,
    Place::CrossPostNorm,
    Place::Up,
    Place::Down,
    Place::MlpNorm,
];

/// `BartAttention.forward` of tokens to others, with residual and norm: the hidden state, and the weights of eager attention.
/// `before` are those of the attention before, whose name they get.
fn attention(
    parts: &Parts<'_>,
    block: &mut Block,
    [x, memory]: [Value; 2],
    mask: Option<Value>,
    places: Places,
    before: Option<Value>,
) -> (Value, Option<Value>) {
    let is_eager = parts.is_eager();
    // The gradients of queries and values come out of eager attention head by head, that of keys column by column, which is a
    // view of one sequence.
    let has_heads = parts.model.heads > 1;
    let project = |block: &mut Block, place, x, copies_back| {
        let x = block.add(place, with_bias(x, H, N * D));
        block.add(place, Operator::Heads { x, copies_back: copies_back && is_eager })
    };
    let q = project(block, places.query, x, has_heads);
    let k = project(block, places.key, memory, parts.call.has_several_sequences);
    let v = project(block, places.value, memory, has_heads);
    let layout = head_layout(parts);
    let (a, weights) = if is_eager {
        let [a, weights] = block.add_all(places.attention, Operator::EagerAttention { q, k, v, mask, layout });
        (a, Some(weights))
    } else {
        (block.add(places.attention, Operator::Sdpa { q, k, v, layout }), None)
    };
    let o = block.add(places.output, with_bias(a, N * D, H));
    block.named(&[q, k, v]);
    block.named(before.as_slice());
    let o = parts.dropout(block, places.dropout, o);
    let sum = block.add(places.add, Operator::Add { x, y: o });
    let out = block.add(places.norm, Operator::LayerNorm { x: sum, width: H });
    // `residual` is the name of what came in until then.
    block.named(&[x]);
    (out, weights)
}

/// The end of `BartDecoder.forward`, and that of `BartForConditionalGeneration.forward`.
fn closing(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let dtype = parts.call.dtype;
    let residual = parts.residual().with_dtype(parts.in_fp32_by_autocast());
    let names = [parts.residual(), Form::new(DType::Long, S), Form::new(dtype, S * H), tokens()];
    let (mut block, arguments) = Block::new(&[&[residual], shared, &names, &[tokens()]].concat());
    let (labels, ids) = (arguments[arguments.len() - 1], arguments[arguments.len() - 2]);
    block.take(&arguments[..arguments.len() - 1]);
    let x = block.add(Place::FinalNorm, Operator::Return { x: arguments[0] });
    block.named(&arguments[2..arguments.len() - 2]);
    let logits = block.add(Place::Head, linear(x, H, V));
    let logits = block.add(Place::Logits, Operator::AddBuffer { x: logits, dtype });
    let loss = block.add(Place::Loss, Operator::CrossEntropy { logits, labels, is_shifted: false });
    block.named(&[x, ids]);
    block.giving(&[loss, logits, arguments[1]])
}
