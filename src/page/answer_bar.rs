//! The bar that stays in view: the answer, what is used, and what binds.

use std::time::Duration;

use bmax::{Answer, Balance, Choice, Estimate, Method};
use leptos::leptos_dom::helpers::{TimeoutHandle, set_timeout_with_handle};
use leptos::prelude::*;

use crate::site::{State, format};

/// The answer in one line, linked to the calculator. What matters less gives way on narrow screens.
#[component]
pub fn AnswerBar(state: State) -> impl IntoView {
    let batch = move || state.scenario.with(|scenario| scenario.recipe.batch);
    // One text, so that its beginning stays in its place whatever its length.
    let used = move || {
        state.estimate.with(|estimate| {
            format!("{} / {}", format::digits(estimate.peak().bytes.gib(), 1), format::gib(estimate.usable()))
        })
    };
    let verdict = Memo::new(move |_| state.estimate.with(|estimate| verdict(estimate.balance())));
    let method = move || state.scenario.with(|scenario| scenario.method.label());
    let fits = move || state.answer.with(|answer| matches!(answer, Answer::Fits(_)));
    view! {
        <div class="answer-line">
            <a class="answer-figure" href="#calculator" class:answer-none=move || !fits()>
                <span class="answer-symbol"><i>"b"</i><sub>"max"</sub></span>
                {move || if fits() { " = " } else { ": " }}
                <strong class="num" data-testid="bar-answer">{move || state.answer.with(format::answer)}</strong>
            </a>
            <span class="answer-method soft">{method}" method"</span>
            <span class="answer-used num">
                <span class="answer-batch soft"><i>"b"</i>" = "{move || format::count(batch())}": "</span>
                <span>{used}</span>
            </span>
            <span class=move || format!("badge badge-{} answer-badge", verdict.get().1)>
                <span aria-hidden="true">{move || mark(verdict.get().1)}</span>
                <span class="answer-word">{move || verdict.get().0}</span>
            </span>
            <span class="answer-binds soft">{move || binds(&state.answer.get(), &state.estimate.get())}</span>
            <SpokenAnswer state />
        </div>
    }
}

/// The sign that stands for a verdict beside its colour.
fn mark(kind: &str) -> &'static str {
    match kind {
        "good" => "✓",
        "warn" => "!",
        _ => "✕",
    }
}

/// How the chosen micro-batch stands, as a word and the class of its badge.
pub fn verdict(balance: Balance) -> (&'static str, &'static str) {
    match balance {
        Balance::Free(_) => ("fits", "good"),
        Balance::Close(_) => ("too close", "warn"),
        Balance::Over(_) => ("does not fit", "bad"),
    }
}

/// What stops the next sequence, in a few words.
fn binds(answer: &Answer, estimate: &Estimate) -> String {
    match answer {
        Answer::Fits(room) if room.capped => "nothing binds within the range".to_owned(),
        Answer::Fits(room) => format!("next sequence lacks {}", format::memory(room.next_lacks)),
        Answer::Infeasible(reason) => {
            format!(
                "{} bind: {} over",
                estimate.largest().first().map_or("", |entry| entry.bucket.name()),
                format::memory(reason.over)
            )
        }
    }
}

/// Speaks the answer to assistive technology once the reader has stopped changing it; while a slider
/// moves, every step would be an interruption.
#[component]
fn SpokenAnswer(state: State) -> impl IntoView {
    const SETTLE: Duration = Duration::from_millis(800);
    let spoken = RwSignal::new(String::new());
    let pending = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |first: Option<()>| {
        let text = spoken_answer(&state.answer.get(), state.scenario.with(|scenario| scenario.method));
        if first.is_none() {
            return;
        }
        if let Some(earlier) = pending.get_value() {
            earlier.clear();
        }
        pending.set_value(set_timeout_with_handle(move || spoken.set(text), SETTLE).ok());
    });
    view! { <span class="visually-hidden" role="status" data-testid="spoken-answer">{spoken}</span> }
}

fn spoken_answer(answer: &Answer, method: Method) -> String {
    let method = method.label();
    match (answer, format::shortage(answer)) {
        (Answer::Fits(room), _) => {
            format!("{method} method: {} per GPU at most.", format::counted(room.batch, "sequence", "sequences"))
        }
        (Answer::Infeasible(_), reason) => format!("{method} method: does not fit. {}", reason.unwrap_or_default()),
    }
}
