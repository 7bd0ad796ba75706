//! From the global batch a recipe asks for to micro-batch, GPUs and accumulation steps.

mod drawing;
mod planned;
mod shown;

use bmax::{BatchUnit, Choice, Field};
use leptos::html::Div;
use leptos::prelude::*;

use crate::components::{Model, NumberField, Segmented};
use crate::site::{State, read};
use drawing::Cell;
use planned::in_unit;
use shown::{Shown, Target};

/// The target, the plan that reaches it, and what that plan looks like in time.
#[component]
pub fn Planner(
    /// The shared state.
    state: State,
) -> impl IntoView {
    // That the reader prefers the other of two plans is no part of the configuration.
    let other = RwSignal::new(false);
    let shown = Memo::new(move |_| state.read(|facts| Shown::of(facts, other.get())));
    view! {
        <div class="planner">
            <Asked state shown/>
            <Plan shown other/>
            <Drawing shown/>
            <Summary state shown/>
            <p class="field-help">
                "The optimizer steps once, after all accumulation steps. Each micro-batch frees its activations before the next one begins, and adds its gradients to the same sums. Beyond two steps memory stays the same; only time grows."
            </p>
        </div>
    }
}

/// The target and what it is counted in, and targets nearby that need no rounding.
#[component]
fn Asked(state: State, shown: Memo<Shown>) -> impl IntoView {
    // The same amount in the other unit: 256 sequences do not become 256 tokens.
    let unit = Model::new(Signal::derive(move || shown.with(|shown| shown.unit)), move |unit| {
        state.change(|scenario| in_unit(scenario, unit));
    });
    let nearby = NodeRef::<Div>::new();
    let set = move |target: u32| {
        state.change(|scenario| scenario.with_number(Field::GlobalBatch, target.into()).unwrap_or(scenario));
        // The pressed button is gone now; the keyboard goes on from where it was.
        if let Some(nearby) = nearby.get_untracked() {
            _ = nearby.focus();
        }
    };
    let button = move |Target { target, text, label }: Target| {
        view! {
            <button
                type="button"
                class="button button-quiet button-small num"
                data-testid="planner-nearby"
                aria-label=label
                on:click=move |_| set(target)
            >
                {text}
            </button>
        }
    };
    view! {
        <div class="planner-target">
            <NumberField input=state.field(Field::GlobalBatch) id="planner-target"/>
            <Segmented
                id="planner-unit"
                legend="Counted in"
                options=BatchUnit::ALL.iter().map(|unit| (*unit, unit.label()))
                value=unit
                changed=Signal::derive(move || shown.with(|shown| shown.unit_changed))
            />
            <p class="field-help planner-asked">{perhaps(shown, |shown| &shown.asked)}</p>
            <div class="planner-nearby" role="group" aria-label="Targets nearby" tabindex="-1" node_ref=nearby>
                <p class="small">{perhaps(shown, |shown| &shown.nearby)}</p>
                <div class="button-row">
                    {move || shown.with(|shown| shown.targets.clone()).into_iter().map(button).collect_view()}
                </div>
            </div>
        </div>
    }
}

/// The plan as an equation and in words, and the way to the other one.
#[component]
fn Plan(shown: Memo<Shown>, other: RwSignal<bool>) -> impl IntoView {
    view! {
        <div class="planner-plan">
            <p class="planner-equation">
                <output class="readout num" data-testid="planner-result">{read(shown, |shown| &shown.result)}</output>
                <span class="soft small"><i>"B"</i>" = "<i>"b"</i>" · "<i>"D"</i>" · steps"</span>
            </p>
            <p class="planner-words" data-testid="planner-words">{read(shown, |shown| &shown.words)}</p>
            <p class="planner-other">
                <button
                    type="button"
                    class="button button-quiet button-small"
                    data-testid="planner-other"
                    hidden=move || shown.with(|shown| shown.other.is_none())
                    on:click=move |_| other.update(|other| *other = !*other)
                >
                    {perhaps(shown, |shown| &shown.other)}
                </button>
            </p>
        </div>
    }
}

/// The plan in time: a column an accumulation step, a row a GPU, a box a micro-batch.
#[component]
fn Drawing(shown: Memo<Shown>) -> impl IntoView {
    let empty = move || shown.with(|shown| shown.drawing.is_none());
    let cells =
        move || shown.with(|shown| shown.drawing.as_ref().map_or_else(Vec::new, |drawing| drawing.cells.clone()));
    let size = move |of: fn(&drawing::Drawing) -> u32| {
        move || shown.with(|shown| shown.drawing.as_ref().map_or(1, of).to_string())
    };
    let cell = |Cell { class, text }: Cell| view! { <span class=class>{text}</span> };
    view! {
        <div class="planner-drawing">
            <div
                class="planner-boxes"
                role="img"
                aria-label=read(shown, |shown| &shown.described)
                data-testid="planner-drawing"
            >
                <p class="planner-nothing soft" hidden=move || !empty()>
                    "Nothing to draw until a micro-batch fits."
                </p>
                <div
                    class="planner-grid"
                    hidden=empty
                    style=("--columns", size(|drawing| drawing.columns))
                    style=("--rows", size(|drawing| drawing.rows))
                >
                    {move || cells().into_iter().map(cell).collect_view()}
                </div>
                <p class="planner-axis soft" hidden=empty>{perhaps(shown, |shown| &shown.axis)}</p>
            </div>
            <ul class="planner-legend">
                <li class="planner-micro">{read(shown, |shown| &shown.legend)}</li>
                <li class="planner-update">"optimizer step, once for all"</li>
            </ul>
        </div>
    }
}

/// What the plan comes to, and the way to take its micro-batch over.
#[component]
fn Summary(state: State, shown: Memo<Shown>) -> impl IntoView {
    let take = move |_| {
        if let Some(batch) = shown.with_untracked(|shown| shown.batch) {
            state.change(|scenario| scenario.with_batch(batch));
        }
    };
    view! {
        <dl class="planner-facts">
            <div>
                <dt>"Tokens per optimizer step"</dt>
                <dd class="num" data-testid="planner-tokens">{read(shown, |shown| &shown.tokens)}</dd>
            </div>
            <div>
                <dt>"Micro-batch "<i>"b"</i></dt>
                <dd class="num">
                    <span data-testid="planner-micro-batch">{read(shown, |shown| &shown.micro)}</span>
                    <button
                        type="button"
                        class="button button-quiet button-small"
                        data-testid="planner-use"
                        aria-disabled=move || shown.with(|shown| shown.taken.to_string())
                        on:click=take
                    >
                        "Use this micro-batch"
                    </button>
                </dd>
            </div>
            <div>
                <dt>"Peak memory at this "<i>"b"</i></dt>
                <dd class="num">{read(shown, |shown| &shown.peak)}</dd>
            </div>
        </dl>
    }
}

/// A text that is only there where there is a plan.
fn perhaps(shown: Memo<Shown>, of: fn(&Shown) -> &Option<String>) -> impl Fn() -> String + Copy {
    move || shown.with(|shown| of(shown).clone().unwrap_or_default())
}
