//! The whole scenario as a form, its answer, and what the answer is made of.

mod ledger;
mod result;
mod solve;

use leptos::prelude::*;

use crate::components::{Home, ScenarioForm};
use crate::site::State;
use ledger::LedgerWalk;
use result::ResultPanel;
use solve::Solve;

/// The question, the form beside its result, and the ledger below, because it needs the whole width. Form and result have
/// a box of their own, which the result never leaves: it follows the form and covers nothing behind it.
#[component]
pub fn Calculator(
    /// The shared state.
    state: State,
) -> impl IntoView {
    // What is typed and the answer in the bar are painted first, the rest a frame later.
    let after = state.later();
    view! {
        <div class="calculator">
            <Solve state=after/>
            <div class="calculator-asked">
                <ScenarioForm state home=Home::Calculator/>
                <ResultPanel state=after/>
            </div>
            <LedgerWalk state=after/>
        </div>
    }
}
