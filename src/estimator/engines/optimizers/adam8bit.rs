//! AdamW of bitsandbytes with moments at 8 bits (optim/optimizer.py `Optimizer2State`), whose kernels take nothing.

use super::Turn;
use crate::estimator::operators::{Part, Size};

/// `init_state`, weight by weight. The tables of the 256 values that a byte stands for come with the first weight of enough
/// elements, which is the first of all but in adapters of the smallest ranks.
///
/// Paged, moments of enough elements are in memory that GPU and host share, which PyTorch's allocator does not know
/// (`get_state_buffer`).
pub fn step(turn: &mut Turn<'_>, is_paged: bool) {
    let elements = turn.weight.form.shape;
    for part in [Part::FirstMomentTable, Part::SecondMomentTable] {
        turn.shared(part, Size::Bytes(256 * 4));
    }
    for part in [Part::FirstMoment, Part::SecondMoment] {
        turn.state(part, if is_paged { Size::Paged { elements } } else { Size::EightBits { elements } });
    }
    for part in [Part::FirstMomentScales, Part::SecondMomentScales] {
        turn.state(part, Size::EightBitScales { elements });
    }
}
