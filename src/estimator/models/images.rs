//! Models that see images: a vision tower before a decoder, whose tokens take the places of some of its own.

use super::decoder::{Call, Collation, Parts};
use super::{Block, Model as Network, NotCounted, Run, gemma, siglip};
use crate::estimator::choice::{Bias, Logits, LossHead, ProjectorTraining, Switch, Tower, TowerTraining};
use crate::estimator::operators::{Form, Operator, Order, Place, Tensor, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, DType, H, HV, PATCHES, PIXELS, S, SE, SI, TILES, V, Width, Widths};

/// A vision tower and what stands around it before the layers of a decoder.
pub struct Seeing {
    /// From numbers of pixels and token ids to the tower's first hidden state, and then what `between` is given.
    pub opening: Block,
    /// The layers of the tower, on the side of encoders.
    pub tower: Vec<Run>,
    /// From the tower's last hidden state to the decoder's first, what all its layers are given, and then names.
    pub between: Block,
    /// Forms of the names of the model's function beside `inputs_embeds`, features of images first.
    pub names: Vec<Form>,
    /// Buffers of the classes, which are there as long as the weights.
    pub constants: Vec<Tensor>,
    /// Batch data that a collator gives beside ids and pixels.
    pub beside: Vec<(Place, Form)>,
}

/// Builds the tower of a model that sees images, and what stands around it. Refused are towers, losses and lengths that are not
/// played.
pub fn seeing(parts: &Parts<'_>) -> Result<Seeing, NotCounted> {
    let is_plain = parts.call.loss == LossHead::Plain && parts.call.logits != Logits::KeptFull;
    if parts.call.collation != Collation::Equal || parts.has_liger() || !is_plain {
        return Err(NotCounted::Vision);
    }
    match parts.model.vision.tower {
        Tower::Gemma3 if gemma::is_third(parts.model) => Ok(siglip::seeing(parts)),
        _ => Err(NotCounted::Vision),
    }
}

impl Seeing {
    /// Puts it before a decoder, whose closing was given its names behind all else.
    pub fn stand_before(self, parts: &Parts<'_>, decoder: &mut Network) {
        let features = Value((1 + decoder.shared + 1) as u16);
        decoder.closing = decoder.closing.clone().giving_also(features);
        let between = Run { period: vec![self.between.beginning(decoder.shared).declaring_ahead()], times: 1 };
        let layers = std::mem::take(&mut decoder.layers);
        decoder.layers = self.tower.into_iter().chain([between]).chain(layers).collect();
        decoder.shared = 0;
        decoder.opening = self.opening;
        decoder.source = Some(pixels());
        decoder.sees = true;
        decoder.put_out = 1;
        decoder.constants = self.constants.into_iter().chain(std::mem::take(&mut decoder.constants)).collect();
        decoder.beside = self.beside;
        decoder.widths = widths(parts, decoder.widths);
    }
}

/// Images as a processor puts them out, in fp32.
pub fn pixels() -> Form {
    Form::new(DType::Single, B * TILES * PATCHES * PIXELS)
}

/// The hidden state of a tower, on the side of the decoder.
pub fn hidden(dtype: DType) -> Form {
    Form::new(dtype, B * TILES * SE * HV)
}

/// The widths of both sides.
fn widths(parts: &Parts<'_>, own: Widths) -> Widths {
    let (vision, images) = (&parts.model.vision, &parts.call.images);
    let (seen, count) = (images.seen(vision), u64::from(images.count.max(1)));
    let tiles = seen.tiles.saturating_mul(count).max(1);
    let each = seen.patches / seen.tiles.max(1);
    let patches = if vision.tower.is_clip() { each.saturating_sub(1) } else { each };
    let tower = model_of(parts.model);
    let named = [
        (Width::Hidden, tower.hidden),
        (Width::Heads, tower.heads),
        (Width::KvHeads, tower.kv_heads),
        (Width::HeadDim, tower.head_dim),
        (Width::FeedForward, tower.feed_forward),
    ];
    let encoder = Widths::new(each, &named.map(|(width, value)| (width, u64::from(value.max(1)))));
    let shared = [
        (Width::Tiles, tiles),
        (Width::Patches, patches),
        (Width::PatchNumbers, vision.numbers()),
        (Width::ImageTokens, seen.tokens.saturating_mul(count).max(1)),
        (Width::TowerHidden, u64::from(vision.hidden)),
        (Width::Source, each),
    ];
    shared.iter().fold(own, |widths, &(width, value)| widths.with(width, value)).behind(encoder, tiles)
}

/// The numbers of a tower as those of a model of text.
fn model_of(model: &Model) -> Model {
    let vision = &model.vision;
    Model {
        hidden: vision.hidden,
        heads: vision.heads,
        kv_heads: vision.heads,
        head_dim: vision.hidden / vision.heads.max(1),
        feed_forward: vision.feed_forward,
        soft_cap: Switch::Off,
        bias: Bias::All,
        ..*model
    }
}

/// A layer of the tower, built for its own numbers.
pub fn layer_of_tower(parts: &Parts<'_>, layer: fn(&Parts<'_>) -> Block) -> Block {
    let model = model_of(parts.model);
    let call = Call { has_several_sequences: has_several(parts), ..parts.call };
    let mut layer = layer(&Parts { model: &model, call });
    if !is_tower_trained(parts) {
        layer.freeze_from(0);
    }
    layer.of_encoder()
}

/// Whether a micro-batch has several images or tiles of images.
pub fn has_several(parts: &Parts<'_>) -> bool {
    let seen = parts.call.images.seen(&parts.model.vision);
    parts.call.batch.max(1) > 1 || parts.call.images.count > 1 || seen.tiles > 1
}

/// Whether the tower's own weights are trained.
pub fn is_tower_trained(parts: &Parts<'_>) -> bool {
    parts.call.images.tower == TowerTraining::Trained
}

/// Whether the projector's own weights are trained.
pub fn is_projector_trained(parts: &Parts<'_>) -> bool {
    parts.call.images.projector == ProjectorTraining::Trained
}

/// Token ids in their first place.
pub fn embedded(block: &mut Block, ids: Value) -> Value {
    block.add(Place::TokenEmbedding, Operator::Embedding { ids, rows: V, width: H })
}

/// A convolution over patches that do not overlap, of numbers in the type of its weights.
pub fn patches(parts: &Parts<'_>, block: &mut Block, pixels: Value, has_bias: bool) -> Value {
    let x = block.add(Place::PatchEmbedding, Operator::To { x: pixels, dtype: parts.call.dtype });
    let order = Order::OfPatches { images: B * TILES, has_bias };
    block.add(Place::PatchEmbedding, Operator::Convolution { x, from: PIXELS, to: HV, positions: PATCHES, order })
}

/// Features of images in the places of their tokens: the sum, the mask of these, and the features in the type of the embedding.
pub fn merged(block: &mut Block, embedded: Value, ids: Value, features: Value) -> [Value; 3] {
    let features = block.add(Place::ImageFeatures, Operator::CastLike { x: features, like: embedded });
    let mask = block.add(Place::ImageMask, Operator::Placeholders { ids });
    let merged = block.add(Place::ImageFeatures, Operator::Scattered { x: embedded, mask, features });
    [merged, mask, features]
}

/// Features of images in a type.
pub fn features(dtype: DType) -> Form {
    Form::new(dtype, B * SI * H)
}

/// Which of all tokens stand for images.
pub fn placeholders() -> Form {
    Form::new(DType::Byte, B * S)
}
