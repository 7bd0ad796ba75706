//! A prediction held against the reader's own measurements.
//!
//! A step's memory is, to a good approximation, a fixed part and so much for each sequence of the
//! micro-batch, so that is what can be learnt from runs: one measurement tells by how much the fixed part
//! is off, two with different micro-batches tell the fixed part and the slope apart, and more than two are
//! taken together by least squares. What is fitted is the difference between measurement and prediction and
//! not the memory itself, so that the ledger keeps what it knows of the curve's bends.

use crate::{Bytes, Counters, Field, Method, Scenario, counters, estimate, proof, search};

/// The counter that a measurement was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// `torch.cuda.max_memory_allocated`.
    Allocated,
    /// `torch.cuda.max_memory_reserved`.
    Reserved,
    /// `nvidia-smi` or NVML, for the process.
    Device,
}

impl Counter {
    /// What this counter would show.
    pub const fn of(self, counters: &Counters) -> Bytes {
        match self {
            Self::Allocated => counters.allocated,
            Self::Reserved => counters.reserved,
            Self::Device => counters.device,
        }
    }
}

impl From<Counter> for proof::Counter {
    fn from(counter: Counter) -> Self {
        match counter {
            Counter::Allocated => Self::Live,
            Counter::Reserved => Self::Reserved,
            Counter::Device => Self::Device,
        }
    }
}

/// A measured run of the scenario: the same in everything but the micro-batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Its micro-batch, in sequences.
    pub batch: u32,
    /// The highest reading of the counter.
    pub peak: Bytes,
}

/// A measurement beside what was predicted for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// What was measured.
    pub measured: Measured,
    /// What the ledger predicts for that counter.
    pub predicted: Bytes,
    /// What it predicts once calibrated.
    pub calibrated: Bytes,
}

impl Compared {
    /// By how much the measurement is above the prediction; negative if it is below.
    pub fn error(&self) -> Bytes {
        self.measured.peak - self.predicted
    }

    /// What the calibration leaves of that.
    pub fn residual(&self) -> Bytes {
        self.measured.peak - self.calibrated
    }
}

/// A straight line in the micro-batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// What does not depend on the micro-batch.
    pub fixed: Bytes,
    /// What each sequence adds.
    pub per_sequence: Bytes,
}

impl Line {
    fn at(self, batch: u32) -> Bytes {
        Bytes::new(self.fixed.get() + self.per_sequence.get() * f64::from(batch))
    }
}

/// What measurements say about the prediction of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The measurements, in the order in which they were given.
    pub points: Vec<Compared>,
    /// What is added to the prediction. Its slope is zero unless two different micro-batches were measured.
    pub correction: Line,
    /// The line of the prediction and that of the measurements over the span of micro-batches that was
    /// measured; only where two different ones were.
    pub lines: Option<[Line; 2]>,
    /// The largest micro-batch by the ledger as it is; 0 if nothing fits.
    pub predicted_b_max: u32,
    /// The same once calibrated. Nothing where a larger micro-batch is said to take no more memory, which no
    /// training does: the measurements cannot be of one and the same setup.
    pub b_max: Option<u32>,
}

/// Holds the ledger's prediction for `scenario` against measurements of `counter`.
///
/// Nothing comes of no measurements. The scenario's own micro-batch and method do not matter: counters are
/// the ledger's.
pub fn calibrate(scenario: &Scenario, counter: Counter, measured: &[Measured]) -> Option<Calibration> {
    if measured.is_empty() {
        return None;
    }
    let scenario = Scenario { method: Method::Ledger, ..*scenario };
    let predict = |batch: u32| counter.of(&counters(&scenario.with_batch(batch)));
    let mut points: Vec<Compared> = measured
        .iter()
        .map(|&measured| {
            let predicted = predict(measured.batch);
            Compared { measured, predicted, calibrated: predicted }
        })
        .collect();
    let correction = fitted(points.iter().map(|point| (point.measured.batch, point.error())));
    for point in &mut points {
        point.calibrated = point.predicted + correction.at(point.measured.batch);
    }

    let ends =
        measured.iter().fold((u32::MAX, 0), |(least, most), point| (least.min(point.batch), most.max(point.batch)));
    let lines = (ends.0 < ends.1).then(|| {
        let (low, high) = (predict(ends.0), predict(ends.1));
        let per_sequence = Bytes::new((high - low).get() / f64::from(ends.1 - ends.0));
        let predicted = Line { fixed: Bytes::new(low.get() - per_sequence.get() * f64::from(ends.0)), per_sequence };
        let measured = Line {
            fixed: predicted.fixed + correction.fixed,
            per_sequence: predicted.per_sequence + correction.per_sequence,
        };
        [predicted, measured]
    });

    let grows = lines.is_none_or(|[_, measured]| measured.per_sequence > Bytes::ZERO);
    let none = Line { fixed: Bytes::ZERO, per_sequence: Bytes::ZERO };
    Some(Calibration {
        points,
        correction,
        lines,
        predicted_b_max: largest(&scenario, none),
        b_max: grows.then(|| largest(&scenario, correction)),
    })
}

/// The line that is nearest to all differences, by least squares; level where no slope can be told.
fn fitted(differences: impl Iterator<Item = (u32, Bytes)> + Clone) -> Line {
    let (mut count, mut batches, mut errors) = (0.0, 0.0, 0.0);
    for (batch, error) in differences.clone() {
        count += 1.0;
        batches += f64::from(batch);
        errors += error.get();
    }
    let (batches, errors) = (batches / count, errors / count);
    let (mut spread, mut common) = (0.0, 0.0);
    for (batch, error) in differences {
        let away = f64::from(batch) - batches;
        spread += away * away;
        common += away * (error.get() - errors);
    }
    let slope = if spread > 0.0 { common / spread } else { 0.0 };
    Line { fixed: Bytes::new(errors - slope * batches), per_sequence: Bytes::new(slope) }
}

/// The largest micro-batch whose corrected peak fits; 0 if that of one sequence does not.
///
/// The ledger's peak is a maximum of straight lines, hence convex, and stays so with a line added: what fits
/// is one span of micro-batches, and a search that starts inside it finds its end.
fn largest(scenario: &Scenario, correction: Line) -> u32 {
    let fits = |batch: u32| {
        let estimate = estimate(&scenario.with_batch(batch));
        estimate.peak().bytes + correction.at(batch) <= estimate.usable() && estimate.host.lacks().is_none()
    };
    let limit = Field::Batch.bound().max as u32;
    if fits(1) { search::largest(limit, scenario.recipe.batch, fits) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = 1_073_741_824.0;

    /// A run that takes `fixed` GiB and `slope` GiB a sequence more than predicted.
    fn off_by(scenario: &Scenario, batch: u32, fixed: f64, slope: f64) -> Measured {
        let predicted = counters(&scenario.with_batch(batch)).allocated;
        Measured { batch, peak: predicted + Bytes::from_gib(fixed + slope * f64::from(batch)) }
    }

    fn near(is: Bytes, gib: f64) {
        assert!((is.gib() - gib).abs() < 1e-9, "{} GiB, not {gib}", is.gib());
    }

    #[test]
    fn no_measurement_says_nothing() {
        assert_eq!(calibrate(&Scenario::workshop(), Counter::Allocated, &[]), None);
    }

    #[test]
    fn one_measurement_moves_the_fixed_part_alone() {
        let scenario = Scenario::workshop();
        let found = calibrate(&scenario, Counter::Allocated, &[off_by(&scenario, 3, 2.5, 0.0)]).expect("one point");
        near(found.correction.fixed, 2.5);
        near(found.correction.per_sequence, 0.0);
        near(found.points[0].error(), 2.5);
        near(found.points[0].residual(), 0.0);
        assert_eq!(found.lines, None);
    }

    #[test]
    fn two_micro_batches_tell_the_fixed_part_from_the_slope() {
        let scenario = Scenario::workshop();
        let points = [off_by(&scenario, 1, -1.0, 0.25), off_by(&scenario, 5, -1.0, 0.25)];
        let found = calibrate(&scenario, Counter::Allocated, &points).expect("two points");
        near(found.correction.fixed, -1.0);
        near(found.correction.per_sequence, 0.25);
        for point in &found.points {
            near(point.residual(), 0.0);
        }
        let [predicted, measured] = found.lines.expect("two micro-batches");
        near(measured.fixed - predicted.fixed, -1.0);
        near(measured.per_sequence - predicted.per_sequence, 0.25);
    }

    #[test]
    fn the_same_micro_batch_twice_tells_no_slope() {
        let scenario = Scenario::workshop();
        let points = [off_by(&scenario, 2, 1.0, 0.0), off_by(&scenario, 2, 3.0, 0.0)];
        let found = calibrate(&scenario, Counter::Allocated, &points).expect("two points");
        near(found.correction.fixed, 2.0);
        near(found.points[0].residual(), -1.0);
        near(found.points[1].residual(), 1.0);
        assert_eq!(found.lines, None);
    }

    /// By hand: differences 0, 3, 0 at b = 1, 2, 3 lie on the level line 1 by least squares.
    #[test]
    fn three_measurements_leave_what_no_line_explains() {
        let scenario = Scenario::workshop();
        let points = [(1, 0.0), (2, 3.0), (3, 0.0)].map(|(batch, extra)| off_by(&scenario, batch, extra, 0.0));
        let found = calibrate(&scenario, Counter::Allocated, &points).expect("three points");
        near(found.correction.fixed, 1.0);
        near(found.correction.per_sequence, 0.0);
        near(found.points[1].residual(), 2.0);
    }

    #[test]
    fn the_calibrated_answer_is_the_last_whose_corrected_peak_fits() {
        let scenario = Scenario::workshop();
        for (fixed, slope) in [(0.0, 0.0), (6.0, 0.0), (-6.0, 0.0), (0.0, 3.0), (2.0, -1.0), (200.0, 0.0)] {
            let points = [off_by(&scenario, 1, fixed, slope), off_by(&scenario, 4, fixed, slope)];
            let found = calibrate(&scenario, Counter::Allocated, &points).expect("two points");
            let fits = |batch: u32| {
                let estimate = estimate(&scenario.with_batch(batch));
                estimate.peak().bytes.gib() + fixed + slope * f64::from(batch) <= estimate.usable().gib() + 1e-9
            };
            let most = found.b_max.expect("memory grows");
            assert!(most == 0 || fits(most), "{fixed} {slope}: {most}");
            assert!(!fits(most + 1), "{fixed} {slope}: {most}");
        }
    }

    #[test]
    fn without_an_error_nothing_changes_whatever_the_counter() {
        let scenario = Scenario::workshop();
        for counter in [Counter::Allocated, Counter::Reserved, Counter::Device] {
            let points =
                [1, 4].map(|batch| Measured { batch, peak: counter.of(&counters(&scenario.with_batch(batch))) });
            let found = calibrate(&scenario, counter, &points).expect("two points");
            assert!(found.correction.fixed.get().abs() < 1e-3 * GIB && found.correction.per_sequence.get().abs() < 1.0);
            assert_eq!(found.b_max, Some(found.predicted_b_max));
            assert_eq!(found.predicted_b_max, crate::b_max(&scenario).batch().unwrap_or(0));
        }
    }

    #[test]
    fn memory_that_shrinks_with_the_batch_has_no_answer() {
        let points = [(1, 60.0), (8, 20.0)].map(|(batch, gib)| Measured { batch, peak: Bytes::from_gib(gib) });
        let found = calibrate(&Scenario::workshop(), Counter::Allocated, &points).expect("two points");
        assert_eq!(found.b_max, None);
    }
}
