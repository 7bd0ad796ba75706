//! What accumulation costs in time, and what the words for batches mean.

use bmax::course::updates::{steps_to_goal, update};
use bmax::number;

use crate::page::speeds::assumed;
use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, format};

/// Doublings of one accumulation step that the drawing shows.
const DOUBLINGS: u32 = 10;
/// Billions of tokens for a run whose length is no number.
const DEFAULT: f64 = 10.0;

/// The time of an update and of a run against accumulation steps.
pub fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    assumed(live, &scenario);
    let given = live.number("tokens");
    let good = (0.001..=1e6).contains(&given);
    live.show("bad", !good);
    live.control_attr("tokens", "aria-invalid", if good { "false" } else { "true" });
    let tokens = if good { given } else { DEFAULT } * 1e9;
    let steps = 1_u32 << (live.number("at").clamp(0.0, DOUBLINGS.into()) as u32);
    let goal = steps_to_goal(&scenario);
    let one = update(&scenario, 1, tokens);
    let now = update(&scenario, steps, tokens);
    for (name, text) in [
        ("steps", format::count(steps)),
        ("sequences", number::grouped(now.sequences)),
        ("micro", format::duration(one.seconds)),
        ("seconds", format::duration(now.seconds)),
        ("each", format::duration(now.seconds_per_sequence())),
        ("billions", number::grouped(tokens / 1e9)),
        ("updates", number::grouped(now.updates.ceil())),
        ("run", format::duration(now.run_seconds())),
        ("goal", format::count(goal)),
        ("goal-seconds", format::duration(update(&scenario, goal, tokens).seconds)),
    ] {
        live.text(name, &text);
    }
    live.control_attr(
        "at",
        "aria-valuetext",
        &(format::count(steps) + " accumulation steps: " + &format::duration(now.seconds)),
    );

    let all: Vec<_> = (0..=DOUBLINGS).map(|power| (1_u32 << power, update(&scenario, 1 << power, tokens))).collect();
    let rows = all.iter().map(|(steps, update)| {
        let times = [update.seconds, update.seconds_per_sequence(), update.run_seconds()].map(format::duration);
        let [seconds, each, run] = times;
        let [sequences, updates] = [update.sequences, update.updates.ceil()].map(number::grouped);
        vec![format::count(*steps), sequences, seconds, each, updates, run]
    });
    live.rows("steps", rows.collect());
    let curve = |of: fn(&bmax::course::updates::Update) -> f64| {
        all.iter().map(|(steps, update)| (f64::from(*steps), of(update) / of(&one))).collect()
    };
    let most = f64::from(1_u32 << DOUBLINGS);
    live.plot(
        "times",
        &Plot {
            x: Axis::powers_of_two(1.0, most, "accumulation steps"),
            y: Axis::log(1.0 / most, most, "times what it is without accumulation"),
            series: vec![
                Series::line("series-own", curve(|update| update.seconds)),
                Series::line("series-2 is-dashed", curve(|update| update.updates)),
                Series::line("series-4", curve(|update| update.run_seconds())),
            ],
            marks: vec![Mark::at(goal.into(), "mark"), Mark::at(steps.into(), "mark-read")],
        },
    );
}

/// The picture of the words is the style sheet's; only the reader's own numbers are written here.
pub fn terms(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    let [batch, replicas] = [scenario.recipe.batch, scenario.data_parallel()];
    let (steps, sequence) = (steps_to_goal(&scenario), scenario.recipe.sequence);
    for (name, count) in [("batch", batch), ("replicas", replicas), ("steps", steps)] {
        live.text(name, &format::count(count));
    }
    let mini = f64::from(batch) * f64::from(replicas) * f64::from(steps);
    live.text("mini", &number::grouped(mini));
    live.text("tokens", &number::grouped(mini * f64::from(sequence)));
}
