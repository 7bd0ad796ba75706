//! DistributedDataParallel of PyTorch (torch/nn/parallel/distributed.py, torch/csrc/distributed/c10d/reducer.cpp, PyTorch 2.15)
//! with `find_unused_parameters=False`. Gradients are copied into buckets, which stand from the start to the end of training.

use crate::estimator::engines::acts::{Act, Hook, Name, Unit};
use crate::estimator::operators::{Part, Place, Registry, Size, Tensor, TensorId};
use crate::estimator::units::DType;

/// Data parallelism in which every device holds everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ddp {
    /// Whether a bucket's place becomes the gradient (`gradient_as_bucket_view`).
    pub has_views: bool,
    /// Whether several micro-batches come before an update.
    pub accumulates: bool,
    /// Devices of which each updates its part of the weights and has the optimizer's state of these alone
    /// (`ZeroRedundancyOptimizer`); 1 where each updates all.
    pub updaters: u32,
}

const SOURCE: &str = "PyTorch 2.15, nn/parallel/distributed.py, c10d/reducer.cpp";

/// Bytes from which on a piece of the first broadcast is full (`broadcast_bucket_size`).
const PIECE: u64 = 250 << 20;

/// Bytes from which on a bucket is full, the first one's and all others' (`kDefaultFirstBucketBytes`, `bucket_cap_mb`).
const BUCKETS: [u64; 2] = [1 << 20, 25 << 20];

/// Weights or buffers of one size in a row, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes.
    pub bytes: u64,
    /// The type.
    pub dtype: DType,
}

/// What DDP is told of a model.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Its weights, in the order in which its class declares them.
    pub weights: Vec<Piece>,
    /// Its buffers.
    pub buffers: Vec<Piece>,
    /// Its gradients, in the order in which the first backward pass made them.
    pub gradients: Vec<Piece>,
}

impl Ddp {
    /// What is done around the whole model.
    pub fn unit(self, told: &Told, registry: &mut Registry) -> Unit {
        let mut id = |part, bytes| registry.id(Tensor { place: Place::Unit, part, size: Size::Bytes(bytes) }, SOURCE);
        // `_sync_module_states`: two pieces are on their way at a time, and a tensor alone is not copied.
        let both: Vec<_> = told.weights.iter().chain(&told.buffers).copied().collect();
        let mut broadcast = |pieces: &[Piece], name| {
            let mut acts: Vec<Act> = Vec::new();
            for piece in by_type(pieces).iter().flat_map(|same| cut(same, &[PIECE])).filter(|piece| piece.len() > 1) {
                acts.push(Act::Name(name, id(Part::Broadcast, all(&piece))));
            }
            acts.push(Act::Drop(name));
            acts
        };
        let wrap = broadcast(&both, Name::Ahead);
        let forward = broadcast(&told.buffers, Name::Ahead);
        let sizes: Vec<_> = told.gradients.iter().map(|piece| piece.bytes).collect();
        let buckets = cut(&sizes, &BUCKETS);
        let mut bucket = |bytes: &[u64]| id(Part::Bucket, all(bytes));
        // One limit only: the first bucket never is full.
        let first = bucket(&sizes);
        let rebuilt: Vec<TensorId> = buckets.iter().map(|bytes| bucket(bytes)).collect();
        let numbers = [sizes.len() as u64 + 1, buckets.len() as u64].map(|count| id(Part::BucketIndices, 4 * count));
        // `_rebuild_buckets`, in the order in which gradients came.
        let mut rebuild = vec![Act::Name(Name::Buffer, numbers[0]), Act::Brief(numbers[1]), Act::Drop(Name::Buffer)];
        if self.has_views && self.accumulates {
            // Gradients that are views of the old bucket are first brought into the new ones.
            rebuild.extend(rebuilt.into_iter().map(|bucket| Act::More(Name::Flat, bucket)));
            rebuild.push(Act::Move(Name::Reducing, Name::Flat));
        } else {
            rebuild.push(Act::Drop(Name::Reducing));
            rebuild.extend(rebuilt.into_iter().map(|bucket| Act::More(Name::Reducing, bucket)));
        }
        Unit::default()
            .with(Hook::Wrap, wrap.into_iter().chain([Act::Name(Name::Reducing, first)]))
            .with(Hook::SecondForward, rebuild)
            .with(Hook::BeforeForward, forward)
    }
}

/// Which of some weights the device updates that has most to update of so many: each weight, from the largest to the smallest,
/// goes to the device that has least so far (`_partition_parameters` in
/// torch/distributed/optim/zero_redundancy_optimizer.py, PyTorch 2.15).
pub fn largest_part(elements: &[u64], devices: u32) -> Vec<bool> {
    let mut order: Vec<_> = (0..elements.len()).collect();
    order.sort_by_key(|&weight| std::cmp::Reverse(elements[weight]));
    // No more devices than weights have any.
    let count = (devices as usize).clamp(1, elements.len().max(1));
    let (mut sums, mut parts) = (vec![0_u64; count], vec![0; elements.len()]);
    for weight in order {
        let least = (0..count).min_by_key(|&part| sums[part]).unwrap_or_default();
        sums[least] = sums[least].saturating_add(elements[weight]);
        parts[weight] = least;
    }
    let most = (0..count).rev().max_by_key(|&part| sums[part]).unwrap_or_default();
    parts.into_iter().map(|part| part == most).collect()
}

fn all(bytes: &[u64]) -> u64 {
    bytes.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
}

/// The bytes of each type, in the order in which types come.
fn by_type(pieces: &[Piece]) -> Vec<Vec<u64>> {
    let mut types: Vec<(DType, Vec<u64>)> = Vec::new();
    for piece in pieces {
        match types.iter_mut().find(|(dtype, _)| *dtype == piece.dtype) {
            Some((_, same)) => same.push(piece.bytes),
            None => types.push((piece.dtype, vec![piece.bytes])),
        }
    }
    types.into_iter().map(|(_, same)| same).collect()
}

/// `compute_bucket_assignment_by_size`: a bucket is full when it has reached its limit; the last limit is that of all others.
fn cut(sizes: &[u64], limits: &[u64]) -> Vec<Vec<u64>> {
    let mut limits = limits.iter();
    let mut limit = limits.next().copied().unwrap_or(u64::MAX);
    let (mut all, mut open, mut sum) = (Vec::new(), Vec::new(), 0_u64);
    for &bytes in sizes {
        open.push(bytes);
        sum = sum.saturating_add(bytes);
        if sum >= limit {
            all.push(std::mem::take(&mut open));
            sum = 0;
            limit = limits.next().copied().unwrap_or(limit);
        }
    }
    if !open.is_empty() {
        all.push(open);
    }
    all
}
