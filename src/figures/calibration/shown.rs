//! What the figure shows: what was typed, read as runs, and what they say about the prediction.

use bmax::course::calibration::{Calibration, Compared, Counter, Measured, calibrate};
use bmax::{Bytes, Scenario, counters};

use crate::site::{Typed, format};

/// Which run each of them is.
pub const RUNS: [&str; 3] = ["First", "Second", "Third"];

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What the runs say about the prediction.
    pub says: Says,
    /// Which of the two fields of each run hold what they cannot.
    pub refused: [[bool; 2]; 3],
    /// The runs beside the prediction, as the rows of the table.
    pub rows: Vec<Vec<String>>,
    /// Micro-batch and memory of the example's runs; nothing once something is typed.
    pub examples: Option<[[String; 2]; 3]>,
}

/// What runs say about the prediction; `most` is the largest micro-batch after them, and by the prediction alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// There are none yet.
    Nothing {
        /// The configuration's micro-batch.
        batch: String,
        /// What the counter should show.
        expected: String,
        /// What the runs of the example would say: what does not depend on the batch, what each sequence adds, the
        /// largest micro-batch. Nothing once something is typed.
        example: Option<[String; 3]>,
    },
    /// One micro-batch was measured.
    Fixed {
        /// By how much it is off.
        off: String,
        /// In which direction.
        way: &'static str,
        /// The largest micro-batch.
        most: [String; 2],
    },
    /// Several were: what does not depend on the batch, and what each sequence adds.
    Line {
        /// As measured.
        measured: [String; 2],
        /// As predicted.
        predicted: [String; 2],
        /// The largest micro-batch.
        most: [String; 2],
    },
    /// Memory falls with the batch, which cannot be.
    Shrinks,
}

/// Runs that nobody made, for the figure to open on: how far above the prediction, in percent, at which micro-batch. Two
/// that are off alike and one that is not, so that the line leaves residuals.
const EXAMPLE: [(u32, f64); 3] = [(1, 5.0), (2, 5.0), (4, 6.0)];

/// The runs of the example.
fn example(scenario: &Scenario, counter: Counter) -> [Measured; 3] {
    EXAMPLE.map(|(batch, above)| {
        let predicted = counter.of(&counters(&scenario.with_batch(batch)));
        Measured { batch, peak: Bytes::new(predicted.get() * (1.0 + above / 100.0)) }
    })
}

impl Shown {
    /// What a scenario and these runs show; the example before anything is typed.
    pub fn of(scenario: &Scenario, counter: Counter, typed: &[Typed; 3]) -> Self {
        if *typed == [Typed::EMPTY; 3] {
            return Self::opened(scenario, counter);
        }
        let read = typed.each_ref().map(Typed::read);
        let measured: Vec<Measured> = read.iter().filter_map(|(run, _)| *run).collect();
        let found = calibrate(scenario, counter, &measured);
        let mut points = found.iter().flat_map(|found| &found.points);
        let names = ["1", "2", "3"].into_iter();
        Self {
            rows: read.iter().zip(names).map(|((run, _), name)| row(name, run.and_then(|_| points.next()))).collect(),
            refused: read.map(|(_, refused)| refused),
            says: found.as_ref().map_or_else(|| Says::nothing(scenario, counter, None), Says::of),
            examples: None,
        }
    }

    fn opened(scenario: &Scenario, counter: Counter) -> Self {
        let runs = example(scenario, counter);
        let found = calibrate(scenario, counter, &runs);
        let points = found.iter().flat_map(|found| &found.points);
        let named = |mut cells: Vec<String>| {
            cells[0].insert_str(0, "e.g. ");
            cells
        };
        let said = found.as_ref().and_then(|found| {
            let [_, line] = found.lines?;
            let [fixed, slope] = [line.fixed, line.per_sequence].map(format::memory);
            Some([fixed, slope, format::count(found.b_max?)])
        });
        Self {
            rows: points.map(|point| named(row("", Some(point)))).collect(),
            refused: [[false; 2]; 3],
            says: Says::nothing(scenario, counter, said),
            examples: Some(runs.map(|run| {
                [
                    "e.g. ".to_owned() + &format::count(run.batch),
                    "e.g. ".to_owned() + &format::digits(run.peak.gib(), 1),
                ]
            })),
        }
    }
}

impl Says {
    fn nothing(scenario: &Scenario, counter: Counter, example: Option<[String; 3]>) -> Self {
        let expected = format::gib(counter.of(&counters(scenario)));
        Self::Nothing { batch: format::count(scenario.recipe.batch), expected, example }
    }

    fn of(found: &Calibration) -> Self {
        let Some(most) = found.b_max else { return Self::Shrinks };
        let most = [most, found.predicted_b_max].map(format::count);
        if let Some([predicted, measured]) = found.lines {
            let [measured, predicted] =
                [measured, predicted].map(|line| [line.fixed, line.per_sequence].map(format::memory));
            return Self::Line { measured, predicted, most };
        }
        let fixed = found.correction.fixed.get();
        let way = if fixed < 0.0 { "less" } else { "more" };
        Self::Fixed { off: format::memory(Bytes::new(fixed.abs())), way, most }
    }
}

/// A line of the table, in GiB; dashes for a run that has not been made.
fn row(name: &str, point: Option<&Compared>) -> Vec<String> {
    let Some(point) = point else { return [name, "–", "–", "–", "–"].map(str::to_owned).into() };
    let share = format::digits(100.0 * point.error().get() / point.predicted.get(), 1);
    let [measured, predicted, error, residual] =
        [point.measured.peak, point.predicted, point.error(), point.residual()].map(|size| {
            // What rounding leaves of nothing would have a sign.
            let gib = size.gib();
            format::digits(if gib.abs() < 0.005 { 0.0 } else { gib }, 2)
        });
    let batch = "b = ".to_owned() + &format::count(point.measured.batch);
    vec![batch, measured, predicted, error + " (" + &share + " %)", residual]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use bmax::number;
    use proptest::prelude::*;

    fn typed<const COUNT: usize>(runs: [(&str, &str); COUNT]) -> [Typed; 3] {
        let mut typed = [const { Typed::EMPTY }; 3];
        for (run, (batch, peak)) in typed.iter_mut().zip(runs) {
            *run = Typed { batch: batch.to_owned(), peak: peak.to_owned() };
        }
        typed
    }

    fn shown<const COUNT: usize>(runs: [(&str, &str); COUNT]) -> Shown {
        Shown::of(&Scenario::workshop(), Counter::Allocated, &typed(runs))
    }

    #[test]
    fn before_anything_is_measured_the_counter_that_was_chosen_is_foretold() {
        let seen = counters(&Scenario::workshop());
        for (counter, bytes) in [(Counter::Allocated, seen.allocated), (Counter::Device, seen.device)] {
            let shown = Shown::of(&Scenario::workshop(), counter, &typed([]));
            assert!(matches!(shown.says, Says::Nothing { expected, .. } if expected == format::gib(bytes)));
            assert_eq!(shown.refused, [[false; 2]; 3]);
        }
    }

    #[test]
    fn before_anything_is_measured_an_example_stands_there_by_that_name_and_gives_way_to_what_is_typed() {
        let scenario = Scenario::workshop();
        let opened = shown([]);
        for (row, (batch, above)) in opened.rows.iter().zip([(1, 5.0), (2, 5.0), (4, 6.0)]) {
            assert_eq!(row[0], format!("e.g. b = {batch}"));
            let predicted = counters(&scenario.with_batch(batch)).allocated.gib();
            assert_eq!(row[1], format::digits(predicted * (1.0 + above / 100.0), 2));
            assert_eq!(row[2], format::digits(predicted, 2));
        }
        assert!(opened.rows.iter().any(|row| row[4] != "0.00"), "a line through three such runs leaves residuals");
        assert!(opened.examples.iter().flatten().flatten().all(|text| text.starts_with("e.g. ")));
        // A half of a run is enough.
        let typed = shown([("2", "")]);
        assert!(typed.rows.iter().all(|row| row[1..] == ["–"; 4]), "{:?}", typed.rows);
        assert_eq!(typed.examples, None);
    }

    #[test]
    fn one_run_moves_the_fixed_part_two_tell_the_slope_and_three_leave_a_residual() {
        let one = shown([("1", "22")]);
        assert!(matches!(one.says, Says::Fixed { .. }));
        assert_eq!((one.rows[0][0].as_str(), one.rows[0][4].as_str()), ("b = 1", "0.00"));
        let two = shown([("1", "22"), ("3", "43")]);
        let Says::Line { measured, .. } = &two.says else { panic!("{:?}", two.says) };
        // By hand: (43 − 22) / 2 = 10.5 GiB a sequence, and 22 − 10.5 = 11.5 beside them.
        assert_eq!(measured[1], "10.5 GiB");
        assert_eq!(measured[0], "11.5 GiB");
        assert!(two.rows[..2].iter().all(|row| row[4] == "0.00"));
        let three = shown([("1", "22"), ("3", "43"), ("6", "72")]);
        assert!(three.rows.iter().any(|row| row[4] != "0.00"), "{:?}", three.rows);
    }

    #[test]
    fn a_reading_that_cannot_be_is_refused_and_left_out_and_a_half_is_neither() {
        let shown = shown([("1.5", "20"), ("0", "-4"), ("2", "")]);
        assert_eq!(shown.refused, [[true, false], [true, true], [false, false]]);
        assert!(matches!(shown.says, Says::Nothing { .. }));
    }

    #[test]
    fn a_run_that_is_left_out_leaves_the_others_in_their_rows() {
        let shown = shown([("1", "much"), ("3", "43"), ("", "")]);
        let names: Vec<_> = shown.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(names, ["1", "b = 3", "3"]);
    }

    #[test]
    fn readings_that_fall_with_the_batch_are_not_believed() {
        assert_eq!(shown([("1", "60"), ("8", "20")]).says, Says::Shrinks);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_and_any_readings_have_something_to_say(
            scenario in any_scenario(),
            runs in [(1..1_000_000_u32, 0.01..4_096.0), (1..1_000_000_u32, 0.01..4_096.0)],
        ) {
            let runs = runs.map(|(batch, peak)| (batch.to_string(), number::plain(peak)));
            let typed = typed(runs.each_ref().map(|(batch, peak)| (batch.as_str(), peak.as_str())));
            let shown = Shown::of(&scenario, Counter::Reserved, &typed);
            prop_assert_eq!(shown.refused, [[false; 2]; 3]);
            texts_are_sound(&shown);
        }
    }
}
