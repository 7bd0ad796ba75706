//! What an estimate holds at an instant, to the byte.

use bmax::Estimate;

/// Where an instant stands.
pub fn position(estimate: &Estimate, instant: &str) -> usize {
    let there = estimate.instants.iter().position(|found| found.name == instant);
    there.unwrap_or_else(|| panic!("no instant “{instant}”"))
}

/// The entries of a name that are alive at an instant.
pub fn at(estimate: &Estimate, entry: &str, instant: &str) -> f64 {
    let there = position(estimate, instant);
    let named = estimate.entries.iter().filter(|found| found.name == entry && found.alive.contains(there));
    named.map(|found| found.bytes.get()).sum()
}

/// All instants together: those of the device, and those of the memory of the machine.
pub fn throughout(estimate: &Estimate) -> [f64; 2] {
    let device = (0..estimate.instants.len()).map(|instant| estimate.total_at(instant).get()).sum();
    let host = (0..estimate.host.instants.len()).map(|instant| estimate.host.total_at(instant).get()).sum();
    [device, host]
}

pub fn exactly(bytes: f64, expected: f64) {
    assert!((bytes - expected).abs() < 1e-3, "{bytes} is not {expected}");
}
