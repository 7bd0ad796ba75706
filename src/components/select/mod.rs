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
    let (values, labels): (Vec<T>, Vec<L>) = options.into_iter().unzip();
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
    let options = labels.into_iter().enumerate().map(|(at, label)| (at.to_string(), label.into())).collect();
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

/// The list itself. Options go by words, so that this is compiled once for all types of values.
pub(super) fn list(
    id: String,
    options: Vec<(String, Cow<'static, str>)>,
    chosen: Signal<String>,
    pick: Callback<String>,
) -> impl IntoView {
    let first = chosen.get_untracked();
    let option = |(word, label): (String, Cow<'static, str>)| {
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
