//! What a process takes beside its tensors: how much is likely, and between which bounds it lies.

use super::choice::Segments;
use super::units::{Bytes, Percent};

/// A quantity nobody can know before the run, with what was measured of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unknown<T> {
    /// Little of it.
    pub optimistic: T,
    /// What to expect.
    pub likely: T,
    /// Much of it; each quantity says how much that is.
    pub safe: T,
}

/// The CUDA context: 0.47 GiB with lazily loaded kernels, 0.92 with all of them (S. Bekman,
/// "Machine Learning Engineering", chapter on memory, measured on an A100). A training run loads
/// part of them. An H100 (driver 580.159, CUDA 13.0, PyTorch 2.11) held 0.72 GiB beside its allocator, and 0.74 where
/// cuDNN's attention kernel ran (tests/vectors/gpu.json): between these bounds, and one GPU is no reason to move the likely.
pub const CUDA_CONTEXT: Unknown<Bytes> =
    Unknown { optimistic: Bytes::from_gib(0.47), likely: Bytes::from_gib(0.6), safe: Bytes::from_gib(0.92) };

/// NCCL's buffers, with more than one GPU: 1 to 1.5 GiB after the first collective (S. Bekman,
/// as above).
pub const COMMUNICATION: Unknown<Bytes> =
    Unknown { optimistic: Bytes::from_gib(1.0), likely: Bytes::from_gib(1.25), safe: Bytes::from_gib(1.5) };

/// CPU memory of one process that has PyTorch and a CUDA context, at the most: 2,271 MiB resident with torch.distributed
/// (pytorch/pytorch#106511, August 2023), of which processes share what they map of the same libraries.
pub const PROCESS: Bytes = Bytes::from_mib(2_271.0);

/// What a run needs beyond live dynamic memory (gradients, activations, temporaries), because its blocks do
/// not match its tensors, while segments never grow.
///
/// Found by giving 84 runs of transformers, peft and bitsandbytes less and less memory, on PyTorch's own
/// allocator over a device that computes nothing (tests/vectors/README.md): a quarter of them needed 5 to 6 % or
/// less, half of them about 10 %, and nine of ten less than the 35 % of the safe outlook. They are small; with
/// 9 % six of 132 published runs that ran would be said not to fit, with 5 % one. What such an allocator *holds* is more,
/// as long as nobody else asks for the memory: 18 to 36 % above live were seen in torchtitan (benchmarks of March
/// and December 2024).
pub const FIXED_FRAGMENTATION: Unknown<Percent> =
    Unknown { optimistic: Percent::new(2.0), likely: Percent::new(5.0), safe: Percent::new(35.0) };

/// The same where segments grow at their end (`expandable_segments:True`).
pub const EXPANDABLE_FRAGMENTATION: Unknown<Percent> =
    Unknown { optimistic: Percent::new(1.0), likely: Percent::new(2.0), safe: Percent::new(11.0) };

/// What the allocator holds beyond live dynamic memory while nobody else asks for it: the median of 311
/// such runs for each kind of segments, blocks of the logits and pools of streams apart.
pub const fn held(segments: Segments) -> Percent {
    match segments {
        Segments::Fixed => Percent::new(9.0),
        Segments::Expandable => Percent::new(3.0),
    }
}

/// What is known of fragmentation for a way of getting memory.
pub const fn fragmentation(segments: Segments) -> Unknown<Percent> {
    match segments {
        Segments::Fixed => FIXED_FRAGMENTATION,
        Segments::Expandable => EXPANDABLE_FRAGMENTATION,
    }
}
