//! Pickers of catalogue rows, used wherever the reader can choose a model or a GPU.

use bmax::catalogue::{self, DEVICES, DeviceGroup, MODELS, ModelGroup};
use leptos::prelude::*;

use crate::site::State;
use crate::site::controls::{OptionGroup, Picker};

/// Chooses a model of the catalogue.
#[component]
pub fn ModelPicker(state: State, id: &'static str) -> impl IntoView {
    let row = Memo::new(move |_| {
        state.scenario.with(catalogue::model_row_of).map_or(("", true), |(row, edited)| (row.slug, edited))
    });
    let on_pick = move |slug: String| {
        if let Some(row) = catalogue::model(&slug) {
            state.change(|scenario| row.apply(scenario));
        }
    };
    let rows = |group: ModelGroup| MODELS.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    let groups: Vec<OptionGroup> =
        ModelGroup::ALL.iter().map(|group| (group.label(), rows(*group).collect())).collect();
    view! {
        <Picker id label="Model" groups value=Signal::derive(move || row.get().0) edited=Signal::derive(move || row.get().1) on_pick=Callback::new(on_pick) />
    }
}

/// Chooses a device of the catalogue.
#[component]
pub fn DevicePicker(state: State, id: &'static str) -> impl IntoView {
    let row = Memo::new(move |_| {
        state.scenario.with(catalogue::device_row_of).map_or(("", true), |(row, edited)| (row.slug, edited))
    });
    let on_pick = move |slug: String| {
        if let Some(row) = catalogue::device(&slug) {
            state.change(|scenario| row.apply(scenario));
        }
    };
    let rows =
        |group: DeviceGroup| DEVICES.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    let groups: Vec<OptionGroup> =
        DeviceGroup::ALL.iter().map(|group| (group.label(), rows(*group).collect())).collect();
    view! {
        <Picker id label="GPU" groups value=Signal::derive(move || row.get().0) edited=Signal::derive(move || row.get().1) on_pick=Callback::new(on_pick) />
    }
}
