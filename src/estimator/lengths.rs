//! Lengths that vary: what the worst micro-batch is, which is the one that must fit.
//!
//! A ledger counts that one. What a typical micro-batch is like is `course::lengths`'s.

use super::choice::{AttentionKernel, Batching, Choice, Engine, LossHead, Method, PaddedAttention, TaskKind};
use super::scenario::{Lengths, Scenario};

impl Lengths {
    /// All as long, with an example of lengths for those who let them vary: a long tail up to S, which cuts fewer than one
    /// in a thousand at the default. It is no measurement.
    pub const EQUAL: Self = Self {
        batching: Batching::Equal,
        attention: PaddedAttention::Mask,
        median: 256,
        p95: 640,
        longest: 0,
        multiple: 1,
    };

    /// Tokens of the longest sequence where longer ones are cut to `cut`; that is `cut` itself where nobody said how long
    /// the longest is.
    pub fn longest_within(&self, cut: u32) -> u32 {
        if self.longest == 0 { cut } else { self.longest.min(cut) }
    }

    /// Tokens of a sequence of `tokens` tokens behind a collator: cut to `cut`, and up to the next multiple.
    pub fn padded(&self, tokens: u32, cut: u32) -> u32 {
        let tokens = tokens.min(cut).max(1);
        tokens.checked_next_multiple_of(self.multiple.max(1)).unwrap_or(tokens)
    }
}

impl Batching {
    /// Every way in which sequences of different lengths become a micro-batch.
    pub fn varied() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|way| *way != Self::Equal)
    }

    /// Whether a micro-batch is padded to its longest sequence.
    pub const fn pads(self) -> bool {
        matches!(self, Self::Padded | Self::Bucketed)
    }

    /// Whether a micro-batch is one row without padding.
    pub const fn is_flat(self) -> bool {
        matches!(self, Self::Flattened | Self::Packed)
    }
}

impl Scenario {
    /// How lengths become a micro-batch, read as the nearest way that is counted. [`Scenario::conflicts`] names what is
    /// not.
    pub fn batching(&self) -> Batching {
        let asked = self.lengths.batching;
        if asked == Batching::Equal || self.method != Method::Ledger {
            return asked;
        }
        let cluster = &self.cluster;
        let has_shapes = cluster.context_parallel > 1
            || (cluster.pipeline_parallel > 1 && asked != Batching::Packed)
            || !matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed);
        if has_shapes || self.task.kind != TaskKind::Train {
            Batching::Equal
        } else if asked.is_flat() && matches!(self.recipe.loss, LossHead::Classifier | LossHead::MaskedLm) {
            Batching::Padded
        } else {
            asked
        }
    }

    /// Tokens that each sequence of the worst micro-batch takes: those of the longest sequence where lengths vary, and S
    /// where they do not, where nobody said how long the longest is, and where documents fill rows of S tokens.
    ///
    /// ```
    /// use bmax::{Batching, Scenario};
    /// let mut scenario = Scenario::workshop();
    /// scenario.lengths.batching = Batching::Padded;
    /// assert_eq!(scenario.longest(), 2_048);
    /// scenario.lengths.longest = 1_500;
    /// assert_eq!(scenario.longest(), 1_500);
    /// // A micro-batch of 8 rows at most.
    /// assert_eq!(scenario.tokens_at(8), 12_000);
    /// ```
    pub fn longest(&self) -> u32 {
        let sequence = self.recipe.sequence;
        match self.batching() {
            Batching::Equal | Batching::Packed => sequence,
            Batching::Flattened => self.lengths.longest_within(sequence),
            Batching::Padded | Batching::Bucketed => {
                self.lengths.padded(self.lengths.longest_within(sequence), sequence)
            }
        }
    }

    /// Tokens of the worst micro-batch of `batch` sequences, or rows.
    pub fn tokens_at(&self, batch: u32) -> u64 {
        u64::from(self.longest()) * u64::from(batch)
    }

    /// The scenario as a run at its worst micro-batch: its S is the length that must fit, and what does not go together is
    /// read as the nearest that does.
    pub(crate) fn at_longest(&self) -> Self {
        let batching = self.batching();
        let mut run = *self;
        run.recipe.sequence = self.longest();
        if batching == Batching::Equal {
            // Nothing else is read.
            run.lengths = Lengths::EQUAL;
        }
        run.lengths.batching = batching;
        if batching.is_flat() && self.method == Method::Ledger {
            run.recipe.attention = AttentionKernel::Flash;
        }
        run
    }

    /// Whether attention is given a mask of all pairs of tokens.
    ///
    /// transformers makes none for a micro-batch whose sequences are all as long (`_ignore_causal_mask_sdpa` in
    /// masking_utils.py, 5.23.0). The worst one has a shorter sequence somewhere.
    pub(crate) fn masks_padding(&self) -> bool {
        self.method == Method::Ledger
            && self.recipe.attention == AttentionKernel::Flash
            && self.lengths.attention == PaddedAttention::Mask
            && self.batching().pads()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    fn varied(batching: Batching) -> Scenario {
        let mut scenario = Scenario::workshop();
        scenario.lengths.batching = batching;
        scenario
    }

    #[test]
    fn sequences_are_cut_to_s_and_padded_to_a_multiple() {
        let mut scenario = varied(Batching::Padded);
        scenario.recipe.sequence = 1_000;
        assert_eq!(scenario.longest(), 1_000);
        scenario.lengths.multiple = 64;
        assert_eq!(scenario.longest(), 1_024);
        scenario.lengths.longest = 129;
        assert_eq!(scenario.longest(), 192);
        // Read once more, it stays the same.
        let run = scenario.at_longest();
        assert_eq!((run.longest(), run.at_longest()), (192, run));
        scenario.lengths.batching = Batching::Flattened;
        assert_eq!(scenario.longest(), 129);
        scenario.lengths.batching = Batching::Packed;
        assert_eq!(scenario.longest(), 1_000);
    }

    #[test]
    fn no_length_in_range_overflows() {
        let mut scenario = varied(Batching::Padded);
        let most = Field::LengthMax.bound().max as u32;
        (scenario.lengths.longest, scenario.recipe.sequence) = (most, most);
        for multiple in [1, 3, 1_000, 1_024, 0] {
            scenario.lengths.multiple = multiple;
            assert!(scenario.longest() >= most);
        }
        assert_eq!(scenario.tokens_at(1 << 20), u64::from(most) << 20);
    }

    #[test]
    fn what_is_not_counted_is_read_as_lengths_that_are_equal() {
        for batching in [Batching::Padded, Batching::Bucketed, Batching::Flattened, Batching::Packed] {
            let mut scenario = varied(batching);
            scenario.task.kind = TaskKind::Dpo;
            assert_eq!(scenario.batching(), Batching::Equal);
            assert_eq!(scenario.at_longest().lengths, Lengths::EQUAL);
        }
    }
}
