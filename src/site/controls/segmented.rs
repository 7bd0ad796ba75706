use bmax::ChoiceOption;
use leptos::prelude::*;

use super::super::SettingHandle;

/// A row of radio buttons for an input with a few values, with a sentence on what the chosen one
/// changes.
#[component]
pub fn Segmented(
    /// The input to edit.
    handle: SettingHandle,
    /// Unique on the page.
    id: &'static str,
    /// Whether the sentence on the chosen value stands below.
    #[prop(default = true)]
    explained: bool,
) -> impl IntoView {
    let SettingHandle { name, options, value, default, write } = handle;
    let segment = move |choice: &'static ChoiceOption| {
        let word = choice.key;
        view! {
            <label>
                <input type="radio" name=id value=word prop:checked=move || value.get() == word on:change=move |_| write.run(word.to_owned()) />
                <span>{choice.label}</span>
            </label>
        }
    };
    view! {
        <fieldset class="segmented" id=id data-changed=move || (value.get() != default.get()).to_string()>
            <legend>{name}</legend>
            <div class="segmented-options">{options.iter().map(segment).collect_view()}</div>
            {explained.then(|| view! { <p class="field-help" aria-live="polite">{move || handle.effect()}</p> })}
        </fieldset>
    }
}
