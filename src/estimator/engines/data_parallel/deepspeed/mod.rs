//! DeepSpeed's engine with ZeRO (deepspeed 0.19.8): stages 0 to 2 in `flat`, stage 3 in `partitioned`.

mod coordinator;
mod flat;
mod partitioned;
mod small;

use std::ops::Range;

use crate::estimator::engines::acts::{Act, ModuleHook};
use crate::estimator::operators::{Form, Held, Part, Place, Registry, Side, Size, Tensor, TensorId, Weight};
use crate::estimator::units::{DType, Shape};
pub use coordinator::Parameter;
use flat::Flat;
use partitioned::Partitioned;

const SOURCE: &str =
    "deepspeed 0.19.8, runtime/zero/stage_1_and_2.py, runtime/zero/stage3.py and runtime/fp16/unfused_optimizer.py";

/// What is divided among devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divided {
    /// Nothing (stage 0).
    Nothing,
    /// The optimizer's state (stage 1).
    Optimizer,
    /// Gradients as well (stage 2).
    Gradients,
    /// Weights as well (stage 3).
    Weights,
}

/// ZeRO of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeepSpeed {
    /// Devices among which it is divided.
    pub devices: u64,
    /// The number of this device.
    pub rank: u64,
    /// Elements of a bucket (`reduce_bucket_size`).
    pub bucket: u64,
    /// What is divided.
    pub divided: Divided,
    /// In what the device's part of the gradients is added up (`grad_accum_dtype`).
    pub accumulated: DType,
    /// Whether adapters are trained.
    pub has_adapters: bool,
    /// Whether the 16-bit type is fp16, to which the engine brings weights and buffers of a model in bf16 (`module.half()` in
    /// runtime/engine.py), and in which gradients may overflow.
    pub is_fp16: bool,
}

/// The optimizer of a step under way.
#[derive(Clone, Debug)]
pub enum Zero {
    /// That of stages 0 to 2.
    Flat(Flat),
    /// That of stage 3.
    Partitioned(Box<Partitioned>),
}

impl Zero {
    /// The optimizer of the model's weights in the order of its modules, and of these with the numbers of the weights that are
    /// their own, outer ones first.
    pub fn new(of: DeepSpeed, weights: Vec<Parameter>, modules: Vec<Vec<usize>>) -> Self {
        if of.divided == Divided::Weights {
            return Self::Partitioned(Box::new(Partitioned::new(of, weights, modules)));
        }
        let trained = weights.iter().filter(|weight| weight.is_trained);
        Self::Flat(Flat::new(of, trained.map(|weight| (weight.number, weight.elements))))
    }

    /// The weights in fp32 that the device's optimizer updates.
    pub fn masters(&self, registry: &mut Registry) -> Vec<Weight> {
        match self {
            Self::Flat(flat) => flat.masters(registry),
            Self::Partitioned(parts) => parts.masters(registry),
        }
    }

    /// Whether the optimizer's states are made before the first step.
    pub fn has_states(&self) -> bool {
        matches!(self, Self::Flat(flat) if flat.has_states())
    }

    /// The engine takes the model over.
    pub fn wrap(&self, registry: &mut Registry) -> Vec<Act> {
        match self {
            Self::Flat(flat) => flat.wrap(registry),
            Self::Partitioned(parts) => parts.wrap(registry),
        }
    }

    /// What it does at a module, by its number.
    pub fn module(&mut self, module: usize, hook: ModuleHook, registry: &mut Registry) -> Vec<Act> {
        match self {
            Self::Flat(_) => Vec::new(),
            Self::Partitioned(parts) => parts.module(module, hook, registry),
        }
    }

    /// A forward pass begins.
    pub fn begin_forward(&mut self, registry: &mut Registry) -> Vec<Act> {
        match self {
            Self::Flat(_) => Vec::new(),
            Self::Partitioned(parts) => parts.begin_forward(registry),
        }
    }

    /// The gradient of a weight is there.
    pub fn gradient(&mut self, number: usize, is_last: bool, registry: &mut Registry) -> Vec<Act> {
        match self {
            Self::Flat(flat) => flat.gradient(number, is_last, registry),
            Self::Partitioned(parts) => parts.gradient(number, registry),
        }
    }

    /// A backward pass is over.
    pub fn after_backward(&mut self, is_last: bool, registry: &mut Registry) -> Vec<Act> {
        match self {
            Self::Flat(flat) => flat.after_backward(is_last, registry),
            Self::Partitioned(parts) => parts.after_backward(registry),
        }
    }

    /// Its step up to the first group of weights.
    pub fn before_update(&mut self, registry: &mut Registry) -> Vec<Act> {
        match self {
            Self::Flat(flat) => flat.before_update(registry),
            Self::Partitioned(parts) => parts.before_update(registry),
        }
    }

    /// The groups that are updated one after another, by the places of their weights in fp32.
    pub fn groups(&self, masters: usize) -> Vec<Range<usize>> {
        match self {
            Self::Flat(_) => std::iter::once(0..masters).collect(),
            Self::Partitioned(_) => (0..masters).map(|master| master..master + 1).collect(),
        }
    }

    /// The gradients of a group are brought to fp32.
    pub fn before_group(&self, group: usize, registry: &mut Registry) -> Vec<Act> {
        match self {
            Self::Flat(_) => Vec::new(),
            Self::Partitioned(parts) => parts.before_group(group, registry),
        }
    }

    /// A group is updated.
    pub fn after_group(&self) -> Vec<Act> {
        match self {
            Self::Flat(_) => Vec::new(),
            Self::Partitioned(parts) => parts.after_group(),
        }
    }

    /// What comes and goes when all are.
    pub fn after_update(&mut self, registry: &mut Registry) -> Vec<Act> {
        match self {
            Self::Flat(flat) => flat.after_update(),
            Self::Partitioned(parts) => parts.after_update(registry),
        }
    }

    /// What a step before has left.
    pub fn state(&self, registry: &mut Registry) -> Vec<Act> {
        match self {
            Self::Flat(flat) => flat.state(registry),
            Self::Partitioned(_) => Vec::new(),
        }
    }
}

/// A weight of so many elements in fp32.
fn master(elements: u64, registry: &mut Registry) -> Weight {
    let bytes = elements.saturating_mul(4);
    let [value, gradient] = [Part::MasterWeight, Part::GradientInFp32].map(|part| id(registry, part, bytes));
    Weight {
        place: Place::Optimizer,
        form: Form::new(DType::Single, Shape::ONE),
        sides: None,
        values: vec![value],
        made: None,
        packing: Vec::new(),
        gradient,
        gradient_sum: gradient,
        first_gradient: None,
        side: Side::Decoder,
        is_declared_late: false,
        redistributed: None,
        is_trained: true,
        held: Held::Elements(elements),
        added: None,
    }
}

fn id(registry: &mut Registry, part: Part, bytes: u64) -> TensorId {
    registry.id(Tensor { place: Place::Optimizer, part, size: Size::Bytes(bytes) }, SOURCE)
}
