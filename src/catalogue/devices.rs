//! Devices, with the memory their drivers report and the part a program can get.
//!
//! "80 GB" on a box is neither: an A100 reports 81,920 MiB, an H100 sold under the same figure
//! 81,559 MiB, and the driver keeps some hundred MiB of both to itself. The total is what a tool
//! such as `nvidia-smi` prints; the visible part is what the device's runtime tells a program it
//! has, and what PyTorch calls the total capacity when it runs out of memory. The visible part
//! moves by a few hundred MiB with the driver's version.

/// Where a row belongs in a picker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceGroup {
    /// Accelerators for servers.
    DataCentre,
    /// Professional cards for desks.
    Workstation,
    /// Cards sold for play.
    Consumer,
}

impl DeviceGroup {
    /// Every group, in the order of a picker.
    pub const ALL: &'static [Self] = &[Self::DataCentre, Self::Workstation, Self::Consumer];

    /// The heading of this group in a picker.
    pub const fn label(self) -> &'static str {
        match self {
            Self::DataCentre => "Data centre",
            Self::Workstation => "Workstation",
            Self::Consumer => "Consumer",
        }
    }
}

/// One device, with where its numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRow {
    /// The word for this device in a link.
    pub slug: &'static str,
    /// What a picker shows.
    pub name: &'static str,
    /// Where it stands in a picker.
    pub group: DeviceGroup,
    /// Total memory in MiB as the driver reports it.
    pub memory_mib: u32,
    /// The part of it in MiB that a program can get.
    pub visible_mib: u32,
}

/// Where the numbers of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSource {
    /// Where the total was seen.
    pub memory: &'static str,
    /// Where the visible part was seen.
    pub visible: &'static str,
    /// The day both were looked up, as in ISO 8601.
    pub retrieved: &'static str,
}

impl DeviceRow {
    /// Where the numbers come from; `None` for a row that is not of this catalogue.
    pub fn source(&self) -> Option<&'static DeviceSource> {
        let place = DEVICES.iter().position(|row| row == self)?;
        DEVICE_SOURCES.get(place)
    }
}

/// A row as it is declared. Rows and sources are two tables for who reads them, because a program
/// that never shows a source then does not carry it.
#[derive(Clone, Copy)]
struct Declared {
    row: DeviceRow,
    source: DeviceSource,
}

/// The day the rows below were last compared with their sources.
const CHECKED: &str = "2026-11-21";

/// The device a reader meets first.
pub const DEFAULT_DEVICE: &DeviceRow = &DECLARED[0].row;

/// A device, from its total and its visible memory in MiB, and where each was seen.
const fn row(
    group: DeviceGroup,
    slug: &'static str,
    name: &'static str,
    [memory_mib, visible_mib]: [u32; 2],
    [source, visible_source]: [&'static str; 2],
) -> Declared {
    let row = DeviceRow { slug, name, group, memory_mib, visible_mib };
    Declared { row, source: DeviceSource { memory: source, visible: visible_source, retrieved: CHECKED } }
}

/// The two files of thamada/gls at e20f22d, a collection of driver listings, for one machine: the
/// pair comes from the same driver.
macro_rules! listings {
    ($machine:literal) => {
        [
            concat!("nvidia-smi, in thamada/gls, gls/", $machine, "_smi.py at e20f22d"),
            concat!("deviceQuery, in thamada/gls, gls/", $machine, "_deviceQuery.py at e20f22d"),
        ]
    };
}

use DeviceGroup::{Consumer, DataCentre, Workstation};

/// Every device, group by group, in the order of a picker.
pub static DEVICES: &[DeviceRow] = &{
    let mut rows = [DECLARED[0].row; DECLARED.len()];
    let mut i = 1;
    while i < rows.len() {
        rows[i] = DECLARED[i].row;
        i += 1;
    }
    rows
};

/// The sources of the devices, in the same order.
pub static DEVICE_SOURCES: &[DeviceSource] = &{
    let mut sources = [DECLARED[0].source; DECLARED.len()];
    let mut i = 1;
    while i < sources.len() {
        sources[i] = DECLARED[i].source;
        i += 1;
    }
    sources
};

const DECLARED: &[Declared] = &[
    row(
        DataCentre,
        "a100-80",
        "A100 80 GB",
        [81_920, 81_049],
        [
            "nvidia-smi, in modal-labs/modal-client#2797",
            "Total global memory of an A100 80GB PCIe, 79.15 GiB, in ekondis/mixbench#47",
        ],
    ),
    row(
        DataCentre,
        "a100-40",
        "A100 40 GB",
        [40_960, 40_339],
        [
            "nvidia-smi, in modal-labs/modal-client#2797",
            "deviceQuery of an A100-SXM4-40GB, in bottlerocket-os/bottlerocket#3873",
        ],
    ),
    row(DataCentre, "h100-80", "H100 80 GB", [81_559, 81_106], listings!("H100SXMx8")),
    row(DataCentre, "h100-nvl", "H100 NVL 94 GB", [95_830, 95_235], listings!("H100NVLx2")),
    row(DataCentre, "gh200", "GH200 96 GB", [97_871, 96_768], listings!("GH200")),
    row(DataCentre, "h200", "H200 141 GB", [143_771, 143_072], listings!("H200")),
    row(
        DataCentre,
        "b200",
        "B200 180 GB",
        // 178.35 GiB, rounded down to whole MiB.
        [183_359, 182_630],
        ["nvidia-smi, in NVIDIA/TensorRT-LLM#10278", "Total global memory, 178.35 GiB, in pytorch/ao#4002"],
    ),
    row(
        DataCentre,
        "mi300x",
        "MI300X 192 GB",
        // The runtime's figure stands for both: the tool of this driver lists shares, not totals.
        [196_592, 196_592],
        [
            "HIP total global memory, in thamada/gls, gls/MI300X_deviceQuery.py at e20f22d",
            "HIP total global memory, in thamada/gls, gls/MI300X_deviceQuery.py at e20f22d",
        ],
    ),
    row(DataCentre, "v100-16", "V100 16 GB", [16_384, 16_144], listings!("V100_x8")),
    row(
        DataCentre,
        "v100-32",
        "V100 32 GB",
        // 31.74 GiB, rounded down to whole MiB.
        [32_768, 32_501],
        [
            "nvidia-smi, in akash-network/provider-configs#90",
            "Total capacity in an out-of-memory message, 31.74 GiB, in liucongg/ChatGLM-Finetuning#73",
        ],
    ),
    row(
        DataCentre,
        "t4",
        "T4 16 GB",
        // 14.56 GiB, rounded down to whole MiB.
        [15_360, 14_909],
        [
            "nvidia-smi, in modal-labs/modal-client#2797",
            "Total capacity in an out-of-memory message, 14.56 GiB, in AlphaGPU/leetgpu-challenges#52",
        ],
    ),
    row(DataCentre, "l4", "L4 24 GB", [23_034, 22_478], listings!("L4")),
    row(DataCentre, "a10", "A10 24 GB", [23_028, 22_503], listings!("A10")),
    row(DataCentre, "l40s", "L40S 48 GB", [46_068, 45_589], listings!("L40S")),
    row(DataCentre, "a40", "A40 48 GB", [46_068, 45_403], listings!("A40x10")),
    row(Workstation, "rtx-a6000", "RTX A6000 48 GB, ECC on", [46_068, 45_619], listings!("RTX_A6000_x9")),
    row(Workstation, "rtx-6000-ada", "RTX 6000 Ada 48 GB, ECC off", [49_140, 48_640], listings!("RTX6000Ada_x8")),
    row(Workstation, "rtx-4000-ada", "RTX 4000 Ada 20 GB", [20_475, 20_147], listings!("RTX4000Ada")),
    row(
        Consumer,
        "rtx-3060",
        "RTX 3060 12 GB",
        // 11.76 GiB, rounded down to whole MiB.
        [12_288, 12_042],
        [
            "nvidia-smi, in geerlingguy/raspberry-pi-pcie-devices#790",
            "Total capacity in an out-of-memory message, 11.76 GiB, in TencentARC/PhotoMaker#47",
        ],
    ),
    row(Consumer, "rtx-3080", "RTX 3080 10 GB", [10_240, 10_000], listings!("RTX3080")),
    row(Consumer, "rtx-3090", "RTX 3090 24 GB", [24_576, 24_154], listings!("RTX3090")),
    row(Consumer, "rtx-4060-ti", "RTX 4060 Ti 16 GB", [16_380, 16_076], listings!("RTX4060Ti")),
    row(Consumer, "rtx-4090", "RTX 4090 24 GB", [24_564, 24_210], listings!("RTX4090")),
    row(Consumer, "rtx-5090", "RTX 5090 32 GB", [32_607, 32_120], listings!("RTX5090")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_most_of_the_total_and_never_more() {
        for row in DEVICES {
            assert!(row.visible_mib <= row.memory_mib, "{}", row.slug);
            assert!(f64::from(row.visible_mib) >= 0.9 * f64::from(row.memory_mib), "{}", row.slug);
        }
    }

    #[test]
    fn the_totals_a_reader_can_check_at_home_are_the_known_ones() {
        let total = |slug| DEVICES.iter().find(|row| row.slug == slug).map(|row| row.memory_mib);
        for (slug, memory_mib) in [
            ("a100-80", 81_920),
            ("h100-80", 81_559),
            ("h200", 143_771),
            ("a10", 23_028),
            ("l4", 23_034),
            ("t4", 15_360),
            ("l40s", 46_068),
        ] {
            assert_eq!(total(slug), Some(memory_mib), "{slug}");
        }
    }

    #[test]
    fn rows_stand_group_by_group() {
        let groups: Vec<_> = DEVICES.iter().map(|row| row.group).collect();
        let mut sorted = groups.clone();
        sorted.sort_by_key(|group| DeviceGroup::ALL.iter().position(|listed| listed == group));
        assert_eq!(groups, sorted);
    }
}
