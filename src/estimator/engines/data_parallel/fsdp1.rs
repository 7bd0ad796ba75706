//! FSDP of PyTorch's first generation (torch/distributed/fsdp/{_flat_param,_runtime_utils}.py, PyTorch 2.15) with
//! `use_orig_params`, `FULL_SHARD`, `BACKWARD_PRE` and `limit_all_gathers`, as the first device, the rules in the order of a
//! step.
//!
//! Weights of a unit are views of one flat buffer, so that nothing is copied out of a gather. Where several streams use a
//! tensor it is given back when the last of them has passed (`record_stream`); here that is at once.

use super::Place as Around;
use super::types::{Types, UnitTypes};
use crate::estimator::engines::acts::{Act, Hook, Name, Unit};
use crate::estimator::operators::{Held, Part, Place, Registry, Size, Tensor, TensorId, Weight};
use crate::estimator::units::{DType, Widths};

/// `FullyShardedDataParallel` with a unit for each layer and one for what is around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fsdp1 {
    /// Devices among which each unit is divided.
    pub devices: u64,
    /// The types of units.
    pub types: UnitTypes,
}

const SOURCE: &str = "PyTorch 2.15, distributed/fsdp/_flat_param.py";

impl Fsdp1 {
    /// The weights of a block as the first device holds them: whole leading ones of a unit, and a part of the next
    /// (`_get_shard_metadata`). Each matrix of an adapter is a unit of its own.
    pub fn held(self, weights: &[&Weight], widths: &Widths) -> Vec<Weight> {
        let is_inner = |weight: &Weight| self.types.adapters.is_some() && weight.added.is_some();
        let own: Vec<_> = weights.iter().copied().filter(|weight| !is_inner(weight)).collect();
        let mut left = self.share(&own, widths);
        let hold = |&weight: &&Weight| {
            let all = elements(weight, widths);
            let elements = if is_inner(weight) { self.share(&[weight], widths) } else { all.min(left) };
            left -= if is_inner(weight) { 0 } else { elements };
            let form = weight.form.with_dtype(self.types.of(&[weight]).stored);
            let is_trained = weight.is_trained && elements > 0;
            Weight { form, is_trained, held: Held::Elements(elements), ..weight.clone() }
        };
        weights.iter().map(hold).collect()
    }

    /// Elements of a unit that each device holds.
    fn share(self, weights: &[&Weight], widths: &Widths) -> u64 {
        all(weights, widths).div_ceil(self.devices.max(1))
    }

    /// What is done with a unit.
    pub fn unit(self, around: Around<'_>, widths: &Widths, registry: &mut Registry) -> Unit {
        let share = self.share(around.weights, widths);
        let whole = share.saturating_mul(self.devices);
        let padding = whole.saturating_sub(all(around.weights, widths));
        let before = around.before.map(|before| (self.types.of(before), self.share(before, widths)));
        let mut tensors = Tensors { fsdp: self, types: self.types.of(around.weights), registry };

        let wrap = tensors.wrap(share, whole, padding);
        let init = tensors.init(share, whole);
        let types = tensors.types;
        let gather = tensors.gather(types, share, Name::Ahead);
        let again = tensors.gather(types, share, Name::Again);
        let ahead = before.map(|(types, before)| tensors.gather(types, before, Name::Ahead)).unwrap_or_default();
        // Of frozen weights nothing is summed (`_post_backward_reshard_only_hook`).
        let is_trained = around.weights.iter().any(|weight| weight.is_trained);
        let reduce = if is_trained { tensors.reduce(share, whole, padding) } else { vec![Act::Drop(Name::Weights)] };
        let go = (!around.is_root).then_some(Act::Drop(Name::Weights));
        let come = (!around.is_root).then_some(Act::Move(Name::Weights, Name::Ahead));
        Unit::default()
            .with(Hook::Wrap, wrap)
            .with(Hook::FirstForward, init)
            // `zero_grad` reaches the views alone (`_reset_flat_param_grad_info_if_needed`).
            .with(Hook::BeforeStep, [Act::Drop(Name::Gradients)])
            .with(Hook::BeforeForward, gather.into_iter().chain([Act::Move(Name::Weights, Name::Ahead)]))
            .with(Hook::AfterForward, go)
            // `_pre_backward_hook`, which gathers the unit that ran before, too.
            .with(Hook::BeforeBackward, come.into_iter().chain(ahead.iter().copied().filter(|_| !around.is_inner)))
            .with(Hook::Ahead, ahead)
            .with(Hook::BeforeForwardAgain, again.into_iter().chain([Act::Move(Name::Weights, Name::Again)]))
            .with(Hook::TakeAhead, [Act::Move(Name::Weights, Name::Ahead)])
            .with(Hook::AfterForwardAgain, [Act::Drop(Name::Weights)])
            .with(Hook::AfterBackward, reduce)
    }
}

/// The gradients of several uses of a weight are added up on the stream of the node that takes the sum, which made the views
/// (`InputBuffer::add` in torch/csrc/autograd/input_buffer.cpp).
pub fn prepare(weight: &mut Weight, registry: &mut Registry) {
    let tensor = Tensor { place: weight.place, part: Part::WeightGradientSum, size: Size::Of(weight.form) };
    weight.gradient_sum = registry.id(tensor, SOURCE);
}

fn elements(weight: &Weight, widths: &Widths) -> u64 {
    weight.form.shape.elements(widths)
}

fn all(weights: &[&Weight], widths: &Widths) -> u64 {
    weights.iter().map(|weight| elements(weight, widths)).fold(0, u64::saturating_add)
}

/// The tensors of a unit.
struct Tensors<'t> {
    fsdp: Fsdp1,
    types: Types,
    registry: &'t mut Registry,
}

impl Tensors<'_> {
    fn id(&mut self, part: Part, elements: u64, dtype: DType) -> TensorId {
        let size = Size::Bytes(elements.saturating_mul(dtype.bytes()));
        self.registry.id(Tensor { place: Place::Unit, part, size }, SOURCE)
    }

    /// `FlatParamHandle`: the weights are joined, and padding behind them, once for the sizes and once to be joined.
    fn wrap(&mut self, share: u64, whole: u64, padding: u64) -> Vec<Act> {
        let stored = self.types.stored;
        let padding = (padding > 0).then(|| self.id(Part::Padding, padding, stored));
        let flat = self.id(Part::FlatWeights, whole, stored);
        let shard = self.id(Part::Weight, share, stored);
        let mut acts = Vec::new();
        if let Some(padding) = padding {
            acts.extend([Act::Name(Name::Sum, padding), Act::Name(Name::Buffer, padding), Act::Drop(Name::Sum)]);
        }
        acts.extend([Act::Name(Name::Ahead, flat), Act::Drop(Name::Buffer), Act::State(shard)]);
        acts.extend([Act::Drop(Name::Ahead), Act::DropWhole]);
        acts
    }

    /// `init_flat_param_attributes`: buffers are made on the model's stream, and resized to nothing at once.
    fn init(&mut self, share: u64, whole: u64) -> Vec<Act> {
        let Types { stored, gathered, .. } = self.types;
        let is_cast = stored != gathered;
        let cast = is_cast.then(|| self.id(Part::FlatWeights, share, gathered));
        let plain = self.id(Part::FlatWeights, whole, gathered);
        let full = is_cast.then(|| self.id(Part::FlatWeights, whole, stored));
        cast.into_iter().chain([plain]).chain(full).map(Act::Brief).collect()
    }

    /// `FlatParamHandle.unshard`: where types differ the shard is first cast.
    fn gather(&mut self, types: Types, share: u64, name: Name) -> Vec<Act> {
        let (Types { stored, gathered, .. }, devices) = (types, self.fsdp.devices);
        let cast = (stored != gathered).then(|| self.id(Part::LowPrecisionShard, share, gathered));
        let output = self.id(Part::AllGatherOutput, share.saturating_mul(devices), gathered);
        let cast_first = cast.map(|cast| Act::Name(Name::Shards, cast));
        let cast_last = cast.map(|_| Act::Drop(Name::Shards));
        cast_first.into_iter().chain([Act::Name(name, output)]).chain(cast_last).collect()
    }

    /// The gradients of the views are joined on the stream on which the views were made; then the flat gradient is summed
    /// (`_post_backward_hook`).
    fn reduce(&mut self, share: u64, whole: u64, padding: u64) -> Vec<Act> {
        let Types { stored, gathered, reduced } = self.types;
        let padding = (padding > 0).then(|| self.id(Part::PaddingGradient, padding, gathered));
        let flat = self.id(Part::FlatGradient, whole, gathered);
        let cast = (reduced != gathered).then(|| self.id(Part::FlatGradientCast, whole, reduced));
        let output = self.id(Part::ReduceOutput, share, reduced);
        let output_cast = (reduced != stored).then(|| self.id(Part::ReduceOutputCast, share, stored));
        let mut acts: Vec<_> = padding.map(|padding| Act::Name(Name::Buffer, padding)).into_iter().collect();
        acts.extend([
            Act::Name(Name::Flat, flat),
            Act::DropGradients,
            Act::Drop(Name::Buffer),
            Act::Drop(Name::Weights),
        ]);
        acts.extend(cast.map(|cast| Act::Name(Name::Reducing, cast)));
        acts.push(Act::Name(Name::Reduced, output));
        acts.extend(output_cast.map(|cast| Act::Name(Name::Reduced, cast)));
        acts.extend([Act::Drop(Name::Reducing), Act::Drop(Name::Flat), Act::Offer(Name::Gradients, Name::Reduced)]);
        acts
    }
}
