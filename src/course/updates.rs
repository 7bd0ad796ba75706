//! How long one update, and all of them, take at a global batch.

use crate::{Bucket, Scenario, catalogue, cost::cost, estimate};

/// What a run takes with some number of accumulation steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// Sequences that one update sees, over all GPUs: b · D · steps.
    pub sequences: f64,
    /// Seconds of one update.
    pub seconds: f64,
    /// Updates in which the run sees its tokens; a part of one counts.
    pub updates: f64,
}

impl Update {
    /// Seconds of the whole run.
    pub fn run_seconds(&self) -> f64 {
        self.seconds * self.updates
    }

    /// Seconds per sequence, over all GPUs.
    pub fn seconds_per_sequence(&self) -> f64 {
        self.seconds / self.sequences
    }
}

/// An update of `steps` micro-batches of the scenario, in a run that sees `tokens` tokens.
///
/// Computing takes as long as its operations ask ([`cost()`]), once per micro-batch; the optimizer reads
/// and writes every state once per update, at the bandwidth of the device's memory. So K micro-batches
/// take nearly K times as long as one, and a sequence never takes longer for it. The exchange between GPUs
/// is counted by [`exchange`](super::scaling::exchange).
///
/// ```
/// use bmax::{Scenario, course::updates::update};
/// let scenario = Scenario::workshop();
/// let (once, eight) = (update(&scenario, 1, 1e9), update(&scenario, 8, 1e9));
/// assert!(eight.seconds < 8.0 * once.seconds && eight.seconds > 7.9 * once.seconds);
/// ```
pub fn update(scenario: &Scenario, steps: u32, tokens: f64) -> Update {
    let steps = steps.max(1);
    let recipe = &scenario.recipe;
    let computing = cost(scenario, steps, catalogue::speed(scenario)).seconds();
    let sequences = f64::from(recipe.batch) * f64::from(scenario.data_parallel()) * f64::from(steps);
    Update {
        sequences,
        seconds: computing + optimizer_seconds(scenario),
        // A pair is two sequences.
        updates: tokens / (sequences * f64::from(recipe.sequence) * f64::from(scenario.unit().sequences())),
    }
}

/// Seconds of the optimizer step: what it holds is read and written once.
fn optimizer_seconds(scenario: &Scenario) -> f64 {
    let held = estimate(scenario).at_update(&[Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer]);
    2.0 * held.get() / catalogue::memory_bandwidth(scenario)
}

/// Accumulation steps in which micro-batches of the scenario reach its global batch, at least 1.
///
/// ```
/// use bmax::{Scenario, course::updates::steps_to_goal};
/// // 4 sequences on each of 8 GPUs reach 256 in 8 steps.
/// assert_eq!(steps_to_goal(&Scenario::workshop().with_batch(4)), 8);
/// ```
pub fn steps_to_goal(scenario: &Scenario) -> u32 {
    let at_once = u64::from(scenario.recipe.batch) * u64::from(scenario.data_parallel());
    let target = u64::from(scenario.target());
    u32::try_from(target.div_ceil(at_once.max(1))).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_never_takes_longer_for_being_accumulated() {
        let scenario = Scenario::workshop();
        let mut before = f64::INFINITY;
        for steps in [1, 2, 8, 64, 4_096] {
            let update = update(&scenario, steps, 1e9);
            assert!(update.seconds_per_sequence() <= before);
            before = update.seconds_per_sequence();
        }
    }

    #[test]
    fn the_same_tokens_take_fewer_updates_and_about_the_same_time() {
        let scenario = Scenario::workshop();
        let (one, many) = (update(&scenario, 1, 1e9), update(&scenario, 16, 1e9));
        assert!((one.updates / many.updates - 16.0).abs() < 1e-9);
        let ratio = many.run_seconds() / one.run_seconds();
        assert!(ratio <= 1.0 && ratio > 0.95, "{ratio}");
    }

    #[test]
    fn no_target_overflows() {
        let mut scenario = Scenario::workshop();
        scenario.goal.global_batch = u32::MAX;
        assert!(steps_to_goal(&scenario.with_batch(1)) > 1_000);
        assert_eq!(update(&scenario, 0, 1e9), update(&scenario, 1, 1e9));
    }
}
