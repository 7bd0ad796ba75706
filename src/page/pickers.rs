//! Pickers of catalogue rows, used wherever the reader can choose a model or a GPU.

use bmax::catalogue::{self, DEVICES, DeviceGroup, MODELS, ModelGroup};

use crate::site::State;
use crate::site::controls::{OptionGroup, picker};
use crate::site::dom::El;

/// Chooses a model of the catalogue.
pub fn model_picker(state: State, id: &'static str) -> El {
    let rows = |group: ModelGroup| MODELS.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    let groups: Vec<OptionGroup> =
        ModelGroup::ALL.iter().map(|group| (group.label(), rows(*group).collect())).collect();
    let row = move || state.read(|facts| catalogue::model_row_of(&facts.scenario));
    let slug = move || row().map_or("", |(row, _)| row.slug);
    let edited = move || row().is_none_or(|(_, edited)| edited);
    picker(id, "Model", groups, slug, edited, move |slug| {
        if let Some(row) = catalogue::model(&slug) {
            state.change(|scenario| row.apply(scenario));
        }
    })
}

/// Chooses a device of the catalogue.
pub fn device_picker(state: State, id: &'static str) -> El {
    let rows =
        |group: DeviceGroup| DEVICES.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    let groups: Vec<OptionGroup> =
        DeviceGroup::ALL.iter().map(|group| (group.label(), rows(*group).collect())).collect();
    let row = move || state.read(|facts| catalogue::device_row_of(&facts.scenario));
    let slug = move || row().map_or("", |(row, _)| row.slug);
    let edited = move || row().is_none_or(|(_, edited)| edited);
    picker(id, "GPU", groups, slug, edited, move |slug| {
        if let Some(row) = catalogue::device(&slug) {
            state.change(|scenario| row.apply(scenario));
        }
    })
}
