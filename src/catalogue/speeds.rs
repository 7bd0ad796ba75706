//! How fast the devices compute, read their memory and reach the host: what times are made of.

use super::device;
use crate::{Choice, Method, Precision, Scenario, TaskKind, cost::Speed};

/// The peaks of one device, by its maker, dense: without the doubling of structured sparsity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Products of bf16 or fp16 with fp32 sums, in TFLOP/s. Where the hardware knows no bf16 it is the
    /// figure of fp16, and where it has no units for matrices that of its shaders.
    pub half: f64,
    /// Products of fp32 rounded to TF32, in TFLOP/s; `None` where there are none.
    pub tf32: Option<f64>,
    /// Products of full fp32, in TFLOP/s.
    pub fp32: f64,
    /// Reading the device's own memory, in GB/s.
    pub memory_gb_per_second: f64,
    /// The host link, one way, in GB/s.
    pub host_gb_per_second: f64,
}

impl Peaks {
    /// TFLOP/s of the matrix products of a training step.
    ///
    /// PyTorch multiplies fp32 matrices in full fp32 unless it is told otherwise:
    /// `torch.backends.cuda.matmul.allow_tf32` is off and `torch.get_float32_matmul_precision()` is
    /// "highest" (since version 1.12). With `torch.set_float32_matmul_precision("high")` they would be as
    /// fast as the column for TF32. All other recipes have 16-bit products, autocast among them.
    pub fn products(&self, precision: Precision) -> f64 {
        if precision == Precision::Fp32 { self.fp32 } else { self.half }
    }
}

/// PCI Express with 16 lanes, one way (PCI-SIG): generation 3, 4 and 5. A device with 8 lanes has half.
pub(super) const PCIE3: f64 = 15.75;
pub(super) const PCIE4: f64 = 31.5;
pub(super) const PCIE5: f64 = 63.0;

/// What stands in for a device without listed peaks: about an A10. Wherever it is used the times are
/// said to be assumed ([`assumption`]).
const STAND_IN: Peaks =
    Peaks { half: 100.0, tf32: Some(50.0), fp32: 25.0, memory_gb_per_second: 600.0, host_gb_per_second: PCIE4 };

/// The speed of a scenario's device in the precision of its products, at the utilization that training
/// reaches.
///
/// ```
/// use bmax::{Precision, Scenario, catalogue, cost::Speed};
/// let mut scenario = Scenario::workshop();
/// assert_eq!(catalogue::speed(&scenario).flops_per_second, 312e12 * Speed::UTILIZATION);
/// scenario.recipe.precision = Precision::Fp32;
/// assert_eq!(catalogue::speed(&scenario).flops_per_second, 19.5e12 * Speed::UTILIZATION);
/// ```
pub fn speed(scenario: &Scenario) -> Speed {
    let peaks = peaks(scenario);
    Speed::from_peak(peaks.products(scenario.recipe.precision), peaks.host_gb_per_second)
}

/// Bytes per second that a scenario's device reads from its own memory, by the data sheet.
///
/// ```
/// use bmax::{Scenario, catalogue};
/// assert_eq!(catalogue::memory_bandwidth(&Scenario::workshop()), 2_039e9);
/// ```
pub fn memory_bandwidth(scenario: &Scenario) -> f64 {
    peaks(scenario).memory_gb_per_second * 1e9
}

/// What times are worked out with when nobody has stated the device's own speed, in a sentence for
/// wherever they show, and that they are not those of a whole task; `None` when they follow from the device's data
/// sheet and nothing is left out.
///
/// ```
/// use bmax::{Scenario, catalogue};
/// assert_eq!(catalogue::assumption(&Scenario::workshop()), None);
/// let spark = catalogue::device("dgx-spark").expect("listed").apply(Scenario::workshop());
/// assert!(catalogue::assumption(&spark).is_some_and(|text| text.starts_with("Times are assumed: 100 TFLOP/s")));
/// ```
pub fn assumption(scenario: &Scenario) -> Option<String> {
    match (stands_in(scenario), left_out(scenario)) {
        (Some(one), Some(other)) => Some(format!("{one} {other}")),
        (one, other) => one.or(other),
    }
}

/// What a task does beside its training pass, which no time counts.
fn left_out(scenario: &Scenario) -> Option<String> {
    let kind = scenario.task.kind;
    let alone = matches!(kind, TaskKind::Train | TaskKind::Reward);
    let counted = scenario.method == Method::Ledger && !alone;
    let said = "Times are those of the model’s own training pass; all else that ";
    counted.then(|| [said, kind.label(), " runs comes on top."].concat())
}

/// The speed that stands in for one that is not listed.
fn stands_in(scenario: &Scenario) -> Option<String> {
    if listed(scenario).is_some() {
        return None;
    }
    let teraflops = STAND_IN.products(scenario.recipe.precision);
    let stands_in = match shared(scenario) {
        Some(_) => format!("{teraflops} TFLOP/s stand in"),
        None => {
            let Peaks { memory_gb_per_second: memory, host_gb_per_second: host, .. } = STAND_IN;
            format!("{teraflops} TFLOP/s, {memory} GB/s of memory and {host} GB/s to CPU memory stand in")
        }
    };
    Some(format!("Times are assumed: {stands_in}, because no speed is listed for this GPU."))
}

/// The peaks of a scenario's device, if the catalogue has them.
fn listed(scenario: &Scenario) -> Option<&'static Peaks> {
    device(scenario.device.origin)?.peaks.as_ref()
}

/// What a scenario's device reads of the memory that it shares with its processor, in GB/s, where that alone is stated.
fn shared(scenario: &Scenario) -> Option<f64> {
    device(scenario.device.origin)?.shared_gb_per_second
}

fn peaks(scenario: &Scenario) -> Peaks {
    let stand_in = || match shared(scenario) {
        // A copy to the host is one inside the same memory.
        Some(shared) => Peaks { memory_gb_per_second: shared, host_gb_per_second: shared, ..STAND_IN },
        None => STAND_IN,
    };
    listed(scenario).copied().unwrap_or_else(stand_in)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{DEVICES, DeviceGroup};

    /// Devices whose speed nobody states in a form that could be used; the rows' sources say why.
    const WITHOUT_PEAKS: [&str; 2] = ["apple-m5-max-128", "dgx-spark"];

    #[test]
    fn every_device_has_its_peaks_or_is_known_to_have_none() {
        for row in DEVICES {
            assert_eq!(row.peaks.is_none(), WITHOUT_PEAKS.contains(&row.slug), "{}", row.slug);
            assert_eq!(assumption(&row.apply(Scenario::workshop())).is_some(), row.peaks.is_none(), "{}", row.slug);
        }
    }

    #[test]
    fn full_fp32_is_never_faster_than_tf32_and_tf32_never_than_16_bits() {
        for (slug, peaks) in DEVICES.iter().filter_map(|row| Some((row.slug, row.peaks?))) {
            assert!(peaks.fp32 <= peaks.tf32.unwrap_or(peaks.half), "{slug}");
            assert!(peaks.tf32.is_none_or(|tf32| tf32 < peaks.half), "{slug}");
        }
    }

    #[test]
    fn fp32_training_is_timed_at_the_speed_of_fp32() {
        for row in DEVICES {
            let half = row.apply(Scenario::workshop());
            let mut single = half;
            single.recipe.precision = Precision::Fp32;
            let [half, single] = [half, single].map(|scenario| speed(&scenario).flops_per_second);
            // Shaders without units for matrices may be as fast in either, as Apple's are, and cuBLAS takes those of fp32
            // where a Pascal card for play or for inference has hardly any of fp16.
            let in_fp32 = row.group == DeviceGroup::Unified || row.capability() == 61;
            assert!(single < half || in_fp32, "{}", row.slug);
        }
    }

    #[test]
    fn every_recipe_but_fp32_multiplies_16_bits() {
        let mut scenario = Scenario::workshop();
        for &precision in <Precision as crate::Choice>::ALL {
            scenario.recipe.precision = precision;
            let expected = if precision == Precision::Fp32 { 19.5 } else { 312.0 };
            assert_eq!(speed(&scenario).flops_per_second, expected * 1e12 * Speed::UTILIZATION, "{precision:?}");
        }
    }

    /// A figure of 2:4 sparsity taken for a dense one would be twice what the units do in a clock.
    #[test]
    fn no_peak_is_that_of_sparse_products() {
        for row in DEVICES.iter().filter(|row| row.slug.starts_with("rtx-")) {
            let peaks = row.peaks.expect("every RTX is listed");
            // 16-bit products with fp32 sums are twice the fp32 of GeForce from Ampere on, four times that
            // of the first generation with such units and of the cards for work.
            let times = peaks.half / peaks.fp32;
            let later = row.group == DeviceGroup::Consumer && row.capability() > 75;
            let expected = if later { 2.0 } else { 4.0 };
            assert!((times / expected - 1.0).abs() < 0.02, "{}: {times}", row.slug);
        }
    }

    #[test]
    fn of_a_device_whose_memory_alone_is_stated_only_the_products_are_assumed() {
        let spark = device("dgx-spark").expect("listed").apply(Scenario::workshop());
        // NVIDIA's page of the DGX Spark: 273 GB/s.
        assert_eq!((memory_bandwidth(&spark), speed(&spark).host_bytes_per_second), (273e9, 273e9));
        assert_eq!(speed(&spark).flops_per_second, 100e12 * Speed::UTILIZATION);
        let text = assumption(&spark).expect("its products are assumed");
        assert!(text.contains("100 TFLOP/s stand in,") && !text.contains("GB/s"), "{text}");
        for row in DEVICES {
            assert_eq!(row.peaks.is_none(), row.shared_gb_per_second.is_some(), "{}", row.slug);
        }
    }

    #[test]
    fn a_device_of_nowhere_is_said_to_be_assumed() {
        let mut scenario = Scenario::workshop();
        scenario.device.origin = "";
        let text = assumption(&scenario).expect("nobody has listed it");
        assert!(text.contains("100 TFLOP/s") && text.contains("600 GB/s") && text.contains("31.5 GB/s"), "{text}");
        scenario.recipe.precision = Precision::Fp32;
        assert!(assumption(&scenario).is_some_and(|text| text.contains(": 25 TFLOP/s")));
    }
}
