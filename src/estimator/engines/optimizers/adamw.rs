//! AdamW of PyTorch (torch/optim/adam.py): both moments are made for all weights (`_init_group`), then all are updated.

use super::{Name, Turn};
use crate::estimator::operators::{Part, Size};

/// One kernel, which takes nothing. It alone has its step counts on the device.
pub fn fused(turn: &mut Turn<'_>) {
    turn.state(Part::StepCount, Size::Bytes(4));
    moments(turn);
}

/// `_multi_tensor_adam`: the roots of all second moments at once.
pub fn foreach(turn: &mut Turn<'_>) {
    moments(turn);
    turn.next_pass();
    turn.listed(Part::SecondMomentRoot, turn.whole(turn.weight.form.dtype));
}

/// `_single_tensor_adam`: a root and a denominator, beside the denominator of the weight before.
pub fn one_by_one(turn: &mut Turn<'_>) {
    moments(turn);
    turn.next_pass();
    let whole = turn.whole(turn.weight.form.dtype);
    turn.name(Name::Root, Part::SecondMomentRoot, whole);
    turn.name(Name::Denominator, Part::Denominator, whole);
    turn.drop(&[Name::Root]);
}

fn moments(turn: &mut Turn<'_>) {
    let whole = turn.whole(turn.weight.form.dtype);
    turn.state(Part::FirstMoment, whole);
    turn.state(Part::SecondMoment, whole);
}
