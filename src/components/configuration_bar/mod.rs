//! The bar that stays in view on every page: the configuration in one line, and the answer at its end.

mod drawer;
mod shown;
mod trained;

use bmax::Field;
use bmax::link::Pinned;
use leptos::prelude::*;
use leptos_use_fn_debounce_throttle::use_debounce_fn;

use super::{Combobox, Listed, NumberField};
use crate::site::{State, Steps as Taken, read};
use drawer::Drawer;
use shown::Shown;
use trained::Trained;

/// The answer is spoken to assistive technology once the reader has stopped changing it for so long, in
/// milliseconds; while a slider moves, every step would be an interruption.
const SETTLE: f64 = 800.0;

/// The configuration, each word of which is the control that changes it, and the answer. What matters less gives way on
/// narrow screens. A change is told by a status message: <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>.
#[component]
pub fn ConfigurationBar(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let pinned = state.beside.with(Pinned::len);
        state.read(|facts| Shown::of(facts, pinned))
    });
    let spoken = RwSignal::new(String::new());
    let drawer = Drawer::new(state, shown);
    view! {
        <div class="configuration" role="group" aria-label="Configuration">
            <Combobox listed=Listed::Model state id="line-model"/>
            <span class="configuration-word">"on"</span>
            <NumberField input=state.field(Field::Gpus) id="line-gpus"/>
            <span class="configuration-word" aria-hidden="true">"×"</span>
            <Combobox listed=Listed::Gpu state id="line-gpu"/>
            <Trained state/>
            <NumberField input=state.field(Field::Sequence) id="line-sequence"/>
            <span class="configuration-end">
                <a
                    class="button button-quiet button-small"
                    href="#calculator-find"
                    aria-haspopup="dialog"
                    aria-busy=move || drawer.busy.get().then_some("true")
                    on:click=move |event| drawer.press(&event)
                >
                    "All settings"
                    // As a property it leaves the elements empty while nothing is changed.
                    <span class="configuration-changed num" prop:textContent=read(shown, |shown| &shown.changed)></span>
                    <span
                        class="visually-hidden"
                        prop:textContent=move || if shown.with(|shown| shown.changed.is_empty()) { "" } else { " changed" }
                    ></span>
                </a>
                <Steps state shown spoken/>
            </span>
        </div>
        <AnswerLine shown spoken/>
    }
}

/// The way back through what was changed, and forward again; and what pins the present configuration, with the way to the
/// comparison.
#[component]
fn Steps(state: State, shown: Memo<Shown>, spoken: RwSignal<String>) -> impl IntoView {
    let button = |name: &'static str,
                  title: &'static str,
                  sign: &'static str,
                  can: fn(Taken) -> bool,
                  go: fn(State) -> &'static str| {
        view! {
            <button
                type="button"
                class="button button-quiet button-small"
                aria-label=name
                title=title
                disabled=move || !can(state.steps)
                on:click=move |_| spoken.set(go(state).to_owned())
            >
                {sign}
            </button>
        }
    };
    view! {
        {button("Undo", "Undo (Ctrl Z)", "↶", Taken::can_undo, State::undo)}
        {button("Redo", "Redo (Ctrl Shift Z)", "↷", Taken::can_redo, State::redo)}
        {button("Pin", "Pin this to compare with: three at most", "Pin", |_| true, State::pin)}
        // As a property it leaves the element empty, and unseen, while nothing is pinned.
        <a
            class="button button-quiet button-small"
            href="#comparing"
            title="Compare what is pinned"
            prop:textContent=read(shown, |shown| &shown.pinned)
        ></a>
    }
}

/// The answer, its bounds, and how the chosen micro-batch stands, linked to the tool.
#[component]
fn AnswerLine(shown: Memo<Shown>, spoken: RwSignal<String>) -> impl IntoView {
    view! {
        <div class="answer-line">
            <a href="#opening" class="answer-figure" title=read(shown, |shown| &shown.outlook)>
                <span class="answer-of">{read(shown, |shown| &shown.configuration)}</span>
                <Symbol shown/>
            </a>
            <Verdict shown/>
            <Said shown spoken/>
        </div>
    }
}

/// The answer: the symbol and its number, or that nothing fits.
#[component]
fn Symbol(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <span class="answer-symbol"><i>"b"</i><sub>"max"</sub></span>
        <span>{move || shown.with(|shown| if shown.fits { " = " } else { ": " })}</span>
        <strong
            class="num"
            class:answer-none=move || shown.with(|shown| !shown.fits)
            class:answer-unanswered=move || shown.with(|shown| shown.unanswered)
            data-testid="bar-answer"
        >
            {read(shown, |shown| &shown.answer)}
        </strong>
    }
}

/// What is told to assistive technology: the answer once it has changed and is left alone.
#[component]
fn Said(shown: Memo<Shown>, spoken: RwSignal<String>) -> impl IntoView {
    let speak = use_debounce_fn(move || spoken.set(shown.with_untracked(|shown| shown.spoken.clone())), SETTLE);
    // What the page begins with is no news.
    Effect::watch(move || shown.with(|shown| shown.spoken.clone()), move |_, _, _| _ = speak(), false);
    view! {
        // As a property it leaves the element empty while there is nothing to say.
        <span class="visually-hidden" role="status" data-testid="spoken-answer" prop:textContent=move || spoken.get()></span>
    }
}

/// How the chosen micro-batch stands, where one fits at all. Which one that is, the tool says, and here it is only heard; on a
/// phone the sign stands for the word.
#[component]
fn Verdict(shown: Memo<Shown>) -> impl IntoView {
    let standing = move || shown.with(|shown| shown.standing);
    view! {
        <span
            class=move || format!("badge badge-{} answer-badge", standing().colour())
            hidden=move || shown.with(|shown| !shown.fits)
        >
            <span class="visually-hidden"><i>"b"</i><span class="num">{read(shown, |shown| &shown.batch)}</span></span>
            <span aria-hidden="true">{move || standing().sign()}</span>
            <span class="answer-word">{move || standing().word()}</span>
        </span>
    }
}
