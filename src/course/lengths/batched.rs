//! What each way of making micro-batches holds on average, beside what must fit.

use super::spread::Spread;
use crate::{Batching, Scenario};

/// Micro-batches that are sorted by length together (`mega_batch_mult` of `get_length_grouped_indices` in
/// transformers/trainer_pt_utils.py, 5.23.0), where the data set has four times as many.
const SORTED_TOGETHER: u32 = 50;
/// Documents that are packed together: the batch that `Dataset.map` of datasets hands to `_pack_bfd` (trl/data_utils.py,
/// 1.10.0; `batch_size` of datasets/arrow_dataset.py is 1,000).
pub const PACKED_TOGETHER: u32 = 1_000;
/// The most batches of a bucket that are worked out.
const MOST_BATCHES: u32 = 1_000;

/// Tokens of a micro-batch on one GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batched {
    /// What must fit.
    pub worst: f64,
    /// What is computed on average, padding included.
    pub computed: f64,
    /// What of it is tokens of sequences.
    pub real: f64,
}

impl Batched {
    /// The part of what is computed that is padding, from 0 to 1.
    pub fn padding(&self) -> f64 {
        if self.computed > 0.0 { (1.0 - self.real / self.computed).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The part of what must fit that an average micro-batch leaves empty, from 0 to 1.
    pub fn unused(&self) -> f64 {
        if self.worst > 0.0 { (1.0 - self.computed / self.worst).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// A micro-batch of `batch` sequences of these lengths, or of as many rows. The lengths are cut to the scenario's S.
///
/// ```
/// use bmax::course::lengths::{Spread, batched};
/// use bmax::{Batching, Scenario};
/// let scenario = Scenario::workshop();
/// let lengths = Spread::of_scenario(&scenario);
/// let [padded, bucketed] = [Batching::Padded, Batching::Bucketed].map(|way| batched(&scenario, &lengths, way, 8));
/// assert!(padded.padding() > 0.4 && bucketed.padding() < 0.1);
/// ```
pub fn batched(scenario: &Scenario, lengths: &Spread, way: Batching, batch: u32) -> Batched {
    let cut = scenario.recipe.sequence;
    let lengths = &lengths.cut(cut);
    let sequences = f64::from(batch.max(1));
    let behind_collator = |tokens| f64::from(scenario.lengths.padded(tokens, cut));
    let longest = f64::from(lengths.longest());
    let real = sequences * lengths.mean();
    match way {
        Batching::Equal => {
            let all = sequences * f64::from(cut);
            Batched { worst: all, computed: all, real: all }
        }
        Batching::Padded => {
            let computed = sequences * lengths.of_the_longest(batch, behind_collator);
            Batched { worst: sequences * behind_collator(lengths.longest()), computed, real }
        }
        Batching::Bucketed => {
            let computed = sequences * bucketed(lengths, scenario.recipe.micro_batches, batch, behind_collator);
            Batched { worst: sequences * behind_collator(lengths.longest()), computed: computed.max(real), real }
        }
        Batching::Flattened => Batched { worst: sequences * longest, computed: real, real },
        Batching::Packed => {
            let worst = sequences * f64::from(cut);
            let filled = worst * packed_share(lengths, cut);
            Batched { worst, computed: filled, real: filled }
        }
    }
}

/// The longest of a micro-batch on average, where those of a bucket are sorted: the sampler takes 50 times what one
/// optimizer step takes on a GPU (`_get_train_sampler` in transformers/trainer.py, 5.23.0).
fn bucketed(lengths: &Spread, micro_batches: u32, batch: u32, of: impl Fn(u32) -> f64) -> f64 {
    let batches = SORTED_TOGETHER.saturating_mul(micro_batches.max(1)).min(MOST_BATCHES);
    // Of b·n sorted sequences the longest of each b stands half a sequence below the end of its part.
    let below = 0.5 / f64::from(batch.max(1));
    let ends = (1..=batches).map(|position| (f64::from(position) - below) / f64::from(batches));
    let mut shares = lengths.shares().iter();
    let (mut tokens, mut sum) = shares.next().copied().unwrap_or((1, 1.0));
    let mut all = 0.0;
    for end in ends {
        while sum < end - 1e-12 {
            let Some((next, share)) = shares.next() else { break };
            (tokens, sum) = (*next, sum + share);
        }
        all += of(tokens);
    }
    all / f64::from(batches)
}

/// The part of rows of `row` tokens that documents fill where each takes the fullest row that has room for it, the long
/// ones first (`_pack_bfd` in trl/data_utils.py, 1.10.0). Longer documents are cut, as its “truncate” does.
pub fn packed_share(lengths: &Spread, row: u32) -> f64 {
    let documents = lengths.cut(row).sample(PACKED_TOGETHER);
    let mut free: Vec<u32> = Vec::new();
    let mut filled = 0.0;
    for document in documents.into_iter().rev() {
        filled += f64::from(document);
        let fullest = free.iter_mut().filter(|room| **room >= document).min();
        match fullest {
            Some(room) => *room -= document,
            None => free.push(row.max(1) - document),
        }
    }
    filled / (free.len().max(1) as f64 * f64::from(row.max(1)))
}

/// The same where documents follow each other and rows end wherever they are full (`_pack_wrapped`): only the last row of
/// those packed together is not.
pub fn wrapped_share(lengths: &Spread, row: u32) -> f64 {
    let tokens = lengths.mean() * f64::from(PACKED_TOGETHER);
    let row = f64::from(row.max(1));
    tokens / ((tokens / row - 1e-9).ceil().max(1.0) * row)
}

/// Documents of a packed row, on average.
pub fn documents_a_row(lengths: &Spread, row: u32) -> f64 {
    let lengths = lengths.cut(row);
    packed_share(&lengths, row) * f64::from(row.max(1)) / lengths.mean()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;
    use proptest::prelude::*;

    fn of(sample: &[(u32, u64)]) -> Spread {
        Spread::of(sample).expect("lengths")
    }

    #[test]
    fn two_lengths_are_padded_as_one_counts_by_hand() {
        let mut scenario = Scenario::workshop();
        // Half of 100 and half of 200 tokens: of two, the longest is 100 in one of four.
        let lengths = of(&[(100, 1), (200, 1)]);
        let padded = batched(&scenario, &lengths, Batching::Padded, 2);
        assert!((padded.computed - 2.0 * (0.25 * 100.0 + 0.75 * 200.0)).abs() < 1e-9);
        assert!((padded.real - 300.0).abs() < 1e-9 && (padded.padding() - 1.0 / 7.0).abs() < 1e-9);
        assert_eq!(padded.worst, 400.0);
        // Sorted, half of the micro-batches are of either.
        let bucketed = batched(&scenario, &lengths, Batching::Bucketed, 2);
        assert!((bucketed.computed - 300.0).abs() < 1e-9 && bucketed.padding() < 1e-9);
        // 128 and 256.
        scenario.lengths.multiple = 128;
        let padded = batched(&scenario, &lengths, Batching::Padded, 1);
        assert!((padded.computed - 192.0).abs() < 1e-9);
        assert_eq!(padded.worst, 256.0);
    }

    #[test]
    fn documents_fill_rows_as_the_example_of_trl_says() {
        // Six of four and four of six tokens fit two by two into rows of ten.
        assert!((packed_share(&of(&[(4, 1), (6, 1)]), 10) - 1.0).abs() < 1e-12);
        // Two of six never share a row of ten.
        assert!((packed_share(&of(&[(6, 1)]), 10) - 0.6).abs() < 1e-12);
        assert!((documents_a_row(&of(&[(6, 1)]), 10) - 1.0).abs() < 1e-12);
        // Six thousand tokens fill 600 rows of ten.
        assert!((wrapped_share(&of(&[(6, 1)]), 10) - 1.0).abs() < 1e-12);
        // Longer ones are cut.
        assert!((packed_share(&of(&[(60, 1)]), 10) - 1.0).abs() < 1e-12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_lengths_stay_within_what_must_fit(
            median in 1_u32..100_000, p95 in 1_u32..200_000, longest in 1_u32..400_000,
            cut in 1_u32..400_000, batch in 1_u32..=1_048_576, micro_batches in 1_u32..=1_000_000, multiple in 1_u32..=1_024,
        ) {
            let mut scenario = Scenario::workshop();
            scenario.recipe.sequence = cut;
            scenario.recipe.micro_batches = micro_batches;
            scenario.lengths.multiple = multiple;
            let lengths = Spread::through(median, p95, longest);
            for way in Batching::ALL {
                let Batched { worst, computed, real } = batched(&scenario, &lengths, *way, batch);
                let within = 1.0 + 1e-9;
                prop_assert!(0.0 < real && real <= computed * within && computed <= worst * within, "{way} {worst} {computed} {real}");
            }
            prop_assert!(documents_a_row(&lengths, cut) >= 0.99);
            prop_assert!((0.0..=1.0 + 1e-9).contains(&wrapped_share(&lengths.cut(cut), cut)));
        }
    }
}
