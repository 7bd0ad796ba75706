//! The stacks of Gemma, Gemma 2 and 3 (transformers 5.23.0, models/gemma/modeling_gemma.py, models/gemma2/modeling_gemma2.py,
//! models/gemma3/modeling_gemma3.py).

use super::decoder::{Collation, Parts, Stack, constant};
use super::llama::{DECLARED, attention, gated, mask_form, opening, shared, whole_heads};
use super::{Block, NotCounted, Run, llama};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Operator, Place, Value, Weighting};
use crate::estimator::scenario::Model;
use crate::estimator::units::{D, DType, F, H, K, N, S, Shape};

/// Whether a model's layers are like Gemma's, with two norms, Gemma 2's, with four and soft caps, or Gemma 3's, with norms of
/// heads.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.mlp, model.position) == (Norm::RmsNormFull, Mlp::Gated, Position::Rotary)
        && matches!((model.norms, model.soft_cap), (2, Switch::Off) | (4, Switch::On))
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.bias, model.qk_norm, model.parallel) == (Bias::None, QkNorm::Off, Switch::Off)
        || is_third(model)
}

/// Whether a model's layers are like Gemma 3's.
pub fn is_third(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::RmsNormFull, 4, Mlp::Gated, Position::Rotary)
        && (model.packing, model.softmax, model.soft_cap) == (Packing::Separate, Softmax::Full, Switch::Off)
        && (model.bias, model.qk_norm, model.parallel) == (Bias::None, QkNorm::Head, Switch::Off)
}

/// Of how many layers of Gemma 3 the last attends to all tokens (`sliding_window_pattern`), by tables of its own.
const PATTERN: u32 = 6;

/// The tokens of a window of Gemma 3 (`sliding_window`): 512 in the published models of 0.27 and 1 billion weights, 1,024 in
/// those that are wider.
fn window_of_third(model: &Model) -> u32 {
    if model.hidden < 2_560 { 512 } else { 1_024 }
}

/// Whether layers are given one of two pairs of tables of cosines and sines.
pub fn has_two_tables(model: &Model) -> bool {
    is_third(model) && model.layers >= PATTERN
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Result<Stack, NotCounted> {
    if is_third(parts.model) && parts.call.collation != Collation::Equal {
        return Err(parts.call.collation.not_counted());
    }
    let scale = constant(Place::EmbeddingScale, Form::new(parts.call.dtype, Shape::ONE));
    let opening = opening(parts, whole_heads(parts), scaled);
    let mut stack = Stack::new(parts, opening, given(parts), layers(parts), |x| norm(x, H));
    stack = stack.rotating(parts.model.head_dim, D);
    if has_two_tables(parts.model) {
        stack.constants.extend_from_within(..);
    }
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
    let [near, far] = [false, true].map(|is_far| layer(parts, is_far));
    if is_third(parts.model) {
        let run = |period, times| Run { period, times };
        let rest = vec![near.clone(); (parts.model.layers % PATTERN) as usize];
        let period = [vec![near; PATTERN as usize - 1], vec![far]].concat();
        return vec![run(period, parts.model.layers / PATTERN), run(rest, 1)];
    }
    if window(parts).is_none() {
        return parts.equal_layers(far);
    }
    let odd = Run { period: vec![near.clone()], times: parts.model.layers % 2 };
    vec![Run { period: vec![near, far], times: parts.model.layers / 2 }, odd]
}

/// What all layers could be given: that of Llama, the mask of a window behind the whole one, and tables of layers that attend
/// to all tokens.
fn given(parts: &Parts<'_>) -> Vec<Form> {
    let tables = if has_two_tables(parts.model) { 2 } else { 0 };
    let table = Form::new(parts.call.dtype, S * D);
    let first = shared(parts, whole_heads(parts)).into_iter().chain(window(parts));
    first.chain(std::iter::repeat_n(table, tables)).collect()
}

/// The form of the mask of a window, where layers are given one. Caps on scores are flash-attn's, which has the window in its
/// kernel; PyTorch's kernels are given a mask of Gemma 3 from the length of its window on
/// (`create_sliding_window_causal_mask` in masking_utils.py).
pub fn window(parts: &Parts<'_>) -> Option<Form> {
    if parts.is_eager() || parts.has_blocks_of_images() {
        return mask_form(parts).filter(|_| parts.has_windows());
    }
    let is_masked = is_third(parts.model) && parts.call.sequence >= window_of_third(parts.model);
    is_masked.then(|| Form::new(DType::Byte, S * S))
}

/// `GemmaDecoderLayer.forward` and its like, of a layer that attends to all tokens or to those of a window.
fn layer(parts: &Parts<'_>, is_far: bool) -> Block {
    let has_post_norms = parts.model.norms == 4;
    let (mut block, arguments) = Block::new(&[&[parts.residual()][..], &given(parts)].concat());
    let (mut of_near, mut of_far) = (vec![arguments[2], arguments[3]], vec![arguments[2], arguments[3]]);
    if has_two_tables(parts.model) {
        // Which pair comes first is the order of a set of texts, here that of `PYTHONHASHSEED=0`.
        of_near = arguments[arguments.len() - 2..].to_vec();
    }
    let whole = mask_form(parts).map(|_| arguments[4]);
    let window = window(parts).map(|_| arguments[if whole.is_some() { 5 } else { 4 }]);
    of_near.extend(window.or(whole));
    of_far.extend(whole);
    // Only one of two masks is an argument, and one of two pairs of tables.
    let (own, other) = if is_far { (of_far, of_near) } else { (of_near, of_far) };
    other.into_iter().filter(|argument| !own.contains(argument)).for_each(|argument| block.leave_out(argument));
    let given = [vec![arguments[1]], own].concat();
    let after = |block: &mut Block, place, x| if has_post_norms { block.add(place, norm(x, H)) } else { x };
    let x = arguments[0];
    let h = block.add(Place::AttentionNorm, norm(x, H));
    let attention = if is_third(parts.model) { attention_of_third } else { attention };
    let (o, weights) = attention(parts, &mut block, h, &given);
    let o = after(&mut block, Place::AttentionPostNorm, o);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let h = block.add(Place::MlpNorm, norm(x, H));
    let down = gated(parts, &mut block, h, F, |x| Operator::Gelu { x });
    let down = after(&mut block, Place::MlpPostNorm, down);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}

/// `Gemma3Attention.forward`, which norms queries and keys when values are there.
fn attention_of_third(parts: &Parts<'_>, block: &mut Block, h: Value, shared: &[Value]) -> (Value, Option<Value>) {
    let [q, k, v] = [(Place::Query, N), (Place::Key, K), (Place::Value, K)].map(|(place, heads)| {
        let x = llama::projected(parts, block, place, h, heads);
        llama::heads_under(parts, block, place, x, shared.len() > 3)
    });
    let q = block.add(Place::QueryNorm, norm(q, D));
    let k = block.add(Place::KeyNorm, norm(k, D));
    llama::attended(parts, block, h, [q, k, v], shared, false)
}

/// `GemmaRMSNorm.forward`.
fn norm(x: Value, width: Shape) -> Operator {
    Operator::RmsNorm { x, width, weighting: Weighting::FullOnePlus }
}
