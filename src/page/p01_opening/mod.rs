//! The answer for the current configuration, with the pickers that change it most.

use bmax::{Answer, Choice, Field};
use leptos::prelude::*;

use super::answer_bar::verdict;
use super::pickers::{DevicePicker, ModelPicker};
use crate::site::controls::NumberField;
use crate::site::views::{Legend, MemoryBar};
use crate::site::{State, format};

/// Model, GPU and their number in; the largest micro-batch out.
#[component]
pub fn OpeningAnswer(state: State) -> impl IntoView {
    view! {
        <div class="opening">
            <div class="controls">
                <ModelPicker state id="opening-model" />
                <DevicePicker state id="opening-gpu" />
                <NumberField handle=state.field(Field::Gpus) id="opening-gpus" explained=false />
            </div>
            <div class="opening-answer">
                <Headline state />
                <Reason state />
            </div>
            <MemoryBar estimate=state.estimate />
            <Legend estimate=state.estimate />
        </div>
    }
}

/// The number itself, with the other method's answer beside it.
#[component]
fn Headline(state: State) -> impl IntoView {
    let method = move || state.scenario.with(|scenario| scenario.method.label());
    let other = move || {
        let (method, answer) = state.other_answer.get();
        format!("{} method: {}", method.label(), format::answer(&answer))
    };
    let fits = move || matches!(state.answer.get(), Answer::Fits(_));
    view! {
        <p class="headline">
            <span class="readout num" class:readout-s=move || !fits() data-testid="opening-answer">
                {move || state.answer.with(format::answer)}
            </span>
            <span class="headline-unit" hidden=move || !fits()>"sequences per GPU"</span>
        </p>
        <p class="headline-method soft small">{method}" method. "<a href="#derivation">{other}</a>"."</p>
    }
}

/// What is used, what is left, and what the next sequence lacks.
#[component]
fn Reason(state: State) -> impl IntoView {
    let reason = move || {
        let answer = state.answer.get();
        match &answer {
            Answer::Fits(room) if room.capped => "More may fit; the search ends here.".to_owned(),
            Answer::Fits(room) => format!(
                "They take {}; one more sequence needs {} and would lack {}.",
                format::memory(room.peak),
                format::memory(room.per_sequence),
                format::memory(room.next_lacks)
            ),
            Answer::Infeasible(reason) => {
                let mend = reason.fewest_gpus.map_or_else(
                    || " More GPUs alone do not help: shorten the sequence or recompute more.".to_owned(),
                    |gpus| format!(" {} would be enough.", format::counted(gpus, "GPU", "GPUs")),
                );
                format::shortage(&answer).unwrap_or_default() + &mend
            }
        }
    };
    let chosen = move || {
        state.estimate.with(|estimate| {
            let (word, kind) = verdict(estimate.balance());
            view! { <span class=format!("badge badge-{kind}")>{word}</span> }
        })
    };
    let batch = move || format::count(state.scenario.with(|scenario| scenario.recipe.batch));
    view! {
        <p class="opening-reason">{reason}</p>
        <p class="soft small">"The bar shows "<i>"b"</i>" = "{batch}": "{chosen}</p>
    }
}
