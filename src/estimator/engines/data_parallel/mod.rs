//! How devices that train on different sequences share weights, gradients and the optimizer's state.

mod fsdp2;

pub use fsdp2::Fsdp2;

use super::acts::Unit;
use crate::estimator::choice::{Adapter, Precision, ZeroStage};
use crate::estimator::models::NotCounted;
use crate::estimator::operators::{Registry, Weight};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::{DType, Widths};

/// The way in which devices share the training of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataParallel {
    /// One device trains alone.
    Alone,
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
}

impl DataParallel {
    /// How a scenario's devices share the training.
    pub fn of(scenario: &Scenario, unsaid: Unsaid) -> Result<Self, NotCounted> {
        let Scenario { recipe, cluster, .. } = scenario;
        if cluster.gpus == 1 {
            return Ok(Self::Alone);
        }
        let is_mixed = recipe.precision == Precision::Mixed;
        let has_other_axes =
            cluster.tensor_parallel > 1 || cluster.pipeline_parallel > 1 || cluster.context_parallel > 1;
        let reshards = match cluster.reshard {
            0 => true,
            1 => false,
            _ => return Err(NotCounted::SeveralGpus),
        };
        if has_other_axes
            || unsaid.is_fsdp1
            || unsaid.has_units_apart
            || cluster.zero != ZeroStage::Stage3
            || recipe.adapter != Adapter::None
            || !(is_mixed || recipe.precision == Precision::PureBf16)
        {
            return Err(NotCounted::SeveralGpus);
        }
        let wide = if is_mixed { DType::Single } else { DType::Half };
        Ok(Self::Fsdp2(Fsdp2 {
            devices: u64::from(cluster.gpus),
            stored: wide,
            gathered: DType::Half,
            reduced: if unsaid.reduces_in_half { DType::Half } else { wide },
            reshards,
        }))
    }

    /// The weights of a unit as the optimizer of this device sees them.
    pub fn held(self, weights: &[&Weight]) -> Vec<Weight> {
        match self {
            Self::Alone => weights.iter().map(|&weight| weight.clone()).collect(),
            Self::Fsdp2(fsdp) => weights.iter().map(|weight| fsdp.held(weight)).collect(),
        }
    }

    /// What is done with a unit.
    pub fn unit(self, place: Place<'_>, widths: &Widths, registry: &mut Registry) -> Unit {
        match self {
            Self::Alone => Unit::default(),
            Self::Fsdp2(fsdp) => fsdp.unit(place, widths, registry),
        }
    }
}
