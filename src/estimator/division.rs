//! b_max as one division. At any one instant memory grows in a straight line with the micro-batch,
//! and the line that stops the next sequence decides.

use super::answer::largest_micro_batch;
use super::ledger::{Instant, Ledger};
use super::scenario::Scenario;
use super::units::Bytes;

/// The straight line of one instant, and the limit it runs into.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Division {
    /// The instant.
    pub instant: &'static Instant,
    /// What a step may use.
    pub usable: Bytes,
    /// What is alive then without any sequence.
    pub fixed: Bytes,
    /// What each sequence adds.
    pub per_sequence: Bytes,
}

impl Division {
    /// How many sequences go into what is left, before rounding; below zero when the fixed part alone
    /// is too large, and infinitely so where no sequence adds anything.
    pub fn quotient(&self) -> f64 {
        (self.usable - self.fixed).get() / self.per_sequence.get()
    }
}

/// The division whose whole part is b_max.
///
/// ```
/// use bmax::{Scenario, b_max, division::division};
/// let scenario = Scenario::workshop();
/// assert_eq!(Some(division(&scenario).quotient() as u32), b_max(&scenario).batch());
/// ```
pub fn division(scenario: &Scenario) -> Division {
    // What stops the first sequence too many is what the others stop at.
    let too_many = largest_micro_batch(scenario).unwrap_or(0).saturating_add(1);
    line_at_peak(&scenario.with_batch(too_many))
}

/// The line of the instant at which the scenario's own micro-batch takes most.
pub fn line_at_peak(scenario: &Scenario) -> Division {
    let ledger = Ledger::of(scenario);
    let (position, _) = ledger.peak(scenario.recipe.batch);
    let [fixed, one] = [0, 1].map(|batch| Bytes::new(ledger.totals(batch)[position]));
    Division { instant: ledger.instants[position], usable: scenario.usable(), fixed, per_sequence: one - fixed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, Method, estimate};

    #[test]
    fn the_line_goes_through_the_peak() {
        for &method in Method::ALL {
            for batch in [1, 3, 40] {
                let scenario = Scenario { method, ..Scenario::workshop() }.with_batch(batch);
                let line = line_at_peak(&scenario);
                let there = line.fixed.get() + f64::from(batch) * line.per_sequence.get();
                let peak = estimate(&scenario).peak();
                assert_eq!(peak.instant, line.instant);
                assert!((there / peak.bytes.get() - 1.0).abs() < 1e-12, "{method:?} {batch}");
            }
        }
    }
}
