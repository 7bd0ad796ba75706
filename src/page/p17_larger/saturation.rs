//! Throughput of one device against the tokens of its micro-batch.

use bmax::course::convergence::Roofline;
use bmax::number;

use super::examples;
use crate::page::speeds::assumed;
use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, format};

/// Doublings of one token that the drawing shows.
const DOUBLINGS: u32 = 16;

pub fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    assumed(live, &scenario);
    let roofline = Roofline::of(&scenario);
    let [sequence, batch] = [scenario.recipe.sequence, scenario.recipe.batch].map(f64::from);
    let own = batch * sequence;
    let part = |tokens| {
        let (low, high) = roofline.throughput(tokens);
        let [low, high] = [low, high].map(|speed| format::percent(speed / roofline.most));
        if low == high { high } else { low + " to " + &high }
    };
    let at = number::doublings(live.number("at")).round();
    for (name, text) in [
        ("batch", number::grouped(batch)),
        ("sequence", number::grouped(sequence)),
        ("tokens", number::grouped(own)),
        ("ridge", examples(roofline.ridge)),
        ("part", part(own)),
        ("speed", format::significant(roofline.throughput(own).0 / sequence)),
        ("at-tokens", number::grouped(at)),
        ("at-part", part(at)),
        ("at-speed", format::significant(roofline.throughput(at).0)),
    ] {
        live.text(name, &text);
    }
    live.control_attr("at", "aria-valuetext", &(number::grouped(at) + " tokens: " + &part(at)));
    live.show("small", own < roofline.ridge * 4.0);
    live.show("large", own >= roofline.ridge * 4.0);

    let tokens = |index: u32| f64::from(index) / 4.0;
    let curve = (0..=4 * DOUBLINGS).map(|index| {
        let tokens = number::doublings(tokens(index));
        let (low, high) = roofline.throughput(tokens);
        (tokens, low, high)
    });
    let curve: Vec<_> = curve.collect();
    let row =
        |&(tokens, low, _): &(f64, f64, f64)| vec![number::grouped(tokens), part(tokens), format::significant(low)];
    live.rows("tokens", curve.iter().step_by(8).map(row).collect());
    let upper = curve.iter().map(|&(tokens, _, high)| (tokens, high)).collect();
    live.plot(
        "roofline",
        &Plot {
            x: Axis::powers_of_two(1.0, number::doublings(DOUBLINGS.into()), "tokens of a micro-batch"),
            y: Axis::linear(0.0, roofline.most * 1.2, "tokens per second on one GPU"),
            series: vec![Series::band("rate-band", curve), Series::line("series-own", upper)],
            marks: vec![
                Mark::named(roofline.ridge, "mark-soft", "ridge".to_owned()),
                Mark::at(own, "mark"),
                Mark::at(at, "mark-read"),
            ],
        },
    );
}
