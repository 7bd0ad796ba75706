use leptos::prelude::*;

use super::super::SettingHandle;
use super::super::dom::{El, el, value_of};
use super::number_field::reset_button;

/// A drop-down list for an input with a closed list of values; the chosen value says what it changes.
/// `id` is unique on the page.
pub fn select_field(handle: SettingHandle, id: &'static str) -> El {
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
    let help = el("p").class("field-help").attr("id", &format!("{id}-help"));
    el("div")
        .class("field")
        .bind("data-changed", move || changed().to_string())
        .child(el("label").attr("for", id).text(name))
        .child(row)
        .child(help.bind_text(move || handle.effect().to_owned()))
}

/// A heading inside a list, and the values and labels below it.
pub type OptionGroup = (&'static str, Vec<(&'static str, &'static str)>);

/// A drop-down list of catalogue rows in groups. `value` is the chosen row, and `edited` whether its
/// numbers were changed since it was chosen.
pub fn picker(
    id: &'static str,
    label: &'static str,
    groups: Vec<OptionGroup>,
    value: impl Fn() -> &'static str + Copy + 'static,
    edited: impl Fn() -> bool + Copy + 'static,
    on_pick: impl Fn(String) + 'static,
) -> El {
    let option = |(key, name): (&'static str, &'static str)| {
        let mark = move || if value() == key && edited() { " (edited)" } else { "" };
        el("option").attr("value", key).bind_text(move || format!("{name}{}", mark()))
    };
    let group = |(heading, rows): OptionGroup| {
        el("optgroup").attr("label", heading).children(rows.into_iter().map(option).collect())
    };
    let list = el("select")
        .attr("id", id)
        .children(groups.into_iter().map(group).collect())
        .property("value", move || value().to_owned())
        .on("change", move |event| on_pick(value_of(&event)));
    el("div")
        .class("field")
        .bind("data-changed", move || edited().to_string())
        .child(el("label").attr("for", id).text(label))
        .child(el("div").class("field-row").child(list))
}
