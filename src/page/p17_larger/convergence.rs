//! Steps and examples to a target against the batch, as multiples of the fewest.

use bmax::course::convergence::{doubled, examples as examples_at, in_examples, steps};
use bmax::number;

use super::{checked, examples};
use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, format};

/// Doublings that the drawing goes to either side of the reader's batch.
const DOUBLINGS: f64 = 10.0;
/// What stands in for a critical batch that is no number.
const DEFAULT: f64 = 65_536.0;

pub fn draw(live: &Live) {
    let (target, sequence) = live.facts(|facts| {
        let sequence = facts.scenario.recipe.sequence;
        (f64::from(facts.scenario.goal.sequences(sequence)), sequence)
    });
    let critical = critical(live, sequence);
    // No batch is smaller than one example.
    let fewest = -(target.ln() / std::f64::consts::LN_2).floor().min(DOUBLINGS);
    live.set_range("at", fewest, DOUBLINGS);
    let batch_at = |doublings: f64| target * number::doublings(doublings);
    let batch = batch_at(live.number("at"));

    live.text("batch", &number::grouped(target));
    live.text("tokens", &number::grouped(target * f64::from(sequence)));
    live.text("steps", &format::times(steps(target, critical)));
    live.text("examples", &format::times(examples_at(target, critical)));
    live.text("critical", &examples(critical));
    for (case, shown) in [
        ("below", target * 4.0 <= critical),
        ("near", target * 4.0 > critical && target < critical * 4.0),
        ("above", target >= critical * 4.0),
    ] {
        live.show(case, shown);
    }
    let columns = |batch: f64| {
        let saved = format::percent(1.0 - doubled(batch, critical));
        [format::times(steps(batch, critical)), format::times(examples_at(batch, critical)), saved]
    };
    let [at_steps, at_examples, at_saved] = columns(batch);
    live.text("at-batch", &examples(batch));
    live.text("at-steps", &at_steps);
    live.text("at-examples", &at_examples);
    live.text("at-saved", &at_saved);
    live.control_attr(
        "at",
        "aria-valuetext",
        &(examples(batch) + " examples: steps " + &at_steps + ", examples " + &at_examples),
    );

    let rows = (-3..=3).map(|power| {
        let batch = critical * number::doublings(f64::from(2 * power));
        let mut row = vec![examples(batch)];
        row.extend(columns(batch));
        row
    });
    live.rows("batches", rows.collect());
    let points = |of: fn(f64, f64) -> f64| {
        let at = |index: u32| {
            let batch = batch_at(fewest + (DOUBLINGS - fewest) * f64::from(index) / 64.0);
            (batch, of(batch, critical))
        };
        (0..=64).map(at).collect::<Vec<_>>()
    };
    let (fall, rise) = (points(steps), points(examples_at));
    let top = fall[0].1.max(rise[64].1);
    live.plot(
        "curves",
        &Plot {
            x: Axis::powers_of_two(batch_at(fewest), batch_at(DOUBLINGS), "global batch, in examples"),
            y: Axis::powers_of_two(1.0, top, "times the fewest"),
            series: vec![Series::line("series-own", fall), Series::line("series-2 is-dashed", rise)],
            marks: vec![
                Mark::named(critical, "mark-soft", "critical".to_owned()),
                Mark::at(target, "mark"),
                Mark::at(batch, "mark-read"),
            ],
        },
    );
}

/// The critical batch in examples.
fn critical(live: &Live, sequence: u32) -> f64 {
    let task = live.word("task");
    // A preset is its number, followed by its unit.
    let preset = task.split_once(' ');
    live.show("own", preset.is_none());
    let own = checked(live, "own-size", "bad", (1.0, 1e9), DEFAULT);
    let (size, tokens) = match preset {
        Some((size, unit)) => (number::parse(size).unwrap_or(DEFAULT), unit == "tokens"),
        None => (own, live.word("own-unit") == "tokens"),
    };
    in_examples(size, tokens, sequence)
}
