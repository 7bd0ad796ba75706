//! SGD of PyTorch (torch/optim/sgd.py), which takes nothing beside its state: all weights are updated in place.

use super::Turn;
use crate::estimator::operators::Part;

/// The first step copies each gradient.
pub fn momentum(turn: &mut Turn<'_>) {
    turn.state(Part::Velocity, turn.whole(turn.weight.form.dtype));
}
