//! Encoders with decoders: two stacks of layers, one after the other, of which every layer of the second attends to what the
//! first puts out.

use super::decoder::Parts;
use super::{Block, Model as Network, NotCounted, Run, bart, t5, whisper};
use crate::estimator::choice::{Logits, LossHead};
use crate::estimator::operators::{Form, Tensor};
use crate::estimator::scenario::Model;
use crate::estimator::units::{DType, Width, Widths};

/// The stacks of a model, with what comes before, between and behind them.
pub struct Stacks {
    /// From what the encoder is given, and labels, to its hidden state, and then names.
    pub opening: Block,
    /// A layer of the encoder, on its side.
    pub encoder: Vec<Run>,
    /// From the encoder's last hidden state to the decoder's first, what all its layers are given, and then names.
    pub between: Block,
    /// The layers of the decoder.
    pub decoder: Vec<Run>,
    /// From the last hidden state to loss, logits and what the encoder put out.
    pub closing: Block,
    /// What the encoder is given.
    pub source: Form,
    /// What is kept beside the weights as long as the model is.
    pub constants: Vec<Tensor>,
    /// The type of the loss.
    pub loss: DType,
}

/// The network.
pub fn network(parts: &Parts<'_>) -> Result<Network, NotCounted> {
    if parts.call.loss != LossHead::Plain || parts.call.logits == Logits::KeptFull {
        return Err(NotCounted::Loss);
    }
    let classes = [
        (bart::is_like as fn(&Model) -> bool, bart::stacks as fn(&Parts<'_>) -> Stacks),
        (whisper::is_like, whisper::stacks),
        (t5::is_like, t5::stacks),
    ];
    let class = classes.into_iter().find(|(is_like, _)| is_like(parts.model));
    let stacks = class.map(|(_, stacks)| stacks(parts)).ok_or(NotCounted::Encoder)?;
    let between = Run { period: vec![stacks.between], times: 1 };
    Ok(Network {
        widths: widths(parts),
        dtype: parts.call.dtype,
        opening: stacks.opening,
        layers: stacks.encoder.into_iter().chain([between]).chain(stacks.decoder).collect(),
        shared: 0,
        closing: stacks.closing,
        hands_on: false,
        has_cache: false,
        puts_out_states: false,
        output: None,
        has_loss_under_autocast: false,
        keeps_logits: parts.keeps_logits(),
        cut: None,
        is_tied: parts.model.tied_embeddings.is_on(),
        constants: stacks.constants,
        declares_norm_first: false,
        source: Some(stacks.source),
        sees: false,
        put_out: 1,
        labels: None,
        beside: Vec::new(),
        loss: stacks.loss,
    })
}

/// The widths of both sides. The encoder's layers are as wide as the decoder's, and its sequences are of another length.
fn widths(parts: &Parts<'_>) -> Widths {
    let (own, model) = (parts.widths(0), parts.model);
    let source = u64::from(parts.call.source);
    let named = [
        (Width::Hidden, model.hidden),
        (Width::Heads, model.heads),
        (Width::KvHeads, model.kv_heads),
        (Width::HeadDim, model.head_dim),
        (Width::FeedForward, model.feed_forward),
        (Width::Positions, model.encoder.positions),
    ];
    let encoder = Widths::new(source, &named.map(|(width, value)| (width, u64::from(value.max(1)))));
    own.with(Width::Source, source)
        .with(Width::SourceBy8, source.checked_next_multiple_of(8).unwrap_or(source))
        .with(Width::SourceBy16, source.checked_next_multiple_of(16).unwrap_or(source))
        .with(Width::SourcePositions, u64::from(model.encoder.positions.max(1)))
        .with(Width::Channels, u64::from(model.encoder.mels.max(1)))
        .behind(encoder, 1)
}

/// Layers of an encoder that are all built alike.
pub fn encoder_layers(parts: &Parts<'_>, layer: Block) -> Vec<Run> {
    vec![Run { period: vec![layer.of_encoder()], times: parts.model.encoder.layers }]
}
