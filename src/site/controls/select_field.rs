use leptos::prelude::*;

use super::super::SettingHandle;
use super::number_field::ResetButton;

/// A drop-down list for an input with a closed list of values; the chosen value says what it changes.
#[component]
pub fn SelectField(
    /// The input to edit.
    handle: SettingHandle,
    /// Unique on the page.
    id: &'static str,
) -> impl IntoView {
    let SettingHandle { name, options, value, default, write } = handle;
    let changed = move || value.get() != default.get();
    let choices = options.iter().map(|choice| {
        view! { <option value=choice.key selected=move || value.get() == choice.key>{choice.label}</option> }
    });
    let default_label = move || handle.option(default.get()).map_or("", |choice| choice.label).to_owned();
    view! {
        <div class="field" data-changed=move || changed().to_string()>
            <label for=id>{name}</label>
            <div class="field-row">
                <select id=id aria-describedby=format!("{id}-help") prop:value=value on:change:target=move |event| write.run(event.target().value())>
                    {choices.collect_view()}
                </select>
                <ResetButton name shown=Signal::derive(changed) default=Signal::derive(default_label)
                    on_reset=Callback::new(move |()| write.run(default.get_untracked().to_owned())) />
            </div>
            <p class="field-help" id=format!("{id}-help")>{move || handle.effect()}</p>
        </div>
    }
}

/// A heading inside a list, and the values and labels below it.
pub type OptionGroup = (&'static str, Vec<(&'static str, &'static str)>);

/// A drop-down list of catalogue rows in groups, with an entry for what is in no row.
#[component]
pub fn Picker(
    /// Unique on the page.
    id: &'static str,
    /// The visible label.
    label: &'static str,
    /// The rows.
    groups: Vec<OptionGroup>,
    /// The chosen row.
    #[prop(into)]
    value: Signal<&'static str>,
    /// Whether the row's numbers were edited since it was chosen.
    #[prop(into)]
    edited: Signal<bool>,
    /// Chooses a row.
    on_pick: Callback<String>,
) -> impl IntoView {
    let group = |(heading, rows): OptionGroup| {
        let rows = rows
            .into_iter()
            .map(|(key, name)| {
                let label = move || {
                    if edited.get() && value.get() == key { format!("{name} (edited)") } else { name.to_owned() }
                };
                view! { <option value=key selected=move || value.get() == key>{label}</option> }
            })
            .collect_view();
        view! { <optgroup label=heading>{rows}</optgroup> }
    };
    view! {
        <div class="field" data-changed=move || edited.get().to_string()>
            <label for=id>{label}</label>
            <div class="field-row">
                <select id=id prop:value=value on:change:target=move |event| on_pick.run(event.target().value())>
                    {groups.into_iter().map(group).collect_view()}
                </select>
            </div>
        </div>
    }
}
