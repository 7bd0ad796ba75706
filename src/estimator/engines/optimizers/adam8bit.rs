//! AdamW of bitsandbytes with moments at 8 bits (optim/optimizer.py `Optimizer2State`), whose kernels take nothing.

use super::Turn;
use crate::estimator::operators::{Part, Size};

/// `init_state`, weight by weight. The tables of the 256 values that a byte stands for come with the first weight of enough
/// elements, which is the first of all but in adapters of the smallest ranks.
///
/// Where devices share a weight, each has the moments of its part, which is a tensor to bitsandbytes (`use_orig_params` of FSDP 1; no
/// run under FSDP was compared).
///
/// Paged, moments of enough elements are in memory that GPU and host share, which PyTorch's allocator does not know
/// (`get_state_buffer`).
pub fn step(turn: &mut Turn<'_>, is_paged: bool) {
    let (elements, held) = (turn.weight.form.shape, turn.weight.held);
    for part in [Part::FirstMomentTable, Part::SecondMomentTable] {
        turn.shared(part, Size::Bytes(256 * 4));
    }
    for part in [Part::FirstMoment, Part::SecondMoment] {
        turn.state(part, if is_paged { Size::Paged { elements, held } } else { Size::EightBits { elements, held } });
    }
    for part in [Part::FirstMomentScales, Part::SecondMomentScales] {
        turn.state(part, Size::EightBitScales { elements, held });
    }
}
