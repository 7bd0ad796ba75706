//! The stacks of Gemma and Gemma 2 (transformers 5.23.0, models/gemma/modeling_gemma.py, models/gemma2/modeling_gemma2.py).

use super::decoder::{Parts, Stack, constant};
use super::llama::{DECLARED, attention, gated, mask_form, opening, shared, whole_heads};
use super::{Block, NotCounted, Run};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Operator, Place, Value, Weighting};
use crate::estimator::scenario::Model;
use crate::estimator::units::{D, F, H, Shape};

/// Whether a model's layers are like Gemma's, with two norms, or Gemma 2's, with four and soft caps.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.mlp, model.position) == (Norm::RmsNormFull, Mlp::Gated, Position::Rotary)
        && matches!((model.norms, model.soft_cap), (2, Switch::Off) | (4, Switch::On))
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.bias, model.qk_norm, model.parallel) == (Bias::None, QkNorm::Off, Switch::Off)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Result<Stack, NotCounted> {
    if parts.model.soft_cap.is_on() && !parts.is_eager() {
        return Err(NotCounted::CapsInFusedAttention);
    }
    let scale = constant(Place::EmbeddingScale, Form::new(parts.call.dtype, Shape::ONE));
    let opening = opening(parts, whole_heads(parts), scaled);
    let mut stack = Stack::new(parts, opening, given(parts), layers(parts), |x| norm(x, H));
    stack = stack.rotating(parts.model.head_dim, D);
    // `embed_scale` is a buffer.
    stack.constants.insert(0, scale);
    Ok(stack)
}

/// `GemmaTextScaledWordEmbedding.forward`: the number is a buffer, which keeps its type where weights get another.
fn scaled(parts: &Parts<'_>, block: &mut Block, x: Value) -> Value {
    block.add(Place::EmbeddingScale, Operator::ScaleByBuffer { x, is_cast: parts.call.is_widened })
}

/// Layers that are all alike, or of which every other, the first among them, is given the mask of a window.
fn layers(parts: &Parts<'_>) -> Vec<Run> {
    if window(parts).is_none() {
        return parts.equal_layers(layer(parts, 3));
    }
    let [near, far] = [4, 3].map(|mask| layer(parts, mask));
    let odd = Run { period: vec![near.clone()], times: parts.model.layers % 2 };
    vec![Run { period: vec![near, far], times: parts.model.layers / 2 }, odd]
}

/// What all layers could be given: that of Llama, and the mask of a window behind the whole one.
fn given(parts: &Parts<'_>) -> Vec<Form> {
    shared(parts, whole_heads(parts)).into_iter().chain(window(parts)).collect()
}

fn window(parts: &Parts<'_>) -> Option<Form> {
    mask_form(parts).filter(|_| parts.has_windows())
}

/// `GemmaDecoderLayer.forward` and `Gemma2DecoderLayer.forward`, with the mask at a place of what is given.
fn layer(parts: &Parts<'_>, mask: usize) -> Block {
    let has_post_norms = parts.model.norms == 4;
    let (mut block, mut arguments) = Block::new(&[&[parts.residual()][..], &given(parts)].concat());
    if window(parts).is_some() {
        // Only one of the two masks is an argument.
        block.leave_out(arguments[if mask == 3 { 5 } else { 4 }]);
        arguments.swap(4, mask + 1);
    }
    let after = |block: &mut Block, place, x| if has_post_norms { block.add(place, norm(x, H)) } else { x };
    let x = arguments[0];
    let h = block.add(Place::AttentionNorm, norm(x, H));
    let (o, weights) = attention(parts, &mut block, h, &arguments[1..]);
    let o = after(&mut block, Place::AttentionPostNorm, o);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let h = block.add(Place::MlpNorm, norm(x, H));
    let down = gated(&mut block, h, F, |x| Operator::Gelu { x });
    let down = after(&mut block, Place::MlpPostNorm, down);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}

fn norm(x: Value, width: Shape) -> Operator {
    Operator::RmsNorm { x, width, weighting: Weighting::FullOnePlus }
}
