//! A choice among a few values that are all in sight.

use leptos::prelude::*;

use super::Model;

/// A row of radio buttons, one for each value. It follows the radio group pattern with the browser's own
/// radio buttons in a `fieldset`: <https://www.w3.org/WAI/ARIA/apg/patterns/radio/>.
#[component]
pub fn Segmented<T: Clone + PartialEq + Send + Sync + 'static>(
    /// The name of the choice, which stands above it.
    legend: &'static str,
    /// Unique on the page.
    id: &'static str,
    /// The values in their order, each with its label.
    options: impl IntoIterator<Item = (T, &'static str)>,
    /// The chosen value.
    #[prop(into)]
    value: Model<T>,
    /// One sentence on what the chosen value changes.
    #[prop(optional, into)]
    effect: Option<Signal<&'static str>>,
    /// Whether it is not the default, of what has one.
    #[prop(optional, into)]
    changed: Option<Signal<bool>>,
) -> impl IntoView {
    let (values, labels): (Vec<T>, Vec<&'static str>) = options.into_iter().unzip();
    let values = StoredValue::new(values);
    let position = move || values.with_value(|values| values.iter().position(|one| *one == value.get()));
    let pick = move |at: usize| {
        if let Some(picked) = values.with_value(|values| values.get(at).cloned()) {
            value.set(picked);
        }
    };
    // What follows is compiled once, and not once for each type of value.
    radio_buttons(legend, id, labels, Signal::derive(position), Callback::new(pick), effect, changed)
}

fn radio_buttons(
    legend: &'static str,
    id: &'static str,
    labels: Vec<&'static str>,
    chosen: Signal<Option<usize>>,
    pick: Callback<usize>,
    effect: Option<Signal<&'static str>>,
    changed: Option<Signal<bool>>,
) -> impl IntoView {
    let first = chosen.get_untracked();
    let option = |(at, label): (usize, &'static str)| {
        view! {
            <label>
                <input
                    type="radio"
                    name=id
                    checked=first == Some(at)
                    prop:checked=move || chosen.get() == Some(at)
                    on:change=move |_| pick.run(at)
                />
                <span>{label}</span>
            </label>
        }
    };
    view! {
        <fieldset class="segmented" id=id data-changed=move || changed.map(|changed| changed.get().to_string())>
            <legend>{legend}</legend>
            <div class="segmented-options">{labels.into_iter().enumerate().map(option).collect_view()}</div>
            {effect.map(|effect| view! { <p class="field-help" aria-live="polite">{move || effect.get()}</p> })}
        </fieldset>
    }
}
