//! What the figure shows: steps and examples to a target against the batch, as multiples of the fewest.

use bmax::course::convergence::{doubled, examples, in_examples, steps};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Scenario, number};

use crate::site::format;

/// Doublings that the drawing goes to either side of the reader's batch.
const DOUBLINGS: f64 = 10.0;
/// Pieces of a curve.
const PIECES: u32 = 64;

/// What a critical batch is counted in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    /// Images or sequences.
    Examples,
    /// Tokens of text.
    Tokens,
}

/// The batch at which steps and examples are both twice their least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Critical {
    /// Its size.
    pub size: f64,
    /// What its size counts.
    pub unit: Unit,
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The reader's global batch.
    pub batch: String,
    /// What it counts.
    pub unit: &'static str,
    /// The same in tokens.
    pub tokens: String,
    /// The noun behind their number.
    pub noun: &'static str,
    /// Steps with that batch, as a multiple of the fewest.
    pub steps: String,
    /// Examples with that batch, as a multiple of the fewest.
    pub examples: String,
    /// The critical batch in examples.
    pub critical: String,
    /// On which side of the critical batch the reader's lies.
    pub advice: &'static str,
    /// Both ends of the slider, in doublings of the reader's batch.
    pub ends: (f64, f64),
    /// What is read off.
    pub reading: Reading,
    /// Batches around the critical one, as the rows of the table.
    pub rows: Vec<Vec<String>>,
    /// The drawing.
    pub plot: Plot,
}

/// One batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Its examples.
    pub batch: String,
    /// Its steps, as a multiple of the fewest.
    pub steps: String,
    /// Its examples until the target, as a multiple of the fewest.
    pub examples: String,
    /// Which part of the steps a batch twice as large would save.
    pub saved: String,
}

impl Shown {
    /// What a scenario shows with this critical batch, read off at so many doublings of its global batch.
    pub fn of(scenario: &Scenario, critical: Critical, at: f64) -> Self {
        // A pair is an example of two sequences.
        let sequence = scenario.recipe.sequence.saturating_mul(scenario.unit().sequences());
        let target = f64::from(scenario.target());
        let critical = in_examples(critical.size, critical.unit == Unit::Tokens, sequence);
        let tokens = target * f64::from(sequence);
        let ends = (fewest(target), DOUBLINGS);
        let at = target * number::doublings(at.clamp(ends.0, ends.1));
        let row = |power: i32| {
            let batch = critical * number::doublings(f64::from(2 * power));
            let Reading { batch, steps, examples, saved } = Reading::of(batch, critical);
            vec![batch, steps, examples, saved]
        };
        Self {
            batch: number::grouped(target),
            unit: format::noun(target, scenario.unit().one(), scenario.unit().many()),
            tokens: number::grouped(tokens),
            noun: format::noun(tokens, "token", "tokens"),
            steps: format::times(steps(target, critical)),
            examples: format::times(examples(target, critical)),
            critical: format::examples(critical),
            advice: advice(target, critical),
            ends,
            reading: Reading::of(at, critical),
            rows: (-3..=3).map(row).collect(),
            plot: plot(target, critical, ends, at),
        }
    }
}

impl Reading {
    fn of(batch: f64, critical: f64) -> Self {
        Self {
            batch: format::examples(batch),
            steps: format::times(steps(batch, critical)),
            examples: format::times(examples(batch, critical)),
            saved: format::percent(1.0 - doubled(batch, critical)),
        }
    }

    /// The batch as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("{} examples: steps {}, examples {}", self.batch, self.steps, self.examples)
    }
}

/// Where the slider begins: no batch is smaller than one example.
fn fewest(target: f64) -> f64 {
    -target.log2().floor().clamp(0.0, DOUBLINGS)
}

fn advice(batch: f64, critical: f64) -> &'static str {
    if batch * 4.0 <= critical {
        "You are far below it: a larger batch costs almost nothing."
    } else if batch < critical * 4.0 {
        "You are near it: steps and examples are in balance."
    } else {
        "You are far above it: more GPUs hardly shorten the run now."
    }
}

fn plot(target: f64, critical: f64, (from, to): (f64, f64), at: f64) -> Plot {
    let batch = |doublings: f64| target * number::doublings(doublings);
    let curve = |of: fn(f64, f64) -> f64| -> Vec<(f64, f64)> {
        let point = |index: u32| batch(from + (to - from) * f64::from(index) / f64::from(PIECES));
        (0..=PIECES).map(point).map(|batch| (batch, of(batch, critical))).collect()
    };
    let (fall, rise) = (curve(steps), curve(examples));
    let top = fall.iter().chain(&rise).map(|point| point.1).fold(1.0, f64::max);
    Plot {
        x: Axis::powers_of_two(batch(from), batch(to), "global batch, in examples"),
        y: Axis::powers_of_two(1.0, top, "times the fewest"),
        series: vec![Series::line(Ink::Own, fall), Series::dashed(Ink::Series2, rise)],
        marks: vec![
            Mark::named(critical, Rule::Soft, "critical".to_owned()),
            Mark::at(target, Rule::Main),
            Mark::at(at, Rule::Read),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AT_A_LOSS_OF_2_3, AT_A_LOSS_OF_3, START, TASKS};
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use bmax::course::convergence::critical_tokens;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn of_default(size: f64, unit: Unit) -> Shown {
        Shown::of(&Scenario::workshop(), Critical { size, unit }, -3.0)
    }

    #[test]
    fn language_models_have_the_critical_batch_of_their_loss() {
        for (critical, loss) in [(AT_A_LOSS_OF_3, 3.0), (AT_A_LOSS_OF_2_3, 2.3)] {
            assert_eq!(critical.size, (critical_tokens(loss) / 1e5).round() * 1e5, "{loss}");
        }
        // A batch of a million tokens and more is what recipes of the kind of GPT have: it is near, and not far above.
        let shown = Shown::of(&Scenario::workshop(), AT_A_LOSS_OF_3, START);
        assert_eq!((shown.critical.as_str(), shown.steps.as_str()), ("537", "3.1×"));
        assert!(shown.advice.starts_with("You are near it"));
    }

    #[test]
    fn every_task_prints_the_number_that_it_stands_for() {
        for (critical, name) in TASKS {
            let Some(Critical { size, unit }) = critical else { continue };
            let printed = if size < 1e6 { number::grouped(size) } else { format!("{} million", size / 1e6) };
            assert!(name.contains(&printed) && name.contains("token") == (unit == Unit::Tokens), "{name}");
        }
    }

    /// McCandlish et al. 2018: at the critical batch both are twice their least. 65,536 tokens are 32 sequences
    /// of 2,048, an eighth of the default's 256: 1 + 1/8 and 1 + 8.
    #[test]
    fn a_batch_eight_times_the_critical_one_takes_nine_times_the_fewest_examples() {
        let shown = of_default(65_536.0, Unit::Tokens);
        assert_eq!(shown.critical, "32");
        assert_eq!((shown.steps.as_str(), shown.examples.as_str()), ("1.13×", "9×"));
        assert!(shown.advice.starts_with("You are far above it"));
        assert_eq!(shown.rows[3], ["32", "2×", "2×", "25 %"]);
    }

    #[test]
    fn the_slider_starts_about_where_both_are_twice_their_least() {
        let Shown { reading, .. } = Shown::of(&Scenario::workshop(), AT_A_LOSS_OF_3, START);
        // 512 is as near to 537 as a quarter of a doubling comes.
        assert_eq!((reading.batch.as_str(), reading.steps.as_str()), ("512", "2.05×"));
    }

    #[test]
    fn the_same_number_read_as_sequences_turns_the_advice_around() {
        assert!(of_default(65_536.0, Unit::Examples).advice.starts_with("You are far below it"));
        assert!(of_default(256.0, Unit::Examples).advice.starts_with("You are near it"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_and_any_critical_batch_have_two_curves(
            scenario in any_scenario(),
            size in 1.0..1e9,
            unit in select(vec![Unit::Examples, Unit::Tokens]),
            at in -10.0..10.0,
        ) {
            let shown = Shown::of(&scenario, Critical { size, unit }, at);
            prop_assert!(shown.ends.0 < shown.ends.1);
            texts_are_sound(&shown.rows);
            texts_are_sound(&(&shown.reading, &shown.steps, &shown.examples, &shown.critical, &shown.tokens));
            plot_is_sound(&shown.plot);
        }
    }
}
