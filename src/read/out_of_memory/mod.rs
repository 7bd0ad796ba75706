//! Error texts about memory, the table of `nvidia-smi` and PyTorch’s summary of its allocator, as numbers.
//!
//! Texts of PyTorch are those of c10/cuda/CUDACachingAllocator.cpp from 1.0 to 2.9, of its HIP build and of
//! c10/xpu/XPUCachingAllocator.cpp. All of them give sizes in powers of 1,024.

mod explained;
mod smi;
mod summary;
mod tensor;

pub use explained::{Cause, Holder};
pub use tensor::{Holds, Tensor, tensors_of_size};

use crate::Bytes;
use crate::catalogue::{DEVICES, DeviceRow};
use crate::nearest::squeezed;

/// What a text about memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// PyTorch’s allocator got no memory.
    Error,
    /// The table of `nvidia-smi`.
    NvidiaSmi,
    /// `torch.cuda.memory_summary()`.
    Summary,
}

/// Whose device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// NVIDIA’s.
    Cuda,
    /// AMD’s, by PyTorch’s HIP build.
    Hip,
    /// Intel’s.
    Xpu,
    /// Apple’s.
    Mps,
}

/// What a text says of the memory of a GPU. What it does not say is `None`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// What the text is.
    pub report: Report,
    /// Whose device it is.
    pub backend: Backend,
    /// The number of the GPU in its machine.
    pub gpu: Option<u32>,
    /// GPUs that the text lists.
    pub gpus: Option<u32>,
    /// Devices of the catalogue that it may be, the nearest first: by name and memory where the text has a name, by memory
    /// alone where it has none.
    pub devices: Vec<&'static DeviceRow>,
    /// Memory of the device that programs can get, or all of it in the table of `nvidia-smi`.
    pub capacity: Option<Bytes>,
    /// What nobody has.
    pub free: Option<Bytes>,
    /// What the process has with all that is not PyTorch’s.
    pub in_use: Option<Bytes>,
    /// What other processes have.
    pub others: Option<Bytes>,
    /// What lives in PyTorch’s allocator.
    pub allocated: Option<Bytes>,
    /// What PyTorch’s allocator holds and nothing uses: gaps.
    pub unallocated: Option<Bytes>,
    /// What was asked for.
    pub requested: Option<Bytes>,
    /// The most that lived in PyTorch’s allocator at once.
    pub peak_allocated: Option<Bytes>,
    /// The most that PyTorch’s allocator held.
    pub peak_reserved: Option<Bytes>,
}

impl OutOfMemory {
    const fn nothing(report: Report, backend: Backend) -> Self {
        Self {
            report,
            backend,
            gpu: None,
            gpus: None,
            devices: Vec::new(),
            capacity: None,
            free: None,
            in_use: None,
            others: None,
            allocated: None,
            unallocated: None,
            requested: None,
            peak_allocated: None,
            peak_reserved: None,
        }
    }

    /// What PyTorch’s allocator holds: what lives in it, and its gaps.
    pub fn reserved(&self) -> Option<Bytes> {
        Some(self.allocated? + self.unallocated?)
    }
}

/// What a text says about memory; `None` where it says nothing.
pub(super) fn read(text: &str) -> Option<OutOfMemory> {
    smi::read(text).or_else(|| summary::read(text)).or_else(|| error(text))
}

/// How the sentences begin, and whose they are.
const BEGINNINGS: [(&str, Backend); 5] = [
    ("CUDA out of memory", Backend::Cuda),
    ("HIP out of memory", Backend::Hip),
    ("XPU out of memory", Backend::Xpu),
    ("MPS backend out of memory", Backend::Mps),
    ("CUDA error: out of memory", Backend::Cuda),
];

/// How much of a text behind the beginning of such a sentence belongs to it.
const LONGEST: usize = 1_500;

/// Where the first error of a text begins, and whose device it is about.
fn beginning(text: &str) -> Option<(usize, Backend)> {
    let found = BEGINNINGS.iter().filter_map(|(start, backend)| Some((text.find(start)?, *backend)));
    found.min_by_key(|(at, _)| *at)
}

/// What Python prints before an error.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// What stands before and behind an error in a text, in which people paste their command or configuration too. Lines keep
/// their numbers: empty ones stand for those that were cut off.
pub(super) fn around_error(text: &str) -> Vec<String> {
    let Some((at, _)) = beginning(text) else { return Vec::new() };
    let start = text.find(TRACEBACK).map_or(at, |traceback| traceback.min(at));
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let before = text[..line].to_owned();
    // Terminals break the message into lines; an empty one ends it.
    let behind = text[at..].find("\n\n").map(|end| at + end);
    let behind = behind.map(|end| "\n".repeat(text[..end].matches('\n').count()) + &text[end..]);
    [Some(before), behind].into_iter().flatten().filter(|part| !part.trim().is_empty()).collect()
}

fn error(text: &str) -> Option<OutOfMemory> {
    let (at, backend) = beginning(text)?;
    let end = (at..=text.len().min(at + LONGEST)).rev().find(|end| text.is_char_boundary(*end))?;
    // Terminals break long lines.
    let words: Vec<&str> = text[at..end].split_whitespace().collect();
    let sentence = words.join(" ");
    // Of several errors in a log the first one counts.
    let next = BEGINNINGS.iter().filter_map(|(start, _)| sentence[1..].find(start)).min();
    let sentence = &sentence[..next.map_or(sentence.len(), |next| next + 1)];
    let mut found = OutOfMemory::nothing(Report::Error, backend);
    found.requested = after(sentence, "Tried to allocate ");
    found.gpu = sentence.split_once("GPU ").and_then(|(_, rest)| {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        rest[..digits].parse().ok()
    });
    // Until 2.0 numbers stand before their words, from 2.1 on behind them, in which “capacity” was misspelt at first.
    found.capacity = before(sentence, " total capacity")
        .or_else(|| after(sentence, "total capacity of "))
        .or_else(|| after(sentence, "total capacty of "))
        .or_else(|| after(sentence, "max allowed: "));
    found.allocated = before(sentence, " already allocated")
        .or_else(|| before(sentence, " is allocated by PyTorch"))
        .or_else(|| after(sentence, "MPS allocated: "));
    found.free = before(sentence, " is free").or_else(|| before(sentence, " free;"));
    let reserved = before(sentence, " reserved in total by PyTorch");
    found.unallocated = before(sentence, " is reserved by PyTorch but unallocated")
        // Up to 1.3 what is cached is what nothing uses; later the whole is given.
        .or_else(|| before(sentence, " cached)"))
        .or_else(|| Some(rest(reserved?, found.allocated?)));
    processes(sentence, &mut found);
    if let Some(capacity) = found.capacity {
        found.devices = by_memory(backend, capacity);
    }
    Some(found)
}

/// What the last digits of three sizes can add up to: each is within 0.005 GiB.
const NOISE: Bytes = Bytes::from_gib(0.015);

/// What this process and others have.
fn processes(sentence: &str, to: &mut OutOfMemory) {
    to.in_use = after(sentence, "this process has ");
    let mut each = Vec::new();
    for (at, _) in sentence.match_indices("Process ") {
        let words = &sentence[at..];
        if let Some(end) = words.find(" memory in use") {
            each.extend(after(&words[..end], " has "));
        }
    }
    let all = each.iter().fold(Bytes::ZERO, |sum, one| sum + *one);
    match (to.in_use, to.capacity, to.free) {
        (Some(_), ..) if !each.is_empty() => to.others = Some(all),
        // A container hides which process is which: one that holds all that PyTorch has is this one.
        (None, ..) if each.len() == 1 && to.reserved().is_some_and(|reserved| all >= reserved) => to.in_use = Some(all),
        (Some(own), Some(capacity), Some(free)) => {
            to.others = Some(rest(rest(capacity, own), free)).filter(|others| *others > NOISE);
        }
        _ => {}
    }
}

/// What is left of one size without another; nothing where the other is larger.
fn rest(whole: Bytes, part: Bytes) -> Bytes {
    if whole > part { whole - part } else { Bytes::ZERO }
}

/// The size behind some words.
fn after(text: &str, words: &str) -> Option<Bytes> {
    let (_, rest) = text.split_once(words)?;
    let mut parts = rest.split_whitespace();
    size(parts.next()?, parts.next().unwrap_or_default())
}

/// The size before some words.
fn before(text: &str, words: &str) -> Option<Bytes> {
    let (rest, _) = text.split_once(words)?;
    let mut parts = rest.rsplit(|c: char| c.is_whitespace() || c == '(');
    let unit = parts.next()?;
    size(parts.next().unwrap_or_default(), unit)
}

/// A size of a number and its unit, as in “2.00 GiB”, or both in one word.
fn size(number: &str, unit: &str) -> Option<Bytes> {
    let digits = number.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(number.len());
    let value = crate::number::parse(&number[..digits]).ok()?;
    let unit = if digits < number.len() { &number[digits..] } else { unit };
    let unit = unit.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    // PyTorch means powers of 1,024 whatever it calls them.
    let bytes = match unit {
        "bytes" | "B" => 1.0,
        "KiB" | "KB" => 1_024.0,
        "MiB" | "MB" => 1_048_576.0,
        "GiB" | "GB" => 1_073_741_824.0,
        "TiB" | "TB" => 1_099_511_627_776.0,
        _ => return None,
    };
    value.is_finite().then(|| Bytes::new(value * bytes))
}

/// How far the memory of a device may be from that of its row: drivers, ECC and the screen take some.
const FAR: f64 = 0.015;

/// Whether a backend runs on a device.
fn runs(backend: Backend, row: &DeviceRow) -> bool {
    match backend {
        Backend::Cuda => row.runs_cuda(),
        Backend::Hip => !row.runs_cuda() && !row.slug.starts_with("apple"),
        Backend::Mps => row.slug.starts_with("apple"),
        Backend::Xpu => false,
    }
}

/// How near the memory of a device is to be for that to tell it from others of the same size.
const NEAR: f64 = 0.000_4;

/// What most people have of the devices of one size, where the memory alone tells several.
const COMMON: [&str; 8] = ["rtx-4090", "rtx-3090", "a100-80", "h100-80", "rtx-4080", "rtx-3060", "rtx-3070", "a40"];

/// Devices of a memory that programs can get: those of exactly that memory, then those that most people have, then the
/// nearest.
fn by_memory(backend: Backend, capacity: Bytes) -> Vec<&'static DeviceRow> {
    let far = |mib: u32| (Bytes::from_mib(mib.into()).gib() / capacity.gib() - 1.0).abs();
    let place = |row: &DeviceRow| COMMON.iter().position(|slug| *slug == row.slug).unwrap_or(COMMON.len());
    let near = DEVICES.iter().filter(|row| runs(backend, row));
    // Some drivers show programs the whole of it.
    let mut near: Vec<(bool, usize, f64, &'static DeviceRow)> = near
        .map(|row| (far(row.visible_mib).min(far(row.memory_mib)), row))
        .filter(|(far, _)| *far <= FAR)
        .map(|(far, row)| (far > NEAR, place(row), far, row))
        .collect();
    near.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2)));
    near.into_iter().map(|(.., row)| row).collect()
}

/// Devices of a name and of the whole memory, the likeliest first.
fn by_name(name: &str, total: Bytes) -> Vec<&'static DeviceRow> {
    let name = squeezed(name);
    let mut like: Vec<(usize, &'static DeviceRow)> = DEVICES
        .iter()
        .filter(|row| row.runs_cuda() && (row.memory().gib() / total.gib() - 1.0).abs() <= FAR)
        .map(|row| {
            (row.slug.split('-').filter(|part| name.contains(part)).count() * 100 / row.slug.split('-').count(), row)
        })
        .collect();
    like.sort_by(|(one, _), (other, _)| other.cmp(one));
    let best = like.first().map_or(0, |(likeness, _)| *likeness);
    like.into_iter().filter(|(likeness, _)| *likeness == best).map(|(_, row)| row).collect()
}
