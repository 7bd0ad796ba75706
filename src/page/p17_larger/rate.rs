//! The learning rate of a larger batch, and the warm-up that leads to it.

use bmax::course::convergence::{DECAY_EPOCHS, EPOCHS, WARM_UP_EPOCHS, rates, scheduled};
use bmax::number;

use super::checked;
use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, format};

pub fn draw(live: &Live) {
    let own = live.facts(|facts| f64::from(facts.scenario.goal.sequences(facts.scenario.recipe.sequence)));
    // The other choice is its own number.
    let batch = number::parse(&live.word("goal")).unwrap_or(own);
    let base = checked(live, "base", "bad-base", (1.0, 1e9), 32.0);
    let rate = checked(live, "rate", "bad-rate", (1e-9, 1e3), 0.1);
    let times = batch / base;
    let (low, high) = rates(rate, times);
    for (name, text) in [
        ("from", number::grouped(base)),
        ("to", number::grouped(batch)),
        ("times", format::times(times)),
        ("root", format::times(times.sqrt())),
        ("low", format::significant(low)),
        ("high", format::significant(high)),
    ] {
        live.text(name, &text);
    }
    let row = |times: f64| {
        let (low, high) = rates(rate, times);
        vec![number::grouped(base * times), format::significant(low), format::significant(high)]
    };
    live.rows("rates", [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(row).into());

    let (first, last) = (base.min(batch) / 4.0, base.max(batch) * 4.0);
    let band = [first, base, last].map(|batch| {
        let (low, high) = rates(rate, batch / base);
        (batch, low, high)
    });
    live.plot(
        "band",
        &Plot {
            x: Axis::powers_of_two(first, last, "batch, in examples"),
            y: Axis::log(band[0].1, band[2].2, "learning rate"),
            series: vec![
                Series::band("rate-band", band.into()),
                Series::line("series-own", band.map(|(batch, ..)| (batch, rate * batch / base)).into()),
                Series::line(
                    "series-2 is-dashed",
                    band.map(|(batch, ..)| (batch, rate * (batch / base).sqrt())).into(),
                ),
            ],
            marks: vec![Mark::at(base, "mark-soft"), Mark::at(batch, "mark")],
        },
    );

    let epoch = live.number("at");
    let [slow, fast] = [low, high].map(|scaled| format::significant(scheduled(rate, scaled, epoch)));
    live.text("epoch", &number::grouped(epoch));
    live.text("slow", &slow);
    live.text("fast", &fast);
    live.control_attr(
        "at",
        "aria-valuetext",
        &("epoch ".to_owned() + &number::grouped(epoch) + ": " + &slow + " to " + &fast),
    );
    let [a, b, c] = DECAY_EPOCHS;
    // Just before each fall and at it.
    let moments = [0.0, WARM_UP_EPOCHS, a - 0.01, a, b - 0.01, b, c - 0.01, c, EPOCHS];
    let schedule = moments.map(|epoch| (epoch, scheduled(rate, low, epoch), scheduled(rate, high, epoch)));
    live.plot(
        "schedule",
        &Plot {
            x: Axis::linear(0.0, EPOCHS, "epochs"),
            y: Axis::linear(0.0, high.max(rate) * 1.05, "learning rate"),
            series: vec![
                Series::band("rate-band", schedule.into()),
                Series::line("series-own", schedule.map(|(epoch, _, high)| (epoch, high)).into()),
                Series::line("series-2 is-dashed", schedule.map(|(epoch, low, _)| (epoch, low)).into()),
            ],
            marks: vec![Mark::at(epoch, "mark-read")],
        },
    );
}
