//! b_max along the sequence length: the curves of a chart, without the chart.

use std::f64::consts::LN_2;

use super::answer::{by_tokens, largest_micro_batch};
use super::choice::{AttentionKernel, Method};
use super::scenario::{Model, Scenario};

/// The shortest sequence of a sweep, in tokens.
pub const MIN_TOKENS: u32 = 1 << 7;
/// The longest sequence of a sweep, in tokens.
pub const MAX_TOKENS: u32 = 1 << 17;

/// About `points` lengths in tokens from [`MIN_TOKENS`] to [`MAX_TOKENS`], strictly increasing and evenly
/// spread over orders of magnitude.
///
/// They are whole tokens. When there are enough of them, the one nearest to each power of two is
/// moved onto it, because those are the lengths people train with. Fewer come back only where
/// rounding makes neighbours equal; both ends are always there.
///
/// ```
/// use bmax::sweep;
/// let lengths = sweep::sequence_lengths(64);
/// assert_eq!(lengths.len(), 64);
/// assert_eq!((lengths[0], lengths[63]), (128, 131_072));
/// assert!(lengths.contains(&4_096));
/// ```
pub fn sequence_lengths(points: usize) -> Vec<u32> {
    let steps = points.max(2) - 1;
    let (first, last) = (MIN_TOKENS.ilog2(), MAX_TOKENS.ilog2());
    let octaves = f64::from(last - first);
    // A power of two by way of e, whose code is a tenth of the size.
    let length = |step: usize| ((f64::from(first) + octaves * step as f64 / steps as f64) * LN_2).exp().round() as u32;
    let mut lengths: Vec<u32> = (0..=steps).map(length).collect();
    // With a step of an octave or less, every power of two has a nearest point of its own.
    if steps as f64 >= octaves {
        for power in first..=last {
            let nearest = (f64::from(power - first) / octaves * steps as f64).round() as usize;
            if let Some(length) = lengths.get_mut(nearest) {
                *length = 1 << power;
            }
        }
    }
    lengths.dedup();
    lengths
}

/// The largest micro-batch in sequences per GPU at each of `lengths`, in tokens; `None` where not
/// even one sequence fits. Nothing of the scenario but its sequence length is varied.
///
/// ```
/// use bmax::{Method, Scenario, sweep};
/// let scenario = Scenario { method: Method::Workshop, ..Scenario::default() };
/// let curve = sweep::b_max_by_sequence(&scenario, &[2_048, 4_096, 8_192]);
/// assert_eq!(curve, [Some(3), Some(1), None]);
/// ```
pub fn b_max_by_sequence(scenario: &Scenario, lengths: &[u32]) -> Vec<Option<u32>> {
    // Under flash attention every tensor that knows the sequence is so many bytes a token.
    if scenario.method == Method::Ledger && scenario.recipe.attention == AttentionKernel::Flash {
        return by_tokens(scenario, lengths);
    }
    lengths.iter().map(|&length| largest_micro_batch(&at_length(scenario, length))).collect()
}

/// The scenario of a reference curve: `model` spread over the GPUs and recomputed as
/// [`Scenario::comparison`] says, with everything else as in `scenario`.
///
/// A tensor-parallel group cannot be larger than all GPUs, so that it shrinks with them.
pub fn reference(scenario: &Scenario, model: Model) -> Scenario {
    let mut reference = Scenario { model, ..*scenario };
    reference.cluster.gpus = scenario.comparison.gpus;
    reference.cluster.tensor_parallel = scenario.cluster.tensor_parallel.min(scenario.comparison.gpus).max(1);
    reference.recipe.recomputation = scenario.comparison.recomputation;
    reference
}

fn at_length(scenario: &Scenario, length: u32) -> Scenario {
    let mut at = *scenario;
    at.recipe.sequence = length;
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, Recomputation, catalogue};

    #[test]
    fn lengths_increase_strictly_from_end_to_end_whatever_their_number() {
        for points in [0, 1, 2, 3, 10, 11, 12, 61, 64, 65, 500, 5_000] {
            let lengths = sequence_lengths(points);
            assert_eq!((lengths.first(), lengths.last()), (Some(&MIN_TOKENS), Some(&MAX_TOKENS)), "{points} points");
            assert!(lengths.is_sorted_by(|a, b| a < b), "{points} points");
            assert!(lengths.len() <= points.max(2), "{points} points");
        }
    }

    #[test]
    fn every_power_of_two_is_among_the_points_of_a_chart() {
        let lengths = sequence_lengths(64);
        assert_eq!(lengths.len(), 64);
        assert!((7..=17).all(|power| lengths.contains(&(1 << power))));
    }

    #[test]
    fn a_curve_never_rises_and_ends_at_the_longest_sequence() {
        let lengths = sequence_lengths(64);
        for row in catalogue::MODELS {
            for &method in Method::ALL {
                for &recomputation in Recomputation::ALL {
                    let mut scenario = row.apply(Scenario { method, ..Scenario::default() });
                    scenario.recipe.recomputation = recomputation;
                    let curve = b_max_by_sequence(&scenario, &lengths);
                    assert!(curve.is_sorted_by(|before, after| before >= after), "{}", row.slug);
                    let longest = crate::inverse::longest_sequence(&scenario, 1).unwrap_or(0);
                    for (length, batch) in lengths.iter().zip(curve) {
                        assert_eq!(batch.is_some(), *length <= longest, "{} at {length}", row.slug);
                    }
                }
            }
        }
    }

    #[test]
    fn every_point_of_a_curve_is_the_answer_at_its_length() {
        let lengths = sequence_lengths(64);
        for row in catalogue::MODELS {
            let mut scenario = row.apply(Scenario::default());
            scenario.cluster.gpus = 64;
            for &recomputation in Recomputation::ALL {
                scenario.recipe.recomputation = recomputation;
                let asked = lengths.iter().map(|&length| largest_micro_batch(&at_length(&scenario, length)));
                assert_eq!(b_max_by_sequence(&scenario, &lengths), asked.collect::<Vec<_>>(), "{}", row.slug);
            }
        }
    }

    #[test]
    fn a_reference_takes_its_gpus_and_recomputation_from_the_comparison() {
        let mut scenario = Scenario { method: Method::Paper, ..Scenario::default() };
        scenario.cluster.tensor_parallel = 8;
        scenario.comparison.gpus = 2;
        let model = catalogue::DEFAULT_MODEL.model;
        let compared = reference(&scenario, model);
        assert_eq!((compared.cluster.gpus, compared.cluster.tensor_parallel), (2, 2));
        assert_eq!(compared.recipe.recomputation, scenario.comparison.recomputation);
        assert_eq!((compared.model, compared.device, compared.method), (model, scenario.device, scenario.method));
    }
}
