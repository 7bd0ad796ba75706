//! An input of the scenario that is picked from a list.

use leptos::prelude::*;

use super::ResetButton;
use super::select::list;
use crate::site::SettingHandle;

/// The list of an input of the scenario, with a mark where it differs from its default, the way back, and a
/// sentence on what the chosen value changes. It follows the listbox pattern as a [`Select`](super::Select) does.
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
    let SettingHandle { setting, value, default, write, .. } = handle;
    let (name, options) = (setting.name, setting.options);
    let changed = Signal::derive(move || value.get() != default.get());
    let label_of_default =
        Signal::derive(move || handle.option(default.get()).map_or("", |option| option.label).to_owned());
    let chosen = Signal::derive(move || value.get().to_owned());
    let options = options.iter().map(|option| (option.key.to_owned(), option.label.into())).collect();
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
                {list(id.clone(), format!("{id}-help"), options, chosen, write)}
                <ResetButton name changed default=label_of_default reset/>
            </div>
            <p class="field-help" id=format!("{id}-help")>{sentence}</p>
        </div>
    }
}
