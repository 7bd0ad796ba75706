//! A number that is typed.

use bmax::number;
use leptos::prelude::*;

use super::ResetButton;
use crate::site::{FieldHandle, format};

/// What a field for a number asks, and where the number lives.
#[derive(Clone)]
pub struct NumberInput {
    /// Its name.
    pub name: &'static str,
    /// Its symbol; what follows an underscore is a subscript.
    pub symbol: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Whether it is a whole number.
    pub whole: bool,
    /// What it takes, in words.
    pub range: String,
    /// Its value.
    pub value: Signal<f64>,
    /// The value it has when nobody changed it.
    pub default: Signal<f64>,
    /// How the field shows it.
    pub written: fn(f64) -> String,
    /// Writes what was typed; a refused text lets the default stand in and comes back as the message to show.
    pub write: Callback<String, Result<(), String>>,
}

impl From<FieldHandle> for NumberInput {
    fn from(FieldHandle { field, value, default, write }: FieldHandle) -> Self {
        let bound = field.bound();
        Self {
            name: bound.name,
            symbol: bound.symbol,
            unit: bound.unit,
            whole: bound.whole,
            range: bound.to_string(),
            value,
            default,
            written: format::input,
            write: Callback::new(move |text| write.run(text).map_err(|problem| problem.to_string())),
        }
    }
}

impl NumberInput {
    /// A number that only its figure knows, from `from` to `to`; `default` stands in for what is outside.
    pub fn of(name: &'static str, ends: (f64, f64), default: f64, value: RwSignal<f64>) -> Self {
        Self::between(name, false, ends, default, value)
    }

    /// A whole number of the same kind.
    pub fn whole(name: &'static str, ends: (f64, f64), default: f64, value: RwSignal<f64>) -> Self {
        Self::between(name, true, ends, default, value)
    }

    fn between(name: &'static str, whole: bool, (from, to): (f64, f64), default: f64, value: RwSignal<f64>) -> Self {
        let kind = if whole { "a whole number" } else { "a number" };
        let range = format!("{kind} from {} to {}", number::grouped(from), number::grouped(to));
        let told = range.clone();
        let write = move |text: String| match number::parse(&text) {
            Ok(number) if number >= from && number <= to && !(whole && number.fract() != 0.0) => {
                value.set(number);
                Ok(())
            }
            _ => {
                value.set(default);
                Err(format!("{name}: {told}, please."))
            }
        };
        Self {
            name,
            symbol: "",
            unit: "",
            whole,
            range,
            value: value.into(),
            default: Signal::derive(move || default),
            // Nothing is converted, so that every digit was typed.
            written: number::grouped,
            write: Callback::new(write),
        }
    }
}

/// What somebody is typing, and the value that stands for it meanwhile.
///
/// The text is shown only while that value is still the current one: when a preset or another
/// control changes the value, the draft is out of date by itself and no signal has to be synchronised.
#[derive(Clone, PartialEq)]
struct Draft {
    text: String,
    stands_for: f64,
    problem: Option<String>,
}

/// A text field for a number, with its range, its unit, a mark when it differs from the default and a message
/// for anything it cannot accept. Label, help and message hang on the field, as WCAG's technique for errors
/// asks: <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA21>.
///
/// It is a text field because `type=number` silently drops what it cannot read, so that neither a pasted
/// "1,024" nor a message about "abc" would be possible.
#[component]
pub fn NumberField(
    /// What is asked.
    #[prop(into)]
    input: NumberInput,
    /// Unique on the page.
    #[prop(into)]
    id: String,
    /// The sentence below the field.
    #[prop(optional, into)]
    help: Signal<&'static str>,
    /// Whether nothing reads the number as things stand; the sentence says why, and the field is drawn fainter.
    #[prop(optional, into)]
    idle: Signal<bool>,
    /// Whether the field is out of sight, unless there is something to say about what was typed.
    #[prop(optional, into)]
    hidden: Signal<bool>,
) -> impl IntoView {
    let NumberInput { name, symbol, unit, whole, range, value, default, written, write } = input;
    let draft = RwSignal::new(None::<Draft>);
    let current = move || draft.get().filter(|draft| draft.stands_for == value.get());
    let problem = move || current().and_then(|draft| draft.problem);
    let message = move || {
        problem().map_or_else(String::new, |problem| format!("{problem} Until then {} is used.", written(value.get())))
    };
    let typed = move |event| {
        let text = event_target_value(&event);
        let problem = write.run(text.clone()).err();
        draft.set(Some(Draft { text, stands_for: value.get_untracked(), problem }));
    };
    // A finished, accepted entry is shown as every other value is.
    let finished = move |_| draft.update(|draft| *draft = draft.take().filter(|draft| draft.problem.is_some()));
    let reset = move |()| {
        draft.set(None);
        _ = write.run(number::plain(default.get_untracked()));
    };
    let changed = Signal::derive(move || value.get() != default.get());
    let error = format!("{id}-error");
    // As a property the message leaves the paragraph empty while there is none, by which the style sheet hides it.
    view! {
        <div
            class="field"
            class:field-idle=move || idle.get()
            hidden=move || hidden.get() && problem().is_none()
            data-changed=move || changed.get().to_string()
        >
            <label for=id.clone()>{name} " " {letter(symbol)}</label>
            <div class="field-row">
                <input
                    id=id.clone()
                    type="text"
                    inputmode=if whole { "numeric" } else { "decimal" }
                    autocomplete="off"
                    spellcheck="false"
                    aria-describedby=format!("{id}-help {error}")
                    aria-invalid=move || problem().is_some().to_string()
                    value=written(value.get_untracked())
                    prop:value=move || current().map_or_else(|| written(value.get()), |draft| draft.text)
                    on:input=typed
                    on:change=finished
                />
                {(!unit.is_empty()).then(|| view! { <span class="unit">{unit}</span> })}
                <ResetButton name changed default=Signal::derive(move || written(default.get())) reset/>
            </div>
            <p class="field-help" id=format!("{id}-help")>
                {move || help.get()} <span class="visually-hidden">" Takes " {range} "."</span>
            </p>
            <p class="field-error" id=error role="alert" prop:textContent=message></p>
        </div>
    }
}

/// A symbol, where there is one.
fn letter(symbol: &'static str) -> impl IntoView {
    let (base, index) = symbol.split_once('_').unwrap_or((symbol, ""));
    (!base.is_empty()).then(|| view! { <i>{base}</i> {(!index.is_empty()).then(|| view! { <sub>{index}</sub> })} })
}
