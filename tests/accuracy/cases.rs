//! One row of a file of cases: a scenario, what was seen, and how to compare.

use std::path::Path;

use bmax::{Answer, Bytes, Method, Mlp, Precision, Scenario, b_max, counters, estimate};
use serde_json::Value;

use super::mapping;

/// How a figure was read off the device, which decides what of the ledger it is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Counter {
    /// Live tensors: `max_memory_allocated`, active memory, a simulation.
    Live,
    /// What the caching allocator holds.
    Reserved,
    /// What the driver counts: context and buffers too.
    Device,
}

/// What a row tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// A peak.
    Peak(Bytes, Counter),
    /// It ran.
    Fit,
    /// It ran out of memory.
    OutOfMemory,
}

/// A row that could be turned into a scenario.
pub struct Case {
    pub id: String,
    pub source: String,
    pub tier: String,
    pub seen: Seen,
    pub scenario: Scenario,
}

/// The rows of a file in either format. Rows without a model's dimensions, such as totals of model
/// states, are no training runs and are left out.
pub fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    rows.as_array().expect("a list of rows").iter().filter_map(mapping::case).collect()
}

impl Case {
    /// The peak that method `method` predicts, by the row's own counter.
    pub fn predicted_by(&self, method: Method) -> Bytes {
        let scenario = Scenario { method, ..self.scenario };
        if method != Method::Ledger {
            return estimate(&scenario).peak().bytes;
        }
        let predicted = counters(&scenario);
        match self.seen {
            Seen::Peak(_, Counter::Reserved) => predicted.reserved,
            Seen::Peak(_, Counter::Device) => predicted.device,
            _ => predicted.allocated,
        }
    }

    /// How far the ledger is from what was seen, as a part of it; above zero it predicts too much.
    pub fn error(&self) -> Option<f64> {
        self.error_of(Method::Ledger)
    }

    /// The same for another method.
    pub fn error_of(&self, method: Method) -> Option<f64> {
        match self.seen {
            Seen::Peak(bytes, _) => Some(self.predicted_by(method).get() / bytes.get() - 1.0),
            Seen::Fit | Seen::OutOfMemory => None,
        }
    }

    /// Whether CUDA's autocast would keep more inside GELU than was counted.
    pub fn widened(&self) -> bool {
        self.scenario.recipe.precision == Precision::Autocast && self.scenario.model.mlp == Mlp::GeluTanh
    }

    /// Whether the row was simulated with the masks that a CPU makes.
    pub fn cpu_masks(&self) -> bool {
        self.tier == "simulated" && self.scenario.recipe.dropout.is_on()
    }

    /// b_max as a multiple of the micro-batch that ran.
    pub fn room(&self) -> Option<f64> {
        let batch = b_max(&self.scenario).batch()?;
        Some(f64::from(batch) / f64::from(self.scenario.recipe.batch))
    }

    /// Whether b_max agrees with a row that only says whether it ran.
    pub fn agrees(&self) -> Option<bool> {
        let ran = match self.seen {
            Seen::Fit => true,
            Seen::OutOfMemory => false,
            Seen::Peak(..) => return None,
        };
        let fits = match b_max(&self.scenario) {
            Answer::Fits(room) => room.batch >= self.scenario.recipe.batch,
            Answer::Infeasible(_) => false,
        };
        Some(fits == ran)
    }
}
