//! The table of `nvidia-smi`: a line with the name of each GPU, below it one with its memory, and then processes.

use super::{Backend, OutOfMemory, Report, by_name, rest, size};
use crate::Bytes;

pub(super) fn read(text: &str) -> Option<OutOfMemory> {
    if !text.contains("MiB /") && !text.contains("MiB/") {
        return None;
    }
    let mut found = OutOfMemory::nothing(Report::NvidiaSmi, Backend::Cuda);
    let (mut name, mut gpus) = ("", 0);
    for line in text.lines() {
        if let Some((used, total)) = memory(line) {
            gpus += 1;
            // The first GPU stands for all: nearly all machines have GPUs of one kind.
            if gpus == 1 {
                found.capacity = Some(total);
                found.in_use = Some(used);
                found.free = Some(rest(total, used));
                found.devices = by_name(name, total);
            }
        } else if let Some((number, called)) = named(line) {
            name = called;
            found.gpu = found.gpu.or(Some(number));
        }
    }
    found.gpus = Some(gpus).filter(|gpus| *gpus > 0);
    found.capacity.map(|_| found)
}

/// The used and the whole memory in a line: “78123MiB / 81920MiB”.
fn memory(line: &str) -> Option<(Bytes, Bytes)> {
    let (before, behind) =
        line.split_once('/').filter(|(before, _)| before.trim_end().ends_with("MiB")).or_else(|| {
            // The power of a GPU stands in the same line, with a stroke of its own.
            let at = line.find("MiB /").or_else(|| line.find("MiB/"))? + 3;
            let (before, behind) = line.split_at(at);
            Some((before, behind.trim_start().strip_prefix('/')?))
        })?;
    let used = before.trim_end().rsplit(|c: char| c.is_whitespace() || c == '|').next()?;
    let total = behind.split_whitespace().next()?;
    Some((size(used, "")?, size(total, "")?))
}

/// The number and the name of a GPU in a line: “|   0  NVIDIA A100-SXM4-80GB   On |”.
fn named(line: &str) -> Option<(u32, &str)> {
    let cell = line.trim_start().strip_prefix('|')?.split('|').next()?.trim_start();
    let (number, rest) = cell.split_once(' ')?;
    let name = rest.trim_start().split("  ").next()?.trim_end_matches("...");
    Some((number.parse().ok()?, name))
}
