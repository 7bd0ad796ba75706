//! Of the page on the plan: halving, what recomputation costs a run, two measured runs.

use super::{Problem, changed, fits, left, workshop};
use crate::course::{
    calibration::{Counter, Line, Measured, calibrate},
    tuning::tune,
};
use crate::division::division;
use crate::{
    Bytes, Recomputation, Scenario, catalogue,
    cost::{Speed, extra_work},
    counters,
};

/// The lecture's second step: halve the micro-batch until it fits.
pub(super) fn halving() -> Problem {
    let scenario = workshop(|scenario| {
        scenario.cluster.gpus = 4;
        scenario.recipe.sequence = 1_024;
        scenario.recipe.recomputation = Recomputation::None;
        scenario.recipe.batch = 2;
        scenario.goal.global_batch = 128;
    });
    let line = division(&scenario);
    let tuning = tune(&scenario);
    let needs = |at: usize| tuning.tries.get(at).map_or(0.0, |one| f64::from(one.batch) * line.per_sequence.gib());
    let found = tuning.tries.iter().find(|one| one.fits).map_or(0.0, |one| f64::from(one.batch));
    let share = f64::from(tuning.share);
    Problem::new(
        "halving",
        scenario,
        &[
            ("share", share),
            ("left", left(&line).gib()),
            ("sequence", line.per_sequence.gib()),
            ("as-it-is", needs(0)),
            ("half", needs(1)),
            ("quarter", needs(2)),
            ("eighth", needs(3)),
            ("sixteenth", needs(4)),
            ("found", found),
            ("halvings", (share / found).log2()),
            ("steps", share / found),
            ("quotient", line.quotient()),
        ],
        &[4.0, 7.0, 8.0, 16.0, 128.0, 1_024.0],
    )
}

/// Twelve days, or twelve days with every layer computed again.
pub(super) fn twelve_days() -> Problem {
    let scenario = changed(|scenario| {
        scenario.recipe.recomputation = Recomputation::Full;
        scenario.recipe.batch = 8;
    });
    let (days, extra) = (12.0, extra_work(&scenario));
    let peak = catalogue::speed(&scenario).flops_per_second / Speed::UTILIZATION;
    Problem::new(
        "twelve-days",
        scenario,
        &[
            ("extra", 100.0 * extra),
            ("recomputed", days * (1.0 + extra)),
            ("more", days * extra),
            ("ridge", peak / catalogue::memory_bandwidth(&scenario)),
            ("tokens", f64::from(scenario.recipe.sequence)),
        ],
        &[1.0, 7.0, 8.0, days],
    )
}

/// Two measured runs that need more for each sequence than predicted.
pub(super) fn two_runs() -> Problem {
    let scenario = Scenario::workshop();
    let predicted = |batch| counters(&scenario.with_batch(batch)).allocated;
    let measured = |batch, more| Measured { batch, peak: predicted(batch) + Bytes::from_gib(more) };
    let runs = [measured(1, 1.5), measured(4, 6.0)];
    let of = |runs: &[Measured]| {
        let found = calibrate(&scenario, Counter::Allocated, runs);
        let none = Line { fixed: Bytes::ZERO, per_sequence: Bytes::ZERO };
        found.map_or((none, 0), |found| (found.correction, found.b_max.unwrap_or(0)))
    };
    let [(line_of_both, both), (line_of_first, first)] = [of(&runs), of(&runs[..1])];
    let errors = [0, 1].map(|at: usize| (runs[at].peak - predicted(runs[at].batch)).gib());
    let line = division(&scenario);
    let (room, sequence) = (left(&line), line.per_sequence + line_of_both.per_sequence);
    Problem::new(
        "two-runs",
        scenario,
        &[
            ("predicted-one", predicted(1).gib()),
            ("measured-one", runs[0].peak.gib()),
            ("predicted-four", predicted(4).gib()),
            ("measured-four", runs[1].peak.gib()),
            ("error-one", errors[0]),
            ("error-four", errors[1]),
            ("error-slope", errors[1] - errors[0]),
            ("left", room.gib()),
            ("sequence", line.per_sequence.gib()),
            ("predicted-fits", fits(&scenario)),
            ("slope", line_of_both.per_sequence.gib()),
            // Nothing but rounding is left of it.
            ("fixed", line_of_both.fixed.gib().abs()),
            ("corrected-sequence", sequence.gib()),
            ("corrected", room.get() / sequence.get()),
            ("fits", f64::from(both)),
            ("one-left", (room - line_of_first.fixed).gib()),
            ("one-fits", f64::from(first)),
        ],
        &[0.0, 1.0, 3.0, 4.0],
    )
}
