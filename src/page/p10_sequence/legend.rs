//! The legend, which is the read-out too: what each curve is, b_max where the reader looks, and
//! where the curve ends.

use leptos::prelude::*;

use super::curves::{Curves, NAMES, OWN};
use super::reading::{Reader, batch_text, end_text};
use crate::site::chart::spec::PATTERNS;
use crate::site::{State, format};

/// One row a curve.
#[component]
pub fn Legend(state: State, curves: Curves, reader: Reader) -> impl IntoView {
    let length = Memo::new(move |_| reader.reading.with(|reading| reading.length));
    let is_own = move || state.scenario.with(|scenario| scenario.recipe.sequence) == length.get();
    view! {
        <div class="chart-panel">
            <table class="chart-legend" data-testid="chart-readout">
                <caption>
                    "At "<strong class="num">{move || format::count(length.get())}</strong>" tokens"
                    {move || is_own().then_some(", your length")}
                </caption>
                <thead>
                    <tr>
                        <th scope="col">"Model"</th>
                        <th scope="col" class="num"><i>"b"</i><sub>"max"</sub></th>
                        <th scope="col" class="num">"Ends at "<i>"S"</i>" ="</th>
                    </tr>
                </thead>
                <tbody>{(0..NAMES.len()).map(|position| view! { <Row position curves reader /> }).collect_view()}</tbody>
            </table>
            <UseLength state reader />
        </div>
    }
}

/// A curve: how it is drawn, its value at the read-out and its end.
#[component]
fn Row(position: usize, curves: Curves, reader: Reader) -> impl IntoView {
    let name = NAMES.get(position).copied().unwrap_or_default();
    let pattern = PATTERNS.get(position).copied().unwrap_or_default();
    let dashes = pattern.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let batch = Memo::new(move |_| reader.reading.with(|reading| reading.batches.get(position).copied().flatten()));
    let end = Memo::new(move |_| curves.all.with(|all| all.get(position).and_then(|curve| curve.longest)));
    view! {
        <tr class:chart-own=position == OWN>
            <th scope="row">
                <svg class="chart-sample" data-series=(position + 1).to_string() width="36" height="10" aria-hidden="true">
                    <line x1="0" y1="5" x2="36" y2="5" stroke-width=if position == OWN { "3" } else { "2" } stroke-dasharray=dashes />
                </svg>
                {name}
            </th>
            <td class="num" class:chart-none=move || batch.get().is_none()>{move || batch_text(batch.get())}</td>
            <td class="num soft">{move || end_text(end.get())}</td>
        </tr>
    }
}

/// Makes the length that is read off the reader's own; also where a tap only reads.
#[component]
fn UseLength(state: State, reader: Reader) -> impl IntoView {
    let length = Memo::new(move |_| reader.reading.with(|reading| reading.length));
    let own = Memo::new(move |_| state.scenario.with(|scenario| scenario.recipe.sequence));
    let idle = move || length.get() == own.get();
    let text = move || {
        if idle() {
            format!("Your S is {}", format::count(own.get()))
        } else {
            format!("Set your S to {}", format::count(length.get()))
        }
    };
    view! {
        <button
            type="button"
            class="button button-quiet button-small"
            aria-disabled=move || idle().to_string()
            on:click=move |_| take(state, reader)
        >
            {text}
        </button>
    }
}

/// Makes the length that is read off the reader's own.
pub fn take(state: State, reader: Reader) {
    let length = reader.reading.with_untracked(|reading| reading.length);
    state.change(|mut scenario| {
        scenario.recipe.sequence = length;
        scenario
    });
    reader.chosen.set(None);
}
