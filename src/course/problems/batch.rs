//! Of the page on the batch: the division of the loss, the critical batch, the learning rate, the ridge.

use super::{Problem, changed};
use crate::course::convergence::{Roofline, examples, in_examples, rates, steps};
use crate::{BatchUnit, Scenario, catalogue, cost::Speed};

/// Two micro-batches with different numbers of tokens.
pub(super) fn two_means() -> Problem {
    let scenario = changed(|scenario| scenario.recipe.micro_batches = 2);
    let [first, second] = [(100.0, 4.0), (300.0, 2.0)];
    let tokens = first.0 + second.0;
    // What a token weighs in the mean of the two means, beside what it weighs in the mean over all tokens.
    let heavy = |of: f64| tokens / (2.0 * of);
    Problem::new(
        "two-means",
        scenario,
        &[
            ("wrong", (first.1 + second.1) / 2.0),
            ("tokens", tokens),
            ("right", (first.0 * first.1 + second.0 * second.1) / tokens),
            ("heavy", heavy(first.0)),
            ("light", heavy(second.0)),
        ],
        &[1.0, 2.0, 4.0, 100.0, 300.0],
    )
}

/// Twice the batch, from a quarter of the critical one.
pub(super) fn doubling() -> Problem {
    let (critical, now) = (2_097_152.0, 524_288);
    let scenario = changed(|scenario| {
        scenario.goal.global_batch = now;
        scenario.goal.unit = BatchUnit::Tokens;
    });
    let sequence = scenario.recipe.sequence;
    let critical_sequences = in_examples(critical, true, sequence);
    let batch = f64::from(scenario.goal.sequences(sequence));
    let [before, after] = [batch, 2.0 * batch].map(|batch| steps(batch, critical_sequences));
    let [spent, more] = [batch, 2.0 * batch].map(|batch| examples(batch, critical_sequences));
    Problem::new(
        "doubling",
        scenario,
        &[
            ("ratio", critical / f64::from(now)),
            ("steps", before),
            ("doubled-steps", after),
            ("saved", 100.0 * (1.0 - after / before)),
            ("examples", spent),
            ("doubled-examples", more),
            ("more", 100.0 * (more / spent - 1.0)),
        ],
        &[1.0, 2.0, 4.0, critical, f64::from(now)],
    )
}

/// The learning rate of a batch four times as large.
pub(super) fn four_times() -> Problem {
    let scenario = changed(|scenario| scenario.goal.global_batch = 1_024);
    let (tuned, rate) = (256.0, 3.0);
    let times = f64::from(scenario.goal.global_batch) / tuned;
    let (low, high) = rates(rate, times);
    Problem::new(
        "four-times",
        scenario,
        // In ten-thousandths.
        &[("times", times), ("low", low), ("high", high)],
        &[rate, 4.0, 10.0, 256.0, 1_024.0],
    )
}

/// The ridges of two GPUs.
pub(super) fn more_tokens() -> Problem {
    let on = |slug: &str| {
        changed(|scenario| {
            *scenario = catalogue::device(slug).unwrap_or(catalogue::DEFAULT_DEVICE).apply(*scenario);
            scenario.recipe.batch = 1;
        })
    };
    let [a100, h100] = [on("a100-80"), on("h100-80")];
    let flops = |scenario: &Scenario| catalogue::speed(scenario).flops_per_second / Speed::UTILIZATION;
    let ridge = |scenario: &Scenario| flops(scenario) / catalogue::memory_bandwidth(scenario);
    let tokens = f64::from(h100.recipe.sequence);
    Problem::new(
        "more-tokens",
        h100,
        &[
            ("a100", ridge(&a100)),
            ("h100", ridge(&h100)),
            ("a100-times", tokens / ridge(&a100)),
            ("h100-times", tokens / ridge(&h100)),
            ("h100-figure", Roofline::of(&h100).ridge),
        ],
        &[
            2.0,
            3.0,
            6.0,
            16.0,
            2_048.0,
            flops(&a100) / 1e12,
            flops(&h100) / 1e12,
            catalogue::memory_bandwidth(&a100) / 1e9,
            catalogue::memory_bandwidth(&h100) / 1e9,
        ],
    )
}
