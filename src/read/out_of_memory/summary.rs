//! `torch.cuda.memory_summary()`: a table of what the allocator has now, had at most, and has asked for in all.

use super::{Backend, OutOfMemory, Report, rest, size};
use crate::Bytes;

pub(super) fn read(text: &str) -> Option<OutOfMemory> {
    if !text.contains("memory summary") {
        return None;
    }
    let mut found = OutOfMemory::nothing(Report::Summary, Backend::Cuda);
    found.gpu = text.split_once("device ID ").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    let [allocated, peak_allocated] = row(text, "Allocated memory")?;
    found.allocated = Some(allocated);
    found.peak_allocated = Some(peak_allocated);
    if let Some([reserved, peak_reserved]) = row(text, "GPU reserved memory") {
        found.unallocated = Some(rest(reserved, allocated));
        found.peak_reserved = Some(peak_reserved);
    }
    Some(found)
}

/// What a line has now and had at most.
fn row(text: &str, name: &str) -> Option<[Bytes; 2]> {
    let line = text.lines().find(|line| line.trim_start_matches(['|', ' ']).starts_with(name))?;
    let mut cells = line.split('|').filter(|cell| !cell.trim().is_empty()).skip(1).map(|cell| {
        let mut words = cell.split_whitespace();
        size(words.next()?, words.next().unwrap_or("B"))
    });
    Some([cells.next()??, cells.next()??])
}
