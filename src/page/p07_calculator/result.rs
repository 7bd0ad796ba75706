//! The answer, the bar, what binds, what would help, and the ledger behind it.

use std::rc::Rc;

use bmax::{Answer, Balance, Choice, Conflict, Estimate, Scenario, levers};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::super::answer_bar::verdict;
use super::super::p08_levers::describe;
use crate::site::dom::{El, el};
use crate::site::views::{legend, memory_bar};
use crate::site::{State, copy_link::copy_link, format};

/// Everything that follows from the form.
pub fn result_panel(state: State) -> El {
    let panel = el("section").class("result panel").attr("aria-label", "Result").attr("tabindex", "-1");
    let conflicts = conflicts(state, panel.clone());
    panel
        .child(both_answers(state))
        .child(conflicts)
        .child(memory(state))
        .child(explanation(state))
        .child(copy_link(state))
}

/// The chosen method's answer, and the other's beside it.
fn both_answers(state: State) -> El {
    let method = move || state.read(|facts| format!("{} method", facts.scenario.method.label()));
    let answer = move || state.read(|facts| format::answer(&facts.answer));
    let other_method = move || state.read(|facts| format!("{} method", facts.other_method.label()));
    let other_answer = move || state.read(|facts| format::answer(&facts.other_answer));
    // Words in place of a number would not fit beside the other answer at the size of a number.
    let fits = move || state.read(|facts| facts.answer.batch().is_some());
    let readout = el("output")
        .class("readout")
        .attr("data-testid", "calculator-answer")
        .toggle_class("readout-s", move || !fits())
        .bind_text(answer);
    let chosen = el("div").child(el("dt").bind_text(method)).child(el("dd").child(readout));
    let other = el("dd").class("readout readout-s").attr("data-testid", "other-answer").bind_text(other_answer);
    let note = "The workshop counts 16-bit activations twice, except under full recomputation.";
    el("div")
        .class("both-answers")
        .child(el("h3").text("Largest micro-batch: sequences per GPU"))
        .child(el("dl").child(chosen).child(el("div").child(el("dt").bind_text(other_method)).child(other)))
        .child(el("p").class("field-help").text(note))
}

/// Contradictory settings, each with the press that mends it. The pressed button goes with its
/// conflict, so the keyboard goes on from `panel`.
fn conflicts(state: State, panel: El) -> El {
    let mend = move |conflict: Conflict| {
        let (field, nearest) = (conflict.field, conflict.nearest);
        let panel = panel.clone();
        let button = el("button")
            .attr("type", "button")
            .class("button button-quiet button-small")
            .text(&format!("Set {} to {}", field.bound().name, format::input(nearest)))
            .on("click", move |_| {
                state.change(|scenario| scenario.with_number(field, nearest).unwrap_or(scenario));
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
        Balance::Free(free) => format!(" {} left below the headroom", format::memory(free)),
        Balance::Close(over) => format!(" {} into the headroom", format::memory(over)),
        Balance::Over(over) => format!(" {} more than the GPU has", format::memory(over)),
    };
    let badge = el("span")
        .bind("class", move || format!("badge badge-{}", verdict(balance()).1))
        .bind_text(move || verdict(balance()).0.to_owned());
    let line = el("p").class("result-balance num").attr("data-testid", "calculator-balance");
    line.child(badge).bind_text(text)
}

fn bar_title(scenario: &Scenario) -> String {
    let batch = format::counted(scenario.recipe.batch, "sequence", "sequences");
    format!("Memory of one GPU at {batch} of {} tokens", format::count(scenario.recipe.sequence))
}

/// What binds, and the single changes that would help most.
fn explanation(state: State) -> El {
    let binds = move || state.read(|facts| what_binds(&facts.answer, &facts.estimate));
    let none = el("p")
        .text("No single change makes room. Combine several, or take a larger GPU: see ")
        .child(el("a").attr("href", "#levers").text("the levers"))
        .text(".");
    el("div")
        .class("explanation")
        .child(el("h3").text("What binds"))
        .child(el("p").attr("data-testid", "what-binds").bind_text(binds))
        .child(el("h3").text("What would help most: sequences per GPU"))
        .child(el("ul").attr("data-testid", "what-helps").live(move || helpful_changes(state)))
        .child(none.toggle("hidden", move || {
            state.read(|facts| levers::ranked(&facts.scenario, &[]).iter().any(|lever| lever.gain() > 0))
        }))
}

/// The three changes that gain most, each with where it leads.
fn helpful_changes(state: State) -> Vec<El> {
    let item = |lever: levers::Lever| {
        let after = lever.after.map_or_else(String::new, format::count);
        let name = el("span").text(&describe(lever.change));
        el("li").child(name).text(" ").child(el("strong").class("num").text(&after))
    };
    let ranked = state.read(|facts| levers::ranked(&facts.scenario, &[]));
    ranked.into_iter().filter(|lever| lever.gain() > 0).take(3).map(item).collect()
}

/// The reason behind the answer, in whole sentences.
fn what_binds(answer: &Answer, estimate: &Estimate) -> String {
    match answer {
        Answer::Fits(room) if room.capped => "Nothing within the range of this page.".to_owned(),
        Answer::Fits(room) => format!(
            "Each sequence takes {} of activations. {} fit into {}; the next one would lack {}.",
            format::memory(room.per_sequence),
            format::count(room.batch),
            format::memory(estimate.usable()),
            format::memory(room.next_lacks)
        ),
        Answer::Infeasible(reason) => {
            let mend = reason.fewest_gpus.map_or_else(
                || "More GPUs alone do not mend that.".to_owned(),
                |gpus| format!("With {} one sequence fits.", format::counted(gpus, "GPU", "GPUs")),
            );
            // Where all buckets are counted at once there is no instant to speak of.
            let instant = match estimate.instants.len() {
                0 | 1 => String::new(),
                _ => format!(" at the {}", reason.instant.name),
            };
            format!(
                "{} The largest entry{instant} is “{}” with {}. {mend}",
                format::shortage(answer).unwrap_or_default(),
                reason.largest.name,
                format::memory(reason.largest.bytes)
            )
        }
    }
}
