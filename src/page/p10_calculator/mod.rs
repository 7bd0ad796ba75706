//! The whole scenario as a form, its answer, and what the answer is made of.

mod explanation;
mod form;
mod ledger;
mod result;
mod solve;
mod unknowns;

use crate::site::dom::El;
use crate::site::{State, keep_drawn};

/// The question, the form beside its result, and the ledger below, because it needs the whole width.
pub fn calculator(state: State, figure: El) {
    keep_drawn(state, &figure.part("solve"), solve::draw, solve::press);
    form::bind(state, &figure.part("form"));
    result::bind(state, &figure.part("result"));
    keep_drawn(state, &figure.part("ledger"), ledger::draw, ledger::press);
}
