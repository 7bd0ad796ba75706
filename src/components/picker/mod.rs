//! The lists of the catalogue, wherever the reader can choose a model or a GPU.

use bmax::Scenario;
use bmax::catalogue::{self, DEVICES, DeviceGroup, MODELS, ModelGroup};
use leptos::prelude::*;

use crate::site::State;

/// Rows under a heading of the list, each as its word in a link and its name.
type Group = (&'static str, Vec<(&'static str, &'static str)>);

/// Chooses a model of the catalogue. It follows the listbox pattern with the browser's own `select`, as every list of
/// the page does: <https://www.w3.org/WAI/ARIA/apg/patterns/listbox/>.
#[component]
pub fn ModelPicker(
    /// Unique on the page.
    id: &'static str,
    /// The shared state.
    state: State,
) -> impl IntoView {
    let rows = |group: ModelGroup| MODELS.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    let groups = ModelGroup::ALL.iter().map(|group| (group.label(), rows(*group).collect())).collect();
    let current = |scenario: &Scenario| catalogue::model_row_of(scenario).map(|(row, edited)| (row.slug, edited));
    let pick = |scenario: Scenario, slug: &str| catalogue::model(slug).map_or(scenario, |row| row.apply(scenario));
    row_picker(state, id, "Model", groups, current, pick)
}

/// Chooses a device of the catalogue, in the same way.
#[component]
pub fn DevicePicker(
    /// Unique on the page.
    id: &'static str,
    /// The shared state.
    state: State,
) -> impl IntoView {
    let rows =
        |group: DeviceGroup| DEVICES.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    let groups = DeviceGroup::ALL.iter().map(|group| (group.label(), rows(*group).collect())).collect();
    let current = |scenario: &Scenario| catalogue::device_row_of(scenario).map(|(row, edited)| (row.slug, edited));
    let pick = |scenario: Scenario, slug: &str| catalogue::device(slug).map_or(scenario, |row| row.apply(scenario));
    row_picker(state, id, "GPU", groups, current, pick)
}

/// A list of rows. `current` finds the chosen one and whether any of its numbers is changed; numbers that are those of
/// no row are "your own".
fn row_picker(
    state: State,
    id: &'static str,
    label: &'static str,
    groups: Vec<Group>,
    current: fn(&Scenario) -> Option<(&'static str, bool)>,
    pick: fn(Scenario, &str) -> Scenario,
) -> impl IntoView {
    // A list has many options: they look at this and not at the whole scenario.
    let current = Memo::new(move |_| state.asked(current));
    let chosen = move || current.get().map_or("", |(slug, _)| slug);
    let first = current.get_untracked().map(|(slug, _)| slug);
    let option = |(slug, name): (&'static str, &'static str)| {
        let mark = move || if current.get() == Some((slug, true)) { " (edited)" } else { "" };
        view! { <option value=slug selected=first == Some(slug)>{move || format!("{name}{}", mark())}</option> }
    };
    let group = |(heading, rows): Group| {
        view! { <optgroup label=heading>{rows.into_iter().map(option).collect_view()}</optgroup> }
    };
    let picked = move |event| {
        let slug = event_target_value(&event);
        state.change(|scenario| pick(scenario, &slug));
    };
    view! {
        <div
            class="field"
            data-changed=move || current.get().is_none_or(|(_, edited)| edited).to_string()
        >
            <label for=id>{label}</label>
            <div class="field-row">
                <select id=id prop:value=chosen on:change=picked>
                    <option value="" hidden=move || current.get().is_some()>"Your own"</option>
                    {groups.into_iter().map(group).collect_view()}
                </select>
            </div>
        </div>
    }
}

#[cfg(all(test, feature = "prerender"))]
mod tests {
    use super::*;
    use bmax::Field;

    fn rendered(scenario: Scenario) -> String {
        Owner::new().with(|| {
            let state = State::of(scenario);
            view! { <ModelPicker id="model" state/> <DevicePicker id="gpu" state/> }.to_html()
        })
    }

    #[test]
    fn every_row_of_the_catalogue_can_be_chosen_and_the_default_is() {
        let html = rendered(Scenario::default());
        for slug in MODELS.iter().map(|row| row.slug).chain(DEVICES.iter().map(|row| row.slug)) {
            assert_eq!(html.matches(&format!("value=\"{slug}\"")).count(), 1, "{slug}");
        }
        assert_eq!(html.matches(" selected").count(), 2, "{html}");
    }

    #[test]
    fn a_row_with_another_number_says_that_it_is_edited() -> Result<(), bmax::InputError> {
        let layers = Scenario::default().with_number(Field::Layers, 41.0)?;
        assert!(rendered(layers).contains("7B (edited)"));
        assert!(!rendered(Scenario::default()).contains("(edited)"));
        Ok(())
    }
}
