//! ZeRO stages 0, 1 and 2 of DeepSpeed. In stages 1 and 2 (runtime/zero/stage_1_and_2.py, with `overlap_comm` and
//! `contiguous_gradients`) weights lie in one flat tensor, gradients are copied into buckets as they come, and each device
//! updates one part of the flat tensor in fp32. In stage 0 (runtime/fp16/unfused_optimizer.py, which any optimizer but
//! DeepSpeed's own gets) each device has a copy of every weight in fp32.

use std::collections::HashMap;

use super::small::Small;
use super::{DeepSpeed, Divided, id, master};
use crate::estimator::engines::acts::{Act, Name};
use crate::estimator::operators::{Part, Registry, Weight};
use crate::estimator::units::DType;

/// Elements above which gradients are summed over devices in stage 0 (`MEMORY_OPT_ALLREDUCE_SIZE` in runtime/engine.py).
const REDUCED: u64 = 500_000_000;

/// A trained weight in the flat tensor.
#[derive(Clone, Copy, Debug)]
struct Piece {
    number: usize,
    begin: u64,
    elements: u64,
}

impl Piece {
    const fn end(self) -> u64 {
        self.begin.saturating_add(self.elements)
    }

    /// Elements that lie between two places of the flat tensor.
    fn within(self, begin: u64, end: u64) -> u64 {
        self.end().min(end).saturating_sub(self.begin.max(begin))
    }
}

/// Gradients that wait for their sum over devices.
#[derive(Clone, Debug, Default)]
struct Bucket {
    elements: u64,
    pieces: Vec<Piece>,
}

/// The optimizer of a step under way.
#[derive(Clone, Debug)]
pub struct Flat {
    of: DeepSpeed,
    pieces: Vec<Piece>,
    /// The place of each weight among them, by its number.
    places: HashMap<usize, usize>,
    /// Elements of a device's part of the flat tensor.
    part: u64,
    bucket: Bucket,
    has_buckets: bool,
    /// Whether the gradients of this pass that the device updates have their tensor.
    has_partition: bool,
    /// Whether there are gradients of micro-batches before.
    has_sum: bool,
}

impl Flat {
    /// The optimizer of trained weights with their numbers and elements, in the order in which the model declares them.
    pub fn new(of: DeepSpeed, weights: impl IntoIterator<Item = (usize, u64)>) -> Self {
        let mut end = 0_u64;
        let pieces = weights.into_iter().map(|(number, elements)| {
            let piece = Piece { number, begin: end, elements };
            end = piece.end();
            piece
        });
        let pieces: Vec<_> = pieces.collect();
        let places = pieces.iter().enumerate().map(|(place, piece)| (piece.number, place)).collect();
        // `alignment` is twice the devices (`nccl_start_alignment_factor`).
        let devices = of.devices.max(1);
        let part = end.div_ceil(devices.saturating_mul(2)).saturating_mul(2);
        Self {
            of,
            pieces,
            places,
            part,
            bucket: Bucket::default(),
            has_buckets: false,
            has_partition: false,
            has_sum: false,
        }
    }

    /// The weights in fp32 that the device's optimizer updates.
    pub fn masters(&self, registry: &mut Registry) -> Vec<Weight> {
        match self.of.divided {
            Divided::Nothing => self.pieces.iter().map(|piece| master(piece.elements, registry)).collect(),
            _ => vec![master(self.part, registry)],
        }
    }

    /// Whether the optimizer's states are made before the first step (`initialize_optimizer_states`).
    pub fn has_states(&self) -> bool {
        self.of.divided == Divided::Nothing
    }

    /// `__init__`: the flat tensor takes the place of the weights, and the device's part is copied in fp32.
    pub fn wrap(&self, registry: &mut Registry) -> Vec<Act> {
        if self.of.divided == Divided::Nothing {
            return self.copy_all(registry);
        }
        let half = self.part.saturating_mul(2);
        let flat = id(registry, Part::FlatWeights, half.saturating_mul(self.of.devices));
        let mut acts = vec![Act::State(flat)];
        acts.extend(self.pieces.iter().map(|piece| Act::DropWholeOf(piece.number)));
        let cloned = id(registry, Part::Cloned, half);
        let master = id(registry, Part::MasterWeight, half.saturating_mul(2));
        acts.extend([Act::Workspace(cloned), Act::State(master), Act::EndWorkspace(0)]);
        // `initialize_optimizer_states` makes a gradient and takes it away.
        acts.push(Act::Brief(id(registry, Part::GradientInFp32, half.saturating_mul(2))));
        acts
    }

    /// `process_gradients`: the gradient of a weight is there.
    pub fn gradient(&mut self, number: usize, is_last: bool, registry: &mut Registry) -> Vec<Act> {
        let mut acts = Vec::new();
        let Some(&piece) = self.places.get(&number).and_then(|&place| self.pieces.get(place)) else { return acts };
        if self.of.divided == Divided::Nothing {
            return acts;
        }
        if !std::mem::replace(&mut self.has_buckets, true) {
            let bucket = id(registry, Part::Bucket, self.of.bucket.saturating_mul(2));
            acts.extend([Act::More(Name::Buckets, bucket); 2]);
        }
        if self.of.divided == Divided::Optimizer && !is_last {
            return acts;
        }
        if self.bucket.elements.saturating_add(piece.elements) > self.of.bucket {
            self.reduce(&mut acts, registry);
        }
        // A gradient that is larger than a bucket stays where it is.
        if piece.elements <= self.of.bucket {
            acts.push(Act::DropGradient(number));
        }
        self.bucket.elements = self.bucket.elements.saturating_add(piece.elements);
        self.bucket.pieces.push(piece);
        acts
    }

    /// `independent_gradient_partition_epilogue`: a backward pass is over.
    pub fn after_backward(&mut self, is_last: bool, registry: &mut Registry) -> Vec<Act> {
        let mut acts = Vec::new();
        if self.of.divided != Divided::Gradients && !is_last {
            // `allreduce_gradients` in runtime/engine.py.
            return acts;
        }
        if self.of.divided == Divided::Nothing {
            let whole: Vec<_> = self.pieces.iter().map(|piece| (0, piece.elements, false)).collect();
            sum(&whole, REDUCED, Part::JoinedGradients, &mut acts, registry);
            return acts;
        }
        self.reduce(&mut acts, registry);
        let is_compact = self.is_compact();
        if !is_compact {
            let is_first = !std::mem::replace(&mut self.has_sum, !is_last);
            if is_first {
                acts.push(Act::Move(Name::Averaged, Name::Partition));
            }
            // `get_flat_partition` pads the last part.
            let (_, padding) = self.own();
            if is_last && padding > 0 {
                let padding = padding.saturating_mul(2);
                acts.push(Act::More(Name::Averaged, id(registry, Part::EndPadding, padding)));
            }
        } else if is_last && !self.has_sum {
            acts.push(self.make_compact(registry));
        }
        acts.extend([Act::Drop(Name::Buckets), Act::Drop(Name::Partition)]);
        acts.extend(self.pieces.iter().map(|piece| Act::DropGradient(piece.number)));
        (self.has_buckets, self.has_partition) = (false, false);
        acts
    }

    /// `step` up to the optimizer's: gradients are checked, their norm is taken, and they are copied in fp32 and clipped.
    pub fn before_update(&mut self, registry: &mut Registry) -> Vec<Act> {
        if self.of.divided == Divided::Nothing {
            return self.widen(registry);
        }
        let is_compact = self.is_compact();
        self.has_sum = false;
        let (own, padding) = self.own();
        let mut small = Small::new(registry);
        // `has_overflow_partitioned_grads_serial`.
        let count = small.take(4);
        for &elements in own.iter().chain((padding > 0).then_some(&padding)) {
            small.has_infinity(elements, self.of.accumulated.bytes());
        }
        let overflow = small.take(1);
        small.end(count);
        let byte = small.take(1);
        small.end_all(&[overflow, byte]);
        // `get_grad_norm_direct`.
        let norm = |&elements: &u64| small.norm(elements, Part::GradientInFp64, 8);
        let norms: Vec<_> = own.iter().map(norm).collect();
        let all = 8 * norms.len() as u64;
        let stacked = small.take(all);
        let squares = small.next(stacked, all);
        let sum = small.next(squares, 8);
        let narrow = small.next(sum, 4);
        let root = small.next(narrow, 4);
        small.mask();
        small.end_all(&norms);
        let total = small.combine(1, 4);
        small.end(root);
        small.is_invalid(4);
        let norm = small.id(4);
        small.acts.push(Act::Name(Name::Norm, norm));
        if is_compact {
            small.acts.push(Act::Move(Name::Single, Name::Averaged));
        } else {
            let flat = (own.len() + usize::from(padding > 0) > 1).then(|| {
                let flat = id(small.registry, Part::JoinedGradients, self.part.saturating_mul(2));
                small.workspace(flat)
            });
            let single = id(small.registry, Part::GradientInFp32, self.part.saturating_mul(4));
            small.acts.push(Act::Name(Name::Single, single));
            flat.into_iter().for_each(|flat| small.end(flat));
            small.acts.push(Act::Drop(Name::Averaged));
        }
        small.is_invalid(4);
        small.clip(4);
        // It goes with the gradients, when the optimizer is done.
        small.name_last(total)
    }

    /// What goes when the optimizer is done.
    pub fn after_update(&self) -> Vec<Act> {
        match self.of.divided {
            Divided::Nothing => {
                let gradients = self.pieces.iter().map(|piece| Act::DropGradient(piece.number));
                [Act::Drop(Name::Single)].into_iter().chain(gradients).collect()
            }
            // `_take_model_step` in runtime/engine.py.
            _ => {
                vec![Act::Drop(Name::Single), Act::EndWorkspace(0), Act::Same(Name::ToldNorm, Name::Norm)]
            }
        }
    }

    /// The norm of a step before.
    pub fn state(&self, registry: &mut Registry) -> Vec<Act> {
        match self.of.divided {
            Divided::Nothing => Vec::new(),
            _ => {
                vec![Act::Name(Name::Norm, id(registry, Part::Clipping, 4)), Act::Same(Name::ToldNorm, Name::Norm)]
            }
        }
    }

    /// `FP16_UnfusedOptimizer.__init__`: a copy of each weight in fp32, and gradients of zeros with which the optimizer makes its
    /// states.
    fn copy_all(&self, registry: &mut Registry) -> Vec<Act> {
        let mut acts = Vec::new();
        for piece in &self.pieces {
            let cloned = id(registry, Part::Cloned, piece.elements.saturating_mul(2));
            let master = id(registry, Part::MasterWeight, piece.elements.saturating_mul(4));
            acts.extend([Act::Workspace(cloned), Act::State(master), Act::EndWorkspace(0)]);
        }
        for (part, bytes) in [(Part::JoinedGradients, 2), (Part::GradientInFp32, 4)] {
            for piece in &self.pieces {
                acts.push(Act::More(Name::Single, id(registry, part, piece.elements.saturating_mul(bytes))));
            }
        }
        acts
    }

    /// `FP16_UnfusedOptimizer.step`: gradients are checked, their norm is taken (`get_weight_norm` in runtime/utils.py), and each is
    /// copied in fp32.
    fn widen(&self, registry: &mut Registry) -> Vec<Act> {
        let mut small = Small::new(registry);
        for piece in &self.pieces {
            small.has_infinity(piece.elements, 2);
        }
        let overflow = small.take(1);
        small.end(overflow);
        let (mut norm, mut total) = (None, None);
        for piece in &self.pieces {
            let one = small.norm(piece.elements, Part::GradientInFp32, 4);
            norm.replace(one).into_iter().for_each(|before| small.end(before));
            let square = small.take(4);
            total = total.or_else(|| Some(small.take(4)));
            small.end(square);
        }
        let told = small.take(4);
        small.end_all(&[told].into_iter().chain(total).chain(norm).collect::<Vec<_>>());
        for piece in &self.pieces {
            let single = id(small.registry, Part::GradientInFp32, piece.elements.saturating_mul(4));
            small.acts.push(Act::More(Name::Single, single));
        }
        small.acts
    }

    /// Whether the device's part of the gradients is added up in fp32 (`_use_compact_grad_partition_buffer`).
    fn is_compact(&self) -> bool {
        self.of.accumulated == DType::Single
    }

    fn own_begin(&self) -> u64 {
        self.part.saturating_mul(self.of.rank)
    }

    /// Whether the device updates any of a weight.
    fn is_own(&self, piece: Piece) -> bool {
        piece.within(self.own_begin(), self.own_begin().saturating_add(self.part)) > 0
    }

    /// How many elements of each weight the device updates, and how many stand behind them.
    fn own(&self) -> (Vec<u64>, u64) {
        let begin = self.own_begin();
        let end = begin.saturating_add(self.part);
        let own = self.pieces.iter().map(|piece| piece.within(begin, end)).filter(|&elements| elements > 0);
        let own: Vec<_> = own.collect();
        let filled = own.iter().fold(0, |sum: u64, &elements| sum.saturating_add(elements));
        (own, self.part.saturating_sub(filled))
    }

    fn make_compact(&mut self, registry: &mut Registry) -> Act {
        self.has_sum = true;
        Act::Name(Name::Averaged, id(registry, Part::PartitionGradients, self.part.saturating_mul(4)))
    }

    /// `reduce_ipg_grads`: what waits is summed over devices, and the device copies what it updates.
    fn reduce(&mut self, acts: &mut Vec<Act>, registry: &mut Registry) {
        let Bucket { pieces, .. } = std::mem::take(&mut self.bucket);
        // `average_tensor`: slices for one device that follow each other are one.
        let mut slices: Vec<(u64, u64, bool)> = Vec::new();
        for &piece in &pieces {
            let part = self.part.max(1);
            let parts = piece.begin / part..piece.end().div_ceil(part);
            for rank in parts {
                let begin = rank.saturating_mul(part);
                let elements = piece.within(begin, begin.saturating_add(part));
                let is_added = self.is_compact() && rank == self.of.rank;
                if is_added && !self.has_sum {
                    acts.push(self.make_compact(registry));
                }
                match slices.last_mut() {
                    Some((before, sum, false)) if *before == rank && !is_added => *sum = sum.saturating_add(elements),
                    _ => slices.push((rank, elements, is_added)),
                }
            }
        }
        sum(&slices, self.of.bucket, Part::ReduceOutput, acts, registry);
        // `copy_grads_in_partition`.
        for &piece in &pieces {
            let is_own = self.is_own(piece);
            if is_own && !self.is_compact() && !std::mem::replace(&mut self.has_partition, true) {
                let own = self.pieces.iter().filter(|piece| self.is_own(**piece));
                let elements = own.fold(0, |sum: u64, piece| sum.saturating_add(piece.elements));
                let partition = id(registry, Part::PartitionGradients, elements.saturating_mul(2));
                acts.push(Act::Name(Name::Partition, partition));
            }
            if is_own && !self.is_compact() || !is_own && self.of.divided == Divided::Gradients {
                acts.push(Act::DropGradient(piece.number));
            }
        }
    }
}

/// `allreduce_and_scatter`, and `allreduce_no_retain` in runtime/engine.py: slices are copied into one tensor until they have more
/// elements than `most`; a single one is taken as it is. A slice is a device, elements, and whether they are added in fp32.
fn sum(slices: &[(u64, u64, bool)], most: u64, part: Part, acts: &mut Vec<Act>, registry: &mut Registry) {
    let mut rest = slices;
    while !rest.is_empty() {
        let mut elements = 0_u64;
        let last = rest.iter().position(|slice| {
            elements = elements.saturating_add(slice.1);
            elements > most
        });
        let (small, more) = rest.split_at(last.map_or(rest.len(), |place| place + 1));
        rest = more;
        let flat = (small.len() > 1).then(|| id(registry, part, elements.saturating_mul(2)));
        acts.extend(flat.map(Act::Workspace));
        for (_, elements, _) in small.iter().filter(|slice| slice.2) {
            acts.push(Act::Brief(id(registry, Part::ReduceOutputCast, elements.saturating_mul(4))));
        }
        acts.extend(flat.map(|_| Act::EndWorkspace(0)));
    }
}
