//! The inputs, common ones first; the rest in folded groups that say what is inside.

mod fold;
mod groups;
mod input;
mod model;

pub use self::groups::described;

use bmax::{Scenario, setting};
use leptos::prelude::*;

use self::fold::{controls, folds};
use super::super::pickers::device_picker;
use crate::site::State;
use crate::site::controls::segmented;
use crate::site::dom::{El, el};

/// Every input of the scenario, in groups.
pub fn scenario_form(state: State) -> El {
    let mut device = vec![device_picker(state, "gpu")];
    device.extend(controls(state, groups::DEVICE));
    el("form")
        .class("scenario-form")
        .attr("aria-label", "Configuration")
        .on("submit", |event| event.prevent_default())
        .child(segmented(state.setting(&setting::METHOD), "method", true))
        .child(section("Model").children(model::model_fields(state)))
        .child(section("GPUs").child(row(device)).children(folds(state, groups::CLUSTER)))
        .child(section("Training").child(row(controls(state, groups::TRAINING))).children(folds(state, groups::RECIPE)))
        .child(reset_all(state))
}

/// A part of the form under a heading.
fn section(heading: &str) -> El {
    el("fieldset").class("form-group").child(el("legend").text(heading))
}

/// Fields beside each other where there is room.
fn row(fields: Vec<El>) -> El {
    el("div").class("controls").children(fields)
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
