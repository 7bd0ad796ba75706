//! A choice from a list that opens.

use std::borrow::Cow;

use bmax::number;
use leptos::prelude::*;

use super::Model;

/// A list that opens, with its name above it. It follows the listbox pattern with the browser's own `select`:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/listbox/>.
#[component]
pub fn Select<T: Clone + PartialEq + Send + Sync + 'static, L: Into<Cow<'static, str>>>(
    /// Unique on the page.
    id: &'static str,
    /// The name of the choice.
    label: &'static str,
    /// The values in their order, each with its label.
    options: impl IntoIterator<Item = (T, L)>,
    /// The chosen value.
    #[prop(into)]
    value: Model<T>,
    /// A sentence below the list.
    #[prop(optional, into)]
    help: Signal<String>,
) -> impl IntoView {
    let (values, labels): (Vec<T>, Vec<_>) = options.into_iter().map(|(value, label)| (value, label.into())).unzip();
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

/// The list itself. Options go by their place in it, so that this is compiled once for all types of values.
pub(super) fn list(
    id: String,
    labels: Vec<Cow<'static, str>>,
    chosen: Signal<usize>,
    pick: Callback<usize>,
) -> impl IntoView {
    let first = chosen.get_untracked();
    let option = |(at, label): (usize, Cow<'static, str>)| {
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
