//! The bar that stays in view: the answer, what is used, and what binds.

mod shown;

use leptos::prelude::*;
use leptos_use_fn_debounce_throttle::use_debounce_fn;

use crate::site::{State, read};
use shown::Shown;

/// The answer is spoken to assistive technology once the reader has stopped changing it for so long, in
/// milliseconds; while a slider moves, every step would be an interruption.
const SETTLE: f64 = 800.0;

/// The answer in one line, linked to the calculator. What matters less gives way on narrow screens. A change is
/// told by a status message: <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>.
#[component]
pub fn AnswerBar(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.read(Shown::of));
    let spoken = RwSignal::new(String::new());
    let speak = use_debounce_fn(move || spoken.set(shown.with_untracked(|shown| shown.spoken.clone())), SETTLE);
    // What the page begins with is no news.
    Effect::watch(move || shown.with(|shown| shown.spoken.clone()), move |_, _, _| _ = speak(), false);
    view! {
        <div class="answer-line">
            <a
                href="#calculator"
                class="answer-figure"
                class:answer-none=move || shown.with(|shown| !shown.fits)
                class:answer-unanswered=move || shown.with(|shown| shown.unanswered)
            >
                <span class="answer-symbol"><i>"b"</i><sub>"max"</sub></span>
                <span>{move || shown.with(|shown| if shown.fits { " = " } else { ": " })}</span>
                <strong class="num" data-testid="bar-answer">{read(shown, |shown| &shown.answer)}</strong>
            </a>
            <span class="answer-method soft">{read(shown, |shown| &shown.outlook)}</span>
            <span class="answer-used num">
                <span class="answer-batch soft">
                    <i>"b"</i><span class="num">{read(shown, |shown| &shown.batch)}</span>
                </span>
                <span>{read(shown, |shown| &shown.used)}</span>
            </span>
            <Verdict shown/>
            <span class="answer-binds soft">{read(shown, |shown| &shown.binds)}</span>
            // As a property it leaves the element empty while there is nothing to say.
            <span
                class="visually-hidden"
                role="status"
                data-testid="spoken-answer"
                prop:textContent=move || spoken.get()
            ></span>
        </div>
    }
}

/// How the chosen micro-batch stands; on a phone the sign stands for the word.
#[component]
fn Verdict(shown: Memo<Shown>) -> impl IntoView {
    let standing = move || shown.with(|shown| shown.standing);
    view! {
        <span class=move || format!("badge badge-{} answer-badge", standing().colour())>
            <span aria-hidden="true">{move || standing().sign()}</span>
            <span class="answer-word">{move || standing().word()}</span>
        </span>
    }
}
