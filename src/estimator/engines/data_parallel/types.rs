//! The types of what FSDP gathers together.

use crate::estimator::operators::Weight;
use crate::estimator::units::DType;

/// The types of all units of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitTypes {
    /// The type of the shards of the model's own weights.
    pub stored: DType,
    /// That of adapters, each of whose matrices is a unit within that of its layer.
    pub adapters: Option<DType>,
    /// Whether weights are gathered and gradients summed in types of their own (`MixedPrecisionPolicy`, `MixedPrecision`).
    pub is_mixed: bool,
    /// The type in which weights are gathered then (`param_dtype`).
    pub gathered: DType,
    /// The type in which gradients are summed then (`reduce_dtype`).
    pub reduced: DType,
}

/// The types of a unit.
#[derive(Clone, Copy)]
pub struct Types {
    /// That of its shards.
    pub stored: DType,
    /// That of what is gathered.
    pub gathered: DType,
    /// That of the sum of gradients.
    pub reduced: DType,
}

impl UnitTypes {
    /// The types of a unit of some weights.
    pub fn of(self, weights: &[&Weight]) -> Types {
        let is_adapter = weights.first().is_some_and(|weight| weight.added.is_some());
        let stored = self.adapters.filter(|_| is_adapter).unwrap_or(self.stored);
        if self.is_mixed {
            Types { stored, gathered: self.gathered, reduced: self.reduced }
        } else {
            Types { stored, gathered: stored, reduced: stored }
        }
    }
}
