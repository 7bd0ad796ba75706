//! How devices that train on different sequences share weights, gradients and the optimizer's state.

mod ddp;
mod deepspeed;
mod fsdp1;
mod fsdp2;
mod megatron;
mod types;

pub use ddp::{Ddp, Piece, Told, largest_part};
pub use deepspeed::{DeepSpeed, Divided, Parameter, Zero};
pub use fsdp1::Fsdp1;
pub use fsdp2::Fsdp2;
pub use megatron::Megatron;
use types::UnitTypes;

use super::acts::Unit;
use super::networks::adapter_dtype;
use crate::estimator::choice::{Adapter, Engine, GradientType, Offload, Optimizer, Precision, Unquantized, ZeroStage};
use crate::estimator::models::{Model, NotCounted};
use crate::estimator::operators::{ModuleKind, Registry, Tensor, Weight};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::{DType, Widths};

/// The way in which devices share the training of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataParallel {
    /// One device trains alone.
    Alone,
    /// `DistributedDataParallel` of PyTorch: every device holds everything.
    Ddp(Ddp),
    /// FSDP of PyTorch's first generation, with the same units as that of the second.
    Fsdp1(Fsdp1),
    /// FSDP of PyTorch's second generation (`fully_shard`), a unit for each layer and one for what is around them.
    Fsdp2(Fsdp2),
    /// ZeRO of DeepSpeed.
    DeepSpeed(DeepSpeed),
    /// Megatron Core's, with its distributed optimizer or without.
    Megatron(Megatron),
}

/// What of a run decides its memory, and no input of a scenario says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsaid {
    /// Whether FSDP is that of PyTorch's first generation (`FullyShardedDataParallel`).
    pub is_fsdp1: bool,
    /// Whether gradients are summed in 16 bits where weights have 32 (`reduce_dtype`).
    pub reduces_in_half: bool,
    /// Whether FSDP gathers the embedding, and norm and head, as units of their own.
    pub has_units_apart: bool,
    /// Whether gradients of DDP are views of its buckets (`gradient_as_bucket_view`).
    pub has_bucket_views: bool,
    /// The number of the device among those that share the training.
    pub device: u32,
    /// Whether the model's configuration names no token with which sequences end (`eos_token_id`), so that generation does not
    /// look for it.
    pub has_no_end_token: bool,
    /// Which rank of a pipeline it is, from 0.
    pub rank: u32,
}

/// A unit between others: the weights that are gathered together.
#[derive(Clone, Copy, Debug)]
pub struct Place<'w> {
    /// Its weights, in the order in which the model's class declares them.
    pub weights: &'w [&'w Weight],
    /// Those of the unit that runs before it, unless it is the first.
    pub before: Option<&'w [&'w Weight]>,
    /// Whether it is the unit of the whole model, which has what no other has.
    pub is_root: bool,
    /// Whether it is one of a later chunk of a rank of a pipeline.
    pub is_later: bool,
    /// Whether its weights stay gathered from the forward pass to the backward pass.
    pub stays: bool,
    /// Whether it is a module within the unit of a block.
    pub is_inner: bool,
}

impl DataParallel {
    /// How a scenario's devices share the training.
    pub fn of(scenario: &Scenario, unsaid: Unsaid) -> Result<Self, NotCounted> {
        let Scenario { recipe, cluster, .. } = scenario;
        if cluster.engine == Engine::Megatron {
            return Self::of_megatron(scenario, unsaid);
        }
        let is_alone = cluster.gpus == 1 || cluster.group() == cluster.gpus;
        let is_titan = cluster.engine == Engine::Torchtitan;
        // Alone torchtitan has weights in fp32 and autocast (`maybe_enable_amp` in torchtitan/distributed/utils.py).
        let is_played_alone = is_titan && cluster.gpus == 1 && recipe.precision == Precision::Autocast;
        let is_pipeline = cluster.gpus == cluster.pipeline_parallel && is_alone;
        // FSDP casts weights where there is nobody to share them with, too.
        if is_pipeline && cluster.engine == Engine::Torch && recipe.precision == Precision::Mixed && cluster.gpus == 1 {
            return Self::fsdp(scenario, unsaid);
        }
        if is_pipeline && cluster.engine == Engine::Torch || is_played_alone {
            return Ok(Self::Alone);
        }
        let has_tensors = cluster.tensor_parallel > 1;
        let has_stages = cluster.pipeline_parallel > 1;
        let is_played = is_titan && !(has_tensors && has_stages) && (cluster.zero == ZeroStage::Stage2 || !has_stages);
        if cluster.context_parallel > 1 || (has_tensors || has_stages) && !is_played {
            return Err(NotCounted::SeveralGpus);
        }
        if cluster.engine == Engine::DeepSpeed {
            return Self::of_deepspeed(scenario, unsaid);
        }
        match cluster.zero {
            ZeroStage::Stage0 | ZeroStage::Stage1
                if cluster.engine == Engine::Torch && recipe.precision != Precision::Mixed =>
            {
                let accumulates = recipe.micro_batches > 1;
                let updaters = if cluster.zero == ZeroStage::Stage1 { cluster.gpus } else { 1 };
                Ok(Self::Ddp(Ddp { has_views: unsaid.has_bucket_views, accumulates, updaters }))
            }
            ZeroStage::Stage2 | ZeroStage::Stage3 => Self::fsdp(scenario, unsaid),
            _ => Err(NotCounted::SeveralGpus),
        }
    }

    /// Megatron Core's.
    fn of_megatron(scenario: &Scenario, unsaid: Unsaid) -> Result<Self, NotCounted> {
        let Scenario { recipe, cluster, device, .. } = scenario;
        let is_divided = cluster.pipeline_parallel > 1 || cluster.context_parallel > 1;
        let is_distributed = match cluster.zero {
            ZeroStage::Stage0 => false,
            ZeroStage::Stage1 => true,
            ZeroStage::Stage2 | ZeroStage::Stage3 => return Err(NotCounted::SeveralGpus),
        };
        if is_divided {
            return Err(NotCounted::SeveralGpus);
        }
        if recipe.adapter != Adapter::None || recipe.optimizer != Optimizer::AdamW {
            return Err(NotCounted::MegatronOptimizer);
        }
        Ok(Self::Megatron(Megatron {
            devices: u64::from(cluster.data_parallel()),
            rank: u64::from(unsaid.device),
            is_distributed,
            accumulated: match recipe.gradients {
                GradientType::Half => DType::Half,
                GradientType::Full => DType::Single,
            },
            is_hopper: device.capability >= 90,
        }))
    }

    /// DeepSpeed's ZeRO.
    fn of_deepspeed(scenario: &Scenario, unsaid: Unsaid) -> Result<Self, NotCounted> {
        let Scenario { recipe, cluster, .. } = scenario;
        let accumulated = match recipe.gradients {
            GradientType::Half => DType::Half,
            GradientType::Full => DType::Single,
        };
        let divided = match cluster.zero {
            ZeroStage::Stage0 if accumulated == DType::Half => Divided::Nothing,
            ZeroStage::Stage1 if accumulated == DType::Half => Divided::Optimizer,
            ZeroStage::Stage2 => Divided::Gradients,
            ZeroStage::Stage3 if accumulated == DType::Half => Divided::Weights,
            _ => return Err(NotCounted::SeveralGpus),
        };
        if cluster.gpus == 1 || unsaid.device >= cluster.gpus {
            return Err(NotCounted::SeveralGpus);
        }
        if recipe.adapter == Adapter::Qlora {
            return Err(NotCounted::Quantized);
        }
        if !matches!(recipe.optimizer, Optimizer::AdamW | Optimizer::Sgd | Optimizer::Momentum) {
            return Err(NotCounted::Optimizer);
        }
        Ok(Self::DeepSpeed(DeepSpeed {
            devices: u64::from(cluster.gpus),
            rank: u64::from(unsaid.device),
            bucket: u64::from(cluster.reduce_bucket).saturating_mul(1_000_000),
            divided,
            accumulated,
            has_adapters: recipe.adapter != Adapter::None,
            is_fp16: recipe.precision == Precision::Fp16,
        }))
    }

    /// FSDP of either generation.
    fn fsdp(scenario: &Scenario, unsaid: Unsaid) -> Result<Self, NotCounted> {
        let Scenario { recipe, cluster, .. } = scenario;
        let is_mixed = recipe.precision == Precision::Mixed;
        let is_titan = cluster.engine == Engine::Torchtitan;
        let reshards = match cluster.reshard {
            0 => cluster.zero == ZeroStage::Stage3,
            1 => false,
            _ => return Err(NotCounted::SeveralGpus),
        };
        let is_played = is_mixed || recipe.precision == Precision::PureBf16 || recipe.precision.has_master();
        let has_units_apart = unsaid.has_units_apart || is_titan;
        if has_units_apart && (unsaid.is_fsdp1 || scenario.model.tied_embeddings.is_on()) {
            return Err(NotCounted::SeveralGpus);
        }
        let has_adapters = recipe.adapter != Adapter::None;
        // Adapters on experts are no layers.
        let is_packed = recipe.adapter == Adapter::Qlora && recipe.unquantized == Unquantized::Half && !unsaid.is_fsdp1;
        let is_adapted = (recipe.adapter == Adapter::Lora || is_packed) && scenario.model.experts.count == 0;
        if has_adapters && (has_units_apart || !is_adapted) {
            return Err(NotCounted::SeveralGpus);
        }
        if !is_played || unsaid.is_fsdp1 && !reshards {
            return Err(NotCounted::SeveralGpus);
        }
        let stored = if is_mixed && !has_adapters { DType::Single } else { DType::Half };
        let adapters = has_adapters.then(|| adapter_dtype(scenario));
        let full = if is_mixed { DType::Single } else { stored };
        let reduced = if unsaid.reduces_in_half { DType::Half } else { full };
        let devices = u64::from(cluster.data_parallel());
        let (is_deferred, shares_layers) = (cluster.pipeline_parallel > 1, cluster.tensor_parallel > 1);
        if shares_layers && devices == 1 {
            return Err(NotCounted::SeveralGpus);
        }
        let is_on_host = recipe.offload == Offload::Parameters;
        if is_on_host && (unsaid.is_fsdp1 || is_titan || devices == 1) {
            return Err(NotCounted::Offload);
        }
        let types = UnitTypes { stored, adapters, is_mixed, gathered: DType::Half, reduced };
        Ok(if unsaid.is_fsdp1 {
            Self::Fsdp1(Fsdp1 { devices, types })
        } else {
            Self::Fsdp2(Fsdp2 { devices, types, reshards, has_units_apart, is_deferred, shares_layers, is_on_host })
        })
    }

    /// Elements of a weight that is gathered alone, with what pads it (`_to_replicate_tensor` in
    /// torch/distributed/tensor/placement_types.py, PyTorch 2.15).
    pub fn gathered_alone(self, weight: &Weight, widths: &Widths) -> u64 {
        let held = self.held(&[weight], widths);
        let part = held.first().map_or(0, |held| held.held.elements(held.form, widths));
        match self {
            Self::Fsdp2(fsdp) => part.saturating_mul(fsdp.devices),
            _ => part,
        }
    }

    /// The type in which it holds a weight.
    pub fn stored(self, weight: &Weight, widths: &Widths) -> DType {
        self.held(&[weight], widths).first().map_or(weight.form.dtype, |held| held.form.dtype)
    }

    /// Whether an engine gives whole weights back.
    pub const fn is_sharded(self) -> bool {
        matches!(self, Self::Fsdp1(_) | Self::Fsdp2(_) | Self::DeepSpeed(_))
    }

    /// Whether the optimizer works in the memory of the host.
    pub const fn updates_on_host(self) -> bool {
        matches!(self, Self::Fsdp2(Fsdp2 { is_on_host: true, .. }))
    }

    /// What an engine makes of the weights of a unit, before anything else is made of them.
    pub fn prepare(self, weights: &mut [Weight], registry: &mut Registry) {
        match self {
            Self::Fsdp1(_) => weights.iter_mut().for_each(|weight| fsdp1::prepare(weight, registry)),
            Self::Fsdp2(fsdp) => weights.iter_mut().for_each(|weight| fsdp.prepare(weight, registry)),
            Self::Alone | Self::Ddp(_) | Self::DeepSpeed(_) | Self::Megatron(_) => {}
        }
    }

    /// Whether all weights and buffers are cast before it takes them.
    pub const fn casts_all(self) -> bool {
        matches!(self, Self::DeepSpeed(DeepSpeed { is_fp16: true, .. }))
    }

    /// The type to which buffers of the model are cast, where they are.
    pub fn buffers(self) -> Option<DType> {
        match self {
            Self::Fsdp1(fsdp) if fsdp.types.is_mixed => Some(fsdp.types.gathered),
            Self::DeepSpeed(DeepSpeed { is_fp16: true, .. }) => Some(DType::Half),
            _ => None,
        }
    }

    /// How often it multiplies the loss by a number before the backward pass, keeping what it was: by that of micro-batches, and
    /// by the scale of an optimizer of ZeRO (`backward` in deepspeed/runtime/engine.py, 0.19.8).
    pub fn loss_scales(self) -> usize {
        match self {
            Self::Alone | Self::Ddp(_) | Self::Fsdp1(_) | Self::Fsdp2(_) | Self::Megatron(_) => 0,
            Self::DeepSpeed(DeepSpeed { divided: Divided::Nothing, .. }) => 1,
            Self::DeepSpeed(_) => 2,
        }
    }

    /// Whether it does something at a module of a kind, or where it is left that has embedding, layers and final norm.
    pub fn is_told_of(self, kind: Option<ModuleKind>) -> bool {
        match self {
            Self::Fsdp1(_) | Self::Fsdp2(_) => self.has_inner_units() && kind == Some(ModuleKind::Adapter),
            _ => self.learns_modules(),
        }
    }

    /// Whether each matrix of an adapter is a unit of its own.
    pub fn has_inner_units(self) -> bool {
        self.unit_types().is_some_and(|types| types.adapters.is_some())
    }

    fn unit_types(self) -> Option<UnitTypes> {
        match self {
            Self::Fsdp1(fsdp) => Some(fsdp.types),
            Self::Fsdp2(fsdp) => Some(fsdp.types),
            _ => None,
        }
    }

    /// Whether a unit within has its turn in the backward pass whether its input wants a gradient or not.
    pub const fn waits_for_weights(self) -> bool {
        matches!(self, Self::Fsdp1(_))
    }

    /// Whether the frozen weights of a block go when the block before has gathered its own: both hooks are those of the value
    /// between them, in this order (`_register_post_backward_reshard_only_hook` in torch/distributed/fsdp/_runtime_utils.py,
    /// PyTorch 2.15).
    pub fn lets_go_late(self) -> bool {
        matches!(self, Self::Fsdp1(_)) && self.has_inner_units()
    }

    /// Whether it casts what a unit within is given; autocast does where it does not.
    pub const fn casts_inputs(self) -> bool {
        matches!(self, Self::Fsdp2(_))
    }

    /// The type in which all weights are gathered, where it is not their own.
    pub fn gathered(self) -> Option<DType> {
        self.unit_types().filter(|types| types.is_mixed).map(|types| types.gathered)
    }

    /// What stands from the beginning beside a model.
    pub fn kept(self, model: &Model) -> Vec<Tensor> {
        match self {
            Self::Megatron(megatron) => megatron.kept(model),
            _ => Vec::new(),
        }
    }

    /// Whether the gradient of a weight is added to another tensor as soon as it is there, or copied into one, and goes.
    pub const fn takes_gradients(self) -> bool {
        matches!(self, Self::Ddp(Ddp { has_views: true, .. }) | Self::Megatron(_))
    }

    /// Whether it learns in the first step in what order modules come.
    pub const fn learns_modules(self) -> bool {
        matches!(self, Self::DeepSpeed(DeepSpeed { divided: Divided::Weights, .. }))
    }

    /// Modules around all blocks: the one with the head, and the one with embedding, layers and final norm. peft puts two around
    /// them (`PeftModelForCausalLM` and `LoraModel`, 0.21.2).
    pub const fn outer_modules(self) -> usize {
        match self {
            Self::DeepSpeed(DeepSpeed { divided: Divided::Weights, has_adapters, .. }) => 2 + 2 * has_adapters as usize,
            _ => 0,
        }
    }

    /// Whether what it does with a layer's gradients depends on the layers before.
    pub const fn has_buckets(self) -> bool {
        matches!(self, Self::DeepSpeed(_))
    }

    /// Whether the training loop keeps what the model's function gave until it gives it again.
    pub const fn keeps_results(self) -> bool {
        matches!(self, Self::Ddp(_) | Self::Fsdp1(_) | Self::Fsdp2(_))
    }

    /// The weights of a unit as the optimizer of this device sees them.
    pub fn held(self, weights: &[&Weight], widths: &Widths) -> Vec<Weight> {
        match self {
            Self::Fsdp1(fsdp) => fsdp.held(weights, widths),
            Self::Alone | Self::Ddp(_) | Self::DeepSpeed(_) | Self::Megatron(_) => {
                weights.iter().map(|&weight| weight.clone()).collect()
            }
            Self::Fsdp2(fsdp) => weights.iter().map(|weight| fsdp.held(weight)).collect(),
        }
    }

    /// Whether the first block of a model is a unit of its own, and the last another.
    pub const fn has_units_apart(self) -> bool {
        matches!(self, Self::Fsdp2(Fsdp2 { has_units_apart: true, .. }))
    }

    /// In what type devices hold a frozen model that is loaded so, where they divide it, beside the model that they share. trl has
    /// FSDP make it one unit: it calls `fully_shard` on the whole model alone (`prepare_fsdp` in trl/models/utils.py, 1.10.0).
    /// Beside DeepSpeed's lower stages and DDP each device has all of it (`prepare_deepspeed` there).
    pub const fn frozen(self, loaded: DType) -> Result<Option<DType>, NotCounted> {
        match self {
            Self::Fsdp2(_) => Ok(Some(loaded)),
            Self::Fsdp1(_) | Self::DeepSpeed(DeepSpeed { divided: Divided::Weights, .. }) => {
                Err(NotCounted::SeveralGpus)
            }
            Self::Megatron(_) => Err(NotCounted::Task),
            Self::Alone | Self::Ddp(_) | Self::DeepSpeed(_) => Ok(None),
        }
    }

    /// What is done with the weights of such a model, which devices hold in a type.
    pub fn frozen_unit(self, stored: DType, weights: &[&Weight], widths: &Widths, registry: &mut Registry) -> Unit {
        match self {
            Self::Fsdp2(fsdp) => fsdp.frozen_unit(stored, weights, widths, registry),
            Self::Alone | Self::Ddp(_) | Self::Fsdp1(_) | Self::DeepSpeed(_) | Self::Megatron(_) => Unit::default(),
        }
    }

    /// What is done with a unit.
    pub fn unit(self, place: Place<'_>, widths: &Widths, registry: &mut Registry) -> Unit {
        match self {
            Self::Alone | Self::Ddp(_) | Self::DeepSpeed(_) | Self::Megatron(_) => Unit::default(),
            Self::Fsdp1(fsdp) => fsdp.unit(place, widths, registry),
            Self::Fsdp2(fsdp) => fsdp.unit(place, widths, registry),
        }
    }
}
