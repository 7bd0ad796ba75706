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
    let named = || curve.moments.iter().filter(|moment| moment.instant.is_some());
    let to = match word {
        "peak" => Some(curve.highest(2)),
        "back" => named().rfind(|moment| moment.at < at),
        _ => named().find(|moment| moment.at > at),
    };
    if let Some(moment) = to {
        live.set_number("at", moment.at);
    }
}

fn draw(live: &Live) {
    let (scenario, usable) = shown(live);
    let curve = timeline(&scenario);
    let peak = curve.highest(2);
    let [first, highest] = [curve.highest(1), peak].map(|moment| moment.held.total());
    let state = |moment: Option<&Moment>| moment.map_or(Bytes::ZERO, |moment| moment.held.of(Bucket::Optimizer));
    let missing = state(curve.moments.last()) - state(curve.moments.first());
    live.text("peak-name", &quoted(&curve, peak));
    live.text("peak", &format::memory(highest));
    live.text("usable", &format::memory(usable));
    live.text("first", &format::memory(first));
    live.text("missing", &format::memory(missing));
    live.text("micro-batches", &format::count(scenario.recipe.micro_batches));
    let flat = curve.instants.len() == 1;
    live.show("case-missing", missing > Bytes::ZERO);
    live.show("case-nothing", missing == Bytes::ZERO);
    live.show("case-flat", flat);
    live.show("case-pipeline", curve.instants.len() > 6);
    live.show("case-many", curve.instants.len() == 6 && scenario.recipe.micro_batches > curve.drawn);

    let at = live.number("at");
    let (moment, held) = curve.at(at);
    let words = words(&curve, moment, at);
    live.control_attr("at", "aria-valuetext", &(words.clone() + ": " + &format::memory(held.total())));
    live.text("moment", &words);
    live.text("total", &format::memory(held.total()));
    let mut bands = Vec::with_capacity(8);
    let mut lower = vec![0.0; curve.moments.len()];
    for (bucket, class) in BANDS {
        live.text(bucket.key(), &format::memory(held.of(bucket)));
        let point = |(moment, lower): (&Moment, &mut f64)| {
            let from = *lower;
            *lower += moment.held.of(bucket).gib();
            (steps(moment.at), from, *lower)
        };
        bands.push(Series::band(class, curve.moments.iter().zip(&mut lower).map(point).collect()));
    }
    // The limit is drawn where it does not press the curve flat.
    let near = usable.get() < 2.0 * highest.get();
    let top = if near { highest.gib().max(usable.gib()) } else { highest.gib() };
    if near {
        bands.push(Series::line("is-dashed step-usable", vec![(0.0, usable.gib()), (2.0, usable.gib())]));
    }
    let name = format!("{} {}", curve.instants[peak.instant.unwrap_or(0)].name, format::memory(highest));
    live.plot(
        "memory",
        &Plot {
            x: Axis::linear(0.0, 2.0, "training steps (order, not seconds)"),
            y: Axis::linear(0.0, top * 1.12, "GiB"),
            series: bands,
            marks: vec![Mark::at(steps(at), "mark-soft"), Mark::named(steps(peak.at), "mark", name)],
        },
    );
    let row = |moment: &Moment| {
        let mut cells = vec![place(&curve, moment) + &quoted(&curve, moment)];
        cells.extend(BANDS.map(|(bucket, _)| gib(moment.held.of(bucket))));
        cells.push(gib(moment.held.total()));
        cells
    };
    live.rows("moments", curve.moments.iter().filter(|moment| moment.instant.is_some()).map(row).collect());
}

/// A place on the axis in steps.
fn steps(at: f64) -> f64 {
    at / f64::from(PARTS)
}

fn gib(bytes: Bytes) -> String {
    format::digits(bytes.gib(), 2)
}

/// The name of a named moment.
fn quoted(curve: &Timeline, moment: &Moment) -> String {
    moment.instant.map_or_else(String::new, |position| format!("“{}”", curve.instants[position].name))
}

/// Step and, where there are several, micro-batch.
fn place(curve: &Timeline, moment: &Moment) -> String {
    let step = format!("Step {}, ", moment.step);
    if curve.drawn > 1 { step + &format!("micro-batch {}, ", moment.micro_batch) } else { step }
}

/// Where in the step a place on the axis is.
fn words(curve: &Timeline, moment: &Moment, at: f64) -> String {
    let next = curve.moments.iter().find(|next| next.at > at && next.instant.is_some());
    let place = place(curve, moment);
    match (moment.instant.filter(|_| moment.at == at), next) {
        (Some(position), _) => place + &quoted(curve, moment) + ". " + curve.instants[position].meaning,
        (None, Some(next)) => place + "on the way to " + &quoted(curve, next),
        (None, None) => place + "after the update",
    }
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
