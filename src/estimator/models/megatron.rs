//! `GPTModel` of Megatron Core 0.16.1 with layers of Transformer Engine (megatron/core/models/gpt/gpt_model.py,
//! `get_gpt_layer_with_transformer_engine_spec`).

use super::decoder::{Parts, tokens};
use super::{Block, Model, NotCounted};
use crate::estimator::choice::{Bias, LossHead, Mlp, Norm, Position, QkNorm, Switch};
use crate::estimator::operators::{
    Form, MegatronFunction as Function, MegatronNorm, MegatronSharing, Operator, Part, Place, Size, Tensor, Value,
};
use crate::estimator::units::{B, D, DType, EDGES, F, H, N, NKV, S, Shape};

/// Nobody shares layers, unless an engine has them shared.
const ALONE: MegatronSharing = MegatronSharing { devices: 1 };

/// A decoder of this class; the loss of a token is its own, and that of a micro-batch its trainer's.
pub fn decoder(parts: &Parts<'_>) -> Result<Model, NotCounted> {
    let model = parts.model;
    let is_like = (model.norm, model.norms, model.mlp, model.position)
        == (Norm::RmsNorm, 2, Mlp::Gated, Position::Rotary)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::None, QkNorm::Off);
    if !is_like || parts.is_eager() {
        return Err(NotCounted::Layer);
    }
    if model.experts.count > 0 {
        return Err(NotCounted::Experts);
    }
    if parts.call.has_dropout {
        return Err(NotCounted::Dropout);
    }
    let has_several = parts.call.has_several_sequences;
    let loss = match parts.call.loss {
        LossHead::VocabularyParallel => Function::Loss { has_several },
        LossHead::VocabularyParallelFused => Function::FusedLoss { has_several },
        _ => return Err(NotCounted::Loss),
    };
    Ok(Model {
        widths: parts.widths(model.head_dim),
        dtype: parts.call.dtype,
        shared: 0,
        opening: opening(parts),
        layers: parts.equal_layers(layer(parts)),
        closing: closing(parts, loss),
        output: Some(mean()),
        has_loss_under_autocast: false,
        keeps_logits: false,
        hands_on: false,
        has_cache: false,
        puts_out_states: false,
        cut: None,
        is_tied: model.tied_embeddings.is_on(),
        constants: tables(),
        declares_norm_first: false,
        labels: None,
        beside: Vec::new(),
        source: None,
        sees: false,
        put_out: 0,
        loss: DType::Single,
    })
}

/// What the class computes once and keeps: frequencies, the angles of all positions (`RotaryEmbedding.get_emb`, of which a cache
/// keeps what it has put out), and where sequences begin (`get_full_cu_seqlens` of Transformer Engine).
fn tables() -> Vec<Tensor> {
    let table = |place, size| Tensor { place, part: Part::Table, size };
    let single = |shape: Shape| Form::new(DType::Single, shape);
    vec![
        table(Place::RotaryTable, Size::Of(single(D.part(2)))),
        table(Place::RotaryTable, Size::Of(single(S * D))),
        table(Place::Edges, Size::Of(Form::new(DType::Int, EDGES))),
    ]
}

/// A function of one value.
fn of(x: Value, function: Function) -> Operator {
    Operator::Megatron { x, others: [None; 2], function }
}

/// A function of two values.
fn of_both(x: Value, y: Value, function: Function) -> Operator {
    Operator::Megatron { x, others: [Some(y), None], function }
}

/// The embedding.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let has_several = parts.call.has_several_sequences;
    let is_tied = parts.model.tied_embeddings.is_on();
    let x = block
        .add(Place::TokenEmbedding, of(arguments[0], Function::Embedding { has_several, is_tied, sharing: ALONE }));
    block.giving(&[x])
}

/// `TransformerLayer.forward`.
fn layer(parts: &Parts<'_>) -> Block {
    let norm = MegatronNorm::Rms;
    let (mut block, arguments) = Block::new(&[parts.residual()]);
    let x = arguments[0];
    let packed = block.add(Place::AttentionNorm, of(x, Function::NormLinear { norm, to: NKV * D, sharing: ALONE }));
    // Queries of one head of keys, or of as many as there are of queries, are side by side as they are.
    let is_grouped = parts.model.kv_heads > 1 && parts.model.kv_heads != parts.model.heads;
    let [q, k, v] = block.add_all(Place::QueryKeyValue, of(packed, Function::QueriesKeysValues { is_grouped }));
    let turned_q = block.add(Place::QueryRotary, of(q, Function::Rotary));
    let turned_k = block.add(Place::KeyRotary, of(k, Function::Rotary));
    let attention =
        Operator::Megatron { x: turned_q, others: [Some(turned_k), Some(v)], function: Function::Attention };
    let a = block.add(Place::Attention, attention);
    let o = block.add(Place::AttentionOutput, of(a, Function::Linear { from: N * D, to: H, sharing: ALONE }));
    // Names of `Attention.forward`.
    block.named(&[packed, q, k, v, turned_q, turned_k, a]);
    let x = block.add(Place::AttentionAdd, of_both(o, x, Function::Add));
    let up = block.add(Place::MlpNorm, of(x, Function::NormLinear { norm, to: F.by(2), sharing: ALONE }));
    let product = block.add(Place::Product, of(up, Function::SwiGlu));
    let down = block.add(Place::Down, of(product, Function::Linear { from: F, to: H, sharing: ALONE }));
    let out = block.add(Place::MlpAdd, of_both(down, x, Function::Add));
    block.giving(&[out]).declaring(&DECLARED)
}

/// The order in which the class declares the weights of a layer.
const DECLARED: [Place; 4] = [Place::AttentionOutput, Place::AttentionNorm, Place::MlpNorm, Place::Down];

/// The norm behind the layers, logits and the loss of each token.
fn closing(parts: &Parts<'_>, loss: Function) -> Block {
    let (mut block, arguments) = Block::new(&[parts.residual(), tokens()]);
    block.take(&arguments[..1]);
    let x = block.add(Place::FinalNorm, of(arguments[0], Function::FinalNorm { norm: MegatronNorm::Rms }));
    let logits = block.add(Place::Head, of(x, Function::Head { sharing: ALONE }));
    let losses = block.add(Place::Loss, of_both(logits, arguments[1], loss));
    block.named(&[x, logits]);
    block.giving(&[losses])
}

/// The trainer's loss of the losses of tokens and of their mask: what is derived, the sum, a number of tokens and what is reported.
fn mean() -> Block {
    let single = Form::new(DType::Single, B * S);
    let (mut block, arguments) = Block::new(&[single, single]);
    block.take(&arguments);
    let results: [Value; 3] = block.add_all(Place::Loss, of_both(arguments[0], arguments[1], Function::Mean));
    block.giving(&results)
}
