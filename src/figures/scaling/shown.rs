//! What the figure shows: what is left of perfect scaling, by a rule of thumb and by the bytes that have to be
//! sent.

use bmax::course::scaling::{Exchange, exchange, usual_efficiency};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Scenario, catalogue};

use crate::site::format;

/// Doublings of one GPU that the drawing shows.
pub const DOUBLINGS: u32 = 10;

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// GPUs of the configuration that see different data.
    pub own: String,
    /// The noun behind their number.
    pub gpus: &'static str,
    /// How long an update computes there.
    pub compute: String,
    /// How long it communicates.
    pub communicate: String,
    /// How many times as fast they are as one.
    pub speed: String,
    /// What becomes of the communication.
    pub advice: String,
    /// What the times are worked out with, where the device has no listed speed.
    pub assumed: Option<String>,
    /// What is read off.
    pub reading: Reading,
    /// Numbers of GPUs, as the rows of the table.
    pub rows: Vec<Vec<String>>,
    /// The drawing.
    pub plot: Plot,
}

/// One number of GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// How many there are.
    pub gpus: String,
    /// The noun behind their number.
    pub noun: &'static str,
    /// How many times as fast they are by the rule of thumb.
    pub usual: String,
    /// How long an update communicates.
    pub communicate: String,
    /// How many times as fast they are by the bytes.
    pub speed: String,
}

impl Shown {
    /// What a scenario shows over a link of so many GB/s, read off at so many doublings of one GPU.
    pub fn of(scenario: &Scenario, link: f64, at: f64) -> Self {
        let on = |gpus: u32| exchange(scenario, gpus, link * 1e9);
        let own = scenario.data_parallel();
        let at = 1 << (at.clamp(0.0, DOUBLINGS.into()) as u32);
        let now = on(own);
        let counts: Vec<u32> = (0..=DOUBLINGS).map(|power| 1 << power).collect();
        let row = |gpus: &u32| {
            let Reading { gpus, usual, communicate, speed, .. } = Reading::of(*gpus, &on(*gpus));
            vec![gpus, usual, communicate, speed]
        };
        Self {
            own: format::count(own),
            gpus: noun(own),
            compute: format::duration(now.compute),
            communicate: format::duration(now.communicate),
            speed: speed(own, &now),
            advice: advice(own, &now),
            assumed: catalogue::assumption(scenario),
            reading: Reading::of(at, &on(at)),
            rows: counts.iter().map(row).collect(),
            plot: plot(&counts, on, own, at),
        }
    }
}

impl Reading {
    fn of(gpus: u32, exchange: &Exchange) -> Self {
        let usual = usual_efficiency(gpus).map(|(low, high)| range([low, high], gpus));
        Self {
            gpus: format::count(gpus),
            noun: noun(gpus),
            usual: usual.unwrap_or_else(|| "nothing".to_owned()),
            communicate: format::duration(exchange.communicate),
            speed: speed(gpus, exchange),
        }
    }

    /// The number of GPUs as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("{} {}: {} times as fast", self.gpus, self.noun, self.speed)
    }
}

/// The noun behind a number of GPUs.
fn noun(gpus: u32) -> &'static str {
    format::noun(gpus.into(), "GPU", "GPUs")
}

/// How many times as fast GPUs are as one, between parts of perfect scaling.
fn range(parts: [f64; 2], gpus: u32) -> String {
    let [low, high] = parts.map(|part| format::significant(part * f64::from(gpus)));
    if low == high { low } else { format!("{low} to {high}") }
}

fn speed(gpus: u32, exchange: &Exchange) -> String {
    range(exchange.efficiency(), gpus)
}

fn advice(gpus: u32, exchange: &Exchange) -> String {
    let exposed = exchange.exposed[1];
    if gpus == 1 {
        "A single GPU has nothing to communicate.".to_owned()
    } else if exposed == 0.0 {
        "At best, all of it overlaps with computing.".to_owned()
    } else if exchange.communicate <= exchange.compute {
        format!("Even at best, computing waits for {} of it.", format::duration(exposed))
    } else {
        "Communication dominates: it takes longer than the computing.".to_owned()
    }
}

fn plot(counts: &[u32], on: impl Fn(u32) -> Exchange, own: u32, at: u32) -> Plot {
    let efficiency: Vec<(f64, [f64; 2])> =
        counts.iter().map(|gpus| (f64::from(*gpus), on(*gpus).efficiency().map(|part| part * 100.0))).collect();
    let curve = |which: usize| efficiency.iter().map(|(gpus, parts)| (*gpus, parts[which])).collect();
    // The rule of thumb is one band up to 8 GPUs and another up to 64.
    let thumb = [2, 8, 9, 64].map(|gpus: u32| {
        let (low, high) = usual_efficiency(gpus).unwrap_or((f64::NAN, f64::NAN));
        (f64::from(gpus), low * 100.0, high * 100.0)
    });
    Plot {
        x: Axis::powers_of_two(1.0, f64::from(1_u32 << DOUBLINGS), "GPUs that see different data, D"),
        y: Axis::linear(0.0, 100.0, "speed-up ÷ D, in %"),
        series: vec![
            Series::band(Ink::Series2Range, thumb.into()),
            Series::line(Ink::Own, curve(1)),
            Series::dashed(Ink::Own, curve(0)),
        ],
        marks: vec![Mark::at(own.into(), Rule::Main), Mark::at(at.into(), Rule::Read)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use proptest::prelude::*;

    /// The Batch Size Optimizer's answer on two GPUs, and what its rule of thumb says of 8 and 64.
    #[test]
    fn the_rule_of_thumb_gives_two_gpus_1_8_to_1_95_and_ends_at_64() {
        let shown = Shown::of(&Scenario::workshop(), 25.0, 6.0);
        assert_eq!(shown.rows[1][1], "1.8 to 1.95");
        assert_eq!(shown.rows[3][1], "7.2 to 7.6");
        assert_eq!((shown.reading.gpus.as_str(), shown.rows[7][1].as_str()), ("64", "nothing"));
    }

    #[test]
    fn a_single_gpu_is_as_fast_as_one_and_talks_to_nobody() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.gpus = 1;
        let shown = Shown::of(&scenario, 25.0, 0.0);
        assert_eq!((shown.speed.as_str(), shown.reading.speed.as_str()), ("1", "1"));
        assert_eq!(shown.advice, "A single GPU has nothing to communicate.");
    }

    #[test]
    fn short_work_is_dominated_by_communication() {
        let mut scenario = Scenario::workshop().with_batch(1);
        scenario.recipe.sequence = 128;
        assert!(Shown::of(&scenario, 25.0, 0.0).advice.starts_with("Communication dominates"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_scales_over_any_link(scenario in any_scenario(), link in 1.0..1e3, at in 0.0..10.0) {
            let shown = Shown::of(&scenario, link, at);
            prop_assert_eq!(shown.rows.len(), DOUBLINGS as usize + 1);
            texts_are_sound(&(&shown.rows, &shown.reading, &shown.assumed));
            texts_are_sound(&[&shown.own, &shown.compute, &shown.communicate, &shown.speed, &shown.advice]);
            plot_is_sound(&shown.plot);
        }
    }
}
