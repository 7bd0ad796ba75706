use bmax::{Problem, number};
use leptos::prelude::*;

use super::super::FieldHandle;
use super::super::format;

/// What somebody is typing, and the value that stands for it meanwhile.
///
/// The text is shown only while that value is still the current one: when a preset or another
/// control changes the value, the draft is out of date by itself and no signal has to be synchronised.
#[derive(Clone, PartialEq)]
struct Draft {
    text: String,
    stands_for: f64,
    problem: Option<Problem>,
}

/// A text field for a number, with its range, its unit, a mark when it differs from the default and
/// a message for anything it cannot accept.
///
/// It is a text field because `type=number` silently drops what it cannot read, so that neither a
/// pasted "1,024" nor a message about "abc" would be possible.
#[component]
pub fn NumberField(
    /// The input to edit.
    handle: FieldHandle,
    /// Unique on the page; label, help and message hang on it.
    id: &'static str,
    /// Whether the sentence on what the field is stands below it.
    #[prop(default = true)]
    explained: bool,
) -> impl IntoView {
    let FieldHandle { field, value, default, write } = handle;
    let bound = field.bound();
    let draft = RwSignal::new(None::<Draft>);
    let current = move || draft.get().filter(|draft| draft.stands_for == value.get());
    let shown = move || current().map_or_else(|| format::input(value.get()), |draft| draft.text);
    let problem = Memo::new(move |_| current().and_then(|draft| draft.problem).map(|problem| problem.to_string()));
    let changed = move || value.get() != default.get();
    let on_input = move |text: String| {
        let problem = write.run(text.clone()).err();
        draft.set(Some(Draft { text, stands_for: value.get_untracked(), problem }));
    };
    // A finished, accepted entry is shown as every other value is.
    let on_change = move |_| draft.update(|draft| *draft = draft.take().filter(|draft| draft.problem.is_some()));
    let reset = move || {
        draft.set(None);
        _ = write.run(number::plain(default.get_untracked()));
    };
    let label = match bound.symbol {
        "" | "%" => bound.name.to_owned(),
        symbol => format!("{} {symbol}", bound.name),
    };
    view! {
        <div class="field" data-changed=move || changed().to_string()>
            <label for=id>{label}</label>
            <div class="field-row">
                <input
                    id=id
                    type="text"
                    inputmode=if bound.whole { "numeric" } else { "decimal" }
                    autocomplete="off"
                    spellcheck="false"
                    aria-describedby=format!("{id}-help {id}-error")
                    aria-invalid=move || problem.with(Option::is_some).to_string()
                    prop:value=move || shown()
                    on:input:target=move |event| on_input(event.target().value())
                    on:change=on_change
                />
                <span class="unit">{bound.unit}</span>
                <ResetButton name=bound.name shown=Signal::derive(changed) default=Signal::derive(move || format::input(default.get())) on_reset=Callback::new(move |()| reset()) />
            </div>
            <p class="field-help" id=format!("{id}-help")>
                {explained.then_some(bound.help)}
                <span class="visually-hidden">{format!(" Takes {bound}.")}</span>
            </p>
            <p class="field-error" id=format!("{id}-error") role="alert">
                {move || problem.get().map(|problem| format!("{problem} Until then {} is used.", format::input(value.get())))}
            </p>
        </div>
    }
}

/// Brings one control back to its default; it keeps its place when there is nothing to reset, so
/// that the field does not change its width.
#[component]
pub fn ResetButton(
    /// The control's name.
    name: &'static str,
    /// Whether there is something to reset.
    shown: Signal<bool>,
    /// The default, as it is shown.
    default: Signal<String>,
    /// Brings it back.
    on_reset: Callback<()>,
) -> impl IntoView {
    let label = move || format!("Reset {name} to {}", default.get());
    view! {
        <button
            type="button"
            class="button button-quiet button-small reset"
            class:reset-idle=move || !shown.get()
            disabled=move || !shown.get()
            aria-label=move || label()
            title=move || label()
            on:click=move |_| on_reset.run(())
        >
            <span aria-hidden="true">"↺"</span>
        </button>
    }
}
