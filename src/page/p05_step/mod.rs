//! Inside one training step.

use bmax::course::step::{Moment, PARTS, Timeline, timeline};
use bmax::{Bucket, Bytes, Choice, Recomputation, Scenario};

use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, State, format, mount_pressed};

/// The bands from below: what does not change first, so that the others stand on level ground.
const BANDS: [(Bucket, &str); 7] = [
    (Bucket::Parameters, "bucket-parameters"),
    (Bucket::Optimizer, "bucket-optimizer"),
    (Bucket::Gradients, "bucket-gradients"),
    (Bucket::Activations, "bucket-activations"),
    (Bucket::Batch, "bucket-batch"),
    (Bucket::Temporary, "bucket-temporary"),
    (Bucket::Runtime, "bucket-runtime"),
];

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_pressed("step", state, draw, press);
}

/// The scenario with the figure's own choices, and the usable memory.
fn shown(live: &Live) -> (Scenario, Bytes) {
    let (mut scenario, usable) = live.facts(|facts| (facts.scenario, facts.estimate.usable()));
    if let Some(policy) = Recomputation::from_key(&live.word("policy")) {
        scenario.recipe.recomputation = policy;
    }
    let micro_batches = live.number("micro");
    if micro_batches > 0.0 {
        scenario.recipe.micro_batches = micro_batches as u32;
    }
    (scenario, usable)
}

/// Moves to the peak, or to the named moment before or after.
fn press(live: &Live, word: &str) {
    let curve = timeline(&shown(live).0);
    let at = live.number("at");
    let mut to = at;
    for moment in curve.moments.iter().filter(|moment| moment.instant.is_some()) {
        // The last before, or the first after.
        if (word == "back" && moment.at < at) || (word == "next" && moment.at > at && to == at) {
            to = moment.at;
        }
    }
    live.set_number("at", if word == "peak" { curve.highest(2).at } else { to });
}

fn draw(live: &Live) {
    let (scenario, usable) = shown(live);
    let curve = timeline(&scenario);
    let peak = curve.highest(2);
    let (first, highest) = (curve.highest(1).held.total(), peak.held.total());
    // What the first update makes and the end still has.
    let missing = curve.at(400.0).1.of(Bucket::Optimizer) - curve.at(0.0).1.of(Bucket::Optimizer);
    let at = live.number("at");
    let (moment, held) = curve.at(at);
    let words = words(&curve, moment, at);
    let name = curve.instants[peak.instant.unwrap_or(0)].name;
    live.text("peak-name", &quoted(name));
    live.text("moment", &words);
    live.text("micro-batches", &format::count(scenario.recipe.micro_batches));
    let instants = curve.instants.len();
    for (case, shown) in [
        ("case-missing", missing > Bytes::ZERO),
        ("case-nothing", missing == Bytes::ZERO),
        ("case-flat", instants == 1),
        ("case-pipeline", instants > 6),
        ("case-many", instants == 6 && scenario.recipe.micro_batches > curve.drawn),
    ] {
        live.show(case, shown);
    }
    let total = held.total();
    for (output, bytes) in
        [("peak", highest), ("usable", usable), ("first", first), ("missing", missing), ("total", total)]
    {
        live.text(output, &format::memory(bytes));
    }
    live.control_attr("at", "aria-valuetext", &(words + ": " + &format::memory(total)));

    let mut rows: Vec<Vec<String>> = Vec::new();
    for moment in &curve.moments {
        if let Some(position) = moment.instant {
            rows.push(vec![place(&curve, moment) + &quoted(curve.instants[position].name)]);
        }
    }
    let mut bands = Vec::with_capacity(8);
    let mut lower = vec![0.0; curve.moments.len()];
    for (bucket, class) in BANDS {
        live.text(bucket.key(), &format::memory(held.of(bucket)));
        let mut points = Vec::with_capacity(lower.len());
        let mut row = 0;
        for (moment, lower) in curve.moments.iter().zip(&mut lower) {
            let bytes = moment.held.of(bucket);
            points.push((steps(moment.at), *lower, *lower + bytes.gib()));
            *lower += bytes.gib();
            if moment.instant.is_some() {
                rows[row].push(gib(bytes));
                row += 1;
            }
        }
        bands.push(Series::band(class, points));
    }
    let mut row = 0;
    for moment in &curve.moments {
        if moment.instant.is_some() {
            rows[row].push(gib(moment.held.total()));
            row += 1;
        }
    }
    live.rows("moments", rows);
    // The limit is drawn where it does not press the curve flat.
    let near = usable.get() < 2.0 * highest.get();
    let top = if near { highest.gib().max(usable.gib()) } else { highest.gib() };
    if near {
        bands.push(Series::line("is-dashed step-usable", vec![(0.0, usable.gib()), (2.0, usable.gib())]));
    }
    let label = name.to_owned() + " " + &format::memory(highest);
    live.plot(
        "memory",
        &Plot {
            x: Axis::linear(0.0, 2.0, "training steps (order, not seconds)"),
            y: Axis::linear(0.0, top * 1.12, "GiB"),
            series: bands,
            marks: vec![Mark::at(steps(at), "mark-soft"), Mark::named(steps(peak.at), "mark", label)],
        },
    );
}

/// A place on the axis in steps.
fn steps(at: f64) -> f64 {
    at / f64::from(PARTS)
}

#[inline(never)]
fn gib(bytes: Bytes) -> String {
    format::digits(bytes.gib(), 2)
}

#[inline(never)]
fn quoted(name: &str) -> String {
    "“".to_owned() + name + "”"
}

/// Step and, where there are several, micro-batch.
#[inline(never)]
fn place(curve: &Timeline, moment: &Moment) -> String {
    let mut place = "Step ".to_owned() + &format::count(moment.step) + ", ";
    if curve.drawn > 1 {
        place = place + "micro-batch " + &format::count(moment.micro_batch) + ", ";
    }
    place
}

/// Where in the step a place on the axis is.
fn words(curve: &Timeline, moment: &Moment, at: f64) -> String {
    let place = place(curve, moment);
    if let Some(position) = moment.instant.filter(|_| moment.at == at) {
        return place + &quoted(curve.instants[position].name) + ". " + curve.instants[position].meaning;
    }
    for next in &curve.moments {
        if let Some(position) = next.instant.filter(|_| next.at > at) {
            return place + "on the way to " + &quoted(curve.instants[position].name);
        }
    }
    place + "after the update"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_prints_the_numbers_of_the_default() {
        let curve = timeline(&Scenario::default());
        let peak = curve.highest(2);
        let text = include_str!("prose.html");
        let state = |at: f64| curve.at(at).1.of(Bucket::Optimizer);
        for number in [format::memory(peak.held.total()), format::digits((state(400.0) - state(0.0)).gib(), 1)] {
            assert!(text.contains(&number), "the text should print “{number}”");
        }
        // The slider starts where the peak is.
        assert!(text.contains(&format!("value=\"{}\"", bmax::number::plain(peak.at))), "{}", peak.at);
    }
}
