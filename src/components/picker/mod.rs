//! The lists of the catalogue, wherever the reader can choose a model or a GPU.

use std::iter;

use bmax::catalogue::{self, DEVICES, DeviceGroup, DeviceRow, MODELS, ModelGroup};
use bmax::{Origin, Scenario};
use leptos::prelude::*;

use super::select::{Group, Row, list};
use crate::site::State;

/// Chooses a model of the catalogue. It follows the listbox pattern with the browser's own `select`, as every list of
/// the page does: <https://www.w3.org/WAI/ARIA/apg/patterns/listbox/>.
#[component]
pub fn ModelPicker(
    /// Unique on the page.
    id: &'static str,
    /// The shared state.
    state: State,
) -> impl IntoView {
    let current = |scenario: &Scenario| match catalogue::model_row_of(scenario) {
        Some((row, edited)) => (row.slug, mark(edited)),
        None if scenario.model.origin == Origin::Unknown => ("", " (which one is not known)"),
        None => ("", ""),
    };
    let pick = |scenario: Scenario, slug: &str| catalogue::model(slug).map_or(scenario, |row| row.apply(scenario));
    row_picker(state, id, "Model", models(), current, pick)
}

/// Chooses a device of the catalogue, in the same way.
#[component]
pub fn DevicePicker(
    /// Unique on the page.
    id: &'static str,
    /// The shared state.
    state: State,
) -> impl IntoView {
    let current = |scenario: &Scenario| match catalogue::device_row_of(scenario) {
        Some((row, edited)) => (row.slug, mark(edited)),
        None => ("", ""),
    };
    let pick = |scenario: Scenario, slug: &str| catalogue::device(slug).map_or(scenario, |row| taken(row, scenario));
    row_picker(state, id, "GPU", devices(), current, pick)
}

/// The scenario on GPUs of this row. Whoever takes a card for a desk has one of them; accelerators for servers stay as many
/// as they were.
fn taken(row: &DeviceRow, scenario: Scenario) -> Scenario {
    let mut with = row.apply(scenario);
    if row.group != DeviceGroup::DataCentre {
        with.cluster.gpus = 1;
    }
    with
}

/// The models of the catalogue by family, and numbers that are those of none.
fn models() -> Vec<Group> {
    let rows = |group| MODELS.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    with_own(ModelGroup::ALL.iter().map(|group| (group.label(), rows(*group).map(row).collect())))
}

/// The devices of the catalogue by maker, and numbers that are those of none.
fn devices() -> Vec<Group> {
    let rows = |group| DEVICES.iter().filter(move |row| row.group == group).map(|row| (row.slug, row.name));
    with_own(DeviceGroup::ALL.iter().map(|group| (group.label(), rows(*group).map(row).collect())))
}

fn with_own(groups: impl Iterator<Item = Group>) -> Vec<Group> {
    iter::once(("", vec![row(("", "Your own"))])).chain(groups).collect()
}

fn row((word, label): (&'static str, &'static str)) -> Row {
    (word.to_owned(), label.into())
}

/// What stands behind the name of a row of which a number is changed.
const fn mark(edited: bool) -> &'static str {
    if edited { " (edited)" } else { "" }
}

/// A list of rows. `current` finds the word of the chosen one, which is empty where it is none, and what is to be said
/// behind its name.
fn row_picker(
    state: State,
    id: &'static str,
    label: &'static str,
    groups: Vec<Group>,
    current: fn(&Scenario) -> (&'static str, &'static str),
    pick: fn(Scenario, &str) -> Scenario,
) -> impl IntoView {
    // A list has many options: they look at this and not at the whole scenario.
    let current = Memo::new(move |_| state.asked(current));
    let chosen = Signal::derive(move || {
        let (slug, behind) = current.get();
        (slug.to_owned(), behind)
    });
    let pick = Callback::new(move |slug: String| state.change(|scenario| pick(scenario, &slug)));
    view! {
        <div
            class="field"
            data-changed=move || {
                let (slug, behind) = current.get();
                slug.is_empty() || !behind.is_empty()
            }.to_string()
        >
            <label for=id>{label}</label>
            <div class="field-row">{list(id.to_owned(), None, groups, chosen, pick)}</div>
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
    fn a_list_has_its_chosen_row_before_the_reader_comes_to_it() {
        let html = rendered(Scenario::workshop());
        let has = |word| html.contains(&format!("<option value=\"{word}\" selected>"));
        assert!(has("7b") && has("a100-80") && html.matches("<option").count() == 2, "{html}");
    }

    #[test]
    fn every_row_of_the_catalogue_stands_under_a_heading_once_beside_your_own() {
        for (groups, rows) in [(models(), MODELS.len()), (devices(), DEVICES.len())] {
            let mut words: Vec<_> = groups.into_iter().flat_map(|(_, rows)| rows).collect();
            assert_eq!(words.len(), rows + 1);
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), rows + 1);
        }
    }

    #[test]
    fn whoever_takes_a_card_for_a_desk_takes_one() {
        for row in DEVICES {
            let with = taken(row, Scenario::workshop());
            let wanted = if row.group == DeviceGroup::DataCentre { 8 } else { 1 };
            assert_eq!((with.device.origin, with.cluster.gpus), (row.slug, wanted), "{}", row.name);
        }
    }

    #[test]
    fn a_row_with_another_number_says_that_it_is_edited() -> Result<(), bmax::InputError> {
        let layers = Scenario::workshop().with_number(Field::Layers, 41.0)?;
        assert!(rendered(layers).contains("7B (edited)"));
        assert!(!rendered(Scenario::workshop()).contains("(edited)"));
        Ok(())
    }
}
