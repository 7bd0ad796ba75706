//! The fields, common ones first; what only the derived parameter count or the paper's method reads is folded.

use bmax::catalogue::{MODELS, ModelGroup, ModelRow};
use bmax::{Field, Method, Scenario, setting};
use leptos::prelude::*;

use super::super::pickers::{DevicePicker, ModelPicker};
use super::agreement::{Agreement, Kind};
use crate::site::State;
use crate::site::controls::{NumberField, Segmented, SelectField};

/// Every input of the scenario, in groups.
#[component]
pub fn ScenarioForm(state: State) -> impl IntoView {
    view! {
        <form class="scenario-form" aria-label="Configuration" on:submit=|event| event.prevent_default()>
            <Presets state />
            <MethodSwitch state />
            <DeviceFields state />
            <TrainingFields state />
            <ModelFields state />
            <ResetAll state />
        </form>
    }
}

/// The workshop's five models, one press each.
#[component]
fn Presets(state: State) -> impl IntoView {
    let preset = move |row: &'static ModelRow| {
        let pressed = move || state.scenario.with(|scenario| scenario.model == row.model);
        view! {
            <button
                type="button"
                class="button button-quiet button-small"
                aria-pressed=move || pressed().to_string()
                on:click=move |_| state.change(|scenario| row.apply(scenario))
            >
                {row.name}
            </button>
        }
    };
    let rows = MODELS.iter().filter(|row| row.group == ModelGroup::Workshop);
    view! {
        <div class="field" role="group" aria-label="Workshop presets">
            <span class="field-label" aria-hidden="true">"Workshop presets"</span>
            <div class="button-row">{rows.map(preset).collect_view()}</div>
        </div>
    }
}

#[component]
fn MethodSwitch(state: State) -> impl IntoView {
    let handle = state.setting(&setting::METHOD);
    view! { <Segmented handle id="method" /> }
}

#[component]
fn DeviceFields(state: State) -> impl IntoView {
    view! {
        <fieldset class="form-group">
            <legend>"GPUs"</legend>
            <div class="controls">
                <DevicePicker state id="gpu" />
                <NumberField handle=state.field(Field::Memory) id="memory" />
                <NumberField handle=state.field(Field::Gpus) id="gpus" />
                <NumberField handle=state.field(Field::Headroom) id="headroom" />
            </div>
            <PaperOnly state>
                <SelectField handle=state.setting(&setting::ZERO) id="zero" />
                <NumberField handle=state.field(Field::TensorParallel) id="tensor-parallel" />
                <SelectField
                    handle=state.setting(&setting::SEQUENCE_PARALLEL)
                    id="sequence-parallel"
                />
                <SelectField handle=state.setting(&setting::DROPOUT) id="dropout" />
            </PaperOnly>
        </fieldset>
    }
}

/// Fields that the workshop's method does not read. They stay visible, because a link may carry them,
/// but say that they do nothing there.
#[component]
fn PaperOnly(state: State, children: Children) -> impl IntoView {
    let idle = move || state.scenario.with(|scenario| scenario.method == Method::Workshop);
    view! {
        <details class="form-more">
            <summary>"Parallelism and dropout"<span class="soft" hidden=move || !idle()>" (read by the paper’s method only)"</span></summary>
            <div class="controls">{children()}</div>
        </details>
    }
}

#[component]
fn TrainingFields(state: State) -> impl IntoView {
    let precision = state.setting(&setting::PRECISION);
    let recompute = state.setting(&setting::RECOMPUTATION);
    view! {
        <fieldset class="form-group">
            <legend>"Training"</legend>
            <div class="controls">
                <NumberField handle=state.field(Field::Sequence) id="sequence-length" />
                <NumberField handle=state.field(Field::Batch) id="micro-batch" />
                <SelectField handle=precision id="precision" />
                <SelectField handle=recompute id="recomputation" />
            </div>
        </fieldset>
    }
}

#[component]
fn ModelFields(state: State) -> impl IntoView {
    view! {
        <fieldset class="form-group">
            <legend>"Model"</legend>
            <div class="controls">
                <ModelPicker state id="model" />
                <NumberField handle=state.field(Field::Parameters) id="parameters" />
                <NumberField handle=state.field(Field::Hidden) id="hidden" />
                <NumberField handle=state.field(Field::Layers) id="layers" />
                <NumberField handle=state.field(Field::Heads) id="heads" />
            </div>
            <DerivedCount state />
            <details class="form-more">
                <summary>"Architecture behind the derived parameter count"</summary>
                <div class="controls">
                    <NumberField handle=state.field(Field::KvHeads) id="kv-heads" />
                    <NumberField handle=state.field(Field::HeadDim) id="head-dim" />
                    <NumberField handle=state.field(Field::FeedForward) id="feed-forward" />
                    <NumberField handle=state.field(Field::Vocabulary) id="vocabulary" />
                    <SelectField handle=state.setting(&setting::MLP) id="mlp" />
                    <SelectField handle=state.setting(&setting::TIED) id="tied" />
                </div>
            </details>
        </fieldset>
    }
}

/// The count that follows from the shape, beside the one that is used.
#[component]
fn DerivedCount(state: State) -> impl IntoView {
    let agreement = Memo::new(move |_| state.scenario.with(Agreement::of));
    let take = move |_| {
        let count = agreement.get_untracked().derived as f64 / 1e9;
        state.change(|scenario| scenario.with_number(Field::Parameters, count).unwrap_or(scenario));
    };
    view! {
        <div class="derived-count" data-agreement=move || agreement.get().word()>
            <p class="field-help num" data-testid="derived-count">{move || agreement.get().sentence()}</p>
            <button type="button" class="button button-quiet button-small num" on:click=take aria-disabled=move || (agreement.get().kind == Kind::Close).to_string()>
                "Use "{move || agreement.get().billions()}" billion"
            </button>
        </div>
    }
}

#[component]
fn ResetAll(state: State) -> impl IntoView {
    let changed = move || state.scenario.get() != Scenario::default();
    view! {
        <button
            type="button"
            class="button button-quiet"
            aria-disabled=move || (!changed()).to_string()
            on:click=move |_| state.scenario.set(Scenario::default())
        >
            "Reset everything"
        </button>
    }
}
