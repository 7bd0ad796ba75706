//! Bytes per parameter by training regime.

mod shown;

use bmax::chart::Tint;
use bmax::{Bucket, Choice, number};
use leptos::prelude::*;

use crate::components::{Key, Legend, UseButton};
use crate::site::{State, read};
use shown::{COLUMNS, ROWS, Shown};

static KEYS: [Key; 4] = [
    Key::of(PARTS[0].0, "Parameters: weights"),
    Key::memory(PARTS[1].0),
    Key::of(PARTS[2].0, "Optimizer state: fp32 master copy").drawn("regime-master"),
    Key::of(PARTS[3].0, "Optimizer state: Adam’s m and v"),
];

/// What a bar is made of: the memory that it is, and how the style sheet draws it beside its colour.
const PARTS: [(Tint, &str); 4] = [
    (Tint::Bucket(Bucket::Parameters), ""),
    (Tint::Bucket(Bucket::Gradients), ""),
    (Tint::Bucket(Bucket::Optimizer), "regime-master "),
    (Tint::Bucket(Bucket::Optimizer), ""),
];

/// Every regime as a row, with the states it needs, what it leaves for the batch and the press that uses it.
#[component]
pub fn Regimes(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.asked(Shown::of));
    let done = RwSignal::new("");
    let rows = (0..ROWS.len()).map(|at| view! { <Regime at state shown done/> }).collect_view();
    view! {
        <Legend keys=&KEYS/>
        <div class="table-scroll regimes-table" tabindex="0" role="region" aria-label="Training recipes">
            <table class="data-table data-table-rows data-table-cards">
                <caption>
                    "States of all "<strong data-testid="parameters">{read(shown, |shown| &shown.parameters)}</strong>
                    " parameters with Adam, undivided; activations and "<i>"b"</i><sub>"max"</sub>
                    " on each GPU, as configured"
                </caption>
                <Heads/>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <p class="live-note">
            "Sizes in GiB. Your recipe is marked. With 16-bit weights instead of fp32 the states stay at 16 bytes a parameter, and activations take "
            <strong data-testid="ratio">{read(shown, |shown| &shown.ratio)}</strong>" of the memory."
        </p>
        <p class="visually-hidden" role="status" data-testid="done">{move || done.get()}</p>
    }
}

/// The heads of the columns.
#[component]
fn Heads() -> impl IntoView {
    let sizes = ["Weights", "Gradients", "Master"];
    let head = |name| view! { <th scope="col" class="num">{name}</th> };
    view! {
        <thead>
            <tr>
                <th scope="col">"Recipe"</th>
                <th scope="col">"Bytes per parameter"</th>
                {sizes.map(head)}
                <th scope="col" class="num"><i>"m"</i>" + "<i>"v"</i></th>
                {["All states", "Activations"].map(head)}
                <th scope="col" class="num"><i>"b"</i><sub>"max"</sub></th>
                <th scope="col"><span class="visually-hidden">"Apply"</span></th>
            </tr>
        </thead>
    }
}

/// One regime.
#[component]
fn Regime(at: usize, state: State, shown: Memo<Shown>, done: RwSignal<&'static str>) -> impl IntoView {
    let row = &ROWS[at];
    let cell = |column: usize| {
        let (name, label) = COLUMNS[column];
        let text = move || shown.with(|shown| shown.cells[at][column].clone());
        view! { <td class="num" data-label=label data-testid=format!("{name}-{at}")>{text}</td> }
    };
    let apply = move |()| {
        state.change(|scenario| {
            let applied = row.applied_to(scenario);
            done.set(applied.recipe.precision.effect());
            applied
        });
    };
    view! {
        <tr class:is-own=move || shown.with(|shown| shown.own[at])>
            <th scope="row">{row.name}<span class="regime-aside">{row.aside}</span></th>
            <td class="regime-cell"><Bar bytes=row.bytes()/><strong class="regime-sum">{number::plain(row.sum())}</strong></td>
            {(0..COLUMNS.len()).map(cell).collect_view()}
            <td><UseButton what=row.name press=apply/></td>
        </tr>
    }
}

/// The bytes of a parameter, each as wide as the others.
#[component]
fn Bar(bytes: [f64; 4]) -> impl IntoView {
    let parts = PARTS.into_iter().zip(bytes).filter(|(_, bytes)| *bytes > 0.0).map(|((tint, class), bytes)| {
        let bytes = number::plain(bytes);
        let class = format!("{class}regime-{bytes}");
        view! { <span class=class data-bucket=tint.key()>{bytes}</span> }
    });
    view! {
        <span class="regime-bar" aria-hidden="true">{parts.collect_view()}</span>
        <span class="visually-hidden">{bytes.map(number::plain).join(" + ")}" = "</span>
    }
}
