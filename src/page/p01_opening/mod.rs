//! The answer for the current configuration, with the pickers that change it most.

use std::rc::Rc;

use bmax::{Answer, Choice, Field, Instant};

use super::outlooks::{at_instant, beside, outlooks, standing};
use super::pickers::{device_picker, model_picker};
use crate::site::controls::number_field;
use crate::site::dom::{El, el};
use crate::site::views::{legend, memory_bar};
use crate::site::{Facts, State, format};

/// Model, GPU and their number in; the largest micro-batch out.
pub fn opening_answer(state: State) -> El {
    let estimate = Rc::new(move || state.read(|facts| facts.estimate.clone()));
    let controls = el("div")
        .class("controls")
        .child(model_picker(state, "opening-model"))
        .child(device_picker(state, "opening-gpu"))
        .child(number_field(state.field(Field::Gpus), "opening-gpus", false));
    let answer = el("div")
        .class("opening-answer")
        .child(el("p").class("soft small").bind_text(move || method(state)))
        .child(outlooks(state, headline(state)))
        .child(reason(state))
        .child(shown(state))
        .child(beside(state));
    el("div").class("opening").child(controls).child(answer).child(memory_bar(estimate.clone())).child(legend(estimate))
}

/// The number itself.
fn headline(state: State) -> El {
    let fits = move || state.read(|facts| facts.answer.batch().is_some());
    let answer = move || state.read(|facts| format::answer(&facts.answer));
    let readout = el("span")
        .class("readout num")
        .attr("data-testid", "opening-answer")
        .toggle_class("readout-s", move || !fits())
        .bind_text(answer);
    let unit = el("span").class("headline-unit").toggle("hidden", move || !fits()).text("sequences per GPU");
    el("span").class("headline").child(readout).child(unit)
}

/// Whose answer it is.
fn method(state: State) -> String {
    state.read(|facts| format!("{} method", facts.scenario.method.label()))
}

/// What is used, what is left, and what the next sequence lacks.
fn reason(state: State) -> El {
    el("p").class("opening-reason").bind_text(move || state.read(sentence))
}

fn sentence(facts: &Facts) -> String {
    match &facts.answer {
        Answer::Fits(room) if room.capped => "More may fit; the search ends here.".to_owned(),
        Answer::Fits(room) => {
            let [peak, one, lack] = [room.peak, room.per_sequence, room.next_lacks].map(format::memory);
            let taken = format!("They take {peak}; one more sequence needs {one} and would lack {lack}");
            if facts.is_ledger() {
                let Instant { meaning, .. } = facts.limit.instant;
                format!("{taken} {}. {meaning}", at_instant(facts.limit.instant))
            } else {
                taken + "."
            }
        }
        Answer::Infeasible(reason) => {
            let mend = reason.fewest_gpus.map_or_else(
                || " More GPUs alone do not help: shorten the sequence or recompute more.".to_owned(),
                |gpus| format!(" {} would be enough.", format::counted(gpus, "GPU", "GPUs")),
            );
            format::shortage(&facts.answer).unwrap_or_default() + &mend
        }
    }
}

/// Which micro-batch the bar shows, and how that stands.
fn shown(state: State) -> El {
    let batch = move || state.read(|facts| format!(" = {}: ", format::count(facts.scenario.recipe.batch)));
    let verdict = move || state.read(standing);
    let badge = el("span").bind("class", move || format!("badge badge-{}", verdict().1));
    el("p")
        .class("soft small")
        .text("The bar shows ")
        .child(el("i").text("b"))
        .bind_text(batch)
        .child(badge.bind_text(move || verdict().0.to_owned()))
}
