//! FSDP of PyTorch's second generation (torch/distributed/fsdp/_fully_shard, PyTorch 2.15), the rules in the order of a step.
//! Nothing is handed over with `record_stream`: a tensor is given back at once when its last name goes.

use super::Place as Around;
use super::types::{Types, UnitTypes};
use crate::estimator::engines::acts::{Act, Hook, Name, Unit};
use crate::estimator::operators::{Form, Held, Part, Place, Registry, Size, Tensor, TensorId, Weight, resident_blocks};
use crate::estimator::units::{DType, Widths};

/// `fully_shard` on each layer and on the whole model, or on the embedding, each layer, and norm with head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fsdp2 {
    /// Devices among which each weight is divided.
    pub devices: u64,
    /// The types of units.
    pub types: UnitTypes,
    /// Whether a unit's weights go after its forward pass (`reshard_after_forward`).
    pub reshards: bool,
    /// Whether the embedding is a unit of its own, and norm with head another, whose weights stay for the backward pass.
    pub has_units_apart: bool,
    /// Whether weights stay gathered until all micro-batches are through, and gradients are summed over devices but then
    /// (`backward_maybe_with_nosync` and `perform_reduce_grad` in torch/distributed/pipelining/stage.py).
    pub is_deferred: bool,
    /// Whether other devices have other parts of the layers.
    pub shares_layers: bool,
    /// Whether shards, their gradients and the optimizer's state lie in the memory of the host (`CPUOffloadPolicy`).
    pub is_on_host: bool,
}

const SOURCE: &str = "PyTorch 2.15, distributed/fsdp/_fully_shard";

/// Bytes that a block of threads copies at a time (`BLOCK_SIZE` times `BYTES_PER_THREAD` in
/// aten/src/ATen/native/cuda/TensorShape.cu).
const COPIED: u64 = 128 * 16;

impl Fsdp2 {
    /// A weight as this device's part of it (`_init_sharded_param` in _fsdp_param.py): rows are padded up to a multiple of the
    /// devices.
    ///
    /// The elements of a 4-bit matrix are in a column, four in an element of 16 bits (`bnb_4bit_quant_storage`, which is to be the
    /// type of all other weights).
    pub fn held(self, weight: &Weight) -> Weight {
        let parts = self.devices;
        if !weight.packing.is_empty() {
            let form = Form::new(DType::Half, weight.form.shape.part(4));
            return Weight { form, held: Held::Rows { rows: form.shape, parts }, ..weight.clone() };
        }
        let held = Held::Rows { rows: weight.rows(), parts };
        Weight { form: weight.form.with_dtype(self.types.of(&[weight]).stored), held, ..weight.clone() }
    }

    /// Has gradients that are added up on the device be cast to the type in which they are summed over devices: the first one of
    /// a weight (`_set_unsharded_grad_dtypes` in _fsdp_param_group.py).
    ///
    /// Where devices share layers, each has a gradient of its own of a weight that all have, which is cast at once
    /// (`may_reduce_grad_outside_dp` in _fsdp_param.py) and summed over them. Of the embedding each has a gradient of all rows, and
    /// keeps its own (`_get_grad_inner_tensor`).
    pub fn prepare(self, weight: &mut Weight, registry: &mut Registry) {
        let is_whole = self.shares_layers && weight.sides.is_none();
        if (self.is_deferred || is_whole) && self.types.reduced != self.types.gathered {
            let (place, size) = (weight.place, Size::Of(weight.form.with_dtype(self.types.reduced)));
            weight.first_gradient = Some(registry.id(Tensor { place, part: Part::FirstGradient, size }, SOURCE));
        }
        if is_whole || self.shares_layers && weight.place == Place::TokenEmbedding {
            weight.redistributed = Some(weight.first_gradient.unwrap_or(weight.gradient));
        }
    }

    /// What is done with all weights of a frozen model as one unit, which devices hold in a type. Its group of devices has streams
    /// of its own (`FSDPCommContext.lazy_init` in _fsdp_param_group.py).
    pub fn frozen_unit(self, stored: DType, weights: &[&Weight], widths: &Widths, registry: &mut Registry) -> Unit {
        let fsdp = Self { types: UnitTypes { stored, adapters: None, ..self.types }, ..self };
        let mut tensors = Tensors { fsdp, unit: Place::FrozenUnit, widths, registry };
        let gather = tensors.gather(weights);
        let copy_out = tensors.copy_out(weights);
        let shards = weights.iter().map(|weight| tensors.shard(weight)).collect::<Vec<_>>();
        let wait = copy_out.into_iter().chain([Act::Move(Name::Copied, Name::Ahead)]);
        Unit::default()
            .with(Hook::Wrap, shards.into_iter().map(Act::State).chain([Act::DropWhole]))
            .with(Hook::BeforeForward, gather.into_iter().chain(wait))
            .with(Hook::AfterForward, [Act::Drop(Name::Weights), Act::Drop(Name::Copied)])
    }

    /// What is done with a unit.
    pub fn unit(self, around: Around<'_>, widths: &Widths, registry: &mut Registry) -> Unit {
        if around.weights.is_empty() {
            // The root holds what the units have left (`_root_post_backward_final_callback` in _fsdp_state.py).
            let end = if self.is_deferred { Hook::Reduce } else { Hook::AfterBackward };
            return Unit::default()
                .with(Hook::AfterForward, [Act::Drop(Name::Copied)])
                .with(end, [Act::Drop(Name::Reducing)]);
        }
        let reshards = self.reshards && !around.stays && !self.is_deferred;
        let unit = if around.is_later { Place::LaterUnit } else { Place::Unit };
        let mut tensors = Tensors { fsdp: self, unit, widths, registry };
        let of_stage = if self.is_deferred { tensors.gather_stage(around.weights) } else { Vec::new() };
        let gather = tensors.gather(around.weights);
        let before = around.before.map(|before| tensors.gather(before)).unwrap_or_default();
        let copy_out = tensors.copy_out(around.weights);
        let reduce = tensors.reduce(around.weights);
        let shards = around.weights.iter().map(|weight| tensors.shard(weight)).collect::<Vec<_>>();

        let made = if self.is_on_host { Act::Brief } else { Act::State };
        // The buffer of a unit is held until the next has its own (`all_gather_state`).
        let wait = [&[Act::Drop(Name::Copied)], &copy_out[..], &[Act::Move(Name::Copied, Name::Ahead)]].concat();
        let reshard = reshards.then_some(Act::Drop(Name::Weights));
        let last = around.is_root.then_some(Act::Drop(Name::Copied));
        let kept = self.is_deferred.then_some(Act::UnlessNamed(Name::Weights));
        let unit = Unit::default()
            .with(Hook::Wrap, shards.into_iter().map(made).chain([Act::DropWhole]))
            .with(Hook::BeforeForward, kept.into_iter().chain(gather).chain(wait))
            .with(Hook::AfterForward, reshard.into_iter().chain(last))
            .with(Hook::GatherStage, of_stage);
        // In a second pass each unit within is the root of its own pass, behind which nothing goes but what was gathered
        // (`pre_forward` and `post_forward` in _fsdp_param_group.py).
        let second = tensors.gather_as(around.weights, Name::Again).into_iter().chain(copy_out.iter().copied());
        let taken = copy_out.iter().copied().chain([Act::Move(Name::Copied, Name::Ahead)]);
        let unit = unit
            .with(Hook::BeforeForwardAgain, second.chain([Act::Move(Name::Copied, Name::Again)]))
            .with(Hook::TakeAhead, taken)
            .with(Hook::AfterForwardAgain, [Act::Drop(Name::Copied)]);
        let unit = if self.is_deferred {
            let copied = kept.into_iter().chain(copy_out.iter().copied()).chain([Act::Drop(Name::OfStage)]);
            unit.with(Hook::AwaitStage, copied).with(Hook::GiveStageBack, [Act::Drop(Name::Weights)])
        } else {
            unit
        };
        // The unit that ran after it has gathered it ahead (`_backward_prefetch`); nobody has the root.
        let own = if around.is_root { tensors.gather(around.weights) } else { Vec::new() };
        let again = own.into_iter().chain(copy_out).chain([Act::Drop(Name::Ahead)]);
        let again = reshards.then_some(again).into_iter().flatten();
        let ahead = (self.reshards && !self.is_deferred).then_some(before).into_iter().flatten().collect::<Vec<_>>();
        // A unit within asks whether the one before it is there.
        let both = again.chain(ahead.iter().copied().filter(|_| !around.is_inner)).collect::<Vec<_>>();
        // What the last sum read is held until the next unit's turn, and that of the root to the end of the pass.
        let end = around.is_root.then_some(Act::Drop(Name::Reducing));
        let sum = if self.is_deferred { Hook::Reduce } else { Hook::AfterBackward };
        unit.with(Hook::BeforeBackward, both)
            .with(Hook::Ahead, ahead)
            .with(sum, reduce.into_iter().chain(end))
            .with(Hook::ZeroGradients, [Act::Drop(Name::Gradients)])
    }
}

/// The tensors of a unit.
struct Tensors<'t> {
    fsdp: Fsdp2,
    unit: Place,
    widths: &'t Widths,
    registry: &'t mut Registry,
}

impl Tensors<'_> {
    fn id(&mut self, place: Place, part: Part, size: Size) -> TensorId {
        self.registry.id(Tensor { place, part, size }, SOURCE)
    }

    /// Elements of a weight that a device holds.
    fn part(&self, weight: &Weight) -> u64 {
        let held = self.fsdp.held(weight);
        held.held.elements(held.form, self.widths)
    }

    fn parts(&self, weights: &[&Weight]) -> u64 {
        weights.iter().map(|weight| self.part(weight)).fold(0, u64::saturating_add)
    }

    fn of_unit(&mut self, part: Part, elements: u64, dtype: DType) -> TensorId {
        self.id(self.unit, part, Size::Bytes(elements.saturating_mul(dtype.bytes())))
    }

    fn whole(&self, elements: u64) -> u64 {
        elements.saturating_mul(self.fsdp.devices)
    }

    fn shard(&mut self, weight: &Weight) -> TensorId {
        let held = self.fsdp.held(weight);
        self.id(weight.place, Part::Weight, Size::Held(held.form, held.held))
    }

    /// `foreach_all_gather` in _fsdp_collectives.py: where types differ the shards are first copied into one buffer.
    fn gather(&mut self, weights: &[&Weight]) -> Vec<Act> {
        self.gather_as(weights, Name::Ahead)
    }

    fn gather_as(&mut self, weights: &[&Weight], name: Name) -> Vec<Act> {
        if self.is_alone() {
            return Vec::new();
        }
        let Types { stored, gathered, .. } = self.fsdp.types.of(weights);
        let parts = self.parts(weights);
        let output = self.of_unit(Part::AllGatherOutput, self.whole(parts), gathered);
        if self.fsdp.is_on_host {
            let mut acts = weights.iter().flat_map(|weight| self.copied_from_host(weight)).collect::<Vec<_>>();
            acts.extend([Act::Name(name, output), Act::Drop(Name::Shards)]);
            return acts;
        }
        let cast = (stored != gathered).then(|| self.of_unit(Part::AllGatherInput, parts, gathered));
        let cast_first = cast.map(|cast| Act::Name(Name::Shards, cast));
        let cast_last = cast.map(|_| Act::Drop(Name::Shards));
        cast_first.into_iter().chain([Act::Name(name, output)]).chain(cast_last).collect()
    }

    /// `all_gather_inputs` in _fsdp_param.py of a shard that lies in the memory of the host: it is copied, and cast where it has
    /// another type.
    fn copied_from_host(&mut self, weight: &Weight) -> Vec<Act> {
        let Types { stored, gathered, .. } = self.fsdp.types.of(&[weight]);
        let part = self.part(weight);
        let mut shard =
            |dtype: DType| self.id(weight.place, Part::AllGatherInput, Size::Bytes(part.saturating_mul(dtype.bytes())));
        let (copied, cast) = (shard(stored), shard(gathered));
        if stored == gathered {
            return vec![Act::More(Name::Shards, copied)];
        }
        vec![Act::Name(Name::Sum, copied), Act::More(Name::Shards, cast), Act::Drop(Name::Sum)]
    }

    /// Whether there are no other devices, so that nothing is gathered (`wait_for_unshard` in _fsdp_param_group.py).
    const fn is_alone(&self) -> bool {
        self.fsdp.devices == 1
    }

    /// `unshard` of a schedule, on the stream of the model (`get_all_gather_streams` in _fsdp_param_group.py).
    fn gather_stage(&mut self, weights: &[&Weight]) -> Vec<Act> {
        let Types { stored, gathered, .. } = self.fsdp.types.of(weights);
        let parts = self.parts(weights);
        let cast = (stored != gathered).then(|| self.of_unit(Part::StageGatherInput, parts, gathered));
        let output = self.of_unit(Part::StageGatherOutput, self.whole(parts), gathered);
        let cast_first =
            [Act::UnlessNamed(Name::Weights)].into_iter().chain(cast.map(|cast| Act::Name(Name::Shards, cast)));
        let cast_last = cast.map(|_| Act::Drop(Name::Shards));
        cast_first.chain([Act::Name(Name::OfStage, output)]).chain(cast_last).collect()
    }

    /// `foreach_all_gather_copy_out`: a tensor for each weight, and the workspace of `split_with_sizes_copy`. A device alone
    /// copies each weight by itself, through one of another type where it is cast (`wait_for_unshard`).
    fn copy_out(&mut self, weights: &[&Weight]) -> Vec<Act> {
        let Types { stored, gathered, .. } = self.fsdp.types.of(weights);
        let bytes = gathered.bytes();
        let is_cast = self.is_alone() && stored != gathered;
        let mut acts = Vec::new();
        for weight in weights {
            let whole = Size::Bytes(self.whole(self.part(weight)).saturating_mul(bytes));
            let tensor = self.id(weight.place, Part::GatheredWeight, whole);
            let cast = is_cast.then(|| Act::Name(Name::Shards, self.id(weight.place, Part::InputCast, whole)));
            acts.extend(cast.into_iter().chain([Act::More(Name::Weights, tensor)]));
        }
        if self.is_alone() {
            acts.push(Act::Drop(Name::Shards));
            return acts;
        }
        let chunks: Vec<_> = weights.iter().map(|weight| self.part(weight).saturating_mul(bytes)).collect();
        let workspace = Size::Bytes(split_workspace(&chunks, self.fsdp.devices));
        acts.push(Act::Brief(self.id(Place::Unit, Part::Workspace, workspace)));
        acts
    }

    /// `post_backward` in _fsdp_param_group.py and `foreach_reduce`.
    fn reduce(&mut self, weights: &[&Weight]) -> Vec<Act> {
        if !weights.iter().any(|weight| weight.is_trained) {
            return vec![Act::Drop(Name::Weights), Act::Drop(Name::Reducing)];
        }
        let Types { stored, reduced, .. } = self.fsdp.types.of(weights);
        let parts = self.parts(weights);
        let input = self.of_unit(Part::ReduceInput, self.whole(parts), reduced);
        let chunks: Vec<_> = weights.iter().map(|weight| self.part(weight).saturating_mul(reduced.bytes())).collect();
        let is_cast = |weight: &&&Weight| weight.first_gradient.is_some();
        let cast = weights.iter().filter(is_cast).count();
        let are_mixed = (1..weights.len()).contains(&cast);
        let workspace = self.id(Place::Unit, Part::Workspace, Size::Bytes(cat_workspace(&chunks, are_mixed)));
        let output = self.of_unit(Part::ReduceOutput, parts, reduced);
        let cast = (reduced != stored).then(|| self.of_unit(Part::ReduceOutputCast, parts, stored));
        let redistribute = self.fsdp.shares_layers.then_some(Act::RedistributeGradients);
        let mut acts: Vec<_> = redistribute.into_iter().collect();
        acts.extend([
            Act::Drop(Name::Weights),
            Act::Drop(Name::Reducing),
            Act::Name(Name::Reducing, input),
            Act::Brief(workspace),
            Act::DropGradients,
            Act::Name(Name::Reduced, output),
        ]);
        acts.extend(cast.map(|cast| Act::Name(Name::Reduced, cast)));
        // What a micro-batch before has summed is added to, or it goes to the memory of the host.
        let kept = Act::Offer(Name::Gradients, Name::Reduced);
        acts.push(if self.fsdp.is_on_host { Act::Drop(Name::Reduced) } else { kept });
        acts
    }
}

/// Bytes that `split_with_sizes_copy` takes for pointers, sizes and the tensor of each block of threads, which copies 2,048
/// bytes as often as it takes to have two waves of blocks (`detail::get_split_metadata` in TensorShape.cu; the number of
/// times was fitted to 66 recorded calls of 6 sizes on 2 to 128 devices).
fn split_workspace(chunks: &[u64], devices: u64) -> u64 {
    let waves = 2 * resident_blocks(128);
    let blocks = chunks.iter().map(|bytes| bytes.div_ceil(COPIED)).fold(0, u64::saturating_add);
    let root = (blocks.saturating_mul(devices) as f64 / waves as f64).sqrt().round() as u64;
    let times = blocks.div_ceil(waves).max(root).max(1);
    let blocks = chunks.iter().map(|bytes| bytes.div_ceil(COPIED.saturating_mul(times))).fold(0, u64::saturating_add);
    blocks.saturating_add(4 * chunks.len() as u64 + 1).saturating_mul(8)
}

/// Bytes that `_chunk_cat` takes: six numbers a tensor, and the tensor of each block of 2,048 bytes (TensorShape.cu, and as
/// recorded). Two more are there where all gradients have one type, and not in `chunk_cat_mixed_dtype`.
fn cat_workspace(chunks: &[u64], are_mixed: bool) -> u64 {
    let blocks = chunks.iter().map(|bytes| bytes.div_ceil(COPIED)).fold(0, u64::saturating_add);
    let more = if are_mixed { 0 } else { 2 };
    blocks.saturating_add(6 * chunks.len() as u64 + more).saturating_mul(8)
}
