//! The model: the list, the workshop's presets, a pasted file, and the architecture.

use bmax::catalogue::{MODELS, ModelGroup, ModelRow};
use bmax::{Field, Scenario};

use super::super::agreement::{Agreement, Kind};
use super::super::config_file::config_file;
use super::fold::{fold, folds};
use super::groups::MODEL;
use crate::page::pickers::model_picker;
use crate::site::State;
use crate::site::dom::{El, el};

/// Everything about the model.
pub fn model_fields(state: State) -> Vec<El> {
    let mut parts = vec![model_picker(state, "model"), presets(state), config_file(state)];
    parts.push(fold(state, &MODEL[0], Some(derived_count(state))));
    parts.extend(folds(state, &MODEL[1..]));
    parts
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

/// The count that follows from the shape, beside the one that is typed.
fn derived_count(state: State) -> El {
    let agreement = move || state.read(|facts| Agreement::of(&facts.scenario));
    let take = move || {
        let count = state.peek(|facts| Agreement::of(&facts.scenario).derived) as f64 / 1e9;
        state.change(|scenario: Scenario| scenario.with_number(Field::Parameters, count).unwrap_or(scenario));
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
