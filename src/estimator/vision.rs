//! Images beside text: what a vision tower makes of them, how many weights it has, and how many places of a sequence
//! their tokens take.
//!
//! Sizes of images and tokens are those of the processors of transformers 5.23.0, and weights those of its classes;
//! `tests/vectors/image_tokens.json` and `image_weights.json` hold both to them.

use serde::Serialize;

use super::answer::holds;
use super::bounds::Field;
use super::choice::{ProjectorTraining, Tower, TowerTraining};
use super::ledger::Ledger;
use super::scenario::Scenario;
use super::search::largest;
use super::weights::Tensors;

/// The vision tower of a model, and the projector that stands between it and the language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Vision {
    /// How its blocks, its projector and its processor are built.
    pub tower: Tower,
    /// Blocks of the tower.
    pub layers: u32,
    /// H_v: width of the tower.
    pub hidden: u32,
    /// Attention heads of the tower.
    pub heads: u32,
    /// f_v: inner width of its feed-forward blocks.
    pub feed_forward: u32,
    /// Pixels along one side of a patch.
    pub patch: u32,
    /// Pixels along one side of an image or tile, where that is fixed; 0 where images keep their shape.
    pub side: u32,
}

/// The images of one sequence, and what of the model that sees them is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Images {
    /// Images of one sequence.
    pub count: u32,
    /// Pixels of one image from top to bottom.
    pub height: u32,
    /// Pixels of one image from left to right.
    pub width: u32,
    /// Pixels to which a processor shrinks larger images.
    pub max_pixels: u32,
    /// Tiles or crops of one image; 0 for what the processor does without being asked.
    pub tiles: u32,
    /// What of the tower is trained.
    pub tower: TowerTraining,
    /// Whether the projector is trained.
    pub projector: ProjectorTraining,
}

/// What a tower sees of one image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Images of a fixed size that one image becomes; 1 where it keeps its shape.
    pub tiles: u64,
    /// Vectors in the tower, with one for the class of each tile where there is such a thing.
    pub patches: u64,
    /// Tokens among those of the language model. Marks around an image are text, and not among them.
    pub tokens: u64,
}

/// The weights of a tower and its projector, in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisionWeights {
    /// The matrices of one block.
    pub matrices: u64,
    /// Biases and norms of one block.
    pub small: u64,
    /// All outside the blocks: patch embedding, positions, norms, and the adapter that is a part of Llama 4's tower.
    pub rest: u64,
    /// The projector.
    pub projector: u64,
}

impl Vision {
    /// No tower: a model of text.
    pub const NONE: Self =
        Self { tower: Tower::None, layers: 0, hidden: 0, heads: 0, feed_forward: 0, patch: 0, side: 0 };

    /// Whether there is one.
    pub const fn is_there(&self) -> bool {
        !matches!(self.tower, Tower::None) && self.layers > 0 && self.hidden > 0 && self.patch > 0
    }

    /// Blocks whose output is used: LLaVA takes the input of the last one (`vision_feature_layer` = −2).
    pub const fn used_layers(&self) -> u32 {
        if self.tower.is_clip() { self.layers.saturating_sub(1) } else { self.layers }
    }

    /// Patches along one side of a tile.
    const fn grid(&self) -> u64 {
        match self.side.checked_div(self.patch) {
            Some(patches) => patches as u64,
            None => 0,
        }
    }

    /// Weights beside a language model of width `text`, without those of a pipeline or of tensor parallelism, which no
    /// tower is counted under.
    ///
    /// Counted in the classes of transformers 5.23.0: `Qwen2_5_VisionTransformerPretrainedModel`, `CLIPVisionModel`,
    /// `SiglipVisionModel` and `Llama4VisionModel` with the projectors of their models.
    pub fn weights(&self, text: u32) -> VisionWeights {
        if !self.is_there() {
            return VisionWeights::default();
        }
        let [h, f, t] = [self.hidden, self.feed_forward, text].map(u64::from);
        let gated = matches!(self.tower, Tower::Qwen25Vl);
        // Four matrices of attention with a bias each, two norms, and two or three matrices of a feed-forward block.
        let matrices = 4 * h * h + if gated { 3 } else { 2 } * h * f;
        let norm = if gated { h } else { 2 * h };
        let all = |tensors: Vec<Tensors>| tensors.into_iter().map(Tensors::all).sum();
        let projector = match self.tower {
            Tower::None => 0,
            Tower::Qwen2Vl | Tower::Qwen25Vl => {
                // A merger of 2 × 2 patches.
                let merged = MERGED * h;
                norm + merged * merged + merged + merged * t + t
            }
            Tower::Llava | Tower::LlavaNext => {
                let newline = if self.tower.has_tiles() { t } else { 0 };
                h * t + t + t * t + t + newline
            }
            Tower::Gemma3 => h * t + h,
            Tower::Llama4 => LLAMA_4_OUTPUT * t,
        };
        VisionWeights { matrices, small: all(self.small_tensors()), rest: all(self.outside_blocks()), projector }
    }

    /// Biases and norms of one block. Qwen's towers have one matrix for queries, keys and values, with one bias.
    pub fn small_tensors(&self) -> Vec<Tensors> {
        let [h, f] = [self.hidden, self.feed_forward].map(u64::from);
        // RMSNorm has a weight, LayerNorm a bias beside it.
        let (norms, factors) = if self.tower == Tower::Qwen25Vl { (2, 2) } else { (4, 1) };
        let biases = if self.tower.keeps_shape() {
            [Tensors { elements: 3 * h, count: 1 }, Tensors { elements: h, count: norms + 2 }]
        } else {
            [Tensors { elements: h, count: 4 }, Tensors { elements: h, count: norms + 1 }]
        };
        biases.into_iter().chain([Tensors { elements: f, count: factors }]).collect()
    }

    /// What is outside the blocks, but for the projector: patch embedding, positions, norms, and the adapter that is a part
    /// of Llama 4's tower.
    pub fn outside_blocks(&self) -> Vec<Tensors> {
        let [h, f, p] = [self.hidden, self.feed_forward, self.patch].map(u64::from);
        let (pixels, places) = (3 * p * p, self.grid() * self.grid());
        let vectors = |count| Tensors { elements: h, count };
        let [embedding, table] = [pixels * h, places * h].map(|elements| Tensors { elements, count: 1 });
        match self.tower {
            Tower::None => Vec::new(),
            // Two frames a patch (`temporal_patch_size`).
            Tower::Qwen2Vl | Tower::Qwen25Vl => vec![Tensors { elements: 2 * pixels * h, count: 1 }],
            Tower::Gemma3 => vec![embedding, table, vectors(1 + 2)],
            // A place for the class; two norms.
            Tower::Llava | Tower::LlavaNext => {
                vec![embedding, Tensors { elements: table.elements + h, count: 1 }, vectors(1 + 4)]
            }
            Tower::Llama4 => {
                let adapter = [f, LLAMA_4_OUTPUT].map(|rows| Tensors { elements: rows * LLAMA_4_OUTPUT, count: 1 });
                let [up, down] = adapter;
                vec![embedding, Tensors { elements: table.elements + h, count: 1 }, vectors(1 + 4), up, down]
            }
        }
    }

    /// Numbers of one patch as a processor puts them out.
    pub const fn numbers(&self) -> u64 {
        let frames = if self.tower.keeps_shape() { 2 } else { 1 };
        3 * frames * self.patch as u64 * self.patch as u64
    }
}

impl VisionWeights {
    /// All weights of a tower of `layers` blocks.
    pub const fn tower(&self, layers: u32) -> u64 {
        layers as u64 * (self.matrices + self.small) + self.rest
    }
}

/// Patches of Qwen's towers that become one token: 2 × 2 (`spatial_merge_size`).
pub const MERGED: u64 = 4;
/// Width behind Llama 4's vision adapter (`projector_output_dim` and `vision_output_dim` of Llama4VisionConfig).
pub const LLAMA_4_OUTPUT: u64 = 4_096;
/// Pixels to which Qwen's processors enlarge smaller images (`smart_resize` in
/// models/qwen2_vl/image_processing_qwen2_vl.py).
const MIN_PIXELS: u64 = 56 * 56;
/// Height to width, or width to height, beyond which `smart_resize` raises an error.
const MOST_STRETCHED: u32 = 200;
/// Tokens of an image in Gemma 3 (`mm_tokens_per_image`).
const GEMMA_3_TOKENS: u64 = 256;
/// Tiles into which Llama 4's processor divides an image at most (`max_patches` in
/// models/llama4/image_processing_llama4.py).
const LLAMA_4_TILES: u32 = 16;
/// Rows and columns of tiles that LLaVA-NeXT tries, in its order (`image_grid_pinpoints`, over 336 pixels).
const PINPOINTS: [(u32, u32); 5] = [(1, 2), (2, 1), (2, 2), (3, 1), (1, 3)];

impl Images {
    /// One image of a megapixel, the tower frozen and the projector trained, as in the scripts of Qwen2.5-VL and LLaVA
    /// 1.5 (QwenLM/Qwen2.5-VL, qwen-vl-finetune: `tune_mm_vision False`, `tune_mm_mlp True`); 12,845,056 pixels at most,
    /// as in the preprocessor_config.json of Qwen2-VL and Qwen2.5-VL.
    pub const ONE: Self = Self {
        count: 1,
        height: 1_024,
        width: 1_024,
        max_pixels: 12_845_056,
        tiles: 0,
        tower: TowerTraining::Frozen,
        projector: ProjectorTraining::Trained,
    };

    /// Whether a processor would refuse an image of this shape.
    pub fn is_too_stretched(&self, vision: &Vision) -> bool {
        let (short, long) = (self.height.min(self.width), self.height.max(self.width));
        vision.tower.keeps_shape() && long > short.saturating_mul(MOST_STRETCHED)
    }

    /// What the tower sees of one image.
    ///
    /// ```
    /// use bmax::{Scenario, catalogue};
    /// let row = catalogue::model("qwen2.5-vl-7b").expect("listed");
    /// let scenario = row.apply(Scenario::workshop());
    /// // 1,024 pixels are 37 times 28 to the nearest.
    /// let seen = scenario.recipe.images.seen(&scenario.model.vision);
    /// assert_eq!((seen.patches, seen.tokens), (4 * 37 * 37, 37 * 37));
    /// ```
    pub fn seen(&self, vision: &Vision) -> Seen {
        if !vision.is_there() {
            return Seen::default();
        }
        let grid = vision.grid();
        let places = grid * grid;
        match vision.tower {
            Tower::None => Seen::default(),
            Tower::Qwen2Vl | Tower::Qwen25Vl => {
                let (rows, columns) = self.resized(2 * u64::from(vision.patch));
                Seen { tiles: 1, patches: MERGED * rows * columns, tokens: rows * columns }
            }
            Tower::Llava => Seen { tiles: 1, patches: places + 1, tokens: places },
            Tower::LlavaNext => {
                let (rows, columns) = self.pinpoint(vision.side);
                let tiles = u64::from(rows * columns) + 1;
                Seen { tiles, patches: tiles * (places + 1), tokens: places + self.unpadded(grid, rows, columns) }
            }
            Tower::Gemma3 => {
                let tiles = 1 + u64::from(self.crops());
                Seen { tiles, patches: tiles * places, tokens: tiles * GEMMA_3_TOKENS }
            }
            Tower::Llama4 => {
                let (rows, columns) = self.canvas(vision.side);
                let tiles = u64::from(rows * columns);
                // One tile more shows the whole image, unless it is in one tile anyway.
                let tiles = if tiles > 1 { tiles + 1 } else { tiles };
                // Pixel shuffle by ½ makes one vector of four.
                Seen { tiles, patches: tiles * (places + 1), tokens: tiles * (places / 4) }
            }
        }
    }

    /// Height and width in units of `factor` pixels, as `smart_resize` finds them.
    fn resized(&self, factor: u64) -> (u64, u64) {
        let [height, width] = [self.height, self.width].map(u64::from);
        let factor = factor.max(1);
        let most = u64::from(self.max_pixels);
        let (rows, columns) = (nearest(height, factor), nearest(width, factor));
        let pixels = rows * columns * factor * factor;
        let [h, w, f] = [height, width, factor].map(|number| number as f64);
        if pixels > most {
            let shrunk = (h * w / most as f64).sqrt();
            return ((h / shrunk / f).floor().max(1.0) as u64, (w / shrunk / f).floor().max(1.0) as u64);
        }
        if pixels < MIN_PIXELS {
            let grown = (MIN_PIXELS as f64 / (h * w)).sqrt();
            return ((h * grown / f).ceil() as u64, (w * grown / f).ceil() as u64);
        }
        (rows, columns)
    }

    /// Rows and columns of tiles that fit best: the most pixels of the image, then the least empty
    /// (`select_best_resolution` in transformers/image_processing_utils.py).
    fn pinpoint(&self, side: u32) -> (u32, u32) {
        let [height, width] = [self.height, self.width].map(f64::from);
        let limit = if self.tiles == 0 { u32::MAX } else { self.tiles.max(2) };
        let (mut best, mut most, mut least) = ((1, 2), 0.0, f64::INFINITY);
        for (rows, columns) in PINPOINTS.into_iter().filter(|(rows, columns)| rows * columns <= limit) {
            let [h, w] = [rows * side, columns * side].map(f64::from);
            let scale = (w / width).min(h / height);
            let effective = ((width * scale).floor() * (height * scale).floor()).min(width * height);
            let wasted = w * h - effective;
            if effective > most || (effective == most && wasted < least) {
                (best, most, least) = ((rows, columns), effective, wasted);
            }
        }
        best
    }

    /// Tokens of the tiles without the padding around the image, and one at the end of each row
    /// (`_get_unpadded_features` in models/llava_next/processing_llava_next.py).
    fn unpadded(&self, grid: u64, rows: u32, columns: u32) -> u64 {
        let [height, width] = [self.height, self.width].map(f64::from);
        let (mut h, mut w) = (grid * u64::from(rows), grid * u64::from(columns));
        let cut = |whole: u64, own: f64| {
            let own = ((own * 1e7).round() / 1e7).floor() as u64;
            whole - whole.saturating_sub(own) / 2 * 2
        };
        if width / height > w as f64 / h as f64 {
            h = cut(h, height * (w as f64 / width));
        } else {
            w = cut(w, width * (h as f64 / height));
        }
        h * w + h
    }

    /// Crops that pan and scan takes of an image that is no square (`pan_and_scan_batched` in
    /// models/gemma3/image_processing_gemma3.py, with 256 pixels and a ratio of 1.2 at least, as in the
    /// preprocessor_config.json of Gemma 3); it is off unless asked for.
    fn crops(&self) -> u32 {
        const LEAST: u32 = 256;
        let (short, long) = (self.height.min(self.width), self.height.max(self.width));
        if self.tiles < 2 || f64::from(long) / f64::from(short.max(1)) < 1.2 {
            return 0;
        }
        let wanted = (f64::from(long) / f64::from(short) + 0.5).floor() as u32;
        let crops = wanted.min(long / LEAST).max(2).min(self.tiles);
        if long.div_ceil(crops).min(short) < LEAST { 0 } else { crops }
    }

    /// Rows and columns of the canvas that Llama 4 chooses: the least enlargement, or else the least reduction, and
    /// among those the smallest (`get_best_fit` in models/llama4/image_processing_llama4.py, which divides in fp32).
    fn canvas(&self, side: u32) -> (u32, u32) {
        let limit = if self.tiles == 0 { LLAMA_4_TILES } else { self.tiles.min(64) };
        let [height, width] = [self.height as f32, self.width as f32];
        let mut best = (1, 1);
        let mut best_scale = -1.0_f32;
        for rows in 1..=limit {
            for columns in 1..=limit / rows {
                let scale = ((columns * side) as f32 / width).min((rows * side) as f32 / height);
                let better = match (scale >= 1.0, best_scale >= 1.0) {
                    (true, true) => scale < best_scale,
                    (false, false) => scale > best_scale,
                    (enlarges, _) => enlarges,
                };
                // Of those with the same scale the first has the fewest rows and columns.
                if better {
                    (best, best_scale) = ((rows, columns), scale);
                }
            }
        }
        best
    }
}

/// A whole number of `factor`s, as Python rounds: a half goes to the even one.
const fn nearest(size: u64, factor: u64) -> u64 {
    let (whole, rest) = (size / factor, size % factor);
    let up = 2 * rest > factor || (2 * rest == factor && whole % 2 == 1);
    if up { whole + 1 } else { whole }
}

impl Scenario {
    /// Places of a sequence that tokens of images take.
    pub fn image_tokens(&self) -> u64 {
        let images = &self.recipe.images;
        images.seen(&self.model.vision).tokens.saturating_mul(images.count.into())
    }

    /// Whether images are seen, and by a tower whose images keep their shape, so that `max_pixels` decides their size.
    pub fn shrinks_images(&self) -> bool {
        self.model.vision.is_there() && self.model.vision.tower.keeps_shape() && self.recipe.images.count > 0
    }

    /// The largest `max_pixels`, in whole tokens, with which `fits` is true; `None` where none is or `max_pixels` decides
    /// nothing. The exact function is asked.
    pub fn largest_max_pixels(&self, fits: impl Fn(&Self) -> bool) -> Option<u32> {
        if !self.shrinks_images() {
            return None;
        }
        let unit = 4 * self.model.vision.patch * self.model.vision.patch;
        let bound = Field::MaxPixels.bound();
        let with = |units: u32| {
            let mut other = *self;
            other.recipe.images.max_pixels = units.saturating_mul(unit);
            other
        };
        let now = self.recipe.images.max_pixels.min(bound.max as u32) / unit;
        let units = largest(now, now, |units| units > 0 && fits(&with(units)));
        Some(units * unit).filter(|pixels| f64::from(*pixels) >= bound.min)
    }

    /// The largest `max_pixels` with which the micro-batch fits, where it does not; otherwise half of what images have.
    pub(super) fn lower_max_pixels(&self) -> Option<u32> {
        if !self.shrinks_images() {
            return None;
        }
        let fits = |scenario: &Self| holds(scenario, &Ledger::of(scenario), scenario.recipe.batch);
        if !fits(self) {
            return self.largest_max_pixels(fits);
        }
        let images = &self.recipe.images;
        let pixels = u64::from(images.height) * u64::from(images.width);
        let half = (pixels.min(images.max_pixels.into()) / 2) as u32;
        Some(half).filter(|half| Field::MaxPixels.check(f64::from(*half)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_is_rounded_to_the_even_number_as_in_python() {
        assert_eq!([14, 42, 70, 98, 1024].map(|size| nearest(size, 28)), [0, 2, 2, 4, 37]);
    }

    /// A tower on tiles of 336 pixels.
    fn tiled(tower: Tower, hidden: u32, feed_forward: u32) -> Vision {
        Vision { tower, layers: 2, hidden, heads: 16, feed_forward, patch: 14, side: 336 }
    }

    #[test]
    fn projectors_have_the_weights_of_the_published_models() {
        let projector = |tower, hidden, feed_forward, text| tiled(tower, hidden, feed_forward).weights(text).projector;
        // Norm of 1,280, then 5,120² + 5,120 and 5,120·3,584 + 3,584 (the merger of Qwen2.5-VL-7B).
        assert_eq!(projector(Tower::Qwen25Vl, 1_280, 3_420, 3_584), 1_280 + 26_219_520 + 18_353_664);
        // 1,024·4,096 + 4,096 and 4,096² + 4,096 (LLaVA-1.5-7B), and 4,096 for the ends of rows (LLaVA-NeXT).
        assert_eq!(projector(Tower::Llava, 1_024, 4_096, 4_096), 4_198_400 + 16_781_312);
        assert_eq!(projector(Tower::LlavaNext, 1_024, 4_096, 4_096), 4_198_400 + 16_781_312 + 4_096);
        // A norm of 1,152 and 1,152·2,560 (Gemma 3 4B).
        assert_eq!(projector(Tower::Gemma3, 1_152, 4_304, 2_560), 1_152 + 2_949_120);
        // 4,096·5,120 (Llama 4 Scout).
        assert_eq!(projector(Tower::Llama4, 1_408, 5_632, 5_120), 20_971_520);
    }

    #[test]
    fn a_limit_of_two_tiles_leaves_llava_next_two_side_by_side() {
        let vision = tiled(Tower::LlavaNext, 64, 128);
        let square = |tiles| Images { height: 1_000, width: 1_000, tiles, ..Images::ONE }.seen(&vision);
        // 24² of the whole image, and 24 rows of the 24 columns that are no padding, with one more at the end of each.
        assert_eq!(square(2).tokens, 576 + 24 * 24 + 24);
        // Two by two without a limit.
        assert_eq!(square(0).tokens, 576 + 48 * 48 + 48);
    }

    #[test]
    fn an_image_of_just_as_many_pixels_as_allowed_is_not_shrunk() {
        let vision = Vision { side: 0, ..tiled(Tower::Qwen25Vl, 64, 128) };
        // Both sides are 36 times 28 to the nearest, and 1,008² pixels are all that is allowed. Shrunk by the root of
        // 1,020,000 / 1,016,064 the height would be 35 times 28.
        let image = Images { height: 1_000, width: 1_020, max_pixels: 1_008 * 1_008, ..Images::ONE };
        assert_eq!(image.seen(&vision).tokens, 36 * 36);
    }

    #[test]
    fn an_image_is_shrunk_to_fewer_pixels_than_one_token_has_where_that_is_asked_for() {
        // A token has 32 × 32 pixels. The root of 100 · 1,900 / 784 is 15.57: 1,900 / 15.57 / 32 is 3.8, of which 3 are
        // whole, and a side has one at least (`max(factor, …)` in `smart_resize`).
        let vision = Vision { side: 0, patch: 16, ..tiled(Tower::Qwen25Vl, 64, 128) };
        let image = Images { height: 100, width: 1_900, max_pixels: 784, ..Images::ONE };
        assert_eq!(image.seen(&vision).tokens, 3);
    }

    #[test]
    fn llava_next_takes_the_tiles_that_leave_it_the_most_whole_pixels() {
        // In one row of two tiles, 340 × 678 pixels become 336 × 670; in two rows the scale is 672 / 678, which makes
        // 336 × 672. Tiles are four then, and one that shows the whole image.
        let vision = tiled(Tower::LlavaNext, 64, 128);
        for (height, width) in [(340, 678), (678, 340)] {
            assert_eq!(Images { height, width, ..Images::ONE }.seen(&vision).tiles, 5, "{height} × {width}");
        }
    }

    #[test]
    fn gemma_3_takes_crops_of_256_pixels_at_least() {
        let vision = Vision { side: 896, ..tiled(Tower::Gemma3, 64, 128) };
        let crops = |height, width, tiles| Images { height, width, tiles, ..Images::ONE }.seen(&vision).tiles - 1;
        // 640 is 2.5 times 256, which is rounded to 3, but only two crops of 256 are in it.
        assert_eq!([crops(256, 640, 4), crops(640, 256, 4)], [2, 2]);
        // Two of just 256, and none where they would be smaller.
        assert_eq!([crops(256, 512, 4), crops(256, 511, 4), crops(255, 512, 4)], [2, 2, 0]);
        // From a ratio of 1.2 on.
        assert_eq!([crops(1_000, 1_200, 4), crops(1_000, 1_199, 4)], [2, 0]);
        // Two are the fewest that can be asked for.
        assert_eq!([crops(300, 900, 2), crops(300, 900, 1)], [2, 0]);
    }

    #[test]
    fn a_tower_without_layers_width_or_patches_is_none_and_without_images_max_pixels_decides_nothing() {
        let whole = Vision { side: 0, ..tiled(Tower::Qwen25Vl, 64, 128) };
        assert!(whole.is_there());
        let lacking = [Vision { layers: 0, ..whole }, Vision { hidden: 0, ..whole }, Vision { patch: 0, ..whole }];
        assert!(lacking.iter().all(|vision| !vision.is_there()));
        let mut scenario = Scenario::workshop();
        scenario.model.vision = whole;
        assert!(scenario.shrinks_images());
        scenario.recipe.images.count = 0;
        assert!(!scenario.shrinks_images());
    }

    #[test]
    fn a_model_without_a_tower_has_neither_weights_nor_tokens() {
        let scenario = Scenario::workshop();
        assert_eq!((scenario.image_tokens(), scenario.model.vision.weights(4_096)), (0, VisionWeights::default()));
        assert_eq!(scenario.largest_max_pixels(|_| true), None);
    }
}
