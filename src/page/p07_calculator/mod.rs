//! The whole scenario as a form, its answer, and what the answer is made of.

mod agreement;
mod form;
mod result;

use leptos::prelude::*;

use crate::site::State;
use crate::site::views::BreakdownTable;

/// The form beside its result; the ledger below both, because it needs the whole width.
#[component]
pub fn Calculator(state: State) -> impl IntoView {
    view! {
        <div class="calculator">
            <form::ScenarioForm state />
            <result::ResultPanel state />
            <details class="form-more calculator-ledger">
                <summary>"Every entry, with its formula and source"</summary>
                <BreakdownTable estimate=state.estimate />
            </details>
        </div>
    }
}
