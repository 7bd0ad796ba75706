//! The fields, common ones first; what only the derived parameter count or the paper's method reads is folded.

use bmax::catalogue::{MODELS, ModelGroup, ModelRow};
use bmax::{Field, Method, Scenario, setting};
use leptos::prelude::*;

use super::super::pickers::{device_picker, model_picker};
use super::agreement::{Agreement, Kind};
use crate::site::State;
use crate::site::controls::{number_field, segmented, select_field};
use crate::site::dom::{El, el};

/// Every input of the scenario, in groups.
pub fn scenario_form(state: State) -> El {
    el("form")
        .class("scenario-form")
        .attr("aria-label", "Configuration")
        .on("submit", |event| event.prevent_default())
        .child(presets(state))
        .child(segmented(state.setting(&setting::METHOD), "method", true))
        .child(device_fields(state))
        .child(training_fields(state))
        .child(model_fields(state))
        .child(reset_all(state))
}

/// The workshop's five models, one press each.
fn presets(state: State) -> El {
    let preset = |row: &'static ModelRow| {
        let pressed = move || state.read(|facts| facts.scenario.model == row.model);
        el("button")
            .attr("type", "button")
            .class("button button-quiet button-small")
            .bind("aria-pressed", move || pressed().to_string())
            .text(row.name)
            .on("click", move |_| state.change(|scenario| row.apply(scenario)))
    };
    let rows = MODELS.iter().filter(|row| row.group == ModelGroup::Workshop);
    el("div")
        .class("field")
        .attr("role", "group")
        .attr("aria-label", "Workshop presets")
        .child(el("span").class("field-label").attr("aria-hidden", "true").text("Workshop presets"))
        .child(el("div").class("button-row").children(rows.map(preset).collect()))
}

/// A group of fields under a heading.
fn group(heading: &str, fields: Vec<El>) -> El {
    el("fieldset")
        .class("form-group")
        .child(el("legend").text(heading))
        .child(el("div").class("controls").children(fields))
}

/// Fields that few readers need, folded.
fn folded(summary: El, fields: Vec<El>) -> El {
    el("details").class("form-more").child(summary).child(el("div").class("controls").children(fields))
}

fn device_fields(state: State) -> El {
    let number = |field, id| number_field(state.field(field), id, true);
    let fields = vec![
        device_picker(state, "gpu"),
        number(Field::Memory, "memory"),
        number(Field::Gpus, "gpus"),
        number(Field::Headroom, "headroom"),
    ];
    // The workshop's method does not read the folded ones. They stay, because a link may carry them,
    // but say that they do nothing there.
    let idle = move || state.read(|facts| facts.scenario.method == Method::Workshop);
    let note = el("span").class("soft").toggle("hidden", move || !idle()).text(" (read by the paper’s method only)");
    let paper_only = vec![
        select_field(state.setting(&setting::ZERO), "zero"),
        number(Field::TensorParallel, "tensor-parallel"),
        select_field(state.setting(&setting::SEQUENCE_PARALLEL), "sequence-parallel"),
        select_field(state.setting(&setting::DROPOUT), "dropout"),
    ];
    group("GPUs", fields).child(folded(el("summary").text("Parallelism and dropout").child(note), paper_only))
}

fn training_fields(state: State) -> El {
    let fields = vec![
        number_field(state.field(Field::Sequence), "sequence-length", true),
        number_field(state.field(Field::Batch), "micro-batch", true),
        select_field(state.setting(&setting::PRECISION), "precision"),
        select_field(state.setting(&setting::RECOMPUTATION), "recomputation"),
    ];
    group("Training", fields)
}

fn model_fields(state: State) -> El {
    let number = |field, id| number_field(state.field(field), id, true);
    let fields = vec![
        model_picker(state, "model"),
        number(Field::Parameters, "parameters"),
        number(Field::Hidden, "hidden"),
        number(Field::Layers, "layers"),
        number(Field::Heads, "heads"),
    ];
    let architecture = vec![
        number(Field::KvHeads, "kv-heads"),
        number(Field::HeadDim, "head-dim"),
        number(Field::FeedForward, "feed-forward"),
        number(Field::Vocabulary, "vocabulary"),
        select_field(state.setting(&setting::MLP), "mlp"),
        select_field(state.setting(&setting::TIED), "tied"),
    ];
    let summary = el("summary").text("Architecture behind the derived parameter count");
    group("Model", fields).child(derived_count(state)).child(folded(summary, architecture))
}

/// The count that follows from the shape, beside the one that is used.
fn derived_count(state: State) -> El {
    let agreement = move || state.read(|facts| Agreement::of(&facts.scenario));
    let take = move || {
        let count = state.peek(|facts| Agreement::of(&facts.scenario).derived) as f64 / 1e9;
        state.change(|scenario| scenario.with_number(Field::Parameters, count).unwrap_or(scenario));
    };
    let sentence = el("p").class("field-help num").attr("data-testid", "derived-count");
    let button = el("button")
        .attr("type", "button")
        .class("button button-quiet button-small num")
        .bind("aria-disabled", move || (agreement().kind == Kind::Close).to_string())
        .bind_text(move || format!("Use {} billion", agreement().billions()))
        .on("click", move |_| take());
    el("div")
        .class("derived-count")
        .bind("data-agreement", move || agreement().word().to_owned())
        .child(sentence.bind_text(move || agreement().sentence()))
        .child(button)
}

fn reset_all(state: State) -> El {
    let changed = move || state.read(|facts| facts.scenario != Scenario::default());
    el("button")
        .attr("type", "button")
        .class("button button-quiet")
        .bind("aria-disabled", move || (!changed()).to_string())
        .text("Reset everything")
        .on("click", move |_| state.scenario.set(Scenario::default()))
}
