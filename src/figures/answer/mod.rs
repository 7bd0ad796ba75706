//! The answer for the current configuration, the inputs that change it most, and the batch on the bar.

mod shown;
mod ways_out;

use bmax::{Choice, Precision, Recomputation};
use bmax::{Field, setting};
use leptos::prelude::*;

use crate::components::{
    BatchSlider, Beside, DevicePicker, MemoryBar, MemoryLegend, ModelPicker, NumberField, Outlook, SettingField, Slice,
};
use crate::site::{Standing, State, read};
use shown::Shown;
use ways_out::WaysOut;

/// Six inputs in; the largest micro-batch out, and any other one on the bar.
#[component]
pub fn Answer(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.read(Shown::of));
    view! {
        <div class="opening">
            <Slice class="opening-inputs">
                <ModelPicker state id="opening-model"/>
                <DevicePicker state id="opening-gpu"/>
                <NumberField input=state.field(Field::Gpus) id="opening-gpus"/>
                <NumberField input=state.field(Field::Sequence) id="opening-sequence"/>
                <SettingField handle=state.setting(&setting::PRECISION, Precision::EFFECTS) id="opening-precision"/>
                <SettingField handle=state.setting(&setting::RECOMPUTATION, Recomputation::EFFECTS) id="opening-recomputation"/>
            </Slice>
            <Slice class="opening-answer">
                <Answers state shown/>
                <Filled state shown/>
            </Slice>
            <Slice class="opening-why">
                <p class="opening-reason">{read(shown, |shown| &shown.reason)}</p>
                <WaysOut state/>
                <Beside state/>
            </Slice>
        </div>
    }
}

/// The likely answer between the two that frame it.
#[component]
fn Answers(state: State, shown: Memo<Shown>) -> impl IntoView {
    view! {
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
    }
}

/// The micro-batch, and the memory that it fills.
#[component]
fn Filled(state: State, shown: Memo<Shown>) -> impl IntoView {
    let bar = Memo::new(move |_| shown.with(|shown| shown.bar.clone()));
    view! {
        <div class="opening-filled">
            <BatchSlider id="opening-batch" state/>
            <Chosen shown/>
            <MemoryBar bar/>
            <MemoryLegend bar/>
        </div>
    }
}

/// The number itself.
#[component]
fn Headline(shown: Memo<Shown>) -> impl IntoView {
    let none = move || shown.with(|shown| !shown.fits);
    let unanswered = move || matches!(shown.with(|shown| shown.standing), Standing::Unanswered(_));
    view! {
        <span class="headline">
            <span class="readout num" class:readout-s=none class:is-unanswered=unanswered data-testid="opening-answer">
                {read(shown, |shown| &shown.answer)}
            </span>
            <span class="headline-unit" hidden=none>
                {move || shown.with(|shown| shown.unit)} " per GPU"
            </span>
        </span>
    }
}

/// Which micro-batch the bar shows, and how that stands, where no slider says it.
#[component]
fn Chosen(shown: Memo<Shown>) -> impl IntoView {
    let standing = move || shown.with(|shown| shown.standing);
    view! {
        <p class="opening-chosen soft small">
            "The bar shows " <i>"b"</i> {read(shown, |shown| &shown.batch)}
            <span class=move || format!("badge badge-{}", standing().colour())>{move || standing().word()}</span>
        </p>
    }
}
