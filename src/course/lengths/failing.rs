//! When a run whose micro-batch is too large for the longest sequences runs out of memory.

use super::spread::Spread;
use crate::inverse::longest_sequence;
use crate::{Field, Scenario};

/// How soon a run fails that goes on until a micro-batch is too long for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failing {
    /// The part of optimizer steps that fail, from 0 to 1.
    pub per_step: f64,
    /// The mean number of the step that fails first.
    pub expected: f64,
}

impl Failing {
    /// Where each of `sequences` sequences of a step fails it with a chance of `share`; `None` where none can.
    fn of(share: f64, sequences: f64) -> Option<Self> {
        // 1 − (1 − p)ⁿ keeps its digits where p is small.
        let per_step = -(sequences * (-share).ln_1p()).exp_m1();
        (per_step > 0.0).then(|| Self { per_step, expected: 1.0 / per_step })
    }

    /// The step by which this part of all such runs has failed, for a part from 0 to 1.
    ///
    /// The first failure of independent steps is spread geometrically: 1 − (1 − q)ⁿ have failed by step n.
    pub fn by(&self, part: f64) -> f64 {
        if self.per_step >= 1.0 {
            return 1.0;
        }
        ((-part.clamp(0.0, 1.0 - 1e-12)).ln_1p() / (-self.per_step).ln_1p()).ceil().max(1.0)
    }

    /// The part of all such runs that has failed by this step.
    pub fn until(&self, step: f64) -> f64 {
        if self.per_step >= 1.0 { 1.0 } else { -(step * (-self.per_step).ln_1p()).exp_m1() }
    }
}

/// The longest sequence, in tokens, that a micro-batch of `batch` sequences may be padded to; `None` when none fits.
pub fn fits_to(scenario: &Scenario, batch: u32) -> Option<u32> {
    let mut any = *scenario;
    // No sequence is too long, so that the length alone decides.
    any.lengths.longest = Field::LengthMax.bound().max as u32;
    any.lengths.p95 = any.lengths.p95.min(any.lengths.longest);
    longest_sequence(&any, batch)
}

/// When a run with micro-batches of `batch` sequences, drawn at random and padded to their longest, runs out of memory
/// for the first time; `None` where it never does. Every micro-batch of every GPU may be the one.
pub fn failing(scenario: &Scenario, lengths: &Spread, batch: u32) -> Option<Failing> {
    let lengths = lengths.cut(scenario.recipe.sequence);
    let share = fits_to(scenario, batch).map_or(1.0, |fits| lengths.above(fits));
    let micro_batches = f64::from(scenario.data_parallel()) * f64::from(scenario.recipe.micro_batches);
    Failing::of(share, f64::from(batch.max(1)) * micro_batches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batching, largest_micro_batch};

    #[test]
    fn a_run_that_fails_in_one_step_of_a_hundred_fails_by_step_69_as_often_as_not() {
        // ln 0.5 / ln 0.99 = 68.97 and ln 0.1 / ln 0.99 = 229.1.
        let failing = Failing::of(0.01, 1.0).expect("it can fail");
        assert!((failing.expected - 100.0).abs() < 1e-9);
        assert_eq!((failing.by(0.5), failing.by(0.9)), (69.0, 230.0));
        assert!((failing.until(1.0) - 0.01).abs() < 1e-12);
        // Eight GPUs with four sequences: 1 − 0.99³² = 27.5 %.
        let wide = Failing::of(0.01, 32.0).expect("it can fail");
        assert!((wide.per_step - 0.275_0).abs() < 1e-4);
        assert_eq!(Failing::of(0.0, 32.0), None);
        let always = Failing::of(1.0, 1.0).expect("it fails");
        assert_eq!((always.by(0.5), always.until(1.0), always.expected), (1.0, 1.0, 1.0));
    }

    #[test]
    fn what_fits_at_the_longest_never_fails_and_one_sequence_more_does_sometime() {
        let mut scenario = Scenario::workshop();
        scenario.lengths.batching = Batching::Padded;
        let lengths = Spread::of_scenario(&scenario);
        let most = largest_micro_batch(&scenario).expect("some fit");
        assert_eq!(failing(&scenario, &lengths, most), None);
        let more = failing(&scenario, &lengths, most + 1).expect("the longest do not fit");
        let many = failing(&scenario, &lengths, 4 * most).expect("nor do they here");
        assert!(more.per_step < many.per_step && many.expected < more.expected);
        assert!(fits_to(&scenario, most) >= Some(2_048) && fits_to(&scenario, most + 1) < Some(2_048));
    }
}
