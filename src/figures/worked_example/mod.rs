//! The worked example, solved for a number of GPUs that the reader chooses.

mod shown;

use leptos::prelude::*;

use crate::components::{MemoryBar, Segmented};
use crate::site::{State, read};
use shown::{Shown, adopted};

/// Llama 3.1 8B on A100 80 GB, and the way to make it the reader's own configuration.
#[component]
pub fn WorkedExample(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let gpus = RwSignal::new(8);
    let shown = Memo::new(move |_| Shown::of(gpus.get()));
    let bar = Memo::new(move |_| shown.with(|shown| shown.bar.clone()));
    view! {
        <div class="worked">
            <Segmented
                id="worked-gpus"
                legend="GPUs in the example"
                options=[(1, "1"), (2, "2"), (4, "4"), (8, "8"), (16, "16")]
                value=gpus
            />
            <Numbers shown/>
            <div class="worked-memory">
                <p class="soft small">
                    "Memory of one GPU at " {read(shown, |shown| &shown.sequences)}
                    " of 2,048 tokens, selective recomputation, bf16, workshop method"
                </p>
                <MemoryBar bar/>
            </div>
            <Adopt state gpus/>
        </div>
    }
}

/// What is fixed, what is left, and what the two formulas make of it.
#[component]
fn Numbers(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <dl class="worked-numbers">
            <div>
                <dt>"Fixed on each GPU, 16"<i>"N"</i>" / "<i>"D"</i></dt>
                <dd class="num" data-testid="worked-fixed">{read(shown, |shown| &shown.fixed)}</dd>
            </div>
            <div>
                <dt>"Left for activations"</dt>
                <dd class="num" data-testid="worked-left">{read(shown, |shown| &shown.left)}</dd>
            </div>
            <Most
                shown
                method=", workshop: "
                sequence=|shown| &shown.workshop_sequence
                test="worked-workshop"
                most=|shown| &shown.workshop
            />
            <Most
                shown
                method=", paper: "
                sequence=|shown| &shown.paper_sequence
                test="worked-paper"
                most=|shown| &shown.paper
            />
        </dl>
    }
}

/// The largest micro-batch by one method.
#[component]
fn Most(
    shown: Memo<Shown>,
    method: &'static str,
    sequence: fn(&Shown) -> &String,
    test: &'static str,
    most: fn(&Shown) -> &String,
) -> impl IntoView {
    view! {
        <div>
            <dt><i>"b"</i><sub>"max"</sub>{method} {read(shown, sequence)} " a sequence"</dt>
            <dd class="num" data-testid=test>{read(shown, most)}</dd>
        </div>
    }
}

/// Makes the example the reader's scenario.
#[component]
fn Adopt(state: State, gpus: RwSignal<u32>) -> impl IntoView {
    let same = Memo::new(move |_| state.asked(|scenario| adopted(*scenario, gpus.get()) == *scenario));
    let press = move |_| state.change(|scenario| adopted(scenario, gpus.get_untracked()));
    let help = move || {
        if same.get() {
            "Every figure on all pages shows it now."
        } else {
            "Takes the model with its exact 8.03 billion parameters; every figure follows."
        }
    };
    view! {
        <div class="worked-adopt">
            <button
                type="button"
                class="button button-quiet"
                data-testid="worked-use"
                aria-disabled=move || same.get().to_string()
                on:click=press
            >
                "Use this configuration"
            </button>
            <span class="field-help">{help}</span>
        </div>
    }
}
