//! StarCoder 2's stack (transformers 5.23.0, models/starcoder2/modeling_starcoder2.py), without dropout.

use super::Block;
use super::decoder::{Parts, Stack, frequencies};
use super::llama::{DECLARED, attention, opening, shared};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Operator, Place, Product};
use crate::estimator::scenario::Model;
use crate::estimator::units::{D, F, H};

/// Whether a model's layers are like StarCoder 2's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 2, Mlp::Gelu, Position::Rotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::All, QkNorm::Off)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    Stack {
        opening: opening(parts, parts.call.dtype, |_, _, embedded| embedded),
        kept: None,
        layers: parts.equal_layers(layer(parts)),
        shared: shared(parts, parts.call.dtype),
        // `inputs_embeds`.
        names: vec![parts.residual()],
        final_norm: |x| Operator::LayerNorm { x, width: H },
        head: Product::Linear,
        rotated: parts.model.head_dim,
        constants: frequencies(D),
        declares_norm_first: false,
    }
}

/// `Starcoder2DecoderLayer.forward`.
fn layer(parts: &Parts<'_>) -> Block {
    let shared = shared(parts, parts.call.dtype);
    let (mut block, arguments) = Block::new(&[&[parts.residual()][..], &shared].concat());
    let x = arguments[0];
    let h = block.add(Place::AttentionNorm, Operator::LayerNorm { x, width: H });
    let (o, weights) = attention(parts, &mut block, h, &arguments[1..]);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let h = block.add(Place::MlpNorm, Operator::LayerNorm { x, width: H });
    let product = Product::LinearWithBias;
    let up = block.add(Place::Up, Operator::Linear { x: h, from: H, to: F, product });
    let active = block.add(Place::Activation, Operator::Gelu { x: up });
    let down = block.add(Place::Down, Operator::Linear { x: active, from: F, to: H, product });
    block.named(&[h]);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}
