//! Counters that listen to the tape: the peak of live memory, who is alive then, and PyTorch's caching allocator.

mod caching;
mod live;
#[cfg(test)]
mod tests;

pub use caching::{Caching, OutOfMemory, Replayed};
pub use live::{Alive, Peak};

use super::operators::Registry;
use super::units::Widths;

/// The multiple of bytes to which PyTorch's allocator rounds every size up (`kMinBlockSize` in c10/core/AllocatorConfig.h, PyTorch 2.15).
const GRAIN: u64 = 512;

/// Bytes of a block for a tensor of so many bytes; none for a tensor that has none.
fn rounded(bytes: u64) -> u64 {
    // Beyond 2⁶³ nothing is told apart.
    bytes.min(1 << 62).next_multiple_of(GRAIN)
}

/// Bytes of a block for each tensor of a registry.
fn blocks(registry: &Registry, widths: &Widths) -> Vec<u64> {
    registry.all_bytes(widths).map(rounded).collect()
}
