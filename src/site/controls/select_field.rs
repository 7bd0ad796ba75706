use leptos::prelude::*;

use super::super::SettingHandle;
use super::super::dom::{El, el, value_of};
use super::number_field::reset_button;

/// A drop-down list for an input with a closed list of values, and below it a sentence that follows
/// what it reads. `id` is unique on the page.
pub fn select_field(handle: SettingHandle, id: &str, help: Box<dyn Fn() -> &'static str>) -> El {
    let SettingHandle { name, options, value, default, write } = handle;
    let changed = move || value.get() != default.get();
    let label_of_default = move || handle.option(default.get()).map_or("", |option| option.label).to_owned();
    let choices = options.iter().map(|option| el("option").attr("value", option.key).text(option.label)).collect();
    let list = el("select")
        .attr("id", id)
        .attr("aria-describedby", &format!("{id}-help"))
        .children(choices)
        .property("value", move || value.get().to_owned())
        .on("change", move |event| write.run(value_of(&event)));
    let reset = move || write.run(default.get_untracked().to_owned());
    let row = el("div").class("field-row").child(list).child(reset_button(name, changed, label_of_default, reset));
    let sentence = el("p").class("field-help").attr("id", &format!("{id}-help"));
    el("div")
        .class("field")
        .bind("data-changed", move || changed().to_string())
        .child(el("label").attr("for", id).text(name))
        .child(row)
        .child(sentence.bind_text(move || help().to_owned()))
}

/// A heading inside a list, and the values and labels below it.
pub type OptionGroup = (&'static str, Vec<(&'static str, &'static str)>);

/// A drop-down list of catalogue rows in groups. `value` is the chosen row, empty for numbers that are
/// those of no row, and `edited` the same row while any of its numbers is changed.
pub fn picker(
    id: &str,
    label: &'static str,
    groups: Vec<OptionGroup>,
    value: Signal<&'static str>,
    edited: Signal<&'static str>,
    on_pick: Box<dyn Fn(String)>,
) -> El {
    let option = |(key, name): (&'static str, &'static str)| {
        let mark = move || if edited.get() == key { " (edited)" } else { "" };
        el("option").attr("value", key).bind_text(move || format!("{name}{}", mark()))
    };
    let group = |(heading, rows): OptionGroup| {
        el("optgroup").attr("label", heading).children(rows.into_iter().map(option).collect())
    };
    let own = el("option").attr("value", "").text("Your own").toggle("hidden", move || !value.get().is_empty());
    let list = el("select")
        .attr("id", id)
        .child(own)
        .children(groups.into_iter().map(group).collect())
        .property("value", move || value.get().to_owned())
        .on("change", move |event| on_pick(value_of(&event)));
    el("div")
        .class("field")
        .bind("data-changed", move || (value.get().is_empty() || !edited.get().is_empty()).to_string())
        .child(el("label").attr("for", id).text(label))
        .child(el("div").class("field-row").child(list))
}
