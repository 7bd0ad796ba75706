//! The answer three times: as the unknowns turn out badly, as expected, or well. And beside it, what the other two
//! methods say.

use bmax::{Answer, Choice, Method, Scenario, range::Range};
use leptos::prelude::*;

use crate::site::{Facts, State, format};

/// One of the two answers that frame the likely one, as a column of a list `outlooks`; only the ledger knows unknowns.
/// It follows the pattern of a description list: <https://www.w3.org/TR/html53/grouping-content.html#the-dl-element>.
#[component]
pub fn Outlook(
    /// What it is called.
    name: &'static str,
    /// What tests find it by.
    test: &'static str,
    /// The answer.
    of: fn(&Range) -> &Answer,
    /// The shared state.
    state: State,
) -> impl IntoView {
    view! {
        <div hidden=move || !state.read(|facts| facts.is_ledger() && facts.is_answered())>
            <dt>{name}</dt>
            <dd>
                <span class="readout readout-s num" data-testid=test>
                    {move || state.read(|facts| format::answer(of(&facts.range)))}
                </span>
            </dd>
        </div>
    }
}

/// Both other methods' answers, and one sentence on why they differ.
#[component]
pub fn Beside(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let other = |at: usize| {
        view! {
            <span>
                {move || state.read(|facts| format!("{}: ", facts.others[at].0.label()))}
                <strong class="num" data-testid=format!("other-answer-{at}")>
                    {move || state.read(|facts| said(facts, at))}
                </strong>
                ". "
            </span>
        }
    };
    view! {
        <p class="beside soft small">
            {other(0)} {other(1)} {move || state.read(|facts| why_they_differ(&facts.scenario))}
        </p>
    }
}

/// The answer of another method, if it has one.
fn said(facts: &Facts, at: usize) -> String {
    let (method, answer) = &facts.others[at];
    if *method != Method::Ledger && facts.scenario.needs_the_ledger() {
        return "cannot say".to_owned();
    }
    format::answer(answer)
}

/// What the chosen method counts otherwise than the other two.
fn why_they_differ(scenario: &Scenario) -> &'static str {
    match scenario.method {
        Method::Ledger if scenario.needs_the_ledger() => {
            "Both know next-token training of one decoder alone, on text of one length, without fp8."
        }
        Method::Ledger => {
            "The workshop multiplies its 34, which is in bytes already, by the element size once more; the paper counts a plain GPT block, with no loss head, no overhead and no knowledge of your kernels."
        }
        Method::Workshop => {
            "This method multiplies its 34, which is in bytes already, by the element size once more; the paper does not, and the ledger counts what your kernels keep, the loss head and the overhead."
        }
        Method::Paper => {
            "This method counts a plain GPT block; the workshop doubles its 34, which is in bytes already, and the ledger counts what your kernels keep, the loss head and the overhead."
        }
    }
}
