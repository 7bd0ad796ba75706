//! What is left of perfect scaling, by a rule of thumb and by the bytes that have to be sent.

use bmax::course::scaling::{exchange, usual_efficiency};

use crate::page::speeds::assumed;
use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, format};

/// Doublings of one GPU that the drawing shows.
const DOUBLINGS: u32 = 10;
/// GB/s for a link that is no number.
const DEFAULT: f64 = 25.0;

pub fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    assumed(live, &scenario);
    let link = live.number("link");
    let link = if link > 0.0 { link } else { DEFAULT } * 1e9;
    let range = |low: f64, high: f64, scale: f64| {
        let [low, high] = [low, high].map(|value| format::significant(value * scale));
        if low == high { low } else { low + " to " + &high }
    };
    let own = scenario.data_parallel();
    let at = 1_u32 << (live.number("at").clamp(0.0, DOUBLINGS.into()) as u32);
    let now = exchange(&scenario, own, link);
    let then = exchange(&scenario, at, link);
    let speed = |gpus: u32| {
        let [low, high] = exchange(&scenario, gpus, link).efficiency();
        range(low, high, gpus.into())
    };
    let usual = |gpus: u32, scale: f64| {
        usual_efficiency(gpus).map_or_else(|| "nothing".to_owned(), |(low, high)| range(low, high, scale))
    };
    for (name, text) in [
        ("own", format::count(own)),
        ("compute", format::duration(now.compute)),
        ("communicate", format::duration(now.communicate)),
        ("exposed", format::duration(now.exposed[1])),
        ("speed", speed(own)),
        ("at-gpus", format::count(at)),
        ("at-communicate", format::duration(then.communicate)),
        ("at-speed", speed(at)),
        ("at-usual", usual(at, at.into())),
    ] {
        live.text(name, &text);
    }
    live.show("alone", own == 1);
    live.show("hidden", own > 1 && now.exposed[1] == 0.0);
    live.show("waits", now.exposed[1] > 0.0 && now.communicate <= now.compute);
    live.show("dominates", now.communicate > now.compute && now.exposed[1] > 0.0);
    live.control_attr("at", "aria-valuetext", &(format::count(at) + " GPUs: " + &speed(at) + " times as fast"));

    let counts: Vec<u32> = (0..=DOUBLINGS).map(|power| 1 << power).collect();
    let row = |gpus: &u32| {
        let scale = f64::from(*gpus);
        vec![
            format::count(*gpus),
            usual(*gpus, scale),
            format::duration(exchange(&scenario, *gpus, link).communicate),
            speed(*gpus),
        ]
    };
    live.rows("gpus", counts.iter().map(row).collect());
    let points = |which: usize| {
        counts
            .iter()
            .map(|gpus| (f64::from(*gpus), exchange(&scenario, *gpus, link).efficiency()[which] * 100.0))
            .collect()
    };
    // The rule of thumb is one band up to 8 GPUs and another up to 64.
    let thumb = [2, 8, 9, 64].map(|gpus: u32| {
        let (low, high) = usual_efficiency(gpus).unwrap_or((f64::NAN, f64::NAN));
        (f64::from(gpus), low * 100.0, high * 100.0)
    });
    live.plot(
        "efficiency",
        &Plot {
            x: Axis::powers_of_two(1.0, f64::from(1_u32 << DOUBLINGS), "GPUs that see different data, D"),
            y: Axis::linear(0.0, 100.0, "speed-up ÷ D, in %"),
            series: vec![
                Series::band("thumb-band", thumb.into()),
                Series::line("series-own", points(1)),
                Series::line("series-own is-dashed", points(0)),
            ],
            marks: vec![Mark::at(own.into(), "mark"), Mark::at(at.into(), "mark-read")],
        },
    );
}
