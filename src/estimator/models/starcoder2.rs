//! StarCoder 2's stack (transformers 5.23.0, models/starcoder2/modeling_starcoder2.py), without dropout.

use super::decoder::{Parts, Stack, layer_norm};
use super::llama::{DECLARED, attention, opening, shared, whole_heads};
use super::{Block, neox};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Operator, Place};
use crate::estimator::scenario::Model;
use crate::estimator::units::{D, H};

/// Whether a model's layers are like StarCoder 2's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 2, Mlp::Gelu, Position::Rotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::All, QkNorm::Off)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let tables = whole_heads(parts);
    let opening = opening(parts, tables, |_, _, embedded| embedded);
    Stack::new(parts, opening, shared(parts, tables), parts.equal_layers(layer(parts)), layer_norm)
        .rotating(parts.model.head_dim, D)
}

/// `Starcoder2DecoderLayer.forward`.
fn layer(parts: &Parts<'_>) -> Block {
    let shared = shared(parts, whole_heads(parts));
    let (mut block, arguments) = Block::new(&[&[parts.residual()][..], &shared].concat());
    let x = arguments[0];
    let h = block.add(Place::AttentionNorm, Operator::LayerNorm { x, width: H });
    let (o, weights) = attention(parts, &mut block, h, &arguments[1..]);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let h = block.add(Place::MlpNorm, Operator::LayerNorm { x, width: H });
    let down = neox::mlp(&mut block, h, |x| Operator::Gelu { x });
    block.named(&[h]);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}
