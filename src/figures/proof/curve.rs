//! One input varied: the computed curve, and the measured runs on it.

use bmax::plot::{Axis, Ink, Plot, Series};
use bmax::proof::{self, Counter, Run, STUDIES, Study};
use bmax::{Choice, Field, Scenario, number};

use super::shown::{DIAMOND, Own, strokes};
use crate::site::{Runs, format};

/// About how many points a curve has.
const POINTS: u32 = 48;
/// The curve of the reader's own configuration reaches at least so far.
const AT_LEAST: u32 = 8;

/// Which curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Which {
    /// The reader's own configuration over the micro-batch.
    Own,
    /// A study, by its place.
    Study(usize),
}

impl Which {
    /// What the figure opens on: the reader's own where there are runs on it, or else a study with runs on its curve.
    pub fn opened(runs: Option<&Runs>) -> Self {
        if runs.is_some_and(|runs| !runs.measured().is_empty()) { Self::Own } else { Self::Study(0) }
    }
}

/// The curves that can be drawn, each with its name.
pub fn choices() -> Vec<(Which, String)> {
    let studies = STUDIES.iter().enumerate().map(|(place, study)| (Which::Study(place), name(study)));
    std::iter::once((Which::Own, "Your configuration, over the micro-batch".to_owned())).chain(studies).collect()
}

/// What a study is called: what was trained and how, what was varied from where to where, whose it is, and what was read.
fn name(study: &Study) -> String {
    let runs = study.runs();
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return String::new() };
    let [from, to] = [first, last].map(|run| number::grouped(run.scenario().number(study.varied)));
    let adapter = first.scenario().recipe.adapter.label();
    let source = first.source.split_whitespace().next().unwrap_or_default();
    let varied = match study.varied {
        Field::Sequence => "sequences of",
        _ => "micro-batches of",
    };
    let counter = match first.counter {
        Counter::Live => "live tensors",
        Counter::Reserved => "what the allocator held",
        Counter::Device => "what the driver showed",
        Counter::Unnamed => "a counter that is not named",
    };
    format!("{} ({adapter}), {varied} {from} to {to}, by {source}: {counter}", first.model)
}

/// What is drawn of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What was read, and how many runs lie on the curve.
    pub told: String,
    /// The drawing.
    pub plot: Plot,
}

impl Curve {
    /// The curve with the runs on it; the reader's own is that of their runs, or else of what they ask.
    pub fn of(which: Which, scenario: &Scenario, runs: Option<&Runs>) -> Self {
        match which {
            Which::Own => Self::own(scenario, runs),
            Which::Study(place) => {
                STUDIES.get(place).map_or_else(|| Self::own(scenario, runs), |study| Self::study(study, &study.runs()))
            }
        }
    }

    fn own(scenario: &Scenario, runs: Option<&Runs>) -> Self {
        let scenario = runs.map_or(scenario, |runs| &runs.scenario);
        let own = runs.map(Own::all).unwrap_or_default();
        let counter = runs.map_or(Counter::Live, |runs| runs.counter.into());
        let last = own.iter().map(|run| run.batch).chain([scenario.recipe.batch, AT_LEAST]).max().unwrap_or(AT_LEAST);
        let step = last.div_ceil(POINTS).max(1);
        let batches = (1..=last).step_by(step as usize).chain([last]);
        let line =
            batches.map(|batch| (f64::from(batch), proof::predicted(&scenario.with_batch(batch), counter, "").gib()));
        let dots: Vec<(f64, f64)> = own.iter().map(|run| (f64::from(run.batch), run.measured.gib())).collect();
        let told = match (dots.len(), runs) {
            (0, _) | (_, None) => "No run of yours is kept yet.".to_owned(),
            (count, Some(runs)) => {
                let count = format::counted(count as u64, "run", "runs");
                format!("{count} of yours, read from {}.", runs.counter_name())
            }
        };
        Self {
            told: format!("{}. {told}", format::configuration(scenario)),
            plot: plot(Axis::linear(0.0, f64::from(last), "micro-batch"), line.collect(), &[], &dots),
        }
    }

    fn study(study: &Study, runs: &[Run]) -> Self {
        let value = |run: &Run| run.scenario().number(study.varied);
        let dots: Vec<(f64, f64)> = runs.iter().map(|run| (value(run), run.measured.gib())).collect();
        let (from, to) = (dots.first().map_or(1.0, |dot| dot.0), dots.last().map_or(1.0, |dot| dot.0));
        let at = |value: f64| {
            let run = runs.first()?;
            let moved = run.scenario().with_number(study.varied, value).ok()?;
            Some((value, run.predicted_for(&moved).gib()))
        };
        let values = (0..=POINTS).map(|index| from + ((to - from) * f64::from(index) / f64::from(POINTS)).round());
        let mut values: Vec<f64> = values.collect();
        values.dedup();
        let label = if study.varied == Field::Sequence { "tokens of a sequence" } else { "micro-batch" };
        let counter = runs.first().map_or(Counter::Live, |run| run.counter);
        Self {
            told: format!("{} real runs; {}.", runs.len(), read(counter)),
            plot: plot(Axis::linear(0.0, to, label), values.into_iter().filter_map(at).collect(), &dots, &[]),
        }
    }
}

/// What a counter read, as the end of a sentence.
const fn read(counter: Counter) -> &'static str {
    match counter {
        Counter::Live => "live tensors were read",
        Counter::Reserved => "what the allocator held was read",
        Counter::Device => "what the driver showed was read",
        Counter::Unnamed => "the source does not name what was read, so that live tensors are computed",
    }
}

fn plot(x: Axis, line: Vec<(f64, f64)>, published: &[(f64, f64)], own: &[(f64, f64)]) -> Plot {
    let highest = line.iter().chain(published).chain(own).map(|place| place.1).fold(0.0, f64::max);
    let last = line.last().map_or(1.0, |place| place.0);
    let (across, up) = (last * 0.009, highest * 0.024);
    let right = |x: f64, ends: i32| x + across * f64::from(ends);
    Plot {
        x,
        y: Axis::linear(0.0, highest * 1.1, "GiB"),
        series: vec![
            Series::line(Ink::Series2, line),
            Series::dots(Ink::Series1, published.to_vec()),
            Series::line(Ink::Own, strokes(own, right, up, &DIAMOND)),
        ],
        marks: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound};
    use crate::site::Typed;
    use bmax::Bytes;
    use bmax::course::calibration;
    use proptest::prelude::*;

    /// A size on the computed curve.
    fn computed(curve: &Curve, x: f64) -> Option<Bytes> {
        let read = curve.plot.reading(x).into_iter().find(|reading| reading.series == 0);
        read.map(|reading| Bytes::from_gib(reading.upper))
    }

    #[test]
    fn the_curve_of_a_study_goes_through_what_is_predicted_for_each_of_its_runs() {
        for (place, study) in STUDIES.iter().enumerate() {
            let curve = Curve::of(Which::Study(place), &Scenario::workshop(), None);
            for run in study.runs() {
                let scenario = run.scenario();
                let there = computed(&curve, scenario.number(study.varied)).expect("it lies between the ends");
                let predicted = run.predicted_for(&scenario);
                // Between two points of the curve a straight line stands for a bend.
                assert!((there.get() / predicted.get() - 1.0).abs() < 0.01, "{}", run.name);
            }
        }
    }

    #[test]
    fn the_figure_opens_on_runs_of_others_until_there_are_runs_of_the_reader() {
        let mut runs =
            Runs { scenario: Scenario::workshop(), counter: calibration::Counter::Reserved, typed: [Typed::EMPTY; 3] };
        for none in [None, Some(&runs)] {
            let curve = Curve::of(Which::opened(none), &Scenario::workshop(), none);
            assert!(curve.told.contains("real runs"), "{}", curve.told);
        }
        runs.typed[1] = Typed { batch: "2".to_owned(), peak: "30".to_owned() };
        assert_eq!(Which::opened(Some(&runs)), Which::Own);
    }

    #[test]
    fn every_curve_has_a_name_of_its_own() {
        let names: Vec<String> = choices().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names.len(), STUDIES.len() + 1);
        for (place, name) in names.iter().enumerate() {
            assert!(!name.is_empty() && !names[..place].contains(name), "{name}");
        }
    }

    #[test]
    fn the_reader_s_runs_lie_on_the_curve_of_what_they_ran() {
        let typed = [("2", "30"), ("", ""), ("20", "90")];
        let runs = Runs {
            scenario: Scenario::workshop(),
            counter: calibration::Counter::Reserved,
            typed: typed.map(|(batch, peak)| Typed { batch: batch.to_owned(), peak: peak.to_owned() }),
        };
        let mut asked = Scenario::workshop();
        asked.cluster.gpus = 64;
        let curve = Curve::of(Which::Own, &asked, Some(&runs));
        let predicted = proof::predicted(&Scenario::workshop().with_batch(20), Counter::Reserved, "");
        let there = computed(&curve, 20.0).expect("it ends there");
        assert!((there.gib() - predicted.gib()).abs() < 1e-9);
        assert!(curve.told.contains("2 runs of yours"), "{}", curve.told);
        assert!(Curve::of(Which::Own, &asked, None).told.contains("64 × "));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_scenario_has_a_curve(scenario in any_scenario()) {
            plot_is_sound(&Curve::of(Which::Own, &scenario, None).plot);
        }
    }
}
