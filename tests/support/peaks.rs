//! Peaks that are compared.

use bmax::{Scenario, estimate};

pub fn peak(scenario: &Scenario) -> f64 {
    estimate(scenario).peak().bytes.get()
}

/// Sums of the same terms in another order may differ in the last bits.
pub fn at_least(larger: f64, smaller: f64) -> bool {
    larger >= smaller * (1.0 - 1e-12)
}
