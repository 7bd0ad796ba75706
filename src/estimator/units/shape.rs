//! Numbers of elements as products of named widths.
//!
//! A rule never asks how large a tensor is: it multiplies and divides widths, and the product is evaluated when a
//! micro-batch is known. The same value is compared, computed and shown.

use std::fmt;
use std::ops::{Div, Mul};

macro_rules! widths {
    ($($(#[$meta:meta])* $name:ident, $constant:ident = $letter:literal;)+) => {
        /// A named width, of which shapes are products.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Width { $($(#[$meta])* $name,)+ }

        const COUNT: usize = [$(Width::$name,)+].len();
        const LETTERS: [&str; COUNT] = [$($letter,)+];

        $($(#[$meta])* pub const $constant: Shape = Shape::of(Width::$name);)+
    };
}

widths! {
    /// Sequences of a micro-batch.
    Batch, B = "b";
    /// Tokens of a sequence.
    Sequence, S = "S";
    /// Tokens of a sequence that attention reads keys and values of: those of the sequence, or all that a cache has.
    Cached, T = "S_t";
    /// Tokens of a sequence, up to a multiple of 128: rows of flash attention's sums in the backward pass.
    SequenceBy128, S128 = "S₁₂₈";
    /// Tokens of a sequence, up to a multiple of 8: columns of a mask of memory-efficient attention.
    SequenceBy8, S8 = "S₈";
    /// Tokens of a sequence, up to a multiple of 16: columns of the gradient of such a mask.
    SequenceBy16, S16 = "S₁₆";
    /// Tokens of a sequence, up to a multiple of 32: rows of the sums of memory-efficient attention.
    SequenceBy32, S32 = "S₃₂";
    /// Positions that an encoder before the decoder puts out for a sequence.
    Source, SE = "S_e";
    /// The same, up to a multiple of 8: columns of a mask of memory-efficient attention.
    SourceBy8, SE8 = "S_e₈";
    /// The same, up to a multiple of 16.
    SourceBy16, SE16 = "S_e₁₆";
    /// Channels of sound.
    Channels, MELS = "n_mel";
    /// Rows of the table of positions of an encoder before the decoder.
    SourcePositions, PE = "S_e,max";
    /// Images or tiles of images that a vision tower is given for a sequence.
    Tiles, TILES = "n_i";
    /// Patches of an image or tile, without a place for its class.
    Patches, PATCHES = "P";
    /// Numbers of a patch.
    PatchNumbers, PIXELS = "n_px";
    /// Tokens of a sequence that stand for images.
    ImageTokens, SI = "S_i";
    /// Width of a vision tower.
    TowerHidden, HV = "H_v";
    /// Tokens of a sequence that have a next one.
    Predicted, S1 = "(S−1)";
    /// Tokens of a prompt.
    Prompt, SP = "S_p";
    /// Tokens of a completion.
    Completion, SC = "S_c";
    /// Tokens of a completion and the one before it.
    CompletionAndOne, SC1 = "(S_c+1)";
    /// Rows of logits that are taken at a time.
    Chunk, CHUNK = "S_k";
    /// Rows of the last of these.
    LastChunk, LAST = "S_l";
    /// Rows of flash attention's sums over documents that stand one behind the other, with 128 more for each document.
    DocumentRows, DOCS = "S_doc";
    /// Where documents that stand one behind the other begin, and where the last one ends.
    Edges, EDGES = "n_doc+1";
    /// Width of the residual stream.
    Hidden, H = "H";
    /// Attention heads.
    Heads, N = "n";
    /// Heads of keys and values.
    KvHeads, K = "k";
    /// Heads of queries, keys and values together, as one matrix puts them out.
    PackedHeads, NKV = "n_qkv";
    /// Width of a head.
    HeadDim, D = "d";
    /// Width of a head, up to a multiple of 32 as flash attention pads it.
    HeadDimBy32, D32 = "d₃₂";
    /// The part of a head that is rotated by its position.
    Rotated, ROT = "d_rot";
    /// The rest of it, where that is not the whole.
    Unrotated, UNROT = "d_pass";
    /// Inner width of the feed-forward block.
    FeedForward, F = "f";
    /// Entries of the vocabulary.
    Vocabulary, V = "V";
    /// Rows of the table of learned positions.
    Positions, P = "S_max";
    /// Rank of adapters.
    Rank, R = "r";
    /// Bytes of cuBLAS's workspace.
    CublasWorkspace, W = "W";
    /// Experts of a layer.
    Experts, E = "E";
    /// Experts that a token is routed to.
    Active, A = "a";
    /// Inner width of an expert.
    ExpertFeedForward, FE = "f_e";
    /// Inner width of the experts that every token visits, together.
    SharedFeedForward, FS = "f_s";
    /// Rank to which keys and values are compressed.
    LatentRank, C = "c";
    /// Rank to which queries are compressed.
    QueryRank, CQ = "c_q";
    /// Rotated elements that latent attention adds to a head.
    RotaryDim, DR = "d_r";
    /// Compressed keys and values with the rotated elements of all heads.
    LatentAndRotary, CR = "(c+d_r)";
    /// A head of queries or keys with its rotated elements.
    KeyDim, DK = "(d+d_r)";
}

/// Widths above and below the line of a shape that there is room for. No rule multiplies more; a test of debug builds says so.
const FACTORS: usize = 12;

/// The place of a width that is not there.
const NONE: u8 = u8::MAX;

/// What a width below the line has beside its number.
const BELOW: u8 = 0x80;

/// The number of elements of a tensor: `times / over`, times widths, each as often as it comes.
///
/// Shapes stand in every rule and are copied a lot, so that they are small: the numbers of widths in order, those below the line
/// behind those above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    times: u32,
    over: u32,
    factors: [u8; FACTORS],
}

impl Shape {
    /// One element.
    pub const ONE: Self = Self { times: 1, over: 1, factors: [NONE; FACTORS] };

    const fn of(width: Width) -> Self {
        let mut shape = Self::ONE;
        shape.factors[0] = width as u8;
        shape
    }

    /// As many elements `times` over.
    pub const fn by(mut self, times: u32) -> Self {
        self.times *= times;
        self
    }

    /// A part of the elements, one of `over`.
    pub const fn part(mut self, over: u32) -> Self {
        self.over *= over;
        self
    }

    /// Whether a width is a factor of it.
    pub fn has(&self, width: Width) -> bool {
        self.factors.contains(&(width as u8))
    }

    /// The number of elements for given widths, rounded up; [`u64::MAX`] where it is more.
    pub fn elements(&self, widths: &Widths) -> u64 {
        let (mut above, mut below) = (u128::from(self.times), u128::from(self.over));
        for factor in self.factors.into_iter().take_while(|factor| *factor != NONE) {
            let value = widths.values.get(usize::from(factor & !BELOW)).copied().unwrap_or(1);
            let side = if factor & BELOW > 0 { &mut below } else { &mut above };
            *side = side.saturating_mul(u128::from(value));
        }
        u64::try_from(above.div_ceil(below.max(1))).unwrap_or(u64::MAX)
    }

    /// Multiplies with the widths of another shape, or divides by them where `turned` is [`BELOW`].
    fn multiply(&mut self, other: [u8; FACTORS], turned: u8) {
        for factor in other.into_iter().take_while(|factor| *factor != NONE) {
            let factor = factor ^ turned;
            if let Some(place) = self.factors.iter().position(|own| *own == factor ^ BELOW) {
                // The same above and below.
                self.factors[place..].rotate_left(1);
                self.factors[FACTORS - 1] = NONE;
            } else {
                debug_assert_eq!(self.factors[FACTORS - 1], NONE, "a shape of more widths than there is room for");
                self.factors[FACTORS - 1] = factor;
                let place = self.factors.iter().position(|own| *own >= factor).unwrap_or(FACTORS - 1);
                self.factors[place..].rotate_right(1);
            }
        }
    }
}

impl Mul for Shape {
    type Output = Self;
    fn mul(mut self, other: Self) -> Self {
        (self.times, self.over) = (self.times * other.times, self.over * other.over);
        self.multiply(other.factors, 0);
        self
    }
}

impl Div for Shape {
    type Output = Self;
    fn div(mut self, other: Self) -> Self {
        (self.times, self.over) = (self.times * other.over, self.over * other.times);
        self.multiply(other.factors, BELOW);
        self
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let product = |side: u8, number: u32| {
            let number = (number != 1).then(|| number.to_string());
            let factors = self.factors.iter().filter(|factor| **factor != NONE && **factor & BELOW == side);
            let factors = factors.map(|factor| usize::from(factor & !BELOW)).collect::<Vec<_>>();
            let letters = factors.chunk_by(PartialEq::eq).map(|same| {
                let letter = same.first().and_then(|&width| LETTERS.get(width)).copied().unwrap_or_default();
                if same.len() == 1 { letter.to_owned() } else { format!("{letter}^{}", same.len()) }
            });
            number.into_iter().chain(letters).collect::<Vec<_>>().join("·")
        };
        match (product(0, self.times), product(BELOW, self.over)) {
            (above, below) if below.is_empty() => f.pad(if above.is_empty() { "1" } else { &above }),
            (above, below) if above.is_empty() => f.pad(&format!("1/({below})")),
            (above, below) => f.pad(&format!("{above}/({below})")),
        }
    }
}

/// What a pass is given, where that is other than a micro-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Sequences.
    pub sequences: u32,
    /// Tokens of each.
    pub tokens: u32,
    /// Tokens of each whose keys and values attention reads.
    pub cached: u32,
}

/// The value of every width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    values: [u64; COUNT],
    /// Documents of a sequence, where all sequences of a micro-batch stand one behind the other in one.
    documents: Option<u64>,
    /// The value of every width in an encoder before the decoder, where there is one.
    encoder: [u64; COUNT],
    /// Sequences of the encoder for each of the decoder.
    encoded: u64,
}

impl Widths {
    /// The widths of a model at so many tokens a sequence; those that are not named are 1. What kernels pad is derived
    /// here, so that no rule rounds.
    pub fn new(sequence: u64, named: &[(Width, u64)]) -> Self {
        let given = named.iter().fold(
            Self { values: [1; COUNT], documents: None, encoder: [1; COUNT], encoded: 1 },
            |widths, &(width, value)| widths.with(width, value),
        );
        let head = given.of(Width::HeadDim);
        // csrc/flash_attn/flash_api.cpp of PyTorch 2.15: heads of more than 192 take kernels of 256 columns.
        given
            .of_sequence(sequence)
            .with(Width::PackedHeads, given.of(Width::Heads).saturating_add(given.of(Width::KvHeads).saturating_mul(2)))
            .with(Width::LatentAndRotary, given.of(Width::LatentRank).saturating_add(given.of(Width::RotaryDim)))
            .with(Width::KeyDim, head.saturating_add(given.of(Width::RotaryDim)))
            .with(Width::Unrotated, head.saturating_sub(given.of(Width::Rotated)))
            .with(Width::HeadDimBy32, if head <= 192 { head.next_multiple_of(32) } else { 256 })
    }

    /// The same widths at so many tokens a sequence.
    fn of_sequence(self, sequence: u64) -> Self {
        // `mha_bwd` in csrc/flash_attn/flash_api.cpp of PyTorch 2.15 rounds rows to 128; mem_eff_attention's
        // kernel_forward.h aligns its sums to 32 rows; `pad_bias` of transformers/attention.cpp pads masks to 8 columns.
        let multiple = |of| sequence.checked_next_multiple_of(of).unwrap_or(u64::MAX);
        self.with(Width::Sequence, sequence)
            .with(Width::Predicted, sequence.saturating_sub(1))
            .with(Width::Cached, sequence)
            .with(Width::SequenceBy128, multiple(128))
            .with(Width::SequenceBy8, multiple(8))
            .with(Width::SequenceBy16, multiple(16))
            .with(Width::SequenceBy32, multiple(32))
    }

    /// The same widths, with all sequences of a micro-batch, of so many documents each, one behind the other in one.
    pub const fn flattened(mut self, documents: u64) -> Self {
        self.documents = Some(documents);
        self
    }

    /// The same widths with those of an encoder before the decoder, which has so many sequences for each of the decoder.
    pub const fn behind(mut self, encoder: Self, encoded: u64) -> Self {
        (self.encoder, self.encoded) = (encoder.values, encoded);
        self
    }

    /// The widths of the encoder. Sequences, ranks of adapters and workspaces follow those of the decoder.
    pub const fn of_encoder(self) -> Self {
        let batch = self.of(Width::Batch).saturating_mul(self.encoded);
        let (rank, workspace) = (self.of(Width::Rank), self.of(Width::CublasWorkspace));
        let encoder = Self { values: self.encoder, ..self };
        encoder.with(Width::Batch, batch).with(Width::Rank, rank).with(Width::CublasWorkspace, workspace)
    }

    /// The same widths at a micro-batch of so many sequences.
    pub fn at(self, batch: u64) -> Self {
        let tokens = self.of(Width::Sequence).saturating_mul(batch);
        let documents = self.documents.unwrap_or(1).saturating_mul(batch);
        let batched = match self.documents {
            Some(_) => self.of_sequence(tokens).with(Width::Batch, 1),
            None => self.with(Width::Batch, batch),
        };
        batched
            .with(Width::DocumentRows, tokens.saturating_add(documents.saturating_mul(128)))
            .with(Width::Edges, documents.saturating_add(1))
    }

    /// The same widths for a pass that is given other tokens than a micro-batch has.
    pub fn of_extent(self, extent: Extent) -> Self {
        let Extent { sequences, tokens, cached } = extent;
        let widths = self.of_sequence(tokens.into()).with(Width::Batch, sequences.into());
        widths.with(Width::Cached, cached.into())
    }

    /// The same widths with another value of one.
    pub const fn with(mut self, width: Width, value: u64) -> Self {
        self.values[width as usize] = value;
        self
    }

    /// The value of a width.
    pub const fn of(&self, width: Width) -> u64 {
        self.values[width as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_shown_as_the_product_that_it_is() {
        assert_eq!((B * S * N * D / H).to_string(), "b·S·n·d/(H)");
        assert_eq!((B * N * S * S).part(2).to_string(), "b·S^2·n/(2)");
        assert_eq!(Shape::ONE.to_string(), "1");
    }

    #[test]
    fn widths_above_and_below_the_line_cancel_in_any_order() {
        assert_eq!(B * S / H * H / S / B, Shape::ONE);
        assert_eq!(S * B / H, B / H * S);
        assert_eq!(N * N / N / N / N, Shape::ONE / N);
        assert!((B * S).has(Width::Batch) && !(S / B).has(Width::Batch));
    }

    #[test]
    fn elements_are_rounded_up_and_never_overflow() {
        let widths = Widths::new(3, &[(Width::Hidden, 5)]);
        assert_eq!((S * H).part(2).elements(&widths), 8);
        let vast = widths.with(Width::Vocabulary, u64::MAX).with(Width::Batch, u64::MAX);
        assert_eq!((B * V * V * S).elements(&vast), u64::MAX);
    }
}
