//! Llama 3 of torchtitan 0.2.2 (torchtitan/models/llama3/model/model.py).

use super::decoder::{Parts, linear, tokens};
use super::stages::{handed_on, objective};
use super::{Block, Cut, Model, NotCounted, llama};
use crate::estimator::choice::{Bias, QkNorm};
use crate::estimator::operators::{Form, ModuleSide, Operator, Place, Value};
use crate::estimator::units::{B, D, DType, F, H, K, N, S, Shape, V};

/// A decoder like Llama's, as torchtitan's class has it; the loss is that of its trainer.
pub fn decoder(parts: &Parts<'_>) -> Result<Model, NotCounted> {
    let model = parts.model;
    let is_like = llama::is_like(model) && (model.bias, model.qk_norm) == (Bias::None, QkNorm::Off);
    if !is_like || model.experts.count > 0 || model.tied_embeddings.is_on() {
        return Err(NotCounted::Layer);
    }
    if parts.call.has_dropout {
        return Err(NotCounted::Dropout);
    }
    if parts.is_eager() {
        return Err(NotCounted::Layer);
    }
    Ok(Model {
        widths: parts.widths(model.head_dim),
        dtype: parts.call.dtype,
        shared: 1,
        opening: opening(),
        layers: parts.equal_layers(layer(parts)),
        closing: closing(parts),
        output: Some(loss(parts)),
        has_loss_under_autocast: true,
        keeps_logits: true,
        is_tied: false,
        constants: Vec::new(),
        declares_norm_first: false,
        beside: Vec::new(),
        cut: Some(cut(parts)),
        hands_on: false,
        has_cache: false,
        puts_out_states: false,
        source: None,
        sees: false,
        put_out: 0,
        labels: None,
        loss: DType::Single,
    })
}

/// `freqs_cis`, complex numbers of two fp32 each for half the columns of a head.
fn table() -> Form {
    Form::new(DType::Single, S * D)
}

/// The embedding, and the table that is there anyway.
fn opening() -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let embedded = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let embedded = block.add(Place::TokenEmbedding, output(embedded));
    let table = block.add(Place::RotaryTable, Operator::ComplexBuffer { width: D });
    block.giving(&[embedded, table])
}

/// The functions of parts: `Transformer.forward` passes over what a part has not, and its trainer computes the loss.
fn cut(parts: &Parts<'_>) -> Cut {
    let given = [parts.residual(), table()];
    let (mut received, arguments) = Block::new(&given[..1]);
    let table = received.add(Place::RotaryTable, Operator::ComplexBuffer { width: D });
    Cut {
        embedding: opening(),
        received: received.giving(&[arguments[0], table]),
        handed_on: handed_on(&given),
        head: ended(&given),
        objective: objective(parts),
    }
}

/// `TransformerBlock.forward`.
fn layer(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[parts.residual(), table()]);
    let (x, table) = (arguments[0], arguments[1]);
    let normed = block.add(Place::AttentionNorm, norm(x));
    let h = block.add(Place::AttentionNorm, input(normed));
    let o = attention(parts, &mut block, h, table);
    block.named(&[normed]);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let normed = block.add(Place::MlpNorm, norm(x));
    let h = block.add(Place::MlpNorm, input(normed));
    let down = feed_forward(&mut block, h);
    block.named(&[normed]);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.giving(&[out]).declaring(&DECLARED)
}

/// `Attention.forward`.
fn attention(parts: &Parts<'_>, block: &mut Block, h: Value, table: Value) -> Value {
    let mut product = |place, to: Shape| block.add(place, linear(h, H, to * D));
    let (q, k, v) = (product(Place::Query, N), product(Place::Key, K), product(Place::Value, K));
    let [q, k] = block.add_all(Place::Rotary, Operator::ComplexRotaryInTurn { q, k, table });
    let (a, _) = parts.attention(block, [q, k, v], None, parts.head_layout(false));
    let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
    let o = block.add(Place::AttentionOutput, output(o));
    block.named(&[h, q, k, v, a]);
    o
}

/// `FeedForward.forward`.
fn feed_forward(block: &mut Block, h: Value) -> Value {
    let gate = block.add(Place::Gate, linear(h, H, F));
    let gate = block.add(Place::Activation, Operator::Silu { x: gate });
    let up = block.add(Place::Up, linear(h, H, F));
    let product = block.add(Place::Product, Operator::Multiply { x: gate, y: up });
    let down = block.add(Place::Down, linear(product, F, H));
    let down = block.add(Place::Down, output(down));
    block.named(&[h, product]);
    down
}

/// The order in which the class declares the weights of a layer.
const DECLARED: [Place; 9] = [
    Place::Query,
    Place::Key,
    Place::Value,
    Place::AttentionOutput,
    Place::Gate,
    Place::Down,
    Place::Up,
    Place::AttentionNorm,
    Place::MlpNorm,
];

/// What a module is given.
fn input(x: Value) -> Operator {
    Operator::Boundary { x, side: ModuleSide::Input }
}

/// What a module puts out.
fn output(x: Value) -> Operator {
    Operator::Boundary { x, side: ModuleSide::Output }
}

/// `nn.RMSNorm`.
fn norm(x: Value) -> Operator {
    Operator::FusedRmsNorm { x, width: H }
}

/// The end of `Transformer.forward`: norm and logits.
fn closing(parts: &Parts<'_>) -> Block {
    ended(&[parts.residual(), table(), tokens()])
}

/// The same behind layers that are given so much.
fn ended(given: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(given);
    block.take(&arguments[..2]);
    let normed = block.add(Place::FinalNorm, norm(arguments[0]));
    let x = block.add(Place::FinalNorm, input(normed));
    let logits = block.add(Place::Head, linear(x, H, V));
    block.named(&[arguments[1], normed]);
    block.giving(&[logits])
}

/// `cross_entropy_loss` in torchtitan/components/loss.py, a sum, which the trainer divides (`forward_backward_step` in
/// torchtitan/train.py).
fn loss(parts: &Parts<'_>) -> Block {
    let dtype = parts.in_half_by_autocast();
    let (mut block, arguments) = Block::new(&[Form::new(dtype, B * S * V), tokens()]);
    let wide = block.add(Place::Logits, Operator::To { x: arguments[0], dtype: DType::Single });
    let sum = block.add(Place::Loss, Operator::CrossEntropy { logits: wide, labels: arguments[1], is_shifted: false });
    let loss = block.add(Place::Loss, Operator::Scale { x: sum });
    block.giving(&[loss, sum])
}
