//! How fast the devices compute, read their memory and reach the host: what times are made of.

use crate::{Scenario, Speed};

/// The peak of one device.
struct Peak {
    slug: &'static str,
    /// Dense 16-bit products with fp32 sums, in TFLOP/s.
    teraflops: f64,
    /// Reading the device's own memory, in GB/s.
    memory_gb_per_second: f64,
    /// The host link, one way, in GB/s.
    host_gb_per_second: f64,
}

const fn peak(slug: &'static str, teraflops: f64, memory_gb_per_second: f64, host_gb_per_second: f64) -> Peak {
    Peak { slug, teraflops, memory_gb_per_second, host_gb_per_second }
}

/// PCI Express with 16 lanes, one way (PCI-SIG): generation 3, 4 and 5. Unified memory and NVLink-C2C
/// are faster; a device with 8 lanes has half.
const PCIE3: f64 = 15.75;
const PCIE4: f64 = 31.5;
const PCIE5: f64 = 63.0;

/// Vendors' data sheets, dense and without sparsity, as known on 2026-11-21. Cards of the first
/// generations have no bf16 units; theirs is the fp16 figure.
static PEAKS: &[Peak] = &[
    peak("a100-80", 312.0, 2_039.0, PCIE4),
    peak("a100-40", 312.0, 1_555.0, PCIE4),
    peak("h100-80", 989.0, 3_350.0, PCIE5),
    peak("h100-nvl", 835.0, 3_900.0, PCIE5),
    peak("gh200", 989.0, 4_000.0, 450.0),
    peak("h200", 989.0, 4_800.0, PCIE5),
    peak("b200", 2_250.0, 8_000.0, PCIE5),
    peak("b300", 2_250.0, 8_000.0, PCIE5),
    peak("v100-16", 125.0, 900.0, PCIE3),
    peak("v100-32", 125.0, 900.0, PCIE3),
    peak("p100-16", 18.7, 732.0, PCIE3),
    peak("t4", 65.0, 320.0, PCIE3),
    peak("l4", 121.0, 300.0, PCIE4),
    peak("a10", 125.0, 600.0, PCIE4),
    peak("l40s", 362.0, 864.0, PCIE4),
    peak("a40", 150.0, 696.0, PCIE4),
    peak("mi300x", 1_307.0, 5_300.0, PCIE5),
    peak("mi325x", 1_307.0, 6_000.0, PCIE5),
    peak("mi355x", 2_500.0, 8_000.0, PCIE5),
    peak("mi250x", 191.5, 1_638.0, PCIE4),
    peak("mi210", 181.0, 1_638.0, PCIE4),
    peak("rtx-a6000", 155.0, 768.0, PCIE4),
    peak("rtx-6000-ada", 364.0, 960.0, PCIE4),
    peak("rtx-3090", 71.0, 936.0, PCIE4),
    peak("rtx-4090", 165.0, 1_008.0, PCIE4),
    peak("rtx-5090", 210.0, 1_792.0, PCIE5),
];

/// What stands in for a device that no row above names: about an A10.
static TYPICAL: Peak = peak("", 100.0, 600.0, PCIE4);

/// The speed of a scenario's device, at the utilization that training reaches.
///
/// ```
/// use bmax::{Scenario, catalogue};
/// let speed = catalogue::speed(&Scenario::default());
/// assert_eq!(speed.flops_per_second, 312e12 * bmax::Speed::UTILIZATION);
/// ```
pub fn speed(scenario: &Scenario) -> Speed {
    let peak = peak_of(scenario);
    Speed::from_peak(peak.teraflops, peak.host_gb_per_second)
}

/// Bytes per second that a scenario's device reads from its own memory, by the data sheet.
///
/// ```
/// use bmax::{Scenario, catalogue};
/// assert_eq!(catalogue::memory_bandwidth(&Scenario::default()), 2_039e9);
/// ```
pub fn memory_bandwidth(scenario: &Scenario) -> f64 {
    peak_of(scenario).memory_gb_per_second * 1e9
}

fn peak_of(scenario: &Scenario) -> &'static Peak {
    PEAKS.iter().find(|peak| peak.slug == scenario.device.origin).unwrap_or(&TYPICAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn every_peak_belongs_to_a_row_of_the_catalogue() {
        for peak in PEAKS {
            assert!(catalogue::device(peak.slug).is_some(), "{}", peak.slug);
        }
    }
}
