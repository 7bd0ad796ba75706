//! Pickers of catalogue rows, used wherever the reader can choose a model or a GPU.

use bmax::Scenario;
use bmax::catalogue::{self, DEVICES, DeviceGroup, MODELS, ModelGroup};
use leptos::prelude::*;

use crate::site::State;
use crate::site::controls::{OptionGroup, picker};
use crate::site::dom::El;

/// Chooses a model of the catalogue.
pub fn model_picker(state: State, id: &str) -> El {
    let rows = |group: ModelGroup| MODELS.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    let groups = ModelGroup::ALL.iter().map(|group| (group.label(), rows(*group).collect())).collect();
    let row = |scenario: &Scenario| catalogue::model_row_of(scenario).map(|(row, edited)| (row.slug, edited));
    let pick = move |slug: String| {
        if let Some(row) = catalogue::model(&slug) {
            state.change(|scenario| row.apply(scenario));
        }
    };
    row_picker(state, id, "Model", groups, row, Box::new(pick))
}

/// Chooses a device of the catalogue.
pub fn device_picker(state: State, id: &str) -> El {
    let rows =
        |group: DeviceGroup| DEVICES.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    let groups = DeviceGroup::ALL.iter().map(|group| (group.label(), rows(*group).collect())).collect();
    let row = |scenario: &Scenario| catalogue::device_row_of(scenario).map(|(row, edited)| (row.slug, edited));
    let pick = move |slug: String| {
        if let Some(row) = catalogue::device(&slug) {
            state.change(|scenario| row.apply(scenario));
        }
    };
    row_picker(state, id, "GPU", groups, row, Box::new(pick))
}

/// A picker of the rows that `row` finds, each with whether it was edited. A list has many options:
/// they look at these memos and not at the whole scenario.
fn row_picker(
    state: State,
    id: &str,
    label: &'static str,
    groups: Vec<OptionGroup>,
    row: fn(&Scenario) -> Option<(&'static str, bool)>,
    pick: Box<dyn Fn(String)>,
) -> El {
    let current = move || state.asked(row);
    let value = Memo::new(move |_| current().map_or("", |(slug, _)| slug));
    let edited = Memo::new(move |_| current().filter(|(_, edited)| *edited).map_or("", |(slug, _)| slug));
    picker(id, label, groups, value.into(), edited.into(), pick)
}
