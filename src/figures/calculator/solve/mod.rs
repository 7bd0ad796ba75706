//! One input is sought, the others are given.

mod shown;

use leptos::prelude::*;

use crate::components::{Model, Segmented};
use crate::site::{State, read};
use shown::{Question, Shown};

/// The answer to the question that is asked, and whether it can be taken over.
#[component]
pub fn Solve(state: State) -> impl IntoView {
    let question = RwSignal::new(Question::Batch);
    let shown = Memo::new(move |_| state.asked(|scenario| Shown::of(question.get(), scenario)));
    // The answer is spoken when another question is asked; what follows from the inputs, the bar says.
    let spoken = RwSignal::new(String::new());
    let ask = Model::new(question.into(), move |asked| {
        question.set(asked);
        spoken.set(shown.with_untracked(|shown| shown.sentence.clone()));
    });
    let take_over = move |_| {
        if let Some(next) = shown.with_untracked(|shown| shown.next) {
            state.scenario.set(next);
        }
    };
    view! {
        <div class="solve panel">
            <Segmented id="solve-for" legend="Solve for" options=Question::LABELS value=ask/>
            <div class="solve-answer num">
                <p id="solve-answer" data-testid="solve-answer">{read(shown, |shown| &shown.sentence)}</p>
                <button
                    type="button"
                    class="button button-quiet button-small"
                    aria-describedby="solve-answer"
                    aria-disabled=move || shown.with(|shown| shown.idle.to_string())
                    on:click=take_over
                >
                    "Use it"
                </button>
            </div>
            <p class="visually-hidden" role="status">{move || spoken.get()}</p>
        </div>
    }
}
