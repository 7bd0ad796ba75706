//! What the figure shows: how lengths are spread, what each way of making micro-batches holds of them, and when a run
//! fails whose micro-batch is too large.

use bmax::course::lengths::{Batched, Failing, Spread, batched, failing, fits_to, pasted};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Batching, Choice, Scenario, Unit, largest_micro_batch, number};

use crate::components::Column;
use crate::site::format;

/// The table.
pub static COLUMNS: [Column; 6] = [
    Column::words("Way"),
    Column::numbers("Micro-batch that fits"),
    Column::numbers("Tokens, worst"),
    Column::numbers("Tokens, mean"),
    Column::numbers("Not padding"),
    Column::numbers("Padding"),
];

/// Steps that the drawing of failures goes to.
const MOST_STEPS: f64 = 1e5;
/// Pieces of a curve.
const PIECES: u32 = 120;

/// Lengths that were pasted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pasted {
    /// The lengths, where the text holds some.
    pub sample: Option<Spread>,
    /// What was read, or what is wrong.
    pub says: String,
    /// Whether something is wrong.
    pub is_wrong: bool,
}

impl Pasted {
    /// What a text says; nothing where it is empty.
    pub fn of(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::default();
        }
        match pasted(text) {
            Ok(lengths) => {
                let all: u64 = lengths.iter().fold(0, |all, (_, count)| all.saturating_add(*count));
                let says = format!("{} read.", format::counted(all, "length", "lengths"));
                Self { sample: Spread::of(&lengths), says, is_wrong: false }
            }
            Err(problem) => Self { sample: None, says: problem.to_string(), is_wrong: true },
        }
    }
}

/// One way, at the largest micro-batch that always fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its name.
    pub name: &'static str,
    /// What it comes to, in a few words.
    pub says: String,
    /// Tokens of sequences, padding, and room that is kept for the worst micro-batch, as lengths for the style sheet.
    pub shares: [String; 3],
}

/// Every way of a scenario, whatever the micro-batch of the slider is.
#[derive(Clone, Debug, PartialEq)]
pub struct Ways {
    /// The scenario with padded micro-batches.
    padded: Scenario,
    /// The lengths that it has.
    lengths: Spread,
    /// The largest micro-batch that always fits, padded.
    most: Option<u32>,
    /// Whose lengths these are.
    pub whose: &'static str,
    /// Every way.
    pub bars: Vec<Bar>,
    /// The same as a table.
    pub rows: Vec<Vec<String>>,
    /// What a padded run must fit, and what its median suggests.
    pub worst: String,
    /// Both ends of the slider.
    pub ends: (f64, f64),
}

/// A padded run with the micro-batch of the slider.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The micro-batch of the slider.
    pub batch: f64,
    /// The same in words.
    pub batch_text: String,
    /// When a run with it fails.
    pub fails: String,
    /// The part of such runs that has failed by each step.
    pub failed: Plot,
    /// The share of sequences up to each length, with the longest of them that fits.
    pub spread: Plot,
}

/// The scenario with lengths in this way.
fn at(scenario: &Scenario, way: Batching) -> Scenario {
    let mut at = *scenario;
    at.lengths.batching = way;
    at
}

impl Ways {
    /// The ways of a scenario with lengths that were pasted, if any were.
    pub fn of(scenario: &Scenario, sample: Option<&Spread>) -> Self {
        // Three numbers that were changed since mean other lengths.
        let sample = sample.filter(|sample| sample.told(scenario.lengths) == scenario.lengths);
        let cut = scenario.recipe.sequence;
        let lengths = sample.map_or_else(|| Spread::of_scenario(scenario), |sample| sample.cut(cut));
        let padded = at(scenario, Batching::Padded);
        let most = largest_micro_batch(&padded);
        let mut typical = padded;
        typical.lengths.longest = lengths.quantile(0.5);
        let by_median = largest_micro_batch(&typical);
        let ends = (1.0, f64::from(by_median.unwrap_or(1).saturating_mul(2).clamp(8, 1_024)));
        let ways: Vec<_> = Batching::varied().map(|way| Way::of(scenario, &lengths, way)).collect();
        Self {
            whose: if sample.is_some() { "your own lengths" } else { "a curve through three numbers" },
            bars: ways.iter().map(Way::bar).collect(),
            rows: ways.iter().map(Way::row).collect(),
            worst: worst(&padded, &lengths, most, by_median),
            ends,
            padded,
            lengths,
            most,
        }
    }

    /// A padded run with a micro-batch of the reader's own. Without one it is one sequence more than always fits.
    pub fn trial(&self, chosen: Option<f64>) -> Trial {
        let Self { padded, lengths, ends, .. } = self;
        let batch = chosen.unwrap_or(f64::from(self.most.unwrap_or(0)) + 1.0).clamp(ends.0, ends.1).round();
        let counts = padded.batching() == Batching::Padded;
        let fails = if counts { failing(padded, lengths, batch as u32) } else { None };
        let fits = fits_to(padded, batch as u32);
        Trial {
            batch,
            batch_text: format::counted(batch as u32, "sequence", "sequences"),
            fails: if counts { fails_text(padded, lengths, batch as u32, fits, fails) } else { refused() },
            failed: failed(fails),
            spread: spread(lengths, fits),
        }
    }
}

/// One way at the largest micro-batch that always fits.
struct Way {
    way: Batching,
    most: Option<u32>,
    made: Option<Batched>,
}

impl Way {
    fn of(scenario: &Scenario, lengths: &Spread, way: Batching) -> Self {
        let at = at(scenario, way);
        // What is refused has no number.
        let counts = at.batching() == way;
        let most = if counts { largest_micro_batch(&at) } else { None };
        Self { way, most, made: most.map(|most| batched(&at, lengths, way, most)) }
    }

    fn bar(&self) -> Bar {
        let name = self.way.label();
        let Some(made) = self.made else {
            return Bar {
                name,
                says: "does not fit, or is not counted here".to_owned(),
                shares: [0.0; 3].map(format::css_percent),
            };
        };
        let share = |tokens: f64| tokens / made.worst.max(1.0);
        let shares = [share(made.real), share(made.computed - made.real), share(made.worst - made.computed)];
        let says = format!(
            "{} {} no padding, {} padding, in the room of {}",
            whole(made.real),
            format::noun(made.real.round(), "token that is", "tokens that are"),
            format::percent(made.padding()),
            whole(made.worst)
        );
        Bar { name, says, shares: shares.map(|share| format::css_percent(share.clamp(0.0, 1.0))) }
    }

    fn row(&self) -> Vec<String> {
        let name = self.way.label().to_owned();
        let Some((most, made)) = self.most.zip(self.made) else {
            return vec![name, "none".to_owned(), "–".to_owned(), "–".to_owned(), "–".to_owned(), "–".to_owned()];
        };
        let unit = if self.way == Batching::Packed { Unit::Rows } else { Unit::Sequences };
        let most = format::batch(most, unit);
        let [worst, computed, real] = [made.worst, made.computed, made.real].map(whole);
        vec![name, most, worst, computed, real, format::percent(made.padding())]
    }
}

fn whole(tokens: f64) -> String {
    number::grouped(tokens.round())
}

fn tokens(count: impl Into<u64>) -> String {
    format::counted(count, "token", "tokens")
}

fn worst(padded: &Scenario, lengths: &Spread, most: Option<u32>, by_median: Option<u32>) -> String {
    let Some(most) = most else {
        return format!("Not even one sequence of {} fits.", tokens(padded.longest()));
    };
    let longest = format::count(padded.longest());
    let held = tokens(padded.tokens_at(most));
    let all = format::counted(most, "sequence", "sequences");
    let median = format::count(lengths.quantile(0.5));
    let other = format::count(by_median.unwrap_or(0));
    format!(
        "A padded micro-batch of {all} always fits: {held} at the longest of {longest}. If all had the median of \
         {median}, {other} would."
    )
}

/// Why stands in the calculator, which has all of what does not go together.
fn refused() -> String {
    "Lengths that vary are not counted in this configuration. The calculator says why, and what to change.".to_owned()
}

fn fails_text(padded: &Scenario, lengths: &Spread, batch: u32, fits: Option<u32>, fails: Option<Failing>) -> String {
    let all = format::counted(batch, "sequence", "sequences");
    let Some(fits) = fits else {
        return format!("With {all} no length fits, and the first step fails.");
    };
    let Some(fails) = fails else {
        return format!("With {all} the longest fits, and no step fails.");
    };
    let above = lengths.cut(padded.recipe.sequence).above(fits);
    let often = whole(1.0 / above.max(f64::MIN_POSITIVE));
    let gpus = format::counted(padded.data_parallel(), "GPU", "GPUs");
    format!(
        "With {all} a micro-batch fits up to {}. One sequence in {often} is longer, on any of {gpus}. Half of all \
         runs fail by step {}, nine of ten by step {}; the mean is step {}.",
        tokens(fits),
        whole(fails.by(0.5)),
        whole(fails.by(0.9)),
        whole(fails.expected)
    )
}

/// The share of sequences up to each length.
fn spread(lengths: &Spread, fits: Option<u32>) -> Plot {
    let parts = (0..=PIECES).map(|piece| f64::from(piece) / f64::from(PIECES));
    let points: Vec<_> = parts.map(|part| (f64::from(lengths.quantile(part)), part * 100.0)).collect();
    let (first, last) = (f64::from(lengths.quantile(0.0)), f64::from(lengths.longest()));
    let named = |part, name: &str| Mark::named(f64::from(lengths.quantile(part)), Rule::Soft, name.to_owned());
    let mut marks = vec![named(0.5, "median"), named(0.95, "95 %")];
    if let Some(fits) = fits.map(f64::from).filter(|fits| (first..last).contains(fits)) {
        marks.push(Mark::named(fits, Rule::Main, "the longest that fits".to_owned()));
    }
    Plot {
        x: Axis::powers_of_two(first, last, "tokens of a sequence"),
        y: Axis::linear(0.0, 100.0, "% of sequences"),
        series: vec![Series::line(Ink::Own, points)],
        marks,
    }
}

/// The part of runs that has failed by each step.
fn failed(fails: Option<Failing>) -> Plot {
    let last = fails.map_or(1_000.0, |fails| (4.0 * fails.by(0.9)).clamp(10.0, MOST_STEPS));
    let step = |piece: u32| (last.ln() * f64::from(piece) / f64::from(PIECES)).exp();
    let until = |step: f64| fails.map_or(0.0, |fails| 100.0 * fails.until(step));
    let points = (0..=PIECES).map(|piece| (step(piece), until(step(piece)))).collect();
    let by = |part: f64, name: &str| fails.map(|fails| Mark::named(fails.by(part), Rule::Soft, name.to_owned()));
    let marks = [by(0.5, "half"), by(0.9, "nine of ten")].into_iter().flatten();
    Plot {
        x: Axis::log(1.0, last, "optimizer step"),
        y: Axis::linear(0.0, 100.0, "% of runs that failed"),
        series: vec![Series::line(Ink::Own, points)],
        marks: marks.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use proptest::prelude::*;

    #[test]
    fn one_sequence_too_many_fails_after_some_steps_and_the_most_that_fit_never_do() {
        let scenario = Scenario::workshop();
        let ways = Ways::of(&scenario, None);
        let shown = ways.trial(None);
        assert!(shown.fails.contains("Half of all runs fail by step"), "{}", shown.fails);
        let most = largest_micro_batch(&at(&scenario, Batching::Padded)).expect("some fit");
        let safe = ways.trial(Some(most.into()));
        assert!(safe.fails.ends_with("the longest fits, and no step fails."), "{}", safe.fails);
        assert!(shown.batch > safe.batch && ways.ends.1 >= shown.batch);
    }

    #[test]
    fn every_bar_fills_the_room_of_its_worst_micro_batch() {
        let shown = Ways::of(&Scenario::workshop(), None);
        assert_eq!(shown.bars.len(), Batching::varied().count());
        for bar in &shown.bars {
            let all: f64 =
                bar.shares.iter().map(|share| share.trim_end_matches('%').parse::<f64>().expect("a number")).sum();
            assert!((all - 100.0).abs() < 0.01, "{bar:?}");
        }
        assert!(shown.rows.iter().all(|row| row.len() == COLUMNS.len()));
    }

    #[test]
    fn pasted_lengths_count_until_one_of_the_three_numbers_is_changed() {
        let pasted = Pasted::of("100 50\n1500");
        assert_eq!((pasted.says.as_str(), pasted.is_wrong), ("51 lengths read.", false));
        let sample = pasted.sample.expect("lengths");
        let mut scenario = Scenario::workshop();
        assert_eq!(Ways::of(&scenario, Some(&sample)).whose, "a curve through three numbers");
        scenario.lengths = sample.told(scenario.lengths);
        assert_eq!((scenario.lengths.median, scenario.lengths.p95, scenario.lengths.longest), (100, 100, 1_500));
        let ways = Ways::of(&scenario, Some(&sample));
        assert_eq!(ways.whose, "your own lengths");
        let shown = ways.trial(None);
        assert!(shown.fails.contains("One sequence in 51 is longer"), "{}", shown.fails);
        assert_eq!(Pasted::of("  \n"), Pasted::default());
        assert_eq!(Pasted::of("12\nx").says, "Line 2: “x” is no whole number.");
    }

    #[test]
    fn what_is_not_counted_has_no_number() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.engine = bmax::Engine::Torchtitan;
        let ways = Ways::of(&scenario, None);
        assert!(ways.rows.iter().all(|row| row[1] == "none"), "{:?}", ways.rows);
        let shown = ways.trial(None);
        assert!(shown.fails.starts_with("Lengths that vary are not counted"), "{}", shown.fails);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_scenario_has_bars_and_two_drawings(scenario in any_scenario(), chosen in prop::option::of(0.0..2_000.0)) {
            let ways = Ways::of(&scenario, None);
            let shown = ways.trial(chosen);
            texts_are_sound(&(&ways.bars, &ways.rows, &ways.worst, &shown.fails, &shown.batch_text));
            plot_is_sound(&shown.spread);
            plot_is_sound(&shown.failed);
            prop_assert!(ways.ends.0 <= shown.batch && shown.batch <= ways.ends.1);
        }
    }
}
