//! What a process takes beside its tensors: how much is likely, and between which bounds it lies.

use super::units::Percent;

/// A quantity nobody can know before the run, with what was measured of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unknown<T> {
    /// The least that was seen.
    pub optimistic: T,
    /// What to expect.
    pub likely: T,
    /// The most that was seen with current software.
    pub safe: T,
}

/// The CUDA context in GiB: 0.47 with lazily loaded kernels, 0.92 with all of them (S. Bekman,
/// "Machine Learning Engineering", chapter on memory, measured on an A100). A training run loads
/// part of them.
pub const CONTEXT_GIB: Unknown<f64> = Unknown { optimistic: 0.47, likely: 0.6, safe: 0.92 };

/// NCCL's buffers in GiB, with more than one GPU: 1 to 1.5 after the first collective (S. Bekman,
/// as above).
pub const COMMUNICATION_GIB: Unknown<f64> = Unknown { optimistic: 1.0, likely: 1.25, safe: 1.5 };

/// What the caching allocator holds beyond live dynamic memory. With `expandable_segments` a few
/// percent; without it 18 to 36 % were seen over nominally equal runs (torchtitan, reserved against
/// active, benchmarks of December 2024).
pub const FRAGMENTATION: Unknown<Percent> =
    Unknown { optimistic: Percent::new(2.0), likely: Percent::new(5.0), safe: Percent::new(12.0) };

/// What a scenario assumes unless it says otherwise.
pub const LIKELY_CONTEXT_GIB: f64 = CONTEXT_GIB.likely;
/// What a scenario assumes unless it says otherwise.
pub const LIKELY_COMMUNICATION_GIB: f64 = COMMUNICATION_GIB.likely;
/// What a scenario assumes unless it says otherwise.
pub const LIKELY_FRAGMENTATION: Percent = FRAGMENTATION.likely;
