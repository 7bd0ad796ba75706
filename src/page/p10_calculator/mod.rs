//! The whole scenario as a form, its answer, and what the answer is made of.

mod agreement;
mod config_file;
mod explanation;
mod form;
mod ledger;
mod result;
mod solve;
mod unknowns;

use crate::site::State;
use crate::site::dom::{El, el};

/// The question, the form beside its result, and the ledger below, because it needs the whole width.
pub fn calculator(state: State) -> El {
    el("div")
        .class("calculator")
        .child(solve::solve(state))
        .child(form::scenario_form(state))
        .child(result::result_panel(state))
        .child(ledger::ledger(state))
}
