//! Single changes to the current configuration, ranked by what they gain, each applied and undone
//! with one press.

mod applied;
mod row;
mod text;

use std::rc::Rc;

use bmax::levers::{Change, Lever};
use bmax::{Choice, b_max};
use leptos::prelude::*;
use web_sys::Element;

use crate::site::dom::{El, el};
use crate::site::{State, format};
use applied::{History, applied_changes};
use row::{Apply, idle_row, lever_row};
pub use text::describe;
use text::{still_missing, token_account};

/// The ranked list, what was applied from it, and what would gain nothing.
pub fn levers(state: State) -> El {
    let history = History::new(state);
    let applied = applied_changes(&history);
    let apply: Apply = Rc::new(move |change| history.apply(change));
    el("div").class("levers").children(vec![now(state), applied, gaining(state, apply.clone()), idle(state, apply)])
}

/// Where the configuration stands before any lever.
fn now(state: State) -> El {
    let method = move || state.asked(|scenario| scenario.method.label()).to_owned();
    let idle = move || state.read(|facts| facts.answer.batch().is_none());
    let symbol = el("span").toggle("hidden", idle).child(el("i").text("b")).child(el("sub").text("max")).text(" = ");
    let answer = el("output")
        .class("num")
        .attr("data-testid", "levers-now")
        .bind_text(move || state.read(|facts| format::answer(&facts.answer)));
    el("p")
        .class("levers-now")
        .text("Now, by the ")
        .child(el("span").class("levers-method").bind_text(method))
        .text(" method: ")
        .child(symbol)
        .child(answer)
        .child(el("span").toggle("hidden", idle).text(" sequences per GPU"))
}

/// The changes that make room, the strongest first.
fn gaining(state: State, apply: Apply) -> El {
    let rows = move || {
        state.ranking.with(|ranking| {
            // The strongest comes first, and its bar is the longest.
            let most = ranking.gaining().first().and_then(|lever| lever.after).unwrap_or(1);
            let sequence = ranking.scenario.recipe.sequence;
            let row = |lever: &Lever| lever_row(*lever, most, tokens(*lever, sequence), apply.clone());
            ranking.gaining().iter().map(row).collect()
        })
    };
    let none = move || state.ranking.with(|ranking| ranking.gaining().is_empty());
    let list = el("ol")
        .class("levers-list")
        .attr("aria-label", "Changes that make room, the strongest first")
        .toggle("hidden", none)
        .live(rows);
    let nothing = el("p")
        .class("levers-none")
        .toggle("hidden", move || !none())
        .text("No single change makes room. Apply two or more of these; each says what would still be missing.");
    el("div").class("levers-gaining").child(list).child(nothing)
}

/// What a change of the sequence length does to the tokens of a step.
fn tokens(lever: Lever, sequence: u32) -> Option<String> {
    match (lever.change, lever.after) {
        (Change::Sequence(shorter), Some(after)) => Some(token_account(lever.before, sequence, after, shorter)),
        _ => None,
    }
}

/// The changes that would gain nothing by themselves, and why. They are open when there is nothing
/// else, because together they may still help. The reasons are found only while they are shown.
fn idle(state: State, apply: Apply) -> El {
    let open = RwSignal::new(false);
    let rows = move || {
        let row =
            |scenario, change: Change| idle_row(change, &still_missing(&b_max(&change.apply(scenario))), apply.clone());
        if open.get() {
            state
                .ranking
                .with(|ranking| ranking.idle().iter().map(|lever| row(ranking.scenario, lever.change)).collect())
        } else {
            Vec::new()
        }
    };
    let count = move || state.ranking.with(|ranking| ranking.idle().len() as u32);
    let title = move || format!("No gain here: {}, and why", format::counted(count(), "change", "changes"));
    // As a memo, so that only a change of it opens or closes what the reader may have opened.
    let alone = Memo::new(move |_| state.ranking.with(|ranking| ranking.gaining().is_empty()));
    el("details")
        .class("levers-idle")
        .attr("data-testid", "levers-idle")
        .toggle("hidden", move || count() == 0)
        .on("toggle", move |event| open.set(event_target::<Element>(&event).has_attribute("open")))
        .flag("open", move || alone.get())
        .child(el("summary").bind_text(title))
        .child(el("ul").class("levers-list").live(rows))
}
