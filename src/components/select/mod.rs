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
    let chosen = move || {
        let position = values.with_value(|values| values.iter().position(|one| *one == value.get()));
        position.unwrap_or(0).to_string()
    };
    let pick = move |word: String| {
        let picked = number::parse(&word).ok().and_then(|at| values.with_value(|all| all.get(at as usize).cloned()));
        if let Some(picked) = picked {
            value.set(picked);
        }
    };
    let options = labels.into_iter().enumerate().map(|(at, label)| (at.to_string(), label)).collect();
    view! {
        <div class="field">
            <label for=id>{label}</label>
            <div class="field-row">
                {list(id.to_owned(), options, Signal::derive(chosen), Callback::new(pick))}
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
    /// Whether nothing reads the input as things stand; the sentence says why, and the list is drawn fainter.
    #[prop(optional, into)]
    idle: Signal<bool>,
    /// Whether the list is out of sight.
    #[prop(optional, into)]
    hidden: Signal<bool>,
) -> impl IntoView {
    let SettingHandle { name, options, value, default, write } = handle;
    let changed = Signal::derive(move || value.get() != default.get());
    let label_of_default =
        Signal::derive(move || handle.option(default.get()).map_or("", |option| option.label).to_owned());
    let chosen = Signal::derive(move || value.get().to_owned());
    let options = options.iter().map(|option| (option.key.to_owned(), option.label)).collect();
    let reset = move |()| write.run(default.get_untracked().to_owned());
    let sentence = move || help.map_or_else(|| handle.effect(), |help| help.get());
    view! {
        <div
            class="field"
            class:field-idle=move || idle.get()
            hidden=move || hidden.get()
            data-changed=move || changed.get().to_string()
        >
            <label for=id.clone()>{name}</label>
            <div class="field-row">
                {list(id.clone(), options, chosen, write)}
                <ResetButton name changed default=label_of_default reset/>
            </div>
            <p class="field-help" id=format!("{id}-help")>{sentence}</p>
        </div>
    }
}

/// The list itself. Options go by words, so that this is compiled once for all types of values.
fn list(
    id: String,
    options: Vec<(String, &'static str)>,
    chosen: Signal<String>,
    pick: Callback<String>,
) -> impl IntoView {
    let first = chosen.get_untracked();
    let option = |(word, label): (String, &'static str)| {
        let selected = word == first;
        view! { <option value=word selected=selected>{label}</option> }
    };
    view! {
        <select
            aria-describedby=format!("{id}-help")
            id=id
            prop:value=move || chosen.get()
            on:change=move |event| pick.run(event_target_value(&event))
        >
            {options.into_iter().map(option).collect_view()}
        </select>
    }
}
