//! The whole scenario as a form, its answer, and what the answer is made of.

mod agreement;
mod form;
mod result;

use crate::site::State;
use crate::site::dom::{El, el};
use crate::site::views::breakdown_table;

/// The form beside its result; the ledger below both, because it needs the whole width.
pub fn calculator(state: State) -> El {
    let ledger = el("details")
        .class("form-more calculator-ledger")
        .child(el("summary").text("Every entry, with its formula and source"))
        .child(breakdown_table(state));
    el("div").class("calculator").child(form::scenario_form(state)).child(result::result_panel(state)).child(ledger)
}
