//! The answer three times: as the unknowns turn out badly, as expected, or well. And beside it, what the other two
//! methods say.

use bmax::others::{self, Difference};
use bmax::{Answer, Choice, range::Range};
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
            {other(0)} {other(1)} {move || state.read(why_they_differ)}
        </p>
    }
}

/// The answer of another method, if it has one.
fn said(facts: &Facts, at: usize) -> String {
    let (method, answer) = &facts.others[at];
    match others::lacking(*method, &facts.scenario) {
        Some(_) => "cannot say".to_owned(),
        None => format::answer(answer),
    }
}

/// What the methods count otherwise than one another, in sentences.
fn why_they_differ(facts: &Facts) -> String {
    let [one, two] = facts.others.clone();
    let answers = [(facts.scenario.method, facts.answer.clone()), one, two];
    let sentences: Vec<String> =
        others::differences(&facts.scenario, &answers).iter().map(Difference::sentence).collect();
    sentences.join(" ")
}
