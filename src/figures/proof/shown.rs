//! What the figure shows: real runs of a setting, measured against predicted, with the reader's own beside them.

use bmax::course::calibration::Measured;
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::proof::{self, Counter, Run, Setting, Summary};
use bmax::{Bytes, counters, number};

use crate::site::{Runs, format};

/// The axis reaches at least so many percent up and down.
const AT_LEAST: f64 = 20.0;

/// What the counters are called, in the order of [`Counter::ALL`].
const COUNTERS: [&str; 4] = ["live tensors", "the allocator", "the driver", "not named"];

/// A run beside what is predicted for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The run.
    pub run: Run,
    /// What its counter should show.
    pub predicted: Bytes,
}

impl Point {
    /// The runs of a setting, from the smallest measurement on.
    pub fn all(setting: Setting) -> Vec<Self> {
        let of = proof::runs().filter(|run| run.setting == setting);
        let mut points: Vec<Self> = of.map(|run| Self { predicted: run.predicted_for(&run.scenario()), run }).collect();
        points.sort_by(|a, b| a.run.measured.get().total_cmp(&b.run.measured.get()));
        points
    }

    fn error(&self) -> f64 {
        error(self.run.measured, self.predicted)
    }

    /// Where it is drawn: what was measured in GiB, and by how many percent the prediction is off.
    fn place(&self) -> (f64, f64) {
        (self.run.measured.gib(), 100.0 * self.error())
    }
}

/// A run that the reader measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// Its micro-batch.
    pub batch: u32,
    /// What the counter showed.
    pub measured: Bytes,
    /// What it should show.
    pub predicted: Bytes,
}

impl Own {
    /// Those that this browser has kept.
    pub fn all(runs: &Runs) -> Vec<Self> {
        let own = |measured: Measured| Self {
            batch: measured.batch,
            measured: measured.peak,
            predicted: runs.counter.of(&counters(&runs.scenario.with_batch(measured.batch))),
        };
        runs.measured().into_iter().map(own).collect()
    }

    fn place(&self) -> (f64, f64) {
        (self.measured.gib(), 100.0 * error(self.measured, self.predicted))
    }
}

/// A run as the table and the read-out tell it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// What was trained.
    pub model: String,
    /// What was read.
    pub counter: &'static str,
    /// What was measured, in GiB.
    pub measured: String,
    /// What was predicted, in GiB.
    pub predicted: String,
    /// How far off that is.
    pub off: String,
    /// Where it was published.
    pub source: &'static str,
    /// The same as an address.
    pub address: String,
    /// The way to its configuration.
    pub opens: String,
}

impl Row {
    /// How a run is told.
    pub fn of(Point { run, predicted }: &Point) -> Self {
        Self {
            // Of tier C the source does not say enough.
            model: if run.tier == "C" { format!("{}, roughly told", run.model) } else { run.model.to_owned() },
            counter: COUNTERS[run.counter as usize],
            measured: gib(run.measured),
            predicted: gib(*predicted),
            off: off(run.measured, *predicted),
            source: run.source,
            address: proof::address(run.source),
            opens: format!("?{}#calculator", run.query),
        }
    }

    /// The run as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("{}: measured {} GiB, predicted {} GiB, {}", self.model, self.measured, self.predicted, self.off)
    }
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// How far off the ledger is in this setting, over every counter.
    pub said: &'static str,
    /// The same counter by counter.
    pub parts: String,
    /// What is read off.
    pub reading: Row,
    /// Both ends of the axis, in doublings of a GiB.
    pub ends: (f64, f64),
    /// What the reader's own runs say.
    pub own: String,
    /// The drawing.
    pub plot: Plot,
}

impl Shown {
    /// What the runs of a setting show, read off at one of them. The reader's own stand among
    /// those of their setting.
    pub fn of(setting: Setting, points: &[Point], runs: Option<&Runs>, at: usize) -> Self {
        let picked = points.get(at).or(points.last());
        let all = runs.map(Own::all).unwrap_or_default();
        let of = runs.map(|runs| Setting::of(&runs.scenario));
        let own: &[Own] = if of == Some(setting) { &all } else { &[] };
        let ends = ends(points, own);
        Self {
            said: proof::SAID[setting as usize],
            parts: parts(points),
            reading: picked.map(Row::of).unwrap_or_default(),
            ends,
            own: told(&all, of, setting),
            plot: plot(points, own, picked, ends),
        }
    }
}

/// The place of the run whose measurement is nearest to so many doublings of a GiB.
pub fn nearest(points: &[Point], doublings: f64) -> usize {
    let away = |point: &Point| (point.run.measured.gib().log2() - doublings).abs();
    let near = points.iter().enumerate().min_by(|(_, a), (_, b)| away(a).total_cmp(&away(b)));
    near.map_or(0, |(place, _)| place)
}

/// Counter by counter: how many runs, and how far off.
fn parts(points: &[Point]) -> String {
    let part = |counter: Counter| {
        let of = points.iter().filter(|point| point.run.counter == counter);
        let Summary { count, median, ninetieth, .. } = Summary::of(of.map(Point::error));
        let [median, ninetieth] = [median, ninetieth].map(|share| format::percent_to(share, 1));
        let name = COUNTERS[counter as usize];
        match count {
            0 => None,
            1 => Some(format!("{name}: 1 run, {median}")),
            _ => Some(format!("{name}: {count} runs, {median}, nine of ten within {ninetieth}")),
        }
    };
    let parts: Vec<String> = Counter::ALL.into_iter().filter_map(part).collect();
    format!("By what was read: {}.", parts.join("; "))
}

/// What the reader's own runs say beside those of a setting.
fn told(own: &[Own], of: Option<Setting>, setting: Setting) -> String {
    match (own.len(), of) {
        (0, _) | (_, None) => {
            "This browser has kept no run of yours. Those that you measure stand here as diamonds.".to_owned()
        }
        (_, Some(of)) if of != setting => format!("Your own runs are in the setting “{}”.", of.name()),
        (count, _) => {
            let shares = own.iter().map(|run| format!("{} at b = {}", off(run.measured, run.predicted), run.batch));
            let runs = format::counted(count as u64, "run", "runs");
            format!("Your {runs}, the diamonds: predicted {}.", shares.collect::<Vec<_>>().join(", "))
        }
    }
}

fn gib(bytes: Bytes) -> String {
    format::digits(bytes.gib(), 2)
}

/// How far a prediction is off: above zero it is too high.
fn error(measured: Bytes, predicted: Bytes) -> f64 {
    predicted.get() / measured.get() - 1.0
}

/// The same with its sign.
fn off(measured: Bytes, predicted: Bytes) -> String {
    let share = error(measured, predicted);
    // What rounds to nothing has no sign.
    let sign = if share.abs() < 0.000_5 {
        ""
    } else if share < 0.0 {
        "−"
    } else {
        "+"
    };
    sign.to_owned() + &format::percent_to(share.abs(), 1)
}

/// The whole doublings of a GiB between which all measurements lie.
fn ends(points: &[Point], own: &[Own]) -> (f64, f64) {
    let measured = points.iter().map(|point| point.run.measured).chain(own.iter().map(|run| run.measured));
    let sizes = measured.map(|bytes| bytes.gib().log2());
    let (low, high) = sizes.fold((f64::MAX, f64::MIN), |(low, high), size| (low.min(size), high.max(size)));
    (low.floor(), high.ceil().max(low.floor() + 1.0))
}

fn plot(points: &[Point], own: &[Own], picked: Option<&Point>, (low, high): (f64, f64)) -> Plot {
    let [from, to] = [low, high].map(number::doublings);
    let of = |counter: Counter| -> Vec<(f64, f64)> {
        points.iter().filter(|point| point.run.counter == counter).map(Point::place).collect()
    };
    let own: Vec<(f64, f64)> = own.iter().map(Own::place).collect();
    let ninetieth = 100.0 * Summary::of(points.iter().map(Point::error)).ninetieth;
    let errors = || points.iter().map(|point| point.place().1).chain(own.iter().map(|place| place.1));
    // Whole tens, with room for a sign at both ends.
    let bottom = (errors().fold(-AT_LEAST, f64::min) / 10.0 - 0.2).floor() * 10.0;
    let top = (errors().fold(AT_LEAST, f64::max) / 10.0 + 0.2).ceil() * 10.0;
    // Strokes of the same length wherever they stand.
    let signs = |places: &[(f64, f64)], across: f64, up: f64, sign: &Sign| {
        // To the right equal ratios take equal room, upwards equal differences.
        let ratio = number::doublings((high - low) * across);
        strokes(places, |x, ends| x * number::power(ratio, ends), (top - bottom) * up, sign)
    };
    let [live, reserved, device, unnamed] = Counter::ALL.map(of);
    Plot {
        x: Axis::powers_of_two(from, to, "measured, GiB"),
        y: Axis::linear(bottom, top, "prediction off by, %"),
        series: vec![
            Series::band(Ink::OwnRange, vec![(from, -ninetieth, ninetieth), (to, -ninetieth, ninetieth)]),
            Series::dashed(Ink::Limit, vec![(from, 0.0), (to, 0.0)]),
            Series::dots(Ink::Series1, live),
            Series::rings(Ink::Series2, reserved),
            Series::line(Ink::Series3, signs(&device, 0.007, 0.015, &CROSS)),
            Series::line(Ink::Series4, signs(&unnamed, 0.009, 0.0, &DASH)),
            Series::line(Ink::Own, signs(&own, 0.012, 0.026, &DIAMOND)),
            Series::rings(Ink::Limit, picked.iter().map(|point| point.place()).collect()),
        ],
        marks: picked.iter().map(|point| Mark::at(point.run.measured.gib(), Rule::Read)).collect(),
    }
}

/// A sign made of strokes, by how often each end is moved across and up; none interrupts.
pub type Sign = [Option<(i32, i32)>];

const CROSS: [Option<(i32, i32)>; 5] = [Some((-1, -1)), Some((1, 1)), None, Some((-1, 1)), Some((1, -1))];
const DASH: [Option<(i32, i32)>; 2] = [Some((-1, 0)), Some((1, 0))];
/// A diamond.
pub const DIAMOND: [Option<(i32, i32)>; 5] = [Some((-1, 0)), Some((0, 1)), Some((1, 0)), Some((0, -1)), Some((-1, 0))];

/// A sign at every place. `right` moves a place so many times to the right, and `up` is a move upwards.
pub fn strokes(places: &[(f64, f64)], right: impl Fn(f64, i32) -> f64, up: f64, sign: &Sign) -> Vec<(f64, f64)> {
    let at = |(x, y): (f64, f64), end: &Option<(i32, i32)>| {
        end.map_or(NOTHING, |(across, above)| (right(x, across), y + up * f64::from(above)))
    };
    places.iter().flat_map(|place| sign.iter().map(|end| at(*place, end)).chain([NOTHING])).collect()
}

/// Where a line is interrupted.
const NOTHING: (f64, f64) = (f64::NAN, f64::NAN);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use crate::site::Typed;
    use bmax::course::calibration;
    use bmax::link;
    use proptest::prelude::*;

    fn runs(query: &str, typed: [(&str, &str); 3]) -> Runs {
        Runs {
            scenario: link::decode(query).scenario,
            counter: calibration::Counter::Allocated,
            typed: typed.map(|(batch, peak)| Typed { batch: batch.to_owned(), peak: peak.to_owned() }),
        }
    }

    fn shown(setting: Setting, runs: Option<&Runs>) -> Shown {
        Shown::of(setting, &Point::all(setting), runs, 0)
    }

    #[test]
    fn what_is_drawn_has_the_median_that_is_said_beside_the_likely_answer() {
        for setting in Setting::ALL {
            let points = Point::all(setting);
            let summary = Summary::of(points.iter().map(Point::error));
            let said = shown(setting, None).said;
            for number in [
                format!("median error {}", format::percent_to(summary.median, 1)),
                format!("{} figures of real runs", points.len()),
                format!("within {}.", format::percent_to(summary.ninetieth, 1)),
            ] {
                assert!(said.contains(&number), "{number} in {said}");
            }
        }
    }

    /// The row of the report: 82.40 GiB in what the allocator holds, by torchtitan’s table of December 2024.
    #[test]
    fn a_run_is_told_with_its_counter_its_source_and_the_way_to_its_configuration() {
        let points = Point::all(Setting::DataParallel);
        let point = points
            .iter()
            .find(|point| format!("{:.2}", point.run.measured.gib()) == "82.40")
            .expect("it is in the report");
        let row = Row::of(point);
        assert_eq!((row.measured.as_str(), row.counter), ("82.40", "the allocator"));
        assert_eq!(
            row.address,
            "https://github.com/pytorch/torchtitan/blob/HEAD/benchmarks/llama3_h100_202412_torchtitan.md"
        );
        let opened = link::decode(row.opens.trim_end_matches("#calculator"));
        assert_eq!((opened.scenario, opened.notices.len()), (point.run.scenario(), 0));
    }

    #[test]
    fn the_reader_s_runs_stand_among_those_of_their_setting_and_are_named_elsewhere() {
        let own = runs("gpus=8&zero=3", [("1", "22"), ("", ""), ("3", "43")]);
        let (none, beside) = (shown(Setting::DataParallel, None), shown(Setting::DataParallel, Some(&own)));
        let strokes = |shown: &Shown| shown.plot.series[6].points().len();
        assert_eq!((strokes(&none), strokes(&beside)), (0, 2 * (DIAMOND.len() + 1)));
        assert!(beside.own.starts_with("Your 2 runs, the diamonds: predicted "), "{}", beside.own);
        let elsewhere = shown(Setting::Adapters, Some(&own));
        assert_eq!(strokes(&elsewhere), 0);
        assert_eq!(elsewhere.own, "Your own runs are in the setting “FSDP, ZeRO and DDP alone”.");
    }

    #[test]
    fn the_band_holds_nine_of_ten_runs() {
        for setting in Setting::ALL {
            let points = Point::all(setting);
            let band = shown(setting, None).plot.series[0].points()[0];
            let inside = points.iter().filter(|point| (band.1..=band.2).contains(&point.place().1)).count();
            let part = inside as f64 / points.len() as f64;
            // One run more or less is a twelfth where there are twelve.
            assert!((part - 0.9).abs() < 1.0 / points.len() as f64, "{}: {part}", setting.name());
        }
    }

    #[test]
    fn every_run_of_a_setting_is_drawn_once_by_the_sign_of_its_counter() {
        for setting in Setting::ALL {
            let points = Point::all(setting);
            let shown = shown(setting, None);
            let lengths = [1, 1, CROSS.len() + 1, DASH.len() + 1];
            let drawn: usize =
                shown.plot.series[2..6].iter().zip(lengths).map(|(series, each)| series.points().len() / each).sum();
            assert_eq!(drawn, points.len(), "{}", setting.name());
        }
    }

    #[test]
    fn the_pointer_reads_off_the_run_whose_measurement_is_nearest() {
        let points = Point::all(Setting::Pipeline);
        for (place, point) in points.iter().enumerate() {
            let found = nearest(&points, point.run.measured.gib().log2());
            assert_eq!(points[found].run.measured, points[place].run.measured);
        }
        assert_eq!((nearest(&points, -99.0), nearest(&points, 99.0)), (0, points.len() - 1));
    }

    #[test]
    fn every_run_can_be_read_off_in_words() {
        for setting in Setting::ALL {
            let points = Point::all(setting);
            for at in 0..=points.len() {
                let shown = Shown::of(setting, &points, None, at);
                texts_are_sound(&(&shown.parts, &shown.reading, &shown.own));
                assert!(shown.reading.spoken().contains(" GiB, predicted "));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_runs_of_any_scenario_can_be_drawn(scenario in any_scenario(), peak in 0.01..4_096.0) {
            let mut own = runs("", [("1", ""), ("7", "30"), ("", "")]);
            own.scenario = scenario;
            own.typed[0].peak = number::plain(peak);
            let shown = shown(Setting::of(&scenario), Some(&own));
            texts_are_sound(&(&shown.parts, &shown.reading, &shown.own));
            plot_is_sound(&shown.plot);
        }
    }
}
