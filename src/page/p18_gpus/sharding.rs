//! The memory of one GPU at each ZeRO stage.

use bmax::course::scaling::{STAGES, at_stage, parts};
use bmax::course::updates::steps_to_goal;
use bmax::{Bytes, largest_micro_batch, number};

use crate::site::{Live, format};

/// The lengths of a bar's parts, as the style sheet calls them.
const PARTS: [&str; 5] = ["--parameters", "--gradients", "--optimizer", "--activations", "--rest"];
/// The bars, in the order of the stages.
const BARS: [&str; 4] = ["stage-0", "stage-1", "stage-2", "stage-3"];
const VERDICTS: [&str; 4] = ["verdict-0", "verdict-1", "verdict-2", "verdict-3"];

pub fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    let usable = scenario.usable();
    let mut rows = Vec::new();
    let stages = STAGES.map(|stage| parts(&at_stage(&scenario, stage)));
    let peaks = stages.map(|parts| parts.into_iter().sum::<Bytes>());
    let longest = peaks.iter().fold(usable.get(), |longest, peak| longest.max(peak.get())) * 1.02;
    let share = |bytes: Bytes| format::css_percent(bytes.get() / longest);
    for (index, parts) in stages.into_iter().enumerate() {
        for (property, part) in PARTS.into_iter().zip(parts) {
            live.variable(BARS[index], property, &share(part));
        }
        let most = largest_micro_batch(&at_stage(&scenario, STAGES[index])).unwrap_or(0);
        let peak = format::gib(peaks[index]);
        let fits = peaks[index] <= usable;
        live.text(VERDICTS[index], &(peak.clone() + if fits { ", fits" } else { ", too much" }));
        live.class(VERDICTS[index], "is-over", !fits);
        let mut row = vec![number::grouped(index as f64)];
        row.extend(parts.map(format::memory));
        row.extend([peak, format::count(most)]);
        rows.push(row);
    }
    live.rows("stages", rows);
    live.variable("bars", "--usable", &share(usable));
    live.text("usable", &format::gib(usable));
    let (replicas, steps) = (scenario.data_parallel(), steps_to_goal(&scenario));
    let batch = scenario.recipe.batch;
    for (name, count) in
        [("batch", batch), ("replicas", replicas), ("at-once", batch.saturating_mul(replicas)), ("steps", steps)]
    {
        live.text(name, &format::count(count));
    }
    let effective = f64::from(batch) * f64::from(replicas) * f64::from(steps);
    live.text("effective", &number::grouped(effective));
}
