//! SigLIP's tower before Gemma 3 (transformers 5.23.0, models/siglip/modeling_siglip.py and models/gemma3/modeling_gemma3.py).

use super::decoder::{Parts, constant, tokens, with_bias};
use super::images::{self, Seeing, is_projector_trained, is_tower_trained};
use super::llama::{behind_embedding, whole_heads};
use super::{Block, Run};
use crate::estimator::operators::{Form, HeadLayout, Operator, Place, Product, Value};
use crate::estimator::units::{B, D, DType, F, H, HV, N, PATCHES, S, SI, TILES};

/// The tower, and what stands between it and the decoder.
pub fn seeing(parts: &Parts<'_>) -> Seeing {
    let layer = images::layer_of_tower(parts, layer);
    Seeing {
        opening: opening(parts),
        tower: vec![Run { period: vec![layer], times: parts.model.vision.layers }],
        between: between(parts),
        names: names(parts),
        constants: vec![constant(Place::PatchPositions, Form::new(DType::Long, PATCHES))],
        beside: vec![(Place::TokenTypes, tokens())],
    }
}

/// `Gemma3Model.forward` up to the layers of its tower.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[images::pixels(), tokens(), tokens()]);
    let embedded = images::embedded(&mut block, arguments[1]);
    let embedded =
        block.add(Place::EmbeddingScale, Operator::ScaleByBuffer { x: embedded, is_cast: parts.call.is_widened });
    let first = block.applications.len();
    let x = images::patches(parts, &mut block, arguments[0], true);
    // Where it is a leaf, its gradient is copied into its order (`AccumulateGrad` in torch/csrc/autograd/functions).
    let x = block.add(Place::PatchSum, Operator::Heads { x, copies_back: !is_tower_trained(parts) });
    let ids = block.add(Place::PatchPositions, Operator::PositionBuffer { count: PATCHES });
    let y = block.add(Place::PatchPositions, Operator::Embedding { ids, rows: PATCHES, width: HV });
    let is_broadcast = images::has_several(parts);
    let x = block.add(Place::PatchSum, Operator::AddToEach { x, y, is_broadcast });
    if !is_tower_trained(parts) {
        block.freeze_from(first);
    }
    let types = block.add(Place::TokenTypes, Operator::Return { x: arguments[2] });
    block.giving(&[x, embedded, types, x]).declaring(&EMBEDDINGS).declaring_late(&[Place::TokenEmbedding])
}

/// The order in which `SiglipVisionEmbeddings` declares its weights.
const EMBEDDINGS: [Place; 2] = [Place::PatchEmbedding, Place::PatchPositions];

/// `SiglipEncoderLayer.forward`. What comes from the convolution lies channel by channel, and sums with it do.
fn layer(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[parts.residual()]);
    let x = arguments[0];
    let norm = |x| Operator::LayerNormOfColumns { x, width: H, from_columns: false };
    let h = block.add(Place::AttentionNorm, norm(x));
    let (o, weights) = attention(parts, &mut block, h);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let h = block.add(Place::MlpNorm, norm(x));
    let up = block.add(Place::Up, with_bias(h, H, F));
    let active = block.add(Place::Activation, Operator::Gelu { x: up });
    let down = block.add(Place::Down, with_bias(active, F, H));
    block.named(&[h]);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}

/// The order in which the class of layers declares its weights.
pub const DECLARED: [Place; 8] = [
    Place::AttentionNorm,
    Place::Key,
    Place::Value,
    Place::Query,
    Place::AttentionOutput,
    Place::MlpNorm,
    Place::Up,
    Place::Down,
];

/// `SiglipAttention.forward`: what it puts out, and its weights where it has any.
pub fn attention(parts: &Parts<'_>, block: &mut Block, h: Value) -> (Value, Option<Value>) {
    let [q, k, v] = [Place::Query, Place::Key, Place::Value].map(|place| {
        let x = block.add(place, with_bias(h, H, N * D));
        parts.heads(block, place, x)
    });
    let layout = HeadLayout { has_wide_softmax: true, ..parts.head_layout(false) };
    let (a, weights) = parts.attention(block, [q, k, v], None, layout);
    let o = block.add(Place::AttentionOutput, with_bias(a, N * D, H));
    block.named(&[h, q, k, v]);
    (o, weights)
}

/// The end of `SiglipVisionModel.forward`, `Gemma3MultiModalProjector.forward`, and the rest of `Gemma3Model.forward` up to the
/// layers of its decoder.
fn between(parts: &Parts<'_>) -> Block {
    let state = images::hidden(parts.call.dtype);
    let (mut block, arguments) = Block::new(&[state, parts.residual(), tokens(), state, tokens()]);
    let &[hidden, embedded, types, first_hidden, ids] = arguments.as_slice() else { return block };
    block.take(&arguments[..4]);
    let norm = Operator::LayerNormOfColumns { x: hidden, width: HV, from_columns: true };
    let last = block.add(Place::EncoderNorm, norm);
    // `inputs_embeds` of the function of the layers.
    block.named(&[hidden, first_hidden]);
    if !is_tower_trained(parts) {
        block.freeze();
    }
    let first = block.applications.len();
    let squares = block.add(Place::Pool, Operator::Contiguous { x: last, is_strided: true });
    // `matmul` with a matrix that is trained folds images into two dimensions, and copies several, which do not lie so
    // (`should_fold` in aten/src/ATen/native/LinearAlgebra.cpp). The gradient of what is folded lies as that did.
    let is_copied = is_projector_trained(parts) && images::has_several(parts);
    let from_columns = is_projector_trained(parts) && !is_copied;
    let places = TILES * PATCHES / SI;
    let pooled = block.add(Place::Pool, Operator::Averaged { x: squares, places, is_strided: !from_columns });
    let norm = Operator::RmsNormOfColumns { x: pooled, width: HV, from_columns };
    let normed = block.add(Place::ProjectorNorm, norm);
    let product = Operator::Linear { x: normed, from: HV, to: H, product: Product::Parameter { is_copied } };
    let projected = block.add(Place::Projector, product);
    let features = block.add(Place::Projector, Operator::CastLike { x: projected, like: last });
    block.named(&[squares, pooled, normed, projected]);
    if !is_projector_trained(parts) {
        block.freeze_from(first);
    }
    let [merged, mask, cast] = images::merged(&mut block, embedded, ids, features);
    let is_one_sequence = !parts.call.has_several_sequences;
    let blocks = block.add(Place::ImageBlocks, Operator::ImageBlocks { types, is_one_sequence });
    let added = parts.is_eager().then_some(parts.call.dtype);
    let masks = [(Place::Mask, false), (Place::WindowMask, true)]
        .map(|(place, has_window)| block.add(place, Operator::BlockwiseMask { ids: blocks, added, has_window }));
    let mut results = behind_embedding(parts, &mut block, &arguments, whole_heads(parts), merged, &masks);
    results.extend([cast, features, mask, blocks, last]);
    block.giving(&results).declaring(&BETWEEN)
}

/// The order in which the classes declare the weights between tower and decoder.
const BETWEEN: [Place; 3] = [Place::EncoderNorm, Place::Projector, Place::ProjectorNorm];

/// Names of `Gemma3Model.forward`: features of images in both types, which tokens are images and of which image, and what the
/// tower put out.
fn names(parts: &Parts<'_>) -> Vec<Form> {
    let wide = parts.in_fp32_by_autocast();
    let blocks = Form::new(DType::Long, B * S);
    let last = images::hidden(wide);
    vec![images::features(parts.call.dtype), images::features(wide), images::placeholders(), blocks, last]
}
