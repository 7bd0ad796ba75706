use bmax::ChoiceOption;
use leptos::prelude::*;

use super::super::SettingHandle;
use super::super::dom::{El, el};

/// A row of radio buttons for an input with a few values, and below it a sentence on what the chosen one
/// changes. `id` is unique on the page.
pub fn segmented(handle: SettingHandle, id: &'static str) -> El {
    let SettingHandle { name, options, value, default, write } = handle;
    let segment = |choice: &'static ChoiceOption| {
        let word = choice.key;
        let radio = el("input")
            .attr("type", "radio")
            .attr("name", id)
            .attr("value", word)
            .flag("checked", move || value.get() == word)
            .on("change", move |_| write.run(word.to_owned()));
        el("label").child(radio).child(el("span").text(choice.label))
    };
    let effect = el("p").class("field-help").attr("aria-live", "polite");
    el("fieldset")
        .class("segmented")
        .attr("id", id)
        .bind("data-changed", move || (value.get() != default.get()).to_string())
        .child(el("legend").text(name))
        .child(el("div").class("segmented-options").children(options.iter().map(segment).collect()))
        .child(effect.bind_text(move || handle.effect().to_owned()))
}
