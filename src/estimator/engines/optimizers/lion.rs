//! Lion as lion-pytorch has it (lion_pytorch/lion_pytorch.py, 0.2.5), weight by weight.

use super::{Name, Turn};
use crate::estimator::operators::Part;

/// `update_fn`: a clone of the moment, and its sum with the gradient, of which the sign is taken in place.
pub fn step(turn: &mut Turn<'_>) {
    let whole = turn.whole(turn.weight.form.dtype);
    turn.state(Part::FirstMoment, whole);
    turn.name(Name::Square, Part::Cloned, whole);
    turn.name(Name::Update, Part::Update, whole);
    turn.drop(&[Name::Square]);
    turn.drop(&[Name::Update]);
}
