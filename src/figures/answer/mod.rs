//! The answer for the current configuration, with the pickers that change it most.

mod shown;

use bmax::Field;
use leptos::prelude::*;

use crate::components::{Beside, DevicePicker, MemoryBar, MemoryLegend, ModelPicker, NumberField, Outlook};
use crate::site::{State, read};
use shown::Shown;

/// Model, GPU and their number in; the largest micro-batch out.
#[component]
pub fn Answer(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.read(Shown::of));
    let bar = Memo::new(move |_| shown.with(|shown| shown.bar.clone()));
    view! {
        <div class="opening">
            <div class="controls">
                <ModelPicker state id="opening-model"/>
                <DevicePicker state id="opening-gpu"/>
                <NumberField input=state.field(Field::Gpus) id="opening-gpus"/>
            </div>
            <div class="opening-answer">
                <p class="soft small">{read(shown, |shown| &shown.method)}</p>
                <dl class="outlooks">
                    <Outlook name="Safe" test="answer-safe" of=|range| &range.safe state/>
                    <div>
                        <dt>"Likely"</dt>
                        <dd>
                            <Headline shown/>
                        </dd>
                    </div>
                    <Outlook name="Optimistic" test="answer-optimistic" of=|range| &range.optimistic state/>
                </dl>
                <p class="opening-reason">{read(shown, |shown| &shown.reason)}</p>
                <Chosen shown/>
                <Beside state/>
            </div>
            <MemoryBar bar/>
            <MemoryLegend bar/>
        </div>
    }
}

/// The number itself.
#[component]
fn Headline(shown: Memo<Shown>) -> impl IntoView {
    let none = move || shown.with(|shown| !shown.fits);
    view! {
        <span class="headline">
            <span class="readout num" class:readout-s=none data-testid="opening-answer">
                {read(shown, |shown| &shown.answer)}
            </span>
            <span class="headline-unit" hidden=none>"sequences per GPU"</span>
        </span>
    }
}

/// Which micro-batch the bar shows, and how that stands.
#[component]
fn Chosen(shown: Memo<Shown>) -> impl IntoView {
    let standing = move || shown.with(|shown| shown.standing);
    view! {
        <p class="soft small">
            "The bar shows " <i>"b"</i> {read(shown, |shown| &shown.batch)}
            <span class=move || format!("badge badge-{}", standing().colour())>{move || standing().word()}</span>
        </p>
    }
}
