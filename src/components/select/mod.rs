//! A choice from a list that opens.

use bmax::number;
use leptos::prelude::*;

use super::{Model, ResetButton};
use crate::site::SettingHandle;

/// A list that opens, with its name above it. It follows the listbox pattern with the browser's own `select`:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/listbox/>.
#[component]
pub fn Select<T: Clone + PartialEq + Send + Sync + 'static>(
    /// Unique on the page.
    id: &'static str,
    /// The name of the choice.
    label: &'static str,
    /// The values in their order, each with its label.
    options: impl IntoIterator<Item = (T, &'static str)>,
    /// The chosen value.
    #[prop(into)]
    value: Model<T>,
    /// A sentence below the list.
    #[prop(optional, into)]
    help: Signal<String>,
) -> impl IntoView {
    let (values, labels): (Vec<T>, Vec<&'static str>) = options.into_iter().unzip();
    let values = StoredValue::new(values);
    let position = move || values.with_value(|values| values.iter().position(|one| *one == value.get())).unwrap_or(0);
    let pick = move |at: usize| {
        if let Some(picked) = values.with_value(|values| values.get(at).cloned()) {
            value.set(picked);
        }
    };
    view! {
        <div class="field">
            <label for=id>{label}</label>
            <div class="field-row">
                {list(id.to_owned(), labels, Signal::derive(position), Callback::new(pick))}
            </div>
            <p class="field-help" id=format!("{id}-help")>{move || help.get()}</p>
        </div>
    }
}

/// The list of an input of the scenario, with a mark where it differs from its default, the way back, and a
/// sentence on what the chosen value changes.
#[component]
pub fn SettingField(
    /// The input.
    handle: SettingHandle,
    /// Unique on the page.
    #[prop(into)]
    id: String,
    /// The sentence, where it is another one.
    #[prop(optional, into)]
    help: Option<Signal<&'static str>>,
) -> impl IntoView {
    let SettingHandle { name, options, value, default, write } = handle;
    let changed = Signal::derive(move || value.get() != default.get());
    let label_of_default =
        Signal::derive(move || handle.option(default.get()).map_or("", |option| option.label).to_owned());
    let position = move || options.iter().position(|option| option.key == value.get()).unwrap_or(0);
    let pick = move |at: usize| {
        if let Some(option) = options.get(at) {
            write.run(option.key.to_owned());
        }
    };
    let labels = options.iter().map(|option| option.label).collect();
    let reset = move |()| write.run(default.get_untracked().to_owned());
    let sentence = move || help.map_or_else(|| handle.effect(), |help| help.get());
    view! {
        <div class="field" data-changed=move || changed.get().to_string()>
            <label for=id.clone()>{name}</label>
            <div class="field-row">
                {list(id.clone(), labels, Signal::derive(position), Callback::new(pick))}
                <ResetButton name changed default=label_of_default reset/>
            </div>
            <p class="field-help" id=format!("{id}-help")>{sentence}</p>
        </div>
    }
}

/// The list itself. Options go by their place in it, so that this is compiled once for all types of values.
fn list(id: String, labels: Vec<&'static str>, chosen: Signal<usize>, pick: Callback<usize>) -> impl IntoView {
    let first = chosen.get_untracked();
    let option = |(at, label): (usize, &'static str)| {
        view! { <option value=at.to_string() selected=at == first>{label}</option> }
    };
    let picked = move |event| {
        if let Ok(at) = number::parse(&event_target_value(&event)) {
            pick.run(at as usize);
        }
    };
    view! {
        <select
            aria-describedby=format!("{id}-help")
            id=id
            prop:value=move || chosen.get().to_string()
            on:change=picked
        >
            {labels.into_iter().enumerate().map(option).collect_view()}
        </select>
    }
}
