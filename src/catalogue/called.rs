//! What people call GPUs that have no row of their own: names of the same memory, and what is not counted at all.

use super::{DeviceRow, device};
use crate::nearest::squeezed;

/// A name in small letters without anything between them, the gigabytes that its GPU is sold with, and the row that has
/// as much memory. Cards for one market have the memory of the card that they were made of; laptops have less than the
/// desktop's card of the same number (NVIDIA's and AMD's pages of each, read 2026-11-26).
const CALLED: &[(&str, u32, &str)] = &[
    ("a800", 80, "a100-80"),
    ("a80080", 80, "a100-80"),
    ("a800sxm480", 80, "a100-80"),
    ("a800pcie", 80, "a100-pcie"),
    ("a800pcie80", 80, "a100-pcie"),
    ("a80040", 40, "a100-40"),
    ("h800", 80, "h100-80"),
    ("h80080", 80, "h100-80"),
    ("h800sxm", 80, "h100-80"),
    ("h800pcie", 80, "h100-pcie"),
    ("h100sxm", 80, "h100-80"),
    ("h100sxm5", 80, "h100-80"),
    ("h200sxm", 141, "h200"),
    ("h200nvl", 141, "h200"),
    ("a10g", 24, "a10"),
    ("a5000", 24, "rtx-a5000"),
    ("a6000", 48, "rtx-a6000"),
    ("a4500", 20, "rtx-a4500"),
    ("a4000", 16, "rtx-a4000"),
    ("a200012", 12, "rtx-a2000"),
    ("rtxa200012", 12, "rtx-a2000"),
    ("6000ada", 48, "rtx-6000-ada"),
    ("5000ada", 32, "rtx-5000-ada"),
    ("rtx8000", 48, "quadro-rtx-8000"),
    ("pro6000", 96, "rtx-pro-6000"),
    ("rtx6000pro", 96, "rtx-pro-6000"),
    ("1080ti", 11, "gtx-1080-ti"),
    ("2080ti", 11, "rtx-2080-ti"),
    ("rtx2080super", 8, "rtx-2080"),
    ("rtx2070super", 8, "rtx-2080"),
    ("rtx2070", 8, "rtx-2080"),
    ("rtx3070ti", 8, "rtx-3070"),
    ("rtx308012", 12, "rtx-3080-ti"),
    ("rtx30508", 8, "rtx-3060-ti"),
    ("rtx4060ti8", 8, "rtx-4060"),
    ("rtx4060ti16", 16, "rtx-4060-ti"),
    ("rtx4070super", 12, "rtx-4070"),
    ("rtx4090d", 24, "rtx-4090"),
    ("rtx5060ti8", 8, "rtx-5060"),
    ("rtx5060ti16", 16, "rtx-5060-ti"),
    ("rtx5090d", 32, "rtx-5090"),
    ("rtx3070laptop", 8, "rtx-3070"),
    ("rtx3070tilaptop", 8, "rtx-3070"),
    ("rtx3080laptop8", 8, "rtx-3070"),
    ("rtx3080laptop16", 16, "rtx-a4000"),
    ("rtx3080tilaptop", 16, "rtx-a4000"),
    ("rtx4060laptop", 8, "rtx-4060"),
    ("rtx4070laptop", 8, "rtx-4060"),
    ("rtx4080laptop", 12, "rtx-4070"),
    ("rtx4090laptop", 16, "rtx-4080"),
    ("rtx5060laptop", 8, "rtx-5060"),
    ("rtx5070laptop", 8, "rtx-5060"),
    ("rtx5070tilaptop", 12, "rtx-5070"),
    ("rtx5080laptop", 16, "rtx-5080"),
    ("mi250", 64, "mi250x"),
    ("mi300", 192, "mi300x"),
    ("mi308x", 192, "mi300x"),
    ("mi350x", 288, "mi355x"),
    ("mi5032", 32, "mi60"),
    ("mi5016", 16, "mi50"),
    ("vii", 16, "mi50"),
    ("rx6800", 16, "rx-6800-xt"),
    ("rx6900xt", 16, "rx-6800-xt"),
    ("rx6950xt", 16, "rx-6800-xt"),
    ("rx7900gre", 16, "rx-7800-xt"),
    ("gb10", 128, "dgx-spark"),
];

/// How the names of devices begin that no row stands for, and why.
const NOT_COUNTED: &[(&[&str], &str)] = &[
    (&["gaudi", "hpu"], "Gaudi runs its own graph compiler and allocator, which are not counted"),
    (&["tpu"], "a TPU runs programs of XLA, whose buffers are not counted"),
    (
        &["trn", "trainium", "inf1", "inf2", "inferentia"],
        "AWS Neuron compiles its own programs, whose buffers are not counted",
    ),
    (&["ascend", "910b", "910c"], "Ascend runs CANN, whose kernels and allocator are not counted"),
    (
        &["arc", "datacentergpumax", "max1100", "max1550", "b580", "b60"],
        "Intel’s GPUs run PyTorch’s XPU kernels, which are not counted",
    ),
    (&["k80", "k40", "k20"], "CUDA 12 has no code for compute capability 3, and neither has PyTorch"),
    (
        &["jetson", "orin", "thor", "strixhalo", "8060s", "ryzenai"],
        "it shares its memory with its processor, by a limit of the system that nobody can know here",
    ),
];

/// What makers put before a name, and people leave out.
const MAKERS: [&str; 9] = ["nvidia", "geforce", "tesla", "amd", "instinct", "radeon", "intel", "aws", "habana"];

/// A name as it is compared, without its maker, and the same without the unit of its memory.
fn words(given: &str) -> [String; 2] {
    let all = squeezed(given).replace("mobile", "laptop");
    let mut word = all.as_str();
    while let Some(rest) = MAKERS.iter().find_map(|maker| word.strip_prefix(maker)) {
        word = rest;
    }
    let word = word.strip_suffix("gpu").unwrap_or(word);
    let number = ["gib", "gb", "g"].iter().find_map(|unit| word.strip_suffix(unit)).unwrap_or(word);
    [word, number].map(str::to_owned)
}

/// The row that has the memory of a GPU without a row, by one of the names that people use.
///
/// ```
/// use bmax::catalogue;
/// let row = |given| catalogue::called(given).map(|row| row.slug);
/// assert_eq!((row("A800"), row("NVIDIA GeForce RTX 4090 Laptop GPU")), (Some("a100-80"), Some("rtx-4080")));
/// assert_eq!(row("rtx-4090"), None);
/// ```
pub fn called(given: &str) -> Option<&'static DeviceRow> {
    let words = words(given);
    let found = words.iter().find_map(|word| CALLED.iter().find(|(name, _, _)| name == word));
    found.and_then(|(_, _, slug)| device(slug))
}

/// Why a device is not counted, for those that have no row because of what they run.
pub fn not_counted(given: &str) -> Option<&'static str> {
    let [word, _] = words(given);
    NOT_COUNTED.iter().find(|(starts, _)| starts.iter().any(|start| word.starts_with(start))).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::DEVICES;

    #[test]
    fn every_name_leads_to_a_row_with_its_memory_and_is_no_row_itself() {
        for (name, gigabytes, slug) in CALLED {
            let row = device(slug).unwrap_or_else(|| panic!("{name}: no {slug}"));
            assert!(row.name.contains(&format!(" {gigabytes} GB")), "{name} has {gigabytes} GB, and {}", row.name);
            assert_eq!(*name, words(name)[0], "{name} would never be found");
            assert!(DEVICES.iter().all(|row| squeezed(row.slug) != *name), "{name} is a row");
            assert_eq!(called(name), Some(row), "{name} twice");
            assert_eq!(not_counted(name), None, "{name}");
        }
    }

    #[test]
    fn names_are_found_as_people_write_them() {
        for (given, slug) in [
            ("NVIDIA A800-SXM4-80GB", Some("a100-80")),
            ("a800-80gb", Some("a100-80")),
            ("A800 40GB", Some("a100-40")),
            ("NVIDIA A10G", Some("a10")),
            ("MI50 32GB", Some("mi60")),
            ("AMD Instinct MI250", Some("mi250x")),
            ("GeForce RTX 3080 12GB", Some("rtx-3080-ti")),
            ("Radeon RX 6900 XT", Some("rx-6800-xt")),
            ("RTX 4060 Laptop GPU", Some("rtx-4060")),
        ] {
            assert_eq!(called(given).map(|row| row.slug), slug, "{given}");
        }
    }

    #[test]
    fn what_is_not_counted_is_said_and_no_row_is_refused() {
        for given in
            ["gaudi-3", "Intel Gaudi 2", "tpu-v5e", "trn1", "arc-b580", "Tesla K80", "Jetson AGX Orin", "ascend-910b"]
        {
            assert!(not_counted(given).is_some(), "{given}");
        }
        for row in DEVICES {
            assert_eq!((not_counted(row.slug), not_counted(row.name)), (None, None), "{}", row.slug);
        }
    }
}
