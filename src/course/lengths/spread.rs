//! How lengths are spread.

use crate::{Lengths, Scenario};

/// The 95th percentile of a normal distribution, in standard deviations (NIST/SEMATECH e-Handbook of Statistical Methods,
/// 1.3.6.7.1: 1.645).
const Z95: f64 = 1.644_853_626_951_472_2;
/// From where to where the curve is followed, in standard deviations: less than 1 in 10⁸ lies beyond either end.
const ENDS: (f64, f64) = (-6.002_5, 6.002_5);
/// Pieces of it, an odd number: the median is the middle of the middle one.
const PIECES: u32 = 2_401;

/// Lengths in tokens, in ascending order, each with the share of sequences that have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    shares: Vec<(u32, f64)>,
}

impl Spread {
    /// A log-normal curve through a median and a 95th percentile, with everything above `longest` at `longest`.
    ///
    /// Lengths of texts are positive and have a long tail to one side, which a log-normal curve has, and two numbers fix
    /// it. What a data set has above the longest it does not have, so that the curve ends there; the median and the
    /// percentile stay what they are. Whoever knows more gives the lengths themselves, to [`Spread::of`].
    ///
    /// ```
    /// use bmax::course::lengths::Spread;
    /// let spread = Spread::through(256, 1_024, 4_096);
    /// assert_eq!((spread.quantile(0.5), spread.quantile(0.95), spread.longest()), (256, 1_024, 4_096));
    /// ```
    pub fn through(median: u32, p95: u32, longest: u32) -> Self {
        let middle = f64::from(median.max(1)).ln();
        let deviation = (f64::from(p95.max(median).max(1)).ln() - middle) / Z95;
        let step = (ENDS.1 - ENDS.0) / f64::from(PIECES);
        let density = |at: f64| (-at * at / 2.0).exp();
        let longest = longest.max(1);
        let pieces = (0..PIECES).map(|piece| {
            let from = ENDS.0 + step * f64::from(piece);
            let within = from + step / 2.0;
            // Simpson's rule; what it is a multiple of does not matter.
            let share = density(from) + 4.0 * density(within) + density(from + step);
            let tokens = (middle + deviation * within).exp().round().max(1.0) as u32;
            (tokens.min(longest), share)
        });
        Self::gathered(pieces)
    }

    /// The lengths of a sample, each with how often it occurs; `None` where there is none. Their order does not matter.
    pub fn of(sample: &[(u32, u64)]) -> Option<Self> {
        let mut sorted: Vec<_> = sample.iter().filter(|(_, count)| *count > 0).copied().collect();
        sorted.sort_unstable();
        (!sorted.is_empty()).then(|| Self::gathered(sorted.into_iter().map(|(tokens, count)| (tokens, count as f64))))
    }

    /// The three numbers of a scenario that stand for these lengths.
    #[must_use]
    pub fn told(&self, lengths: Lengths) -> Lengths {
        Lengths { median: self.quantile(0.5), p95: self.quantile(0.95), longest: self.longest(), ..lengths }
    }

    /// The lengths of a scenario, cut to its S.
    pub fn of_scenario(scenario: &Scenario) -> Self {
        let Lengths { median, p95, .. } = scenario.lengths;
        Self::through(median, p95, scenario.lengths.longest_within(scenario.recipe.sequence))
    }

    /// The same lengths, of which those above `most` are cut to it.
    #[must_use]
    pub fn cut(&self, most: u32) -> Self {
        Self::gathered(self.shares.iter().map(|(tokens, share)| ((*tokens).min(most.max(1)), *share)))
    }

    /// Shares in ascending order, with those of equal lengths together and all of them 1.
    fn gathered(parts: impl Iterator<Item = (u32, f64)>) -> Self {
        let mut shares: Vec<(u32, f64)> = Vec::new();
        for (tokens, share) in parts {
            match shares.last_mut() {
                Some((last, sum)) if *last == tokens => *sum += share,
                _ => shares.push((tokens, share)),
            }
        }
        let all: f64 = shares.iter().map(|(_, share)| share).sum();
        for (_, share) in &mut shares {
            *share /= all;
        }
        Self { shares }
    }

    /// Lengths and their shares, in ascending order.
    pub fn shares(&self) -> &[(u32, f64)] {
        &self.shares
    }

    /// Tokens of the mean sequence.
    pub fn mean(&self) -> f64 {
        self.shares.iter().map(|(tokens, share)| f64::from(*tokens) * share).sum()
    }

    /// Tokens of the longest.
    pub fn longest(&self) -> u32 {
        self.shares.last().map_or(1, |(tokens, _)| *tokens)
    }

    /// The shortest length that so much of all sequences does not exceed, for a part from 0 to 1.
    pub fn quantile(&self, part: f64) -> u32 {
        let mut below = 0.0;
        for (tokens, share) in &self.shares {
            below += share;
            // A sum of shares may miss the part by its last bits.
            if below >= part - 1e-12 {
                return *tokens;
            }
        }
        self.longest()
    }

    /// The share of sequences that have more tokens than this.
    pub fn above(&self, tokens: u32) -> f64 {
        // From the rare ones on, so that small shares keep their digits.
        self.shares.iter().rev().take_while(|(other, _)| *other > tokens).map(|(_, share)| share).sum()
    }

    /// What the longest of `count` sequences is expected to give, for anything that grows with the length.
    ///
    /// The longest of n is at most x where all n are: a share of F(x)ⁿ.
    pub fn of_the_longest(&self, count: u32, of: impl Fn(u32) -> f64) -> f64 {
        let (mut below, mut before, mut sum) = (0.0_f64, 0.0, 0.0);
        for (tokens, share) in &self.shares {
            below += share;
            let upto = below.min(1.0).powf(f64::from(count.max(1)));
            sum += of(*tokens) * (upto - before);
            before = upto;
        }
        sum
    }

    /// So many lengths that stand for all: the middle of each of as many equal parts.
    pub fn sample(&self, count: u32) -> Vec<u32> {
        let mut lengths = Vec::with_capacity(count as usize);
        let mut shares = self.shares.iter();
        let (mut tokens, mut below) = shares.next().copied().unwrap_or((1, 1.0));
        for place in 0..count {
            let part = (f64::from(place) + 0.5) / f64::from(count);
            while below < part - 1e-12 {
                let Some((next, share)) = shares.next() else { break };
                (tokens, below) = (*next, below + share);
            }
            lengths.push(tokens);
        }
        lengths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The mean of a log-normal distribution is median · exp(σ²/2), with σ = ln(p95 / median) / 1.645 (NIST/SEMATECH
    /// e-Handbook, 1.3.6.6.9).
    #[test]
    fn the_curve_has_the_mean_of_its_formula() {
        let spread = Spread::through(10_000, 20_000, u32::MAX);
        let deviation = (2.0_f64).ln() / Z95;
        let mean = 10_000.0 * (deviation * deviation / 2.0).exp();
        assert!((spread.mean() / mean - 1.0).abs() < 1e-4, "{} is not {mean}", spread.mean());
        // Two standard deviations above lie 2.275 % of a normal distribution (the same, 1.3.6.7.1).
        let above = spread.above((10_000.0 * (2.0 * deviation).exp()) as u32);
        assert!((above / 0.022_750 - 1.0).abs() < 2e-2, "{above}");
    }

    #[test]
    fn equal_lengths_are_one_length() {
        let spread = Spread::through(512, 512, 512);
        assert_eq!(spread.shares(), [(512, 1.0)]);
        assert_eq!((spread.mean(), spread.of_the_longest(9, f64::from), spread.above(512)), (512.0, 512.0, 0.0));
    }

    #[test]
    fn the_longest_of_several_dice_is_that_of_the_book() {
        // The highest of two dice is 161/36, of three 1071/216 (sums of k·(kⁿ − (k−1)ⁿ)/6ⁿ).
        let die = Spread::of(&[(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)]).expect("six sides");
        assert!((die.of_the_longest(2, f64::from) - 161.0 / 36.0).abs() < 1e-9);
        assert!((die.of_the_longest(3, f64::from) - 1_071.0 / 216.0).abs() < 1e-9);
        assert!((die.above(4) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!((die.quantile(0.5), die.quantile(1.0)), (3, 6));
        assert_eq!(die.cut(4).shares().len(), 4);
        assert_eq!(die.sample(6), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_sample_without_lengths_is_none() {
        assert_eq!((Spread::of(&[]), Spread::of(&[(5, 0)])), (None, None));
    }

    proptest! {
        #[test]
        fn any_three_numbers_have_a_curve(median in 1_u32..=4_194_304, p95 in 1_u32..=4_194_304, longest in 1_u32..=4_194_304) {
            let spread = Spread::through(median, p95, longest);
            prop_assert!(spread.shares().is_sorted_by(|one, other| one.0 < other.0));
            let all: f64 = spread.shares().iter().map(|(_, share)| share).sum();
            prop_assert!((all - 1.0).abs() < 1e-9);
            prop_assert!(spread.longest() <= longest);
            let mean = spread.mean();
            let [two, many] = [2, 1_000].map(|count| spread.of_the_longest(count, f64::from));
            prop_assert!(mean <= two * (1.0 + 1e-9) && two <= many * (1.0 + 1e-9));
            prop_assert!(many <= f64::from(spread.longest()) * (1.0 + 1e-9));
        }
    }
}
