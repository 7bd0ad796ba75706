//! Copies in fp32 of weights in 16 bits, which an optimizer updates in their place.
//!
//! Under PyTorch's own engine the program is that of `FusedAdam` with `master_weights` (Transformer Engine, d0067d0d,
//! pytorch/optimizers/fused_adam.py; that of apex makes the same states): it reads gradients in 16 bits, keeps moments in fp32,
//! and writes weights in 16 bits beside their copies. Another optimizer or another form of its step is taken to do the same
//! with its own states.

use super::{Name, Turn};
use crate::estimator::operators::Part;
use crate::estimator::units::DType;

/// `initialize_state`: the copy is made behind the moments, of a clone in the type of the weight and one in fp32.
pub fn make(turn: &mut Turn<'_>, dtype: DType) {
    turn.pass = 0;
    let (narrow, wide) = (turn.whole(dtype), turn.whole(DType::Single));
    turn.state(Part::MasterWeight, wide);
    turn.making(Name::Number, Part::Cloned, narrow);
    turn.making(Name::Weight, Part::WeightInFp32, wide);
    turn.drop(&[Name::Number, Name::Weight]);
}
