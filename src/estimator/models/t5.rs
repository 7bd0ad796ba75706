//! T5: an encoder and a decoder whose scores have a learned bias for each distance, which the first layer of each computes for
//! all (transformers 5.23.0, models/t5/modeling_t5.py).

use super::bart::{head_layout, memory};
use super::decoder::{Parts, linear, tokens};
use super::seq2seq::Stacks;
use super::{Block, Run};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Switch};
use crate::estimator::operators::{Biasing, Form, Operator, Place, Value, Weighting};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, F, H, N, P, S, SE, Shape, V};

/// Whether a model's layers are like T5's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.position) == (Norm::RmsNorm, 2, Position::Relative)
        && matches!(model.mlp, Mlp::Relu | Mlp::GatedGeluTanh)
        && model.packing == Packing::Separate
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::None, QkNorm::Off)
        && model.kv_heads == model.heads
        && !model.encoder.hears()
}

/// Its stacks.
pub fn stacks(parts: &Parts<'_>) -> Stacks {
    let (encoder, decoder) = (parts.model.encoder.layers, parts.model.layers);
    let shared = shared(parts);
    let first = |is_decoder, names: &[Form]| first_layer(parts, is_decoder, names);
    let run = |layer: Block, times| Run { period: vec![layer], times };
    let embedded = parts.residual();
    let name = [Form::new(parts.call.dtype, B * S * H)];
    Stacks {
        opening: opening(parts),
        encoder: vec![
            run(first(false, &name).of_encoder(), 1),
            run(later_layer(parts, &[bias(parts)], false).of_encoder(), encoder.saturating_sub(1)),
        ],
        between: between(parts).beginning(given(parts).len()),
        decoder: vec![
            run(first(true, &[embedded, tokens()]), 1),
            run(later_layer(parts, &shared, true), decoder.saturating_sub(1)),
        ],
        closing: closing(parts, &shared),
        source: source_tokens(),
        constants: Vec::new(),
        loss: parts.in_fp32_by_autocast(),
    }
}

/// Token ids of the encoder.
fn source_tokens() -> Form {
    Form::new(DType::Long, B * SE)
}

/// The bias of a stack's own tokens.
fn bias(parts: &Parts<'_>) -> Form {
    Form::new(parts.call.dtype, N * S * S)
}

/// The bias of the decoder's tokens to the encoder's: zeros in the type of queries.
fn cross_bias(parts: &Parts<'_>) -> Form {
    let dtype = parts.in_half_by_autocast();
    Form::new(dtype, N * S * SE)
}

/// What the first layer of the decoder is given: what the encoder put out, and the mask of eager attention.
fn given(parts: &Parts<'_>) -> Vec<Form> {
    let mask = parts.is_eager().then(|| Form::new(parts.call.dtype, B * S * S));
    [memory(parts)].into_iter().chain(mask).collect()
}

/// What the layers behind it are given.
fn shared(parts: &Parts<'_>) -> Vec<Form> {
    given(parts).into_iter().chain([bias(parts), cross_bias(parts)]).collect()
}

/// `T5Stack.forward` of the encoder up to its layers.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[source_tokens(), tokens()]);
    let embedding = Operator::Embedding { ids: arguments[0], rows: V, width: H };
    let x = block.add(Place::TokenEmbedding, embedding);
    let h = parts.dropout(&mut block, Place::EmbeddingDropout, x);
    block.giving(&[h, x])
}

/// The end of the encoder's function, labels shifted, and `T5Stack.forward` of the decoder up to its layers.
fn between(parts: &Parts<'_>) -> Block {
    let of_encoder = Form::new(parts.call.dtype, N * SE * SE);
    let (mut block, arguments) = Block::new(&[memory(parts), of_encoder, memory(parts), tokens()]);
    block.take(&arguments[..3]);
    let memory = block.add(Place::EncoderNorm, norm(arguments[0], H));
    let memory = parts.dropout(&mut block, Place::EncoderNorm, memory);
    block.named(&arguments[1..3]);
    let ids = block.add(Place::Labels, Operator::ShiftedRight { labels: arguments[3] });
    let x = block.add(Place::TokenEmbedding, Operator::Embedding { ids, rows: V, width: H });
    let mask = Operator::CausalMask { embedded: x, has_window: false };
    let mask = parts.is_eager().then(|| block.add(Place::Mask, mask));
    let h = parts.dropout(&mut block, Place::EmbeddingDropout, x);
    let results: Vec<_> = [h, memory].into_iter().chain(mask).chain([x, ids]).collect();
    block.giving(&results)
}

/// `T5Block.forward` of a first layer, which computes biases for those behind it and hands on what it was given.
fn first_layer(parts: &Parts<'_>, is_decoder: bool, names: &[Form]) -> Block {
    let given = if is_decoder { given(parts) } else { Vec::new() };
    let labels = tokens();
    let (mut block, arguments) = Block::new(&[&[parts.residual()], &given[..], names, &[labels]].concat());
    let end = arguments.len() - 1;
    block.take(&arguments[..end]);
    arguments[1 + given.len()..].iter().for_each(|&name| block.leave_out(name));
    let (memory, mask) = (arguments.get(1).copied().filter(|_| is_decoder), arguments.get(2).copied());
    let mask = mask.filter(|_| given.len() > 1);
    let (out, biases) = layer(parts, &mut block, arguments[0], memory.zip(Some(mask)), is_decoder, &[]);
    block.named(&arguments[..1]);
    let (handed_on, names) = arguments[1..end].split_at(given.len());
    let results = [&[out], handed_on, &biases, names].concat();
    let mut block = block.giving(&results).declaring(&DECLARED).beginning(given.len() + biases.len());
    block.is_layer = true;
    block
}

/// The same of a layer behind it.
fn later_layer(parts: &Parts<'_>, shared: &[Form], is_decoder: bool) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let biases = &arguments[arguments.len() - if is_decoder { 2 } else { 1 }..];
    let mask = arguments.get(2).copied().filter(|_| shared.len() > 3);
    let memory = is_decoder.then(|| (arguments[1], mask));
    let (out, _) = layer(parts, &mut block, arguments[0], memory, is_decoder, biases);
    block.giving(&[out]).declaring(&DECLARED)
}

/// `T5Block.forward` with what the encoder put out and the mask of its own tokens, and biases where there are some: the hidden
/// state and the biases.
fn layer(
    parts: &Parts<'_>,
    block: &mut Block,
    x: Value,
    memory: Option<(Value, Option<Value>)>,
    is_decoder: bool,
    biases: &[Value],
) -> (Value, Vec<Value>) {
    let h = block.add(Place::AttentionNorm, norm(x, H));
    let mask = memory.and_then(|(_, mask)| mask);
    let of_own = biases.first().copied();
    let (o, own, weights) = attention(parts, block, [h, h], mask, false, is_decoder, of_own);
    let dropped = parts.dropout(block, Place::AttentionDropout, o);
    let mut x = block.add(Place::AttentionAdd, Operator::Add { x, y: dropped });
    block.named(&[h, o]);
    let (mut biases_out, mut weights) = (vec![own], weights);
    if let Some((memory, _)) = memory {
        let before = weights;
        let h = block.add(Place::CrossNorm, norm(x, H));
        let (o, cross, after) = attention(parts, block, [h, memory], None, true, true, biases.get(1).copied());
        let dropped = parts.dropout(block, Place::CrossDropout, o);
        x = block.add(Place::CrossAdd, Operator::Add { x, y: dropped });
        block.named(&[h, o]);
        block.named(before.as_slice());
        (weights, biases_out) = (after, vec![own, cross]);
    }
    let h = block.add(Place::MlpNorm, norm(x, H));
    let down = feed_forward(parts, block, h);
    let dropped = parts.dropout(block, Place::MlpDropout, down);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: dropped });
    block.named(&[down]);
    block.named(weights.as_slice());
    (out, biases_out)
}

/// `T5Attention.forward` of tokens to others: what it puts out, its bias, and the weights of eager attention.
fn attention(
    parts: &Parts<'_>,
    block: &mut Block,
    [h, memory]: [Value; 2],
    mask: Option<Value>,
    is_cross: bool,
    is_decoder: bool,
    bias: Option<Value>,
) -> (Value, Value, Option<Value>) {
    let place = |own, other| if is_cross { other } else { own };
    let is_eager = parts.is_eager();
    let has_heads = parts.model.heads > 1;
    let project = |block: &mut Block, place, x, copies_back| {
        let x = block.add(place, linear(x, H, N * D));
        block.add(place, Operator::Heads { x, copies_back: copies_back && is_eager })
    };
    let q = project(block, place(Place::Query, Place::CrossQuery), h, has_heads);
    let k = project(block, place(Place::Key, Place::CrossKey), memory, parts.call.has_several_sequences);
    let v = project(block, place(Place::Value, Place::CrossValue), memory, has_heads);
    let bias = bias.unwrap_or_else(|| {
        if is_cross {
            block.add(Place::CrossBias, Operator::Zeros { form: cross_bias(parts) })
        } else {
            let bias = Operator::RelativeBias { like: q, rows: P, is_bidirectional: !is_decoder };
            block.add(Place::ScoreBias, bias)
        }
    });
    let layout = head_layout(parts);
    let at = place(Place::Attention, Place::CrossAttention);
    let (a, weights) = if is_eager {
        let operator = Operator::EagerBiasedAttention { q, k, v, bias, mask, layout };
        let [a, weights] = block.add_all(at, operator);
        (a, Some(weights))
    } else {
        let biasing = match (is_cross, is_decoder) {
            (true, _) => Biasing::Plain,
            (false, true) => Biasing::Causal,
            (false, false) => Biasing::Copied,
        };
        let columns = if is_cross || !is_decoder { parts.call.source } else { parts.call.sequence };
        let pads_mask = !columns.is_multiple_of(8);
        (block.add(at, Operator::BiasedSdpa { q, k, v, bias, layout, biasing, pads_mask }), None)
    };
    let o = block.add(place(Place::AttentionOutput, Place::CrossOutput), linear(a, N * D, H));
    block.named(&[q, k, v]);
    (o, bias, weights)
}

/// `T5DenseActDense.forward` or `T5DenseGatedActDense.forward`, which bring their hidden state to the type of the last matrix.
fn feed_forward(parts: &Parts<'_>, block: &mut Block, h: Value) -> Value {
    if parts.model.mlp == Mlp::Relu {
        let up = block.add(Place::Up, linear(h, H, F));
        let active = block.add(Place::Activation, Operator::Relu { x: up });
        let active = parts.dropout(block, Place::Activation, active);
        let active = block.add(Place::Product, Operator::To { x: active, dtype: parts.call.dtype });
        let down = block.add(Place::Down, linear(active, F, H));
        block.named(&[h]);
        return down;
    }
    let gate = block.add(Place::Gate, linear(h, H, F));
    let gate = block.add(Place::Activation, Operator::GeluTanh { x: gate });
    let up = block.add(Place::Up, linear(h, H, F));
    let product = block.add(Place::Product, Operator::Multiply { x: gate, y: up });
    let product = parts.dropout(block, Place::Product, product);
    let product = block.add(Place::Product, Operator::To { x: product, dtype: parts.call.dtype });
    let down = block.add(Place::Down, linear(product, F, H));
    block.named(&[h, gate, up]);
    down
}

/// The order in which the classes of layers declare their weights.
const DECLARED: [Place; 15] = [
    Place::Query,
    Place::Key,
    Place::Value,
    Place::AttentionOutput,
    Place::ScoreBias,
    Place::AttentionNorm,
    Place::CrossQuery,
    Place::CrossKey,
    Place::CrossValue,
    Place::CrossOutput,
    Place::CrossNorm,
    Place::Gate,
    Place::Up,
    Place::Down,
    Place::MlpNorm,
];

/// `T5LayerNorm.forward`.
fn norm(x: Value, width: Shape) -> Operator {
    Operator::RmsNorm { x, width, weighting: Weighting::CastDivided }
}

/// The end of the decoder's function, and that of `T5ForConditionalGeneration.forward`. The first T5 scales what its head is
/// given; later ones, whose feed-forward blocks have a gate, do not (`scale_decoder_outputs`).
fn closing(parts: &Parts<'_>, shared: &[Form]) -> Block {
    let names = [parts.residual(), tokens()];
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared, &names, &[tokens()]].concat());
    let (labels, ids) = (arguments[arguments.len() - 1], arguments[arguments.len() - 2]);
    block.take(&arguments[..arguments.len() - 1]);
    let x = block.add(Place::FinalNorm, norm(arguments[0], H));
    let x = parts.dropout(&mut block, Place::FinalNorm, x);
    block.named(&arguments[2..arguments.len() - 2]);
    let scaled = if parts.model.mlp == Mlp::Relu { block.add(Place::Logits, Operator::Scale { x }) } else { x };
    let logits = block.add(Place::Head, linear(scaled, H, V));
    let loss = block.add(Place::Loss, Operator::CrossEntropy { logits, labels, is_shifted: false });
    block.named(&[x, scaled, ids]);
    block.giving(&[loss, logits, arguments[1]])
}
