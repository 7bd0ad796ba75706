use bmax::{InputError, number};
use leptos::prelude::*;

use super::super::dom::{El, el, value_of};
use super::super::{FieldHandle, format};

/// What somebody is typing, and the value that stands for it meanwhile.
///
/// The text is shown only while that value is still the current one: when a preset or another
/// control changes the value, the draft is out of date by itself and no signal has to be synchronised.
#[derive(Clone, PartialEq)]
struct Draft {
    text: String,
    stands_for: f64,
    problem: Option<InputError>,
}

/// A text field for a number, with its range, its unit, a mark when it differs from the default and
/// a message for anything it cannot accept. `id` is unique on the page; label, help and message hang
/// on it. With `explained` the sentence on what the field is stands below it.
///
/// It is a text field because `type=number` silently drops what it cannot read, so that neither a
/// pasted "1,024" nor a message about "abc" would be possible.
pub fn number_field(handle: FieldHandle, id: &str, explained: bool) -> El {
    let help = if explained { handle.field.bound().help } else { "" };
    number_field_with_help(handle, id, Box::new(move || help))
}

/// The same with a sentence below it that follows what it reads.
pub fn number_field_with_help(handle: FieldHandle, id: &str, help: Box<dyn Fn() -> &'static str>) -> El {
    let FieldHandle { field, value, default, write } = handle;
    let bound = field.bound();
    let draft = RwSignal::new(None::<Draft>);
    let reset = move || {
        draft.set(None);
        _ = write.run(number::plain(default.get_untracked()));
    };
    let label = el("label").attr("for", id).text(bound.name).text(" ");
    let changed = move || value.get() != default.get();
    let row = el("div")
        .class("field-row")
        .child(input(handle, id, draft))
        .child(el("span").class("unit").text(bound.unit))
        .child(reset_button(bound.name, changed, move || format::input(default.get()), reset));
    let sentence = el("p").class("field-help").attr("id", &format!("{id}-help"));
    let takes = el("span").class("visually-hidden").text(&format!(" Takes {bound}."));
    let error = el("p").class("field-error").attr("id", &format!("{id}-error")).attr("role", "alert");
    el("div")
        .class("field")
        .bind("data-changed", move || changed().to_string())
        .child(symbol(label, bound.symbol))
        .child(row)
        .child(sentence.bind_text(move || help().to_owned()).child(takes))
        .child(error.bind_text(move || message(draft, value)))
}

/// A label with its symbol; what follows an underscore is a subscript.
fn symbol(label: El, symbol: &'static str) -> El {
    let (base, index) = symbol.split_once('_').unwrap_or((symbol, ""));
    let subscript = (!index.is_empty()).then(|| el("sub").text(index));
    label.child(el("i").text(base).maybe(subscript))
}

/// The draft, while it is the current value that it stands for.
fn current(draft: RwSignal<Option<Draft>>, value: Signal<f64>) -> Option<Draft> {
    draft.get().filter(|draft| draft.stands_for == value.get())
}

/// What is wrong with the draft, and what is used instead; nothing when nothing is wrong.
fn message(draft: RwSignal<Option<Draft>>, value: Signal<f64>) -> String {
    let problem = current(draft, value).and_then(|draft| draft.problem);
    problem.map_or_else(String::new, |problem| format!("{problem} Until then {} is used.", format::input(value.get())))
}

fn input(handle: FieldHandle, id: &str, draft: RwSignal<Option<Draft>>) -> El {
    let FieldHandle { field, value, write, .. } = handle;
    let shown = move || current(draft, value).map_or_else(|| format::input(value.get()), |draft| draft.text);
    let is_wrong = move || current(draft, value).is_some_and(|draft| draft.problem.is_some());
    el("input")
        .attr("id", id)
        .attr("type", "text")
        .attr("inputmode", if field.bound().whole { "numeric" } else { "decimal" })
        .attr("autocomplete", "off")
        .attr("spellcheck", "false")
        .attr("aria-describedby", &format!("{id}-help {id}-error"))
        .bind("aria-invalid", move || is_wrong().to_string())
        .property("value", shown)
        .on("input", move |event| {
            let text = value_of(&event);
            let problem = write.run(text.clone()).err();
            draft.set(Some(Draft { text, stands_for: value.get_untracked(), problem }));
        })
        // A finished, accepted entry is shown as every other value is.
        .on("change", move |_| draft.update(|draft| *draft = draft.take().filter(|draft| draft.problem.is_some())))
}

/// Brings one control back to its default; it keeps its place when there is nothing to reset, so
/// that the field does not change its width.
pub fn reset_button(
    name: &'static str,
    changed: impl Fn() -> bool + Copy + 'static,
    default: impl Fn() -> String + Copy + 'static,
    reset: impl Fn() + 'static,
) -> El {
    let label = move || format!("Reset {name} to {}", default());
    el("button")
        .attr("type", "button")
        .class("button button-quiet button-small reset")
        .toggle_class("reset-idle", move || !changed())
        .toggle("disabled", move || !changed())
        .bind("aria-label", label)
        .bind("title", label)
        .on("click", move |_| reset())
        .child(el("span").attr("aria-hidden", "true").text("↺"))
}
