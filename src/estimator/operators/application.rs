//! An operator where a block applies it.

use super::{Operator, Place, Value};

/// One operator, at its place.
#[derive(Clone, Debug)]
pub struct Application {
    /// Where it stands.
    pub place: Place,
    /// What it does.
    pub operator: Operator,
    /// Whether the model's weights of it are trained.
    pub is_trained: bool,
    /// Whether what it puts out is made a value from which derivation starts.
    pub is_leaf: bool,
    /// Whether a checkpoint saves what it puts out.
    pub is_saved: bool,
    /// Values that have a name in the Python function until the operator is done.
    pub names: Vec<Value>,
}

impl Application {
    /// Whether it is given a value, or a name has it until it is done.
    pub fn reads(&self, value: Value) -> bool {
        self.operator.inputs().contains(&value) || self.names.contains(&value)
    }
}
