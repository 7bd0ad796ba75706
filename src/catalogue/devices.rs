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
use super::speeds::{PCIE3, PCIE4, PCIE5, Peaks};
use crate::Bytes;

/// Where a row belongs in a picker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
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
    /// How fast it computes, reads its memory and reaches the host; `None` where nobody states it in a
    /// form that could be used, and then every time is said to be assumed.
    pub peaks: Option<Peaks>,
    /// Without peaks, what is stated all the same: reading the memory that it shares with its processor, in GB/s.
    pub shared_gb_per_second: Option<f64>,
}

/// Where the numbers of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceSource {
    /// Where the total was seen.
    pub memory: &'static str,
    /// Where the visible part was seen.
    pub visible: &'static str,
    /// The day both were looked up, as in ISO 8601.
    pub retrieved: &'static str,
    /// Where the peaks are stated, or why none are listed.
    pub peaks: &'static str,
    /// The day that was looked up, as in ISO 8601.
    pub peaks_retrieved: &'static str,
}

/// Devices of the Hopper generation and of its successors in the data centre.
const HOPPER_OR_LATER: &[&str] = &["h100", "h200", "h20", "h800", "gh200", "b100", "b200", "b300", "gb200", "gb300"];

/// How the slugs of devices begin that run no CUDA: AMD's and Apple's.
const WITHOUT_CUDA: &[&str] = &["mi", "rx-", "apple-"];

/// Ten times the compute capability of NVIDIA's devices, by how their slugs begin; the first that fits counts
/// (developer.nvidia.com/cuda-gpus, read 2026-11-22).
const CAPABILITIES: &[(&str, u32)] = &[
    ("a100", 80),
    ("a10", 86),
    ("a30", 80),
    ("a40", 86),
    ("h", 90),
    ("gh", 90),
    ("b300", 103),
    ("gb300", 103),
    ("b", 100),
    ("gb", 100),
    ("v100", 70),
    ("p100", 60),
    ("p40", 61),
    ("gtx-10", 61),
    ("titan-rtx", 75),
    ("titan-v", 70),
    ("quadro-rtx", 75),
    ("t4", 75),
    ("l4", 89),
    ("l20", 89),
    ("rtx-pro", 120),
    ("rtx-a", 86),
    ("rtx-6000", 89),
    ("rtx-5000-ada", 89),
    ("rtx-4000", 89),
    ("rtx-2000", 89),
    ("rtx-20", 75),
    ("rtx-30", 86),
    ("rtx-40", 89),
    ("rtx-50", 120),
    ("dgx-spark", 121),
];

/// Ten times the compute capability from which on NVIDIA's devices have bf16 (CUDA C++ Programming Guide, table
/// “Throughput of Native Arithmetic Instructions”; `is_bf16_supported(including_emulation=False)` in
/// torch/cuda/__init__.py asks for the same).
const BF16_CAPABILITY: u32 = 80;

/// How the slugs of other devices without bf16 begin. AMD's have it from CDNA and RDNA 3 on (AMD CDNA white paper of 2020,
/// “bfloat16”; RDNA 3 instruction set, `V_WMMA_F32_16X16X16_BF16`), Apple's from the M3 on: Metal computes in fp32 on an M1
/// and an M2 (`is_torch_bf16_gpu_available` in transformers/utils/import_utils.py, 5.23.0).
const WITHOUT_BF16: &[&str] = &["mi50", "mi60", "rx-6", "apple-m1", "apple-m2"];

impl DeviceRow {
    /// Ten times its compute capability, 89 for 8.9; 0 for what runs no CUDA.
    pub fn capability(&self) -> u32 {
        let known = CAPABILITIES.iter().find(|(start, _)| self.slug.starts_with(start));
        known.map_or(0, |(_, capability)| *capability)
    }

    /// Whether it has no units for bf16, so that PyTorch emulates it.
    pub fn emulates_bf16(&self) -> bool {
        let old = (1..BF16_CAPABILITY).contains(&self.capability());
        old || WITHOUT_BF16.iter().any(|start| self.slug.starts_with(start))
    }

    /// Whether it runs CUDA, for which the ledger's overheads and kernels were counted and measured.
    pub fn runs_cuda(&self) -> bool {
        !WITHOUT_CUDA.iter().any(|start| self.slug.starts_with(start))
    }

    /// Total memory as the driver reports it.
    pub fn memory(&self) -> Bytes {
        Bytes::from_mib(self.memory_mib.into())
    }

    /// The part of it that the driver keeps for itself.
    pub fn driver(&self) -> Bytes {
        self.memory() - Bytes::from_mib(self.visible_mib.into())
    }

    /// What cuBLAS takes for its workspace: 32 MiB on Hopper and later, 8 MiB before
    /// (`parseChosenWorkspaceSize` in aten/src/ATen/cuda/CublasHandlePool.cpp, PyTorch 2.15).
    pub fn workspace(&self) -> Bytes {
        if HOPPER_OR_LATER.iter().any(|name| self.slug.starts_with(name)) { WORKSPACE_FROM_HOPPER } else { WORKSPACE }
    }

    /// Where the numbers come from; `None` for a row that is not of this catalogue.
    pub fn source(&self) -> Option<&'static DeviceSource> {
        let place = DEVICES.iter().position(|row| row == self)?;
        DEVICE_SOURCES.get(place)
    }
}

/// A row of this table as it is declared.
type Row = Declared<DeviceRow, DeviceSource>;

/// The day the memory of the rows below was last compared with its sources.
const CHECKED: &str = "2026-11-21";
/// The day of the rows that came or changed after that, and of every peak.
const CHECKED_LATER: &str = "2026-11-22";
/// The day of the rows that came last.
const CHECKED_LAST: &str = "2026-11-26";

/// The driver of such a machine reports no total of its own.
const SOLD_AS: &str = "Memory of the machine as it is sold, in GiB";

/// cuBLAS's workspace before Hopper, in MiB.
const WORKSPACE: Bytes = Bytes::from_mib(8.0);
/// The same on those.
const WORKSPACE_FROM_HOPPER: Bytes = Bytes::from_mib(32.0);

/// The device a reader meets first.
pub const DEFAULT_DEVICE: &DeviceRow = &DEVICES[place!(DECLARED, "h100-80")];

/// The device of the workshop’s example.
pub const WORKSHOP_DEVICE: &DeviceRow = &DEVICES[place!(DECLARED, "a100-80")];

/// The peaks of a device, or the bandwidth of its memory alone in GB/s, and where they are stated, or why they are not
/// listed.
type Stated = (Result<Peaks, f64>, &'static str);

/// Peaks as a data sheet states them: 16-bit products and full fp32 in TFLOP/s, TF32 where there is any,
/// memory and host link in GB/s.
const fn sheet([half, fp32]: [f64; 2], tf32: Option<f64>, [memory, host]: [f64; 2], source: &'static str) -> Stated {
    (Ok(Peaks { half, tf32, fp32, memory_gb_per_second: memory, host_gb_per_second: host }), source)
}

/// No peaks, and why; the bandwidth of the shared memory alone.
const fn unstated(shared_gb_per_second: f64, why: &'static str) -> Stated {
    (Err(shared_gb_per_second), why)
}

/// A device, from its total and its visible memory in MiB, where each was seen, and its peaks.
const fn row(
    group: DeviceGroup,
    slug: &'static str,
    name: &'static str,
    [memory_mib, visible_mib]: [u32; 2],
    [source, visible_source]: [&'static str; 2],
    (stated, peaks_source): Stated,
) -> Row {
    let (peaks, shared_gb_per_second) = match stated {
        Ok(peaks) => (Some(peaks), None),
        Err(shared) => (None, Some(shared)),
    };
    let source = DeviceSource {
        memory: source,
        visible: visible_source,
        retrieved: CHECKED,
        peaks: peaks_source,
        peaks_retrieved: CHECKED_LATER,
    };
    Declared { row: DeviceRow { slug, name, group, memory_mib, visible_mib, peaks, shared_gb_per_second }, source }
}

/// A device whose runtime shows a program the whole total, as AMD's does.
const fn whole(
    group: DeviceGroup,
    slug: &'static str,
    name: &'static str,
    memory_mib: u32,
    sources: [&'static str; 2],
    stated: Stated,
) -> Row {
    row(group, slug, name, [memory_mib, memory_mib], sources, stated)
}

/// The same row, whose memory was looked up later than that of the others.
const fn later(row: Row) -> Row {
    Declared { source: DeviceSource { retrieved: CHECKED_LATER, ..row.source }, ..row }
}

/// The same row, which came last: all of it was looked up then.
const fn last(row: Row) -> Row {
    let source = DeviceSource { retrieved: CHECKED_LAST, peaks_retrieved: CHECKED_LAST, ..row.source };
    Declared { source, ..row }
}

/// What YOLO prints of its device: the total that PyTorch has of it, in MiB.
macro_rules! pytorch {
    ($mib:literal) => {
        concat!("PyTorch's total, ", $mib, " MiB, in logs of YOLO found by their text")
    };
}

/// Where the driver's total of a card was seen.
const SMI: &str = "nvidia-smi, in several public listings of the driver, found by their text";

/// The data sheet of a professional card, which states products with sparsity.
macro_rules! proviz {
    ($card:literal, $half:literal) => {
        concat!("NVIDIA ", $card, " data sheet: ", $half)
    };
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

/// A data sheet whose figures Lightning repeats with its address.
macro_rules! lightning {
    ($sheet:literal) => {
        concat!(
            $sheet,
            ", as in Lightning-AI/pytorch-lightning, src/lightning/fabric/utilities/throughput.py at 7f0c343"
        )
    };
}

/// A data sheet whose figures "Machine Learning Engineering" repeats without sparsity.
macro_rules! bekman {
    ($sheet:literal) => {
        concat!($sheet, ", as in stas00/ml-engineering, compute/accelerator/README.md at 744d01e")
    };
}

/// A GeForce card: NVIDIA's white paper for the largest of its generation, and the others by their number
/// of tensor cores and their clock, as llm.c has them.
macro_rules! llm_c {
    ($card:literal) => {
        concat!(
            $card,
            ", with fp32 sums, as in karpathy/llm.c, llmc/mfu.h at f1e2ace; memory: NVIDIA's page of the card"
        )
    };
}

/// A GeForce card of the 50 series.
const BLACKWELL: &str = "NVIDIA RTX Blackwell GPU architecture white paper, appendix (images.nvidia.com/aem-dam/\
    Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf): peaks with fp32 sums, repeated in public \
    tables found by their text; memory: NVIDIA's page of the card";

const RADEON: &str = "AMD's page of the card (amd.com/en/products/graphics/desktops/radeon.html): half precision and \
    single precision; half as in huggingface/huggingface.js, packages/tasks/src/hardware-amd.ts at fe42e68";

const METAL: &str = "Shaders, the same in 16 and 32 bits, as in philipturner/metal-benchmarks, README.md; memory: \
    Apple's technical specifications of the machine. Processor and graphics share it, so that a copy to the \
    host is one inside it";

const HGX: &str = "NVIDIA HGX page (nvidia.com/en-us/data-center/hgx), totals of eight divided by eight, bf16 and TF32 \
    halved for sparsity; memory: NVIDIA DGX data sheet, 8 TB/s each";

use DeviceGroup::{Consumer, DataCentre, Unified, Workstation};

/// Every device, group by group, in the order of a picker.
pub static DEVICES: &[DeviceRow] = column!(DECLARED.row);

/// The sources of the devices, in the same order.
pub static DEVICE_SOURCES: &[DeviceSource] = column!(DECLARED.source);

const DECLARED: &[Row] = &[
    row(
        DataCentre,
        "a100-80",
        "A100 SXM 80 GB",
        [81_920, 81_049],
        [
            "nvidia-smi, in modal-labs/modal-client#2797",
            "Total global memory of an A100 80GB PCIe, 79.15 GiB, in ekondis/mixbench#47; the SXM module reports the same total",
        ],
        sheet(
            [312.0, 19.5],
            Some(156.0),
            [2_039.0, PCIE4],
            lightning!("NVIDIA A100 data sheet (nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf), A100 80GB SXM"),
        ),
    ),
    later(row(
        DataCentre,
        "a100-pcie",
        "A100 PCIe 80 GB",
        // 79.15 GiB, rounded down to whole MiB.
        [81_920, 81_049],
        [
            "nvidia-smi of an A100 80GB PCIe, in several public listings of the driver, found by their text",
            "Total global memory, 79.15 GiB, in ekondis/mixbench#47",
        ],
        sheet(
            [312.0, 19.5],
            Some(156.0),
            [1_935.0, PCIE4],
            lightning!("NVIDIA A100 data sheet (nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf), A100 80GB PCIe"),
        ),
    )),
    row(
        DataCentre,
        "a100-40",
        "A100 SXM 40 GB",
        [40_960, 40_339],
        [
            "nvidia-smi, in modal-labs/modal-client#2797",
            "deviceQuery of an A100-SXM4-40GB, in bottlerocket-os/bottlerocket#3873",
        ],
        sheet(
            [312.0, 19.5],
            Some(156.0),
            [1_555.0, PCIE4],
            lightning!(
                "NVIDIA A100 data sheet (nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf), SXM and PCIe alike"
            ),
        ),
    ),
    row(
        DataCentre,
        "h100-80",
        "H100 SXM 80 GB",
        [81_559, 81_106],
        listings!("H100SXMx8"),
        sheet(
            [989.0, 67.0],
            Some(494.5),
            [3_350.0, PCIE5],
            lightning!(
                "NVIDIA H100 data sheet (resources.nvidia.com/en-us-gpu-resources/h100-datasheet-24306), H100 SXM, halved for sparsity"
            ),
        ),
    ),
    later(row(
        DataCentre,
        "h100-pcie",
        "H100 PCIe 80 GB",
        // 79.19 GiB, rounded down to whole MiB.
        [81_559, 81_090],
        [
            "nvidia-smi of an H100 PCIe, in public listings found by their text",
            "PyTorch's total of an H100 PCIe, 79.19 GiB, in a public log found by its text",
        ],
        sheet(
            [756.0, 51.2],
            Some(378.0),
            [2_000.0, PCIE5],
            lightning!("NVIDIA H100 data sheet, H100 PCIe, halved for sparsity"),
        ),
    )),
    row(
        DataCentre,
        "h100-nvl",
        "H100 NVL 94 GB",
        [95_830, 95_235],
        listings!("H100NVLx2"),
        sheet(
            [835.5, 60.0],
            Some(417.5),
            [3_900.0, PCIE5],
            lightning!(
                "NVIDIA H100 data sheet (resources.nvidia.com/en-us-gpu-resources/h100-datasheet-24306), H100 NVL, halved for sparsity"
            ),
        ),
    ),
    row(
        DataCentre,
        "gh200",
        "GH200 96 GB",
        [97_871, 96_768],
        listings!("GH200"),
        sheet(
            [989.0, 67.0],
            Some(494.5),
            [4_000.0, 450.0],
            bekman!(
                "NVIDIA Grace Hopper page (nvidia.com/en-us/data-center/grace-hopper-superchip), HBM3 edition, halved for sparsity; NVLink-C2C has 900 GB/s both ways together"
            ),
        ),
    ),
    last(row(
        DataCentre,
        "gh200-144",
        "GH200 144 GB",
        [146_831, 145_728],
        [SMI, "Total minus the 1,103 MiB that the driver of a GH200 96 GB keeps, not measured"],
        sheet(
            [989.0, 67.0],
            Some(494.5),
            [4_900.0, 450.0],
            "NVIDIA Grace Hopper page (nvidia.com/en-us/data-center/grace-hopper-superchip), HBM3e edition, halved for sparsity; NVLink-C2C has 900 GB/s both ways together",
        ),
    )),
    row(
        DataCentre,
        "h200",
        "H200 SXM 141 GB",
        [143_771, 143_072],
        listings!("H200"),
        sheet(
            [989.0, 67.0],
            Some(494.5),
            [4_800.0, PCIE5],
            lightning!(
                "NVIDIA H200 data sheet (hpc-datasheet-sc23-h200-datasheet-3002446), H200 SXM, halved for sparsity"
            ),
        ),
    ),
    later(row(
        DataCentre,
        "h20",
        "H20 96 GB",
        [97_871, 97_285],
        [
            "nvidia-smi, in several public listings of the driver, found by their text",
            "PyTorch's total, 97,285 MiB, in public code found by its text",
        ],
        sheet(
            [148.0, 44.0],
            Some(74.0),
            [4_000.0, PCIE5],
            "Tom's Hardware on the cards for China (nvidias-latest-regulation-compliant-gpu-for-china-has-been-delayed-to-early-next-year), as in pytorch/torchtitan, torchtitan/tools/utils.py at b5bcd76; NVIDIA has no public data sheet",
        ),
    )),
    row(
        DataCentre,
        "b200",
        "B200 180 GB",
        // 178.35 GiB, rounded down to whole MiB.
        [183_359, 182_630],
        ["nvidia-smi, in NVIDIA/TensorRT-LLM#10278", "Total global memory, 178.35 GiB, in pytorch/ao#4002"],
        sheet([2_250.0, 75.0], Some(1_125.0), [8_000.0, PCIE5], HGX),
    ),
    row(
        DataCentre,
        "b300",
        "B300 288 GB",
        // 288.4·10⁹ bytes, which is the 288 GB of the data sheet.
        [275_040, 274_113],
        [
            "nvidia-smi of a B300 SXM6 AC, in several public listings of the driver, found by their text",
            opencl!("a B300 SXM6 AC", "4694a5b"),
        ],
        sheet([2_250.0, 75.0], Some(1_125.0), [8_000.0, PCIE5], HGX),
    ),
    later(row(
        DataCentre,
        "gb200",
        "GB200 186 GB, one of two GPUs",
        // 184.31 GiB, rounded down to whole MiB.
        [189_471, 188_733],
        [
            "nvidia-smi, in several public listings of the driver, found by their text",
            "Total capacity in out-of-memory messages, 184.31 GiB, in public logs found by their text",
        ],
        sheet(
            [2_500.0, 80.0],
            Some(1_250.0),
            [8_000.0, 225.0],
            bekman!(
                "NVIDIA GB200 NVL72 page (nvidia.com/en-us/data-center/gb200-nvl72), one of 72, halved for sparsity; NVLink-C2C has 900 GB/s for both GPUs and both ways together"
            ),
        ),
    )),
    last(row(
        DataCentre,
        "gb300",
        "GB300 288 GB, one of two GPUs",
        [284_208, 283_281],
        [SMI, "Total minus the 927 MiB that the driver of a B300 keeps, not measured"],
        sheet(
            [2_500.0, 80.0],
            Some(1_250.0),
            [8_000.0, 225.0],
            "NVIDIA GB300 NVL72 page (nvidia.com/en-us/data-center/gb300-nvl72), one of 72, halved for sparsity; NVLink-C2C has 900 GB/s for both GPUs and both ways together",
        ),
    )),
    row(
        DataCentre,
        "v100-16",
        "V100 SXM2 16 GB",
        [16_384, 16_144],
        listings!("V100_x8"),
        sheet(
            [125.0, 15.7],
            None,
            [900.0, PCIE3],
            lightning!(
                "NVIDIA V100 data sheet (volta-v100-datasheet-update-us-1165301-r5.pdf), the SXM2 board, fp16; it has no bf16. The PCIe card has 112 TFLOP/s"
            ),
        ),
    ),
    row(
        DataCentre,
        "v100-32",
        "V100 SXM2 32 GB",
        // 31.74 GiB, rounded down to whole MiB.
        [32_768, 32_501],
        [
            "nvidia-smi, in akash-network/provider-configs#90",
            "Total capacity in an out-of-memory message, 31.74 GiB, in liucongg/ChatGLM-Finetuning#73",
        ],
        sheet(
            [125.0, 15.7],
            None,
            [900.0, PCIE3],
            lightning!(
                "NVIDIA V100 data sheet (volta-v100-datasheet-update-us-1165301-r5.pdf), the SXM2 board, fp16; it has no bf16. The PCIe card has 112 TFLOP/s"
            ),
        ),
    ),
    row(
        DataCentre,
        "p100-16",
        "P100 PCIe 16 GB",
        // 17,071,734,784 bytes, rounded down to whole MiB.
        [16_384, 16_280],
        [
            "nvidia-smi of driver 515.65, in wookayin/gpustat#130",
            "OpenCL global memory of a P100, in leela-zero/leela-zero#1554",
        ],
        sheet(
            [18.7, 9.3],
            None,
            [732.0, PCIE3],
            "NVIDIA Tesla P100 data sheet, the PCIe card, fp16 without units for matrices, repeated in public tables found by their text. The SXM2 module has 21.2 TFLOP/s",
        ),
    ),
    last(row(
        DataCentre,
        "p40",
        "P40 24 GB, ECC off",
        [24_576, 24_212],
        [SMI, "Total minus the 364 MiB that the driver of a Titan RTX keeps, not measured"],
        sheet(
            [11.8, 11.8],
            None,
            [346.0, PCIE3],
            "NVIDIA Tesla P40 data sheet: fp32. Its fp16 is 64 times slower, and cuBLAS multiplies 16-bit matrices in fp32",
        ),
    )),
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
        sheet(
            [65.0, 8.1],
            None,
            [320.0, PCIE3],
            lightning!("NVIDIA T4 data sheet (t4-tensor-core-datasheet-951643.pdf), fp16; it has no bf16"),
        ),
    ),
    row(
        DataCentre,
        "l4",
        "L4 24 GB",
        [23_034, 22_478],
        listings!("L4"),
        sheet(
            [121.0, 30.3],
            Some(60.0),
            [300.0, PCIE4],
            lightning!("NVIDIA L4 page (nvidia.com/en-us/data-center/l4), halved for sparsity"),
        ),
    ),
    row(
        DataCentre,
        "a10",
        "A10 24 GB",
        [23_028, 22_503],
        listings!("A10"),
        sheet([125.0, 31.2], Some(62.5), [600.0, PCIE4], lightning!("NVIDIA A10 data sheet (a10-datasheet.pdf)")),
    ),
    last(row(
        DataCentre,
        "a30",
        "A30 24 GB",
        [24_576, 24_164],
        [SMI, pytorch!("24,164")],
        sheet([165.0, 10.3], Some(82.0), [933.0, PCIE4], "NVIDIA A30 data sheet (a30-datasheet.pdf)"),
    )),
    row(
        DataCentre,
        "l40s",
        "L40S 48 GB",
        [46_068, 45_589],
        listings!("L40S"),
        sheet(
            [362.0, 91.6],
            Some(183.0),
            [864.0, PCIE4],
            bekman!("NVIDIA L40S page (nvidia.com/en-us/data-center/l40s)"),
        ),
    ),
    last(row(
        DataCentre,
        "l40",
        "L40 48 GB",
        [46_068, 45_457],
        [
            SMI,
            "PyTorch's total, 44.4 GiB, in a public log found by its text; the MiB are those of an L20, which reports the same total",
        ],
        sheet([181.0, 90.5], Some(90.5), [864.0, PCIE4], "NVIDIA L40 data sheet, halved for sparsity"),
    )),
    last(row(
        DataCentre,
        "l20",
        "L20 48 GB",
        [46_068, 45_457],
        [SMI, "Memory that CUDA shows llama.cpp, 45,457 MiB, in a public log found by its text"],
        sheet(
            [119.5, 59.8],
            Some(59.8),
            [864.0, PCIE4],
            "NVIDIA L20 product brief, repeated in public tables found by their text",
        ),
    )),
    row(
        DataCentre,
        "a40",
        "A40 48 GB",
        [46_068, 45_403],
        listings!("A40x10"),
        sheet(
            [149.7, 37.4],
            Some(74.8),
            [696.0, PCIE4],
            lightning!("NVIDIA A40 data sheet (nvidia-a40-datasheet.pdf)"),
        ),
    ),
    whole(
        DataCentre,
        "mi300x",
        "MI300X 192 GB",
        196_592,
        [
            "rocm-smi, 206,141,652,992 bytes, in ROCm/legacy-rocm-build#4750",
            "HIP total global memory, in thamada/gls, gls/MI300X_deviceQuery.py at e20f22d",
        ],
        sheet(
            [1_307.4, 163.4],
            Some(653.7),
            [5_300.0, PCIE5],
            bekman!("AMD MI300X page (amd.com/en/products/accelerators/instinct/mi300/mi300x.html), matrix units"),
        ),
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
        sheet(
            [1_307.4, 163.4],
            Some(653.7),
            [6_000.0, PCIE5],
            bekman!("AMD MI325X page (amd.com/en/products/accelerators/instinct/mi300/mi325x.html), matrix units"),
        ),
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
        sheet(
            [2_516.6, 157.3],
            None,
            [8_000.0, PCIE5],
            bekman!(
                "AMD MI355X page (amd.com/en/products/accelerators/instinct/mi350/mi355x.html), matrix units; CDNA 4 has no TF32"
            ),
        ),
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
        sheet(
            [191.5, 47.9],
            None,
            [1_638.0, PCIE4],
            bekman!(
                "AMD MI250X page (amd.com/en/products/accelerators/instinct/mi200/mi250x.html), half of the two dies together, matrix units (95.7 TFLOP/s of fp32 for both)"
            ),
        ),
    ),
    whole(
        DataCentre,
        "mi210",
        "MI210 64 GB",
        65_520,
        [opencl!("an MI210", "326d3a0"), opencl!("an MI210", "326d3a0")],
        sheet(
            [181.0, 45.3],
            None,
            [1_638.0, PCIE4],
            "AMD MI210 page (amd.com/en/products/accelerators/instinct/mi200/mi210.html), matrix units, repeated in public tables found by their text",
        ),
    ),
    whole(
        DataCentre,
        "mi50",
        "MI50 16 GB",
        16_368,
        [
            "rocminfo pool of a gfx906, 16,760,832 KB, in lmstudio-ai/lmstudio-bug-tracker#352",
            opencl!("a gfx906", "c7e8987"),
        ],
        sheet(
            [26.5, 13.3],
            None,
            [1_024.0, PCIE4],
            "AMD MI50 data sheet, shaders, fp16; it has no bf16 and no units for matrices; repeated in public tables found by their text",
        ),
    ),
    last(whole(
        DataCentre,
        "mi60",
        "MI60 32 GB",
        32_752,
        [
            "Video memory that ROCm shows llama.cpp, 32,752 MiB, in public logs found by their text; an MI50 with 32 GB reports the same",
            "The same logs",
        ],
        sheet(
            [29.5, 14.7],
            None,
            [1_024.0, PCIE4],
            "AMD MI60 data sheet, shaders, fp16; it has no bf16 and no units for matrices; repeated in public tables found by their text",
        ),
    )),
    last(whole(
        DataCentre,
        "mi100",
        "MI100 32 GB",
        32_752,
        ["31.984 GiB usable, in a public record found by its text", "The same record"],
        sheet(
            [92.3, 46.1],
            None,
            [1_229.0, PCIE4],
            "AMD MI100 data sheet, matrix units, bf16 (184.6 TFLOP/s of fp16), repeated in public tables found by their text",
        ),
    )),
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
        sheet(
            [503.8, 126.0],
            Some(251.9),
            [1_792.0, PCIE5],
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition data sheet (workstation-blackwell-rtx-pro-6000-workstation-edition-nvidia-us-3519208-web.pdf): 4,000 TOPS of sparse fp4, an eighth of which are 16-bit products; 503.8 with fp32 sums in public tables found by their text. The Max-Q edition is slower",
        ),
    ),
    row(
        Workstation,
        "rtx-a6000",
        "RTX A6000 48 GB, ECC on",
        [46_068, 45_619],
        listings!("RTX_A6000_x9"),
        sheet(
            [154.8, 38.7],
            Some(77.4),
            [768.0, PCIE4],
            "NVIDIA RTX A6000 data sheet (proviz-print-nvidia-rtx-a6000-datasheet-us-nvidia-1454980-r9-web.pdf), halved for sparsity, as in pytorch/torchtitan, torchtitan/tools/utils.py at b5bcd76",
        ),
    ),
    last(row(
        Workstation,
        "rtx-a5000",
        "RTX A5000 24 GB, ECC off",
        [24_564, 24_248],
        [SMI, pytorch!("24,248")],
        sheet(
            [111.1, 27.8],
            Some(55.6),
            [768.0, PCIE4],
            proviz!("RTX A5000", "222.2 TFLOP/s of sparse 16-bit products, halved"),
        ),
    )),
    last(row(
        Workstation,
        "rtx-a4500",
        "RTX A4500 20 GB, ECC off",
        [20_470, 20_154],
        [SMI, "Total minus the 316 MiB that the driver of an RTX A5000 keeps, not measured"],
        sheet(
            [94.6, 23.7],
            Some(47.3),
            [640.0, PCIE4],
            proviz!("RTX A4500", "189.2 TFLOP/s of sparse 16-bit products, halved"),
        ),
    )),
    row(
        Workstation,
        "rtx-6000-ada",
        "RTX 6000 Ada 48 GB, ECC off",
        [49_140, 48_640],
        listings!("RTX6000Ada_x8"),
        sheet(
            [364.2, 91.1],
            Some(182.1),
            [960.0, PCIE4],
            "NVIDIA RTX 6000 Ada data sheet (proviz-print-rtx6000-datasheet-web-2504660.pdf): 1,457 TFLOP/s of sparse fp8, a quarter of which are 16-bit products, as in atineoSE/coding-model-seeks-gpu, pipeline/pipeline/sources/rtx6000ada_specs.md",
        ),
    ),
    last(row(
        Workstation,
        "rtx-5000-ada",
        "RTX 5000 Ada 32 GB",
        [32_760, 32_260],
        [SMI, "Total minus the 500 MiB that the driver of an RTX 6000 Ada keeps, not measured"],
        sheet(
            [261.1, 65.3],
            Some(130.5),
            [576.0, PCIE4],
            proviz!("RTX 5000 Ada", "1,044.4 TFLOP/s of sparse fp8, a quarter of which are 16-bit products"),
        ),
    )),
    row(
        Workstation,
        "rtx-4000-ada",
        "RTX 4000 Ada 20 GB",
        [20_475, 20_147],
        listings!("RTX4000Ada"),
        sheet(
            [106.9, 26.7],
            Some(53.4),
            [360.0, PCIE4],
            "NVIDIA RTX 4000 Ada data sheet: 427.6 TFLOP/s of sparse fp8, a quarter of which are 16-bit products, repeated in a public table found by its text",
        ),
    ),
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
        sheet(
            [76.7, 19.2],
            Some(38.3),
            [448.0, PCIE4],
            "NVIDIA RTX A4000 data sheet: 153.4 TFLOP/s of sparse 16-bit products, halved, repeated in public tables found by their text",
        ),
    ),
    last(row(
        Workstation,
        "rtx-a2000",
        "RTX A2000 12 GB, ECC off",
        [12_282, 12_017],
        [SMI, pytorch!("12,017")],
        sheet(
            [31.9, 8.0],
            Some(16.0),
            [288.0, PCIE4],
            proviz!("RTX A2000", "63.9 TFLOP/s of sparse 16-bit products, halved"),
        ),
    )),
    row(
        Workstation,
        "rtx-2000-ada",
        "RTX 2000 Ada 16 GB",
        [16_380, 16_076],
        listings!("RTX2000Ada"),
        sheet(
            [48.0, 12.0],
            Some(24.0),
            [224.0, PCIE4 / 2.0],
            "NVIDIA RTX 2000 Ada data sheet: 191.9 TFLOP/s of sparse fp8, a quarter of which are 16-bit products, and 8 lanes, repeated in public tables found by their text",
        ),
    ),
    last(row(
        Workstation,
        "quadro-rtx-8000",
        "Quadro RTX 8000 48 GB, ECC off",
        [49_152, 48_380],
        [SMI, pytorch!("48,380")],
        sheet([130.5, 16.3], None, [672.0, PCIE3], proviz!("Quadro RTX 8000", "130.5 TFLOP/s of fp16; it has no bf16")),
    )),
    last(row(
        Workstation,
        "quadro-rtx-6000",
        "Quadro RTX 6000 24 GB, ECC off",
        [24_576, 24_212],
        [SMI, "Total minus the 364 MiB that the driver of a Titan RTX keeps, not measured"],
        sheet([130.5, 16.3], None, [672.0, PCIE3], proviz!("Quadro RTX 6000", "130.5 TFLOP/s of fp16; it has no bf16")),
    )),
    last(row(
        Workstation,
        "quadro-rtx-5000",
        "Quadro RTX 5000 16 GB, ECC off",
        [16_384, 15_927],
        [SMI, "Memory that CUDA shows llama.cpp, 15,927 MiB, in public logs found by their text"],
        sheet([89.2, 11.2], None, [448.0, PCIE3], proviz!("Quadro RTX 5000", "89.2 TFLOP/s of fp16; it has no bf16")),
    )),
    last(row(
        Workstation,
        "titan-rtx",
        "Titan RTX 24 GB",
        [24_576, 24_212],
        [SMI, pytorch!("24,212")],
        sheet(
            [130.5, 16.3],
            None,
            [672.0, PCIE3],
            "NVIDIA Turing GPU architecture white paper (NVIDIA-Turing-Architecture-Whitepaper.pdf): the whole chip at its clock, fp16 with fp32 sums; it has no bf16",
        ),
    )),
    last(row(
        Workstation,
        "titan-v",
        "Titan V 12 GB",
        [12_288, 12_064],
        [SMI, pytorch!("12,064")],
        sheet([110.0, 13.8], None, [652.0, PCIE3], "NVIDIA's page of the card: 110 TFLOP/s of fp16; it has no bf16"),
    )),
    last(row(
        Consumer,
        "gtx-1080-ti",
        "GTX 1080 Ti 11 GB",
        [11_264, 11_172],
        [SMI, "Memory that CUDA shows, 11,172 MiB, in a public listing found by its text"],
        sheet(
            [11.3, 11.3],
            None,
            [484.0, PCIE3],
            "NVIDIA's page of the card: fp32. Its fp16 is 64 times slower, and cuBLAS multiplies 16-bit matrices in fp32",
        ),
    )),
    last(row(
        Consumer,
        "rtx-2060",
        "RTX 2060 6 GB",
        [6_144, 5_918],
        [SMI, pytorch!("5,918")],
        sheet(
            [25.8, 6.5],
            None,
            [336.0, PCIE3],
            "NVIDIA Turing GPU architecture white paper, fp16 with fp32 sums by the tensor cores and the clock of the card; it has no bf16",
        ),
    )),
    last(row(
        Consumer,
        "rtx-2080",
        "RTX 2080 8 GB",
        [8_192, 7_972],
        [
            SMI,
            "PyTorch's total of an RTX 2070 Super, 7,972 MiB, which reports the same total, in logs of YOLO found by their text",
        ],
        sheet(
            [40.3, 10.1],
            None,
            [448.0, PCIE3],
            "NVIDIA Turing GPU architecture white paper (NVIDIA-Turing-Architecture-Whitepaper.pdf), reference card, fp16 with fp32 sums; it has no bf16",
        ),
    )),
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
        sheet(
            [53.8, 13.4],
            None,
            [616.0, PCIE3],
            "NVIDIA Turing GPU architecture white paper (NVIDIA-Turing-Architecture-Whitepaper.pdf), reference card, fp16 with fp32 sums; it has no bf16",
        ),
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
        sheet(
            [25.5, 12.7],
            Some(12.7),
            [360.0, PCIE4],
            llm_c!("NVIDIA GA102 white paper for the RTX 3090 Ti, times 112/336 tensor cores and 1,777/1,860 MHz"),
        ),
    ),
    last(row(
        Consumer,
        "rtx-3060-ti",
        "RTX 3060 Ti 8 GB",
        [8_192, 7_833],
        [SMI, pytorch!("7,833")],
        sheet(
            [32.4, 16.2],
            Some(16.2),
            [448.0, PCIE4],
            llm_c!("NVIDIA GA102 white paper for the RTX 3090, by tensor cores and clock"),
        ),
    )),
    row(
        Consumer,
        "rtx-3070",
        "RTX 3070 8 GB",
        [8_192, 7_964],
        listings!("RTX3070"),
        sheet(
            [40.6, 20.3],
            Some(20.3),
            [448.0, PCIE4],
            llm_c!("NVIDIA GA102 white paper (nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf)"),
        ),
    ),
    row(
        Consumer,
        "rtx-3080",
        "RTX 3080 10 GB",
        [10_240, 10_000],
        listings!("RTX3080"),
        sheet(
            [59.5, 29.8],
            Some(29.8),
            [760.0, PCIE4],
            llm_c!("NVIDIA GA102 white paper (nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf)"),
        ),
    ),
    last(row(
        Consumer,
        "rtx-3080-ti",
        "RTX 3080 Ti 12 GB",
        [12_288, 11_910],
        [SMI, pytorch!("11,910")],
        sheet(
            [68.2, 34.1],
            Some(34.1),
            [912.0, PCIE4],
            llm_c!("NVIDIA GA102 white paper for the RTX 3090, by tensor cores and clock"),
        ),
    )),
    row(
        Consumer,
        "rtx-3090",
        "RTX 3090 24 GB",
        [24_576, 24_154],
        listings!("RTX3090"),
        sheet(
            [71.0, 35.6],
            Some(35.6),
            [936.0, PCIE4],
            llm_c!("NVIDIA GA102 white paper (nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf)"),
        ),
    ),
    later(row(
        Consumer,
        "rtx-3090-ti",
        "RTX 3090 Ti 24 GB",
        [24_564, 24_114],
        [
            "nvidia-smi of driver 590.44, in a public log found by its text",
            "PyTorch's total, 24,114 MiB, in the same log",
        ],
        sheet(
            [80.0, 40.0],
            Some(40.0),
            [1_008.0, PCIE4],
            llm_c!("NVIDIA GA102 white paper (nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf)"),
        ),
    )),
    last(row(
        Consumer,
        "rtx-4060",
        "RTX 4060 8 GB",
        [8_188, 7_807],
        [SMI, pytorch!("7,807")],
        sheet(
            [30.2, 15.1],
            Some(15.1),
            [272.0, PCIE4 / 2.0],
            llm_c!("NVIDIA Ada white paper for the RTX 4090, by tensor cores and clock"),
        ),
    )),
    row(
        Consumer,
        "rtx-4060-ti",
        "RTX 4060 Ti 16 GB",
        [16_380, 16_076],
        listings!("RTX4060Ti"),
        sheet(
            [44.1, 22.1],
            Some(22.1),
            [288.0, PCIE4 / 2.0],
            llm_c!("NVIDIA Ada white paper for the RTX 4090, times 136/512 tensor cores and 2,535/2,520 MHz; 8 lanes"),
        ),
    ),
    later(row(
        Consumer,
        "rtx-4070",
        "RTX 4070 12 GB",
        [12_282, 11_875],
        [
            "nvidia-smi, in several public listings of the driver, found by their text",
            "Memory that CUDA shows llama.cpp under Linux, 11,875 MiB, in a public log found by its text",
        ],
        sheet(
            [58.3, 29.2],
            Some(29.2),
            [504.0, PCIE4],
            llm_c!("NVIDIA Ada white paper for the RTX 4090, times 184/512 tensor cores and 2,475/2,520 MHz"),
        ),
    )),
    later(row(
        Consumer,
        "rtx-4070-ti",
        "RTX 4070 Ti 12 GB",
        [12_282, 11_875],
        [
            "nvidia-smi, in several public listings of the driver, found by their text",
            "Total minus the 407 MiB that the driver of an RTX 4070 keeps, not measured",
        ],
        sheet(
            [80.2, 40.1],
            Some(40.1),
            [504.0, PCIE4],
            llm_c!("NVIDIA Ada white paper for the RTX 4090, times 240/512 tensor cores and 2,610/2,520 MHz"),
        ),
    )),
    last(row(
        Consumer,
        "rtx-4070-ti-super",
        "RTX 4070 Ti Super 16 GB",
        [16_376, 16_069],
        [SMI, pytorch!("16,069")],
        sheet(
            [88.2, 44.1],
            Some(44.1),
            [672.0, PCIE4],
            llm_c!("NVIDIA Ada white paper for the RTX 4090, by tensor cores and clock"),
        ),
    )),
    row(
        Consumer,
        "rtx-4080",
        "RTX 4080 16 GB",
        [16_376, 16_072],
        [
            "Total in bytes, in gpustack/gpustack, tests/fixtures/workers/linux_nvidia_4_4080_16gx4.json at 47277d7",
            "Total minus the 304 MiB that the driver of an RTX 4060 Ti keeps, not measured",
        ],
        sheet(
            [97.5, 48.7],
            Some(48.7),
            [717.0, PCIE4],
            llm_c!("NVIDIA Ada GPU architecture white paper (nvidia-ada-gpu-architecture-whitepaper-v2.1.pdf)"),
        ),
    ),
    later(row(
        Consumer,
        "rtx-4080-super",
        "RTX 4080 Super 16 GB",
        [16_376, 15_942],
        [
            "nvidia-smi of driver 595.71, in utkuozdemir/nvidia_gpu_exporter, internal/captures at e656cd8",
            "The same listing: the total less the 434 MiB that it calls reserved",
        ],
        sheet(
            [104.4, 52.2],
            Some(52.2),
            [736.0, PCIE4],
            llm_c!("NVIDIA Ada white paper for the RTX 4090, times 320/512 tensor cores and 2,550/2,520 MHz"),
        ),
    )),
    row(
        Consumer,
        "rtx-4090",
        "RTX 4090 24 GB",
        [24_564, 24_210],
        listings!("RTX4090"),
        sheet(
            [165.2, 82.6],
            Some(82.6),
            [1_008.0, PCIE4],
            llm_c!("NVIDIA Ada GPU architecture white paper (nvidia-ada-gpu-architecture-whitepaper-v2.1.pdf)"),
        ),
    ),
    last(row(
        Consumer,
        "rtx-5060",
        "RTX 5060 8 GB",
        [8_151, 7_656],
        [SMI, "Total minus the 495 MiB that the driver of an RTX 5060 Ti keeps, not measured"],
        sheet(
            [38.4, 19.2],
            Some(19.2),
            [448.0, PCIE5 / 2.0],
            "3,840 CUDA cores at 2,497 MHz by NVIDIA's page of the card, and twice that for 16-bit products with fp32 sums, as on the larger cards of the series; 8 lanes",
        ),
    )),
    row(
        Consumer,
        "rtx-5060-ti",
        "RTX 5060 Ti 16 GB",
        [16_311, 15_816],
        [
            "nvidia-smi, in akash-network/provider-configs#87",
            "Memory that CUDA shows, 15,816 MiB, in Luce-Org/lucebox#407",
        ],
        sheet(
            [47.4, 23.7],
            Some(23.7),
            [448.0, PCIE5 / 2.0],
            "4,608 CUDA cores at 2,572 MHz by NVIDIA's page of the card, 23.7 TFLOP/s of fp32 as in huggingface/huggingface.js, packages/tasks/src/hardware-nvidia.ts at fe42e68, and twice that for 16-bit products with fp32 sums, as on the larger cards of the series; 8 lanes",
        ),
    ),
    later(row(
        Consumer,
        "rtx-5070",
        "RTX 5070 12 GB",
        [12_227, 11_763],
        ["nvidia-smi, in shkhln/libc6-shim#14", "The same listing: the total less the 464 MiB that it calls reserved"],
        sheet([61.7, 30.9], Some(30.9), [672.0, PCIE5], BLACKWELL),
    )),
    later(row(
        Consumer,
        "rtx-5070-ti",
        "RTX 5070 Ti 16 GB",
        [16_303, 15_842],
        [
            "nvidia-smi, in several public listings of the driver, found by their text",
            "Memory that CUDA shows llama.cpp under Linux, 15,842 MiB, in public logs found by their text",
        ],
        sheet([87.9, 43.9], Some(43.9), [896.0, PCIE5], BLACKWELL),
    )),
    later(row(
        Consumer,
        "rtx-5080",
        "RTX 5080 16 GB",
        [16_303, 15_880],
        [
            "nvidia-smi, in several public listings of the driver, found by their text",
            "Memory that CUDA shows llama.cpp, 15,880 MiB, in a public log found by its text",
        ],
        sheet([112.6, 56.3], Some(56.3), [960.0, PCIE5], BLACKWELL),
    )),
    row(
        Consumer,
        "rtx-5090",
        "RTX 5090 32 GB",
        [32_607, 32_120],
        listings!("RTX5090"),
        sheet([209.5, 104.8], Some(104.8), [1_792.0, PCIE5], BLACKWELL),
    ),
    whole(
        Consumer,
        "rx-6800-xt",
        "Radeon RX 6800 XT 16 GB",
        16_368,
        [
            "16 GiB less the 16 MiB that every other Radeon of this list lacks",
            "HIP total capacity in an out-of-memory message, 15.98 GiB, in QwenAudio/CosyVoice#1189",
        ],
        sheet(
            [41.5, 20.7],
            None,
            [512.0, PCIE4],
            "AMD's page of the card: half precision and single precision of the shaders, as in exo-explore/exo, exo/topology/device_capabilities.py at 0060cd3; no units for matrices",
        ),
    ),
    whole(
        Consumer,
        "rx-7700-xt",
        "Radeon RX 7700 XT 12 GB",
        12_272,
        [opencl!("an RX 7700 XT", "4694a5b"), opencl!("an RX 7700 XT", "4694a5b")],
        sheet([70.3, 35.2], None, [432.0, PCIE4], RADEON),
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
        sheet([74.6, 37.3], None, [624.0, PCIE4], RADEON),
    ),
    last(whole(
        Consumer,
        "rx-7900-xt",
        "Radeon RX 7900 XT 20 GB",
        20_464,
        ["Video memory that ROCm shows llama.cpp, 20,464 MiB, in public logs found by their text", "The same logs"],
        sheet(
            [103.0, 51.5],
            None,
            [800.0, PCIE4],
            "AMD's page of the card: half precision and single precision of the shaders",
        ),
    )),
    whole(
        Consumer,
        "rx-7900-xtx",
        "Radeon RX 7900 XTX 24 GB",
        24_560,
        [
            "Size of video memory, in ilya-zlobintsev/LACT#533",
            "HIP total capacity in an out-of-memory message, 23.98 GiB, in Tongyi-MAI/Z-Image#103",
        ],
        sheet([122.8, 61.4], None, [960.0, PCIE4], RADEON),
    ),
    row(
        Unified,
        "apple-m1-16",
        "Apple M1 16 GB",
        [16_384, 10_922],
        [SOLD_AS, "Metal's recommended working set of a MacBook Pro, 10,922.67 MiB, in abetlen/llama-cpp-python#687"],
        sheet([2.6, 2.6], None, [68.0, 68.0], METAL),
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
        sheet([3.6, 3.6], None, [100.0, 100.0], METAL),
    ),
    row(
        Unified,
        "apple-m1-max-32",
        "Apple M1 Max 32 GB",
        [32_768, 21_845],
        [SOLD_AS, "Metal's recommended working set, 21,845.34 MiB, in ggml-org/llama.cpp#2011"],
        sheet([10.6, 10.6], None, [400.0, 400.0], METAL),
    ),
    row(
        Unified,
        "apple-m3-max-64",
        "Apple M3 Max 64 GB",
        [65_536, 49_152],
        [SOLD_AS, "Metal's recommended working set, 48 GB, in raullenchai/Rapid-MLX#183"],
        sheet(
            [14.2, 14.2],
            None,
            [400.0, 400.0],
            "Shaders of the 40 cores that 64 GB come with, 1.38 GHz, as in huggingface/huggingface.js, packages/tasks/src/hardware.ts at fe42e68; memory: Apple's technical specifications of the machine",
        ),
    ),
    row(
        Unified,
        "apple-m2-max-96",
        "Apple M2 Max 96 GB",
        [98_304, 73_728],
        [SOLD_AS, "Metal's recommended working set, 73,728 MiB, in ggml-org/llama.cpp#3213"],
        sheet([13.6, 13.6], None, [400.0, 400.0], METAL),
    ),
    row(
        Unified,
        "apple-m5-max-128",
        "Apple M5 Max 128 GB",
        // 107.52 GiB, rounded down to whole MiB.
        [131_072, 110_100],
        [SOLD_AS, "Metal's recommended working set under macOS 26, 107.52 GiB, in antirez/ds4#893"],
        unstated(
            614.0,
            "Memory: Apple's technical specifications of the machine with 40 cores. Apple states no TFLOP/s, and public tables disagree on what the matrix units in its shaders add",
        ),
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
        sheet([27.2, 27.2], None, [800.0, 800.0], METAL),
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
        unstated(
            273.0,
            "Memory: NVIDIA's page of the machine. Of speed NVIDIA states sparse fp4 only, and public tables read 62, 125 and 209 TFLOP/s of bf16 out of it",
        ),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Drivers keep a few per cent; a machine with one memory keeps a part for its processor.
    #[test]
    fn a_program_gets_most_of_the_total_and_never_more() {
        for row in DEVICES {
            let least = if row.group == Unified { 0.66 } else { 0.93 };
            assert!(row.visible_mib <= row.memory_mib, "{}", row.slug);
            assert!(f64::from(row.visible_mib) >= least * f64::from(row.memory_mib), "{}", row.slug);
        }
    }

    /// AMD's runtime shows a program all memory, and Apple's is shared: no such row is NVIDIA's, but for the DGX Spark.
    #[test]
    fn amd_s_and_apple_s_devices_run_no_cuda_and_all_others_do() {
        for row in DEVICES {
            let other = ["MI", "Radeon", "Apple"].iter().any(|maker| row.name.starts_with(maker));
            assert_eq!(row.runs_cuda(), !other, "{}", row.slug);
        }
        assert!(DEVICES.iter().filter(|row| !row.runs_cuda()).count() >= 10);
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
        assert!(DEVICE_SOURCES.iter().filter(guessed).count() <= 12);
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
