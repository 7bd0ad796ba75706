//! How devices that train on different sequences share weights, gradients and the optimizer's state.

mod ddp;
mod fsdp1;
mod fsdp2;

pub use ddp::{Ddp, Piece, Told};
pub use fsdp1::Fsdp1;
pub use fsdp2::Fsdp2;

use super::acts::Unit;
use crate::estimator::choice::{Adapter, Engine, Precision, ZeroStage};
use crate::estimator::models::NotCounted;
use crate::estimator::operators::{Registry, Weight};
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
    /// Whether its weights stay gathered from the forward pass to the backward pass.
    pub stays: bool,
}

impl DataParallel {
    /// How a scenario's devices share the training.
    pub fn of(scenario: &Scenario, unsaid: Unsaid) -> Result<Self, NotCounted> {
        let Scenario { recipe, cluster, .. } = scenario;
        if cluster.gpus == 1 {
            return Ok(Self::Alone);
        }
        let has_other_axes =
            cluster.tensor_parallel > 1 || cluster.pipeline_parallel > 1 || cluster.context_parallel > 1;
        if has_other_axes {
            return Err(NotCounted::SeveralGpus);
        }
        match cluster.zero {
            ZeroStage::Stage0 if cluster.engine == Engine::Torch && recipe.precision != Precision::Mixed => {
                let accumulates = recipe.micro_batches > 1;
                Ok(Self::Ddp(Ddp { has_views: unsaid.has_bucket_views, accumulates }))
            }
            ZeroStage::Stage3 => Self::fsdp(scenario, unsaid),
            ZeroStage::Stage2 if cluster.engine == Engine::Torchtitan => Self::fsdp(scenario, unsaid),
            _ => Err(NotCounted::SeveralGpus),
        }
    }

    /// FSDP of either generation.
    fn fsdp(scenario: &Scenario, unsaid: Unsaid) -> Result<Self, NotCounted> {
        let Scenario { recipe, cluster, .. } = scenario;
        let is_mixed = recipe.precision == Precision::Mixed;
        let is_titan = cluster.engine == Engine::Torchtitan;
        let reshards = match cluster.reshard {
            0 => !(is_titan && cluster.zero == ZeroStage::Stage2),
            1 => false,
            _ => return Err(NotCounted::SeveralGpus),
        };
        let is_played = is_mixed || recipe.precision == Precision::PureBf16;
        let has_units_apart = unsaid.has_units_apart || is_titan;
        if has_units_apart && (unsaid.is_fsdp1 || scenario.model.tied_embeddings.is_on()) {
            return Err(NotCounted::SeveralGpus);
        }
        if recipe.adapter != Adapter::None || !is_played || unsaid.is_fsdp1 && !reshards {
            return Err(NotCounted::SeveralGpus);
        }
        let stored = if is_mixed { DType::Single } else { DType::Half };
        let reduced = if unsaid.reduces_in_half { DType::Half } else { stored };
        let (devices, gathered) = (u64::from(cluster.gpus), DType::Half);
        Ok(if unsaid.is_fsdp1 {
            Self::Fsdp1(Fsdp1 { devices, stored, gathered, reduced })
        } else {
            Self::Fsdp2(Fsdp2 { devices, stored, gathered, reduced, reshards, has_units_apart })
        })
    }

    /// Whether an engine gives whole weights back.
    pub const fn is_sharded(self) -> bool {
        matches!(self, Self::Fsdp1(_) | Self::Fsdp2(_))
    }

    /// What an engine makes of the weights of a unit, before anything else is made of them.
    pub fn prepare(self, weights: &mut [Weight], registry: &mut Registry) {
        if let Self::Fsdp1(_) = self {
            weights.iter_mut().for_each(|weight| fsdp1::prepare(weight, registry));
        }
    }

    /// The type to which buffers of the model are cast, where they are.
    pub fn buffers(self) -> Option<DType> {
        match self {
            Self::Fsdp1(fsdp) if fsdp.is_mixed() => Some(fsdp.gathered),
            _ => None,
        }
    }

    /// The weights of a unit as the optimizer of this device sees them.
    pub fn held(self, weights: &[&Weight], widths: &Widths) -> Vec<Weight> {
        match self {
            Self::Fsdp1(fsdp) => fsdp.held(weights, widths),
            Self::Alone | Self::Ddp(_) => weights.iter().map(|&weight| weight.clone()).collect(),
            Self::Fsdp2(fsdp) => weights.iter().map(|weight| fsdp.held(weight)).collect(),
        }
    }

    /// Whether the first block of a model is a unit of its own, and the last another.
    pub const fn has_units_apart(self) -> bool {
        matches!(self, Self::Fsdp2(Fsdp2 { has_units_apart: true, .. }))
    }

    /// What is done with a unit.
    pub fn unit(self, place: Place<'_>, widths: &Widths, registry: &mut Registry) -> Unit {
        match self {
            Self::Alone | Self::Ddp(_) => Unit::default(),
            Self::Fsdp1(fsdp) => fsdp.unit(place, widths, registry),
            Self::Fsdp2(fsdp) => fsdp.unit(place, widths, registry),
        }
    }
}
