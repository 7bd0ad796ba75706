//! Data parallelism of Megatron Core (megatron/core/distributed/param_and_grad_buffer.py, megatron/core/optimizer/, 0.16.1): gradients
//! are added up in one buffer that stands all the time, and weights are updated in fp32, all of them by every device or a part by each.
//!
//! The play has what the first step makes from the beginning on.

use crate::estimator::engines::acts::{Act, Hook, Name, Round, Unit};
use crate::estimator::models::{Block, Model};
use crate::estimator::operators::{Part, Place, Registry, Size, Tensor, Types};
use crate::estimator::units::DType;

/// Data parallelism of Megatron Core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Megatron {
    /// Devices that train on other sequences.
    pub devices: u64,
    /// The number of this one.
    pub rank: u64,
    /// Whether each device updates a part of the weights (`--use-distributed-optimizer`).
    pub is_distributed: bool,
    /// The type in which gradients are added up.
    pub accumulated: DType,
    /// Whether the device is of compute capability 9.0 or above.
    pub is_hopper: bool,
}

/// A multiple of which each weight begins in a buffer of weights that devices update by parts, in elements, and one of which the
/// buffer ends (`_does_param_require_new_bucket` and `bucket_end_divisor`).
const BEGIN: u64 = 64;
const END: u64 = 128;

/// A weight of a model.
#[derive(Clone, Copy)]
struct Held {
    place: Place,
    /// Whether it is a tensor of its own, and no tied head's.
    is_own: bool,
    /// Its elements.
    elements: u64,
    /// Its elements, where it is a matrix that a product reads.
    matrix: Option<u64>,
}

impl Megatron {
    /// Lists the tensors that stand from the beginning on, beside a model's weights and constants.
    pub fn kept(self, model: &Model) -> Vec<Tensor> {
        let all = held(model);
        let weights = all.iter().filter(|weight| weight.is_own).copied().collect::<Vec<_>>();
        let of = |place, part, bytes| Tensor { place, part, size: Size::Bytes(bytes) };
        let (parts, elements) = self.parts(&weights);
        let held = weights.iter().map(|weight| weight.elements).fold(0, u64::saturating_add);
        // One workspace of cuBLAS for all products (`get_cublas_workspace_size_bytes` in
        // transformer_engine/pytorch/cpp_extensions/gemm.py, 2.20).
        let workspace = if self.is_hopper { (32 << 20) + 1024 } else { 4 << 20 };
        let mut kept = vec![of(Place::Libraries, Part::Buffer, workspace)];
        // Flags of an overflow, of the norm and of the update, and a scale of the loss.
        kept.extend([of(Place::Optimizer, Part::Overflow, 4); 2]);
        kept.push(of(Place::Optimizer, Part::Bucket, elements.saturating_mul(self.accumulated.bytes())));
        if self.is_distributed {
            // Weights are parts of one buffer, beside which lies what aligns them.
            let rest = elements.saturating_sub(held).saturating_mul(DType::Half.bytes());
            kept.push(of(Place::Optimizer, Part::Padding, rest));
        }
        let single = |elements: u64| elements.saturating_mul(DType::Single.bytes());
        kept.extend(parts.iter().map(|&(place, elements)| of(place, Part::MasterWeight, single(elements))));
        for (place, elements) in parts {
            kept.extend([Part::FirstMoment, Part::SecondMoment].map(|part| of(place, part, single(elements))));
        }
        kept.extend(dummies(&all).into_iter().map(|bytes| of(Place::Optimizer, Part::Dummy, bytes)));
        kept
    }

    /// What is done around the passes of a step: a number of tokens counts those of all micro-batches, and what is reported of each
    /// stays until the step is over (`forward_backward_no_pipelining`). Gradients that are added up in 16 bits are copied to fp32 for
    /// the optimizer (`_copy_model_grads_to_main_grads`).
    pub fn round(self, model: &Model, registry: &mut Registry) -> Round {
        let mut of = |place, part, bytes| {
            let tensor = Tensor { place, part, size: Size::Bytes(bytes) };
            registry.id(tensor, "Megatron Core 0.16.1, pipeline_parallel/schedules.py and optimizer/optimizer.py")
        };
        let counted = of(Place::Loss, Part::Counted, 4);
        let weights = held(model).into_iter().filter(|weight| weight.is_own).collect::<Vec<_>>();
        let copied = if self.accumulated == DType::Single { Vec::new() } else { self.parts(&weights).0 };
        let copies = copied.into_iter().map(|(place, elements)| {
            let bytes = elements.saturating_mul(DType::Single.bytes());
            Act::More(Name::Single, of(place, Part::GradientInFp32, bytes))
        });
        let unit = Unit::default()
            .with(Hook::BeginStep, [Act::Name(Name::Counted, counted)])
            .with(Hook::EndStep, copies)
            .with(Hook::Forget, [Name::Single, Name::Counted, Name::Losses].map(Act::Drop));
        Round { unit, ..Round::default() }
    }

    /// The parts of weights that the device updates, and the elements of the buffer of gradients. A buffer has the weights in
    /// reverse.
    fn parts(self, weights: &[Held]) -> (Vec<(Place, u64)>, u64) {
        if !self.is_distributed {
            let all = weights.iter().map(|weight| (weight.place, weight.elements)).collect::<Vec<_>>();
            let elements = all.iter().map(|(_, elements)| *elements).fold(0, u64::saturating_add);
            return (all, elements);
        }
        let mut end = 0_u64;
        let mut ranges = Vec::with_capacity(weights.len());
        for weight in weights.iter().rev() {
            let begin = multiple(end, BEGIN);
            end = begin.saturating_add(weight.elements);
            ranges.push((weight.place, begin, end));
        }
        let devices = self.devices.max(1);
        let all = multiple(end, devices / gcd(devices, END) * END);
        let own = all / devices;
        let (first, last) = (own.saturating_mul(self.rank), own.saturating_mul(self.rank.saturating_add(1)));
        let part = |(place, begin, end): (Place, u64, u64)| {
            let elements = end.min(last).saturating_sub(begin.max(first));
            (elements > 0).then_some((place, elements))
        };
        (ranges.into_iter().filter_map(part).collect(), all)
    }
}

/// The next multiple.
fn multiple(of: u64, number: u64) -> u64 {
    of.checked_next_multiple_of(number.max(1)).unwrap_or(of)
}

/// The greatest common divisor.
fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// The weights of a model in the order in which its class declares them.
fn held(model: &Model) -> Vec<Held> {
    let types = Types { weights: model.dtype, loaded: model.dtype, buffers: DType::Single, autocast: None };
    let mut registry = Registry::default();
    let mut of_block = |block: &Block| {
        let program = block.lower(&mut registry, types);
        let weights = program.weights.iter().map(|weight| Held {
            place: weight.place,
            is_own: !(model.is_tied && weight.place == Place::Head),
            elements: weight.form.shape.elements(&model.widths),
            matrix: weight.sides.map(|[rows, _]| rows.elements(&model.widths)),
        });
        weights.collect::<Vec<_>>()
    };
    let mut all = of_block(&model.opening);
    for run in &model.layers {
        let period: Vec<_> = run.period.iter().map(&mut of_block).collect();
        for _ in 0..run.times {
            all.extend(period.iter().flatten());
        }
    }
    all.extend(of_block(&model.closing));
    all
}

/// The bytes of an empty gradient for each shape of a matrix that a product reads (`get_dummy_wgrad` in
/// transformer_engine/pytorch/module/base.py, 2.20). The embedding's gradient is one of its own.
fn dummies(weights: &[Held]) -> Vec<u64> {
    let mut shapes: Vec<(u64, u64)> = Vec::new();
    for weight in weights.iter().filter(|weight| weight.place != Place::TokenEmbedding) {
        let shape = weight.matrix.map(|rows| (rows, weight.elements));
        shapes.extend(shape.filter(|shape| !shapes.contains(shape)));
    }
    shapes.into_iter().map(|(_, elements)| elements.saturating_mul(DType::Half.bytes())).collect()
}
