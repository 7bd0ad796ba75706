//! A number in each format, bit by bit.

mod shown;

use bmax::course::formats::FORMATS;
use leptos::prelude::*;

use crate::components::{Checkbox, DataTable, Key, Legend, Slider};
use crate::site::{State, derived, read};
use shown::{COLUMNS, Kept, NAMES, Shown, Typed};

/// Numbers to try: what the button says and what it puts into the field.
const EXAMPLES: [(&str, &str); 8] = [
    ("1/3", "0.3333333333333333"),
    ("0.001", "0.001"),
    ("1.001", "1.001"),
    ("65,520", "65520"),
    ("500", "500"),
    ("6e-8", "6e-8"),
    ("1e-8", "1e-8"),
    ("1e39", "1e39"),
];

/// Powers of ten on the axis; the style sheet knows their places.
const POWERS: [(&str, &str); 6] = [("10", "−45"), ("10", "−30"), ("10", "−15"), ("1", ""), ("10", "15"), ("10", "30")];

/// The parts of a bit pattern: what it is called to whoever hears it, the style sheet's name and the test's.
const PARTS: [(&str, &str, &str); 3] = [
    ("sign ", "bits-sign", "sign"),
    (", exponent ", "bits-exponent", "exponent"),
    (", fraction ", "bits-fraction", "fraction"),
];

static KEYS: [Key; 4] = [
    Key::new("bits-sign", "sign"),
    Key::new("bits-exponent", "exponent"),
    Key::new("bits-fraction", "fraction"),
    Key::new("format-legend", "range (hatched: fewer bits), and the number’s place"),
];

/// A number at a loss scale in five formats, and a weight that is updated in each of them.
#[component]
pub fn Formats(
    /// The shared state, of which nothing is asked.
    state: State,
) -> impl IntoView {
    _ = state;
    let number = RwSignal::new("0.001".to_owned());
    let update = RwSignal::new("0.001".to_owned());
    let scale = RwSignal::new(0.0);
    let saturate = RwSignal::new(true);
    let typed = Memo::new(move |_| number.with(|text| Typed::of(text, f64::MAX)));
    let added = Memo::new(move |_| update.with(|text| Typed::of(text, 1.0)));
    let shown = Memo::new(move |_| Shown::of(typed.get().value, added.get().value, scale.get(), saturate.get()));
    view! {
        <div class="live-controls">
            <div class="field">
                <Field
                    id="formats-number"
                    label="A number"
                    help="Any decimal number, such as 0.1 or 6e-8."
                    text=number
                    typed
                />
                <Examples number/>
            </div>
            <Scaling shown scale saturate/>
        </div>
        <Range shown/>
        <Legend keys=&KEYS/>
        <ul class="format-list">
            {(0..FORMATS.len()).map(|at| view! { <Item at shown/> }).collect_view()}
        </ul>
        <p class="format-axis" aria-hidden="true">
            {POWERS.map(|(base, power)| view! { <span>{base}<sup>{power}</sup></span> })}
        </p>
        <div class="formats-stall">
            <div class="field">
                <Field
                    id="formats-update"
                    label="A weight of 1 changes each time by"
                    help="From −1 to 1. In bf16 the next number after 1 is 0.0078 away. Less than half of that is lost, however often it is added."
                    text=update
                    typed=added
                />
            </div>
            <DataTable
                caption="The weight after changes that are added in its own format"
                name="updates"
                label="Changes added up in each format"
                columns=&COLUMNS
                rows=derived(shown, |shown| &shown.rows)
            />
        </div>
    }
}

/// A field for any decimal number. Its text stands as it was typed, so that 6e-8 is not spelt out; its help says
/// what it takes and turns into the message where it does not.
#[component]
fn Field(
    id: &'static str,
    label: &'static str,
    help: &'static str,
    text: RwSignal<String>,
    typed: Memo<Typed>,
) -> impl IntoView {
    let refused = move || typed.get().refused;
    let help_id = format!("{id}-help");
    view! {
        <label for=id>{label}</label>
        <input
            id=id
            inputmode="decimal"
            autocomplete="off"
            value=text.get_untracked()
            prop:value=move || text.get()
            aria-describedby=help_id.clone()
            aria-invalid=move || refused().to_string()
            on:input=move |event| text.set(event_target_value(&event))
        />
        <p class="field-help" class:field-error=refused id=help_id>{help}</p>
    }
}

/// Buttons that put a number into the field.
#[component]
fn Examples(number: RwSignal<String>) -> impl IntoView {
    let example = |(name, value): (&'static str, &'static str)| {
        let press = move |_| number.set(value.to_owned());
        view! { <button type="button" class="button button-quiet button-small" on:click=press>{name}</button> }
    };
    view! { <div class="button-row" role="group" aria-label="Numbers to try">{EXAMPLES.map(example)}</div> }
}

/// The loss scale, and what fp8 does with what is too large.
#[component]
fn Scaling(shown: Memo<Shown>, scale: RwSignal<f64>, saturate: RwSignal<bool>) -> impl IntoView {
    let k = read(shown, |shown| &shown.k);
    view! {
        <div class="formats-scale">
            <Slider id="formats-scale" value=scale ends=(0.0, 24.0) text=Signal::derive(k)>
                "Loss scale 2"<sup><i>"k"</i></sup>": "<i>"k"</i>" = "<span data-testid="k">{k}</span>
            </Slider>
            <Checkbox label="fp8 stops at its largest number" checked=saturate/>
        </div>
    }
}

/// What the formats get, and what of it fp16 keeps.
#[component]
fn Range(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note formats-note">
            "The formats get "<strong data-testid="scaled">{read(shown, |shown| &shown.scaled)}</strong>
            ". At this scale fp16 keeps gradients above "<strong>{read(shown, |shown| &shown.lowest)}</strong>
            ", in full from "<span>{read(shown, |shown| &shown.normal)}</span>", and overflows above "
            <strong>{read(shown, |shown| &shown.highest)}</strong>"."
        </p>
    }
}

/// The number in one format: what arrives, its bits, and where it stands in the format's range.
#[component]
fn Item(at: usize, shown: Memo<Shown>) -> impl IntoView {
    let key = FORMATS[at].key;
    let (name, class) = NAMES[at];
    let text = move |of: fn(&Kept) -> &String| move || shown.with(|shown| of(&shown.kept[at]).clone());
    let bits = |part: usize| {
        let (spoken, class, name) = PARTS[part];
        view! {
            <span class="visually-hidden">{spoken}</span>
            <span class=class data-testid=format!("{key}-{name}")>
                {move || shown.with(|shown| shown.kept[at].bits[part].clone())}
            </span>
        }
    };
    view! {
        <li class=class class:is-lost=move || shown.with(|shown| shown.kept[at].lost)>
            <p class="format-head">
                <strong>{name}</strong>" "
                <span class="format-kept">
                    <span class="num" data-testid=format!("{key}-kept")>{text(|kept| &kept.arrives)}</span>" "
                    <span class="soft" data-testid=format!("{key}-fate")>{text(|kept| &kept.fate)}</span>
                </span>
            </p>
            <p class="format-bits">{[0, 1, 2].map(bits)}</p>
            // On the mark alone: on the list, everything in it would be styled again at every step.
            <div class="format-range" aria-hidden="true">
                <span></span>
                <i style=("--at", read(shown, |shown| &shown.place))></i>
            </div>
        </li>
    }
}
