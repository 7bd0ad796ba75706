//! One input is sought, the others are given.

mod question;

use bmax::Scenario;
use leptos::prelude::*;

use self::question::{QUESTIONS, solved};
use crate::site::controls::segmented;
use crate::site::dom::{El, el, keep};
use crate::site::{SettingHandle, State};

/// The switch between the questions, the answer, and the press that takes it over.
pub fn solve(state: State) -> El {
    let question = RwSignal::new(QUESTIONS[0].key);
    let answer = move || solved(question.get(), &state.asked(|scenario| *scenario));
    let sentence = el("p").attr("id", "solve-answer").attr("data-testid", "solve-answer");
    let spoken = el("p").class("visually-hidden").attr("role", "status");
    let button = el("button")
        .attr("type", "button")
        .class("button button-quiet button-small")
        .attr("aria-describedby", "solve-answer")
        .text("Use it")
        .on("click", move |_| {
            if let (_, Some(next)) = solved(question.get_untracked(), &state.scenario.get_untracked()) {
                state.scenario.set(next);
            }
        });
    let (shown, press) = (sentence.clone(), button.clone());
    keep(Box::new(move || {
        let (text, next) = answer();
        _ = shown.clone().clear().text(&text);
        let idle = next.is_none_or(|next: Scenario| next == state.asked(|scenario| *scenario));
        _ = press.clone().attr("aria-disabled", if idle { "true" } else { "false" });
    }));
    // The answer is spoken when another question is asked; what follows from the inputs, the bar says.
    let say = spoken.clone();
    let handle = SettingHandle {
        name: "Solve for",
        options: QUESTIONS,
        value: question.into(),
        // It is no part of the scenario, so nothing is marked as changed.
        default: question.into(),
        write: Callback::new(move |word: String| {
            if let Some(option) = QUESTIONS.iter().find(|option| option.key == word) {
                question.set(option.key);
            }
        }),
    };
    el("div")
        .class("solve panel")
        .child(segmented(handle, "solve-for", false).on("change", move |_| {
            let (text, _) = solved(question.get_untracked(), &state.scenario.get_untracked());
            _ = say.clone().clear().text(&text);
        }))
        .child(el("div").class("solve-answer num").child(sentence).child(button))
        .child(spoken)
}
