//! What the figure shows: the throughput of one GPU against the tokens of its micro-batch.

use bmax::course::convergence::Roofline;
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Scenario, catalogue, number};

use crate::site::format;

/// Doublings of one token that the drawing shows.
pub const DOUBLINGS: u32 = 16;
/// Points of the curve for each doubling.
const POINTS: u32 = 4;

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Sequences of a micro-batch.
    pub batch: String,
    /// Tokens of a sequence.
    pub sequence: String,
    /// Tokens of a micro-batch.
    pub tokens: String,
    /// The noun behind their number.
    pub noun: &'static str,
    /// Tokens at the ridge.
    pub ridge: String,
    /// Which part of the roof the micro-batch reaches.
    pub part: String,
    /// Sequences a second, at least.
    pub speed: String,
    /// Whether a larger micro-batch would be faster.
    pub advice: &'static str,
    /// What the times are worked out with, where the device has no listed speed.
    pub assumed: Option<String>,
    /// A few points of the curve, as the rows of the table.
    pub rows: Vec<Vec<String>>,
    /// What is read off.
    pub reading: Reading,
    /// The drawing.
    pub plot: Plot,
}

/// One place of the curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Its tokens.
    pub tokens: String,
    /// The noun behind their number.
    pub noun: &'static str,
    /// Which part of the roof is reached there.
    pub part: String,
    /// Tokens a second, at least.
    pub speed: String,
}

impl Shown {
    /// What a scenario shows, read off at so many doublings of one token.
    pub fn of(scenario: &Scenario, at: f64) -> Self {
        let roofline = Roofline::of(scenario);
        let [sequence, batch] = [scenario.recipe.sequence, scenario.recipe.batch].map(f64::from);
        // A pair is two sequences.
        let batch = batch * f64::from(scenario.unit().sequences());
        let own = batch * sequence;
        let at = number::doublings(at).round();
        let point = |index: u32| number::doublings(f64::from(index) / f64::from(POINTS));
        let row = |index: u32| {
            let Reading { tokens, part, speed, .. } = Reading::of(&roofline, point(index));
            vec![tokens, part, speed]
        };
        let curve = (0..=POINTS * DOUBLINGS).map(point).map(|tokens| {
            let (low, high) = roofline.throughput(tokens);
            (tokens, low, high)
        });
        Self {
            batch: number::grouped(batch),
            sequence: number::grouped(sequence),
            tokens: number::grouped(own),
            noun: format::noun(own, "token", "tokens"),
            ridge: format::examples(roofline.ridge),
            part: part(&roofline, own),
            speed: format::significant(roofline.throughput(own).0 / sequence),
            advice: if own < roofline.ridge * 4.0 {
                "Here a larger micro-batch is faster."
            } else {
                "A larger one would only take more memory."
            },
            assumed: catalogue::assumption(scenario),
            rows: (0..=POINTS * DOUBLINGS).step_by(2 * POINTS as usize).map(row).collect(),
            reading: Reading::of(&roofline, at),
            plot: plot(&roofline, curve.collect(), own, at),
        }
    }
}

impl Reading {
    fn of(roofline: &Roofline, tokens: f64) -> Self {
        Self {
            tokens: number::grouped(tokens),
            noun: format::noun(tokens, "token", "tokens"),
            part: part(roofline, tokens),
            speed: format::significant(roofline.throughput(tokens).0),
        }
    }

    /// The place as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("{} {}: {}", self.tokens, self.noun, self.part)
    }
}

/// Which part of the roof so many tokens reach: the time lies between two bounds, and the speed with it.
fn part(roofline: &Roofline, tokens: f64) -> String {
    let (low, high) = roofline.throughput(tokens);
    let [low, high] = [low, high].map(|speed| format::percent(speed / roofline.most));
    if low == high { high } else { format!("{low} to {high}") }
}

fn plot(roofline: &Roofline, curve: Vec<(f64, f64, f64)>, own: f64, at: f64) -> Plot {
    let upper = curve.iter().map(|&(tokens, _, high)| (tokens, high)).collect();
    Plot {
        x: Axis::powers_of_two(1.0, number::doublings(DOUBLINGS.into()), "tokens of a micro-batch"),
        y: Axis::linear(0.0, roofline.most * 1.2, "tokens per second on one GPU"),
        series: vec![Series::band(Ink::OwnRange, curve), Series::line(Ink::Own, upper)],
        marks: vec![
            Mark::named(roofline.ridge, Rule::Soft, "ridge".to_owned()),
            Mark::at(own, Rule::Main),
            Mark::at(at, Rule::Read),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_a_roof(scenario in any_scenario(), at in 0.0..16.0) {
            let shown = Shown::of(&scenario, at);
            texts_are_sound(&(&shown.rows, &shown.reading, &shown.part, &shown.speed, &shown.ridge));
            plot_is_sound(&shown.plot);
        }
    }
}
