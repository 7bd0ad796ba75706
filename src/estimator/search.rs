//! Searching the exact function. Nothing here inverts a formula.

use serde::Serialize;

use super::bounds::Field;
use super::ledger::Ledger;
use super::scenario::Scenario;
use super::units::Bytes;

/// The largest value in `1..=limit` that fits, or 0, for a monotone `fits`.
///
/// The search gallops away from `guess` and bisects the last stride, so a good guess costs two
/// questions and a bad one costs a logarithm.
///
/// ```
/// assert_eq!(bmax::search::largest(1_000, 7, |n| n * n <= 900), 30);
/// assert_eq!(bmax::search::largest(1_000, 7, |_| false), 0);
/// assert_eq!(bmax::search::largest(1_000, 7, |_| true), 1_000);
/// ```
pub fn largest(limit: u32, guess: u32, mut fits: impl FnMut(u32) -> bool) -> u32 {
    let guess = guess.clamp(1, limit.max(1));
    let mut stride: u32 = 1;
    // `low` fits (0 always does), `high` does not (`limit + 1` never does).
    let (mut low, mut high);
    if fits(guess) {
        low = guess;
        loop {
            if limit - low < stride {
                high = limit.saturating_add(1);
                break;
            }
            let next = low + stride;
            if !fits(next) {
                high = next;
                break;
            }
            low = next;
            stride = stride.saturating_mul(2);
        }
    } else {
        high = guess;
        loop {
            let next = high.saturating_sub(stride);
            if next == 0 || fits(next) {
                low = next;
                break;
            }
            high = next;
            stride = stride.saturating_mul(2);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// What a step of the empirical finder is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Twice the last micro-batch that ran.
    Doubling,
    /// Half-way between the largest that ran and the smallest that did not.
    Bisecting,
}

/// One attempted training step of the empirical finder.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Probe {
    /// What the finder was doing.
    pub phase: Phase,
    /// The micro-batch tried.
    pub batch: u32,
    /// What it would take.
    pub peak: Bytes,
    /// Whether that fits the usable memory, and what it has in CPU memory that of the machine.
    pub fits: bool,
    /// The largest micro-batch known to fit after this step; 0 when none is.
    pub low: u32,
    /// The smallest micro-batch known not to fit after this step, once there is one.
    pub high: Option<u32>,
}

/// The attempts of a finder that knows nothing but whether a step ran out of memory: it doubles from
/// one sequence until a step fails, then bisects between the last that ran and the first that did
/// not. The last `low` is the answer.
///
/// At most 42 attempts for any scenario, because the declared range of the micro-batch ends at 2²⁰.
pub fn by_running_out(scenario: &Scenario) -> Vec<Probe> {
    let ledger = Ledger::of(scenario);
    let usable = scenario.usable();
    // The memory of the machine may run out first.
    let in_host = super::answer::in_host(scenario, &ledger);
    let limit = Field::Batch.bound().max as u32;
    let mut probes = Vec::new();
    let (mut low, mut high) = (0, None);
    let mut attempt = |phase, batch, low: &mut u32, high: &mut Option<u32>| {
        let (_, peak) = ledger.peak(batch);
        let fits = peak <= usable && batch <= in_host;
        if fits {
            *low = batch
        } else {
            *high = Some(batch)
        }
        probes.push(Probe { phase, batch, peak, fits, low: *low, high: *high });
        fits
    };
    let mut batch = 1;
    while attempt(Phase::Doubling, batch, &mut low, &mut high) && batch < limit {
        batch = batch.saturating_mul(2).min(limit);
    }
    while let Some(ceiling) = high.filter(|ceiling| ceiling - low > 1) {
        attempt(Phase::Bisecting, low + (ceiling - low) / 2, &mut low, &mut high);
    }
    probes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{b_max, catalogue, largest_micro_batch};

    #[test]
    fn who_only_runs_out_of_memory_ends_at_the_same_answer_with_every_attempt_between_the_last_two_bounds() {
        for preset in catalogue::MODELS {
            for gpus in [1, 64] {
                let mut scenario = preset.apply(Scenario::workshop());
                scenario.cluster.gpus = gpus;
                let probes = by_running_out(&scenario);
                let found = probes.last().map(|probe| probe.low);
                assert_eq!(found, Some(largest_micro_batch(&scenario).unwrap_or(0)), "{} on {gpus}", preset.slug);
                assert!(probes.len() <= 42, "{} attempts", probes.len());
                for pair in probes.windows(2).filter(|pair| pair[1].phase == Phase::Bisecting) {
                    let [before, now] = [&pair[0], &pair[1]];
                    let inside = before.low < now.batch && before.high.is_some_and(|high| now.batch < high);
                    assert!(inside, "{}: {before:?}, {now:?}", preset.slug);
                }
            }
        }
    }

    #[test]
    fn who_only_runs_out_of_memory_stops_at_the_end_of_the_range() {
        let mut scenario = Scenario::workshop();
        (scenario.model.layers, scenario.model.hidden, scenario.model.feed_forward) = (1, 8, 8);
        (scenario.model.heads, scenario.model.kv_heads, scenario.model.head_dim) = (1, 1, 8);
        (scenario.model.vocabulary, scenario.recipe.sequence) = (2, 1);
        let limit = Field::Batch.bound().max as u32;
        assert_eq!(b_max(&scenario).batch(), Some(limit), "the case needs room for all");
        let last = by_running_out(&scenario).pop().expect("an attempt");
        assert_eq!((last.batch, last.low, last.high), (limit, limit, None));
    }
}
