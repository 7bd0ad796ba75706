//! The answer three times, the bar, what binds, what would help, and what nobody can know.

use std::rc::Rc;

use bmax::{Balance, Choice, Conflict, Mend, Scenario};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::super::outlooks::{beside, outlooks, standing};
use super::explanation::explanation;
use super::unknowns::{counters, unknowns};
use crate::site::dom::{El, el};
use crate::site::views::{legend, memory_bar};
use crate::site::{Facts, State, copy_link::copy_link, format};

/// Everything that follows from the form.
pub fn result_panel(state: State) -> El {
    let panel = el("section").class("result panel").attr("aria-label", "Result").attr("tabindex", "-1");
    let conflicts = conflicts(state, panel.clone());
    panel
        .child(answers(state))
        .child(conflicts)
        .child(memory(state))
        .child(explanation(state))
        .child(unknowns(state))
        .child(counters(state))
        .child(copy_link(state))
}

/// The chosen method's answer, and the others' beside it.
fn answers(state: State) -> El {
    let title = move || state.read(|facts| format!("{} method: sequences per GPU", facts.scenario.method.label()));
    let answer = move || state.read(|facts| format::answer(&facts.answer));
    // Words in place of a number would not fit beside the other answers at the size of a number.
    let fits = move || state.read(|facts| facts.answer.batch().is_some());
    let readout = el("output")
        .class("readout")
        .attr("data-testid", "calculator-answer")
        .toggle_class("readout-s", move || !fits())
        .bind_text(answer);
    el("div")
        .class("both-answers")
        .child(el("h3").bind_text(title))
        .child(outlooks(state, readout))
        .child(beside(state))
}

/// Contradictory settings, each with the press that mends it. The pressed button goes with its
/// conflict, so the keyboard goes on from `panel`.
fn conflicts(state: State, panel: El) -> El {
    let mend = move |conflict: Conflict| {
        let conflict_mend = conflict.mend;
        let value = match conflict_mend {
            Mend::Number(_, nearest) => format::input(nearest),
            Mend::Word(setting, word) => setting.option(word).map_or(word, |option| option.label).to_owned(),
        };
        let panel = panel.clone();
        let button = el("button")
            .attr("type", "button")
            .class("button button-quiet button-small")
            .text(&format!("Set {} to {value}", conflict_mend.name()))
            .on("click", move |_| {
                state.change(|scenario| conflict_mend.apply(scenario));
                _ = panel.element().unchecked_ref::<HtmlElement>().focus();
            });
        el("li").text(&conflict.message).text(" ").child(button)
    };
    let found = move || state.read(|facts| facts.scenario.conflicts());
    el("ul")
        .class("conflicts")
        .toggle("hidden", move || found().is_empty())
        .live(move || found().into_iter().map(&mend).collect())
}

/// The memory of one GPU at the chosen micro-batch, and the press that chooses the largest.
fn memory(state: State) -> El {
    let idle =
        move || state.read(|facts| facts.answer.batch().is_none_or(|batch| batch == facts.scenario.recipe.batch));
    let text = move || match state.read(|facts| facts.answer.batch()) {
        Some(batch) => format!("Show b = {}", format::count(batch)),
        None => "Show b_max".to_owned(),
    };
    let take = move || {
        if let Some(batch) = state.peek(|facts| facts.answer.batch()) {
            state.change(|scenario| scenario.with_batch(batch));
        }
    };
    let button = el("button")
        .attr("type", "button")
        .class("button button-quiet button-small num")
        .attr("data-testid", "use-b-max")
        .bind("aria-disabled", move || idle().to_string())
        .bind_text(text)
        .on("click", move |_| take());
    let title = move || state.read(|facts| bar_title(&facts.scenario));
    let estimate = Rc::new(move || state.read(|facts| facts.estimate.clone()));
    el("div")
        .class("result-memory")
        .child(el("div").class("result-memory-head").child(el("p").class("small").bind_text(title)).child(button))
        .child(memory_bar(estimate.clone()))
        .child(balance(state))
        .child(legend(estimate))
}

/// The verdict, and by how much.
fn balance(state: State) -> El {
    let balance = move || state.read(|facts| facts.estimate.balance());
    let text = move || match balance() {
        Balance::Free(free) if state.read(Facts::is_ledger) => format!(" {} left", format::memory(free)),
        Balance::Free(free) => format!(" {} left below the headroom", format::memory(free)),
        Balance::Close(over) => format!(" {} into the headroom", format::memory(over)),
        Balance::Over(over) => format!(" {} more than the GPU has", format::memory(over)),
    };
    let badge = el("span")
        .bind("class", move || format!("badge badge-{}", state.read(standing).1))
        .bind_text(move || state.read(standing).0.to_owned());
    let line = el("p").class("result-balance num").attr("data-testid", "calculator-balance");
    line.child(badge).bind_text(text)
}

fn bar_title(scenario: &Scenario) -> String {
    let batch = format::counted(scenario.recipe.batch, "sequence", "sequences");
    format!("Memory of one GPU at {batch} of {} tokens", format::count(scenario.recipe.sequence))
}
