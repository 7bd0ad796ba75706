//! Devices, with the memory their drivers report and the part a program can get.
//!
//! "80 GB" on a box is neither: an A100 reports 81,920 MiB, an H100 sold under the same figure
//! 81,559 MiB, and the driver keeps some hundred MiB of both to itself. The total is what a tool
//! such as `nvidia-smi` prints; the visible part is what the device's runtime tells a program it
//! has, and what PyTorch calls the total capacity when it runs out of memory. The visible part
//! moves by a few hundred MiB with the driver's version.
//!
//! AMD's runtime counts the whole total as visible. On Apple's machines the total is the machine's
//! memory and the visible part is what Metal recommends as the largest working set: about two
//! thirds up to 32 GB and three quarters or more above, by the version of macOS, and a setting of
//! the system raises it.

use super::Declared;

/// Where a row belongs in a picker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceGroup {
    /// Accelerators for servers.
    DataCentre,
    /// Professional cards for desks.
    Workstation,
    /// Cards sold for play.
    Consumer,
    /// Machines whose processor and graphics share one memory.
    Unified,
}

impl DeviceGroup {
    /// Every group, in the order of a picker.
    pub const ALL: &'static [Self] = &[Self::DataCentre, Self::Workstation, Self::Consumer, Self::Unified];

    /// The heading of this group in a picker.
    pub const fn label(self) -> &'static str {
        match self {
            Self::DataCentre => "Data centre",
            Self::Workstation => "Workstation",
            Self::Consumer => "Consumer",
            Self::Unified => "Unified memory",
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

/// A row of this table as it is declared.
type Row = Declared<DeviceRow, DeviceSource>;

/// The day the rows below were last compared with their sources.
const CHECKED: &str = "2026-11-21";

/// The driver of such a machine reports no total of its own.
const SOLD_AS: &str = "Memory of the machine as it is sold, in GiB";

/// The device a reader meets first.
pub const DEFAULT_DEVICE: &DeviceRow = &DEVICES[0];

/// A device, from its total and its visible memory in MiB, and where each was seen.
const fn row(
    group: DeviceGroup,
    slug: &'static str,
    name: &'static str,
    [memory_mib, visible_mib]: [u32; 2],
    [source, visible_source]: [&'static str; 2],
) -> Row {
    let row = DeviceRow { slug, name, group, memory_mib, visible_mib };
    Declared { row, source: DeviceSource { memory: source, visible: visible_source, retrieved: CHECKED } }
}

/// A device whose runtime shows a program the whole total, as AMD's does.
const fn whole(
    group: DeviceGroup,
    slug: &'static str,
    name: &'static str,
    memory_mib: u32,
    sources: [&'static str; 2],
) -> Row {
    row(group, slug, name, [memory_mib, memory_mib], sources)
}

/// What ProjectPhysX/OpenCL-Benchmark prints in its README at one commit: the memory that the
/// device's OpenCL runtime gives a program.
macro_rules! opencl {
    ($device:literal, $commit:literal) => {
        concat!("OpenCL memory of ", $device, ", in ProjectPhysX/OpenCL-Benchmark, README.md at ", $commit)
    };
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

use DeviceGroup::{Consumer, DataCentre, Unified, Workstation};

/// Every device, group by group, in the order of a picker.
pub static DEVICES: &[DeviceRow] = column!(DECLARED.row);

/// The sources of the devices, in the same order.
pub static DEVICE_SOURCES: &[DeviceSource] = column!(DECLARED.source);

const DECLARED: &[Row] = &[
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
        "b300",
        "B300 270 GB",
        [275_040, 274_113],
        [
            "nvidia-smi of a B300 SXM6 AC, in several public listings of the driver, found by their text",
            opencl!("a B300 SXM6 AC", "4694a5b"),
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
        "p100-16",
        "P100 16 GB",
        // 17,071,734,784 bytes, rounded down to whole MiB.
        [16_384, 16_280],
        [
            "nvidia-smi of driver 515.65, in wookayin/gpustat#130",
            "OpenCL global memory of a P100, in leela-zero/leela-zero#1554",
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
    whole(
        DataCentre,
        "mi300x",
        "MI300X 192 GB",
        196_592,
        [
            "rocm-smi, 206,141,652,992 bytes, in ROCm/legacy-rocm-build#4750",
            "HIP total global memory, in thamada/gls, gls/MI300X_deviceQuery.py at e20f22d",
        ],
    ),
    whole(
        DataCentre,
        "mi325x",
        "MI325X 256 GB",
        262_128,
        [
            "256 GiB less the 16 MiB that every other Instinct of this list lacks, not measured",
            "The whole total, as the runtime counts it on every other Instinct of this list, not measured",
        ],
    ),
    whole(
        DataCentre,
        "mi355x",
        "MI355X 288 GB",
        294_896,
        [
            opencl!("an MI355X", "4694a5b"),
            "HIP total capacity on gfx950, 287.98 GiB, in an out-of-memory message of ROCm/TheRock#2118",
        ],
    ),
    whole(
        DataCentre,
        "mi250x",
        "MI250X 64 GB, one of two dies",
        65_520,
        [
            opencl!("a gfx90a die", "c7e8987"),
            "The whole total, as the runtime counts it; the driver lists the two dies as two devices",
        ],
    ),
    whole(DataCentre, "mi210", "MI210 64 GB", 65_520, [opencl!("an MI210", "326d3a0"), opencl!("an MI210", "326d3a0")]),
    whole(
        DataCentre,
        "mi50",
        "MI50 16 GB",
        16_368,
        [
            "rocminfo pool of a gfx906, 16,760,832 KB, in lmstudio-ai/lmstudio-bug-tracker#352",
            opencl!("a gfx906", "c7e8987"),
        ],
    ),
    row(
        Workstation,
        "rtx-pro-6000",
        "RTX PRO 6000 Blackwell 96 GB",
        // 94.97 GiB, rounded down to whole MiB.
        [97_887, 97_249],
        [
            "nvidia-smi of a Max-Q edition, in akash-network/provider-configs#79",
            "PyTorch's total, 94.97 GiB, in several public logs, found by their text",
        ],
    ),
    row(Workstation, "rtx-a6000", "RTX A6000 48 GB, ECC on", [46_068, 45_619], listings!("RTX_A6000_x9")),
    row(Workstation, "rtx-6000-ada", "RTX 6000 Ada 48 GB, ECC off", [49_140, 48_640], listings!("RTX6000Ada_x8")),
    row(Workstation, "rtx-4000-ada", "RTX 4000 Ada 20 GB", [20_475, 20_147], listings!("RTX4000Ada")),
    row(
        Workstation,
        "rtx-a4000",
        "RTX A4000 16 GB, ECC off",
        // 15.61 GiB, rounded down to whole MiB.
        [16_376, 15_984],
        [
            "nvidia-smi, in geerlingguy/raspberry-pi-pcie-devices#791",
            "Total capacity in an out-of-memory message, 15.61 GiB, in DengKaiCQ/VGGT-Long#6",
        ],
    ),
    row(Workstation, "rtx-2000-ada", "RTX 2000 Ada 16 GB", [16_380, 16_076], listings!("RTX2000Ada")),
    row(
        Consumer,
        "rtx-2080-ti",
        "RTX 2080 Ti 11 GB",
        [11_264, 11_011],
        [
            "Eleven modules of 1 GiB; drivers of 2020 took their own part off this, as in \
             karfly/learnable-triangulation-pytorch#80",
            opencl!("an RTX 2080 Ti", "c7e8987"),
        ],
    ),
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
    row(Consumer, "rtx-3070", "RTX 3070 8 GB", [8_192, 7_964], listings!("RTX3070")),
    row(Consumer, "rtx-3080", "RTX 3080 10 GB", [10_240, 10_000], listings!("RTX3080")),
    row(Consumer, "rtx-3090", "RTX 3090 24 GB", [24_576, 24_154], listings!("RTX3090")),
    row(Consumer, "rtx-4060-ti", "RTX 4060 Ti 16 GB", [16_380, 16_076], listings!("RTX4060Ti")),
    row(
        Consumer,
        "rtx-4080",
        "RTX 4080 16 GB",
        [16_376, 16_072],
        [
            "Total in bytes, in gpustack/gpustack, tests/fixtures/workers/linux_nvidia_4_4080_16gx4.json at 47277d7",
            "Total minus the 304 MiB that the driver of an RTX 4060 Ti keeps, not measured",
        ],
    ),
    row(Consumer, "rtx-4090", "RTX 4090 24 GB", [24_564, 24_210], listings!("RTX4090")),
    row(
        Consumer,
        "rtx-5060-ti",
        "RTX 5060 Ti 16 GB",
        [16_311, 15_816],
        [
            "nvidia-smi, in akash-network/provider-configs#87",
            "Memory that CUDA shows, 15,816 MiB, in Luce-Org/lucebox#407",
        ],
    ),
    row(
        Consumer,
        "rtx-5080",
        "RTX 5080 16 GB",
        [16_302, 15_807],
        [
            "CUDA's total on Windows, in hashcat/hashcat#4565",
            "Total minus the 495 MiB that the driver of an RTX 5060 Ti keeps, not measured",
        ],
    ),
    row(Consumer, "rtx-5090", "RTX 5090 32 GB", [32_607, 32_120], listings!("RTX5090")),
    whole(
        Consumer,
        "rx-6800-xt",
        "Radeon RX 6800 XT 16 GB",
        16_368,
        [
            "16 GiB less the 16 MiB that every other Radeon of this list lacks",
            "HIP total capacity in an out-of-memory message, 15.98 GiB, in QwenAudio/CosyVoice#1189",
        ],
    ),
    whole(
        Consumer,
        "rx-7700-xt",
        "Radeon RX 7700 XT 12 GB",
        12_272,
        [opencl!("an RX 7700 XT", "4694a5b"), opencl!("an RX 7700 XT", "4694a5b")],
    ),
    whole(
        Consumer,
        "rx-7800-xt",
        "Radeon RX 7800 XT 16 GB",
        16_368,
        [
            "Total in bytes, in gpustack/gpustack, tests/fixtures/workers/linux_rocm_1_7800_16gx1.json at 47277d7",
            "The whole total, as the runtime counts it on the RX 6800 XT and the RX 7900 XTX, not measured",
        ],
    ),
    whole(
        Consumer,
        "rx-7900-xtx",
        "Radeon RX 7900 XTX 24 GB",
        24_560,
        [
            "Size of video memory, in ilya-zlobintsev/LACT#533",
            "HIP total capacity in an out-of-memory message, 23.98 GiB, in Tongyi-MAI/Z-Image#103",
        ],
    ),
    row(
        Unified,
        "apple-m1-16",
        "Apple M1 16 GB",
        [16_384, 10_922],
        [SOLD_AS, "Metal's recommended working set of a MacBook Pro, 10,922.67 MiB, in abetlen/llama-cpp-python#687"],
    ),
    row(
        Unified,
        "apple-m2-24",
        "Apple M2 24 GB",
        [24_576, 16_384],
        [
            SOLD_AS,
            "Total in bytes that Metal gives, in gpustack/gpustack, tests/fixtures/workers/macos_metal_2_m2_24g.json \
             at 47277d7",
        ],
    ),
    row(
        Unified,
        "apple-m1-max-32",
        "Apple M1 Max 32 GB",
        [32_768, 21_845],
        [SOLD_AS, "Metal's recommended working set, 21,845.34 MiB, in ggml-org/llama.cpp#2011"],
    ),
    row(
        Unified,
        "apple-m3-max-64",
        "Apple M3 Max 64 GB",
        [65_536, 49_152],
        [SOLD_AS, "Metal's recommended working set, 48 GB, in raullenchai/Rapid-MLX#183"],
    ),
    row(
        Unified,
        "apple-m2-max-96",
        "Apple M2 Max 96 GB",
        [98_304, 73_728],
        [SOLD_AS, "Metal's recommended working set, 73,728 MiB, in ggml-org/llama.cpp#3213"],
    ),
    row(
        Unified,
        "apple-m5-max-128",
        "Apple M5 Max 128 GB",
        // 107.52 GiB, rounded down to whole MiB.
        [131_072, 110_100],
        [SOLD_AS, "Metal's recommended working set under macOS 26, 107.52 GiB, in antirez/ds4#893"],
    ),
    row(
        Unified,
        "apple-m2-ultra-192",
        "Apple M2 Ultra 192 GB",
        [196_608, 147_456],
        [
            SOLD_AS,
            "Metal's recommended working set, 144 GB, in raullenchai/Rapid-MLX#183; the same 154,618,822,656 bytes in \
             apache/tvm#16398",
        ],
    ),
    whole(
        Unified,
        "dgx-spark",
        "DGX Spark 128 GB",
        // 121.69 GiB, rounded down to whole MiB.
        124_610,
        [
            "PyTorch's total, 121.69 GiB, in unslothai/unsloth#10283; nvidia-smi gives none, as in \
             unslothai/unsloth#10703",
            "PyTorch's total; after a boot about 102 GiB of it are free, in \
             MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#47",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Drivers keep a few per cent; a machine with one memory keeps a part for its processor.
    #[test]
    fn a_program_gets_most_of_the_total_and_never_more() {
        for row in DEVICES {
            let least = if row.group == Unified { 0.66 } else { 0.96 };
            assert!(row.visible_mib <= row.memory_mib, "{}", row.slug);
            assert!(f64::from(row.visible_mib) >= least * f64::from(row.memory_mib), "{}", row.slug);
        }
    }

    #[test]
    fn many_devices_are_listed_in_every_group() {
        assert!(DEVICES.len() >= 34, "{}", DEVICES.len());
        for group in DeviceGroup::ALL {
            assert!(DEVICES.iter().filter(|row| row.group == *group).count() >= 5, "{}", group.label());
        }
    }

    /// The size on the box is in GB or GiB, by the maker's habit; the total is near either.
    #[test]
    fn a_name_says_about_the_size_that_the_driver_reports() {
        for row in DEVICES {
            let before = row.name.split(" GB").next().expect("a first part");
            let said: f64 = before.rsplit(' ').next().and_then(|size| size.parse().ok()).expect("a size in GB");
            let gib = f64::from(row.memory_mib) / 1024.0;
            assert!((0.92..=1.03).contains(&(gib / said)), "{}: {gib:.1} GiB", row.name);
        }
    }

    #[test]
    fn no_two_rows_are_called_the_same() {
        for (i, row) in DEVICES.iter().enumerate() {
            assert!(DEVICES[i + 1..].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }

    #[test]
    fn what_was_not_measured_is_said_of_few() {
        let guessed =
            |source: &&DeviceSource| [source.memory, source.visible].iter().any(|text| text.contains("not measured"));
        assert!(DEVICE_SOURCES.iter().filter(guessed).count() <= 4);
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
            ("b200", 183_359),
            ("mi300x", 196_592),
            ("rtx-3090", 24_576),
            ("rtx-4090", 24_564),
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
