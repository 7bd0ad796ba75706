//! How devices that train on different sequences share weights, gradients and the optimizer's state.

mod fsdp2;

pub use fsdp2::Fsdp2;

use super::acts::Unit;
use crate::estimator::operators::{Registry, Weight};
use crate::estimator::units::Widths;

/// The way in which devices share the training of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataParallel {
    /// One device trains alone.
    Alone,
    /// FSDP of PyTorch's second generation (`fully_shard`), a unit for each layer and one for what is around them.
    Fsdp2(Fsdp2),
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
