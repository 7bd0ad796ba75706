//! b_max against sequence length: four reference models and the reader's own.

mod curves;
mod legend;
mod plot;
mod reading;
mod settings;
mod table;

use leptos::prelude::*;

use crate::site::{State, format};
use curves::Curves;
use reading::Reader;

/// The chart with its settings, its read-out and its table.
#[component]
pub fn Chart(state: State) -> impl IntoView {
    let curves = Curves::new(state);
    let reader = Reader::new(state, curves);
    view! {
        <div class="chart">
            <settings::Settings state />
            <div class="chart-body">
                <plot::Plot state curves reader />
                <legend::Legend state curves reader />
            </div>
            <p class="figure-note" id="chart-help">
                "Point at the chart, or focus it and press "<kbd>"←"</kbd>" and "<kbd>"→"</kbd>", "<kbd>"Page Up"</kbd>" and "
                <kbd>"Page Down"</kbd>", "<kbd>"Home"</kbd>" and "<kbd>"End"</kbd>", to read off other lengths. "<kbd>"Enter"</kbd>
                " or a click makes the length yours, "<kbd>"Esc"</kbd>" goes back to it."
            </p>
            <p class="figure-note">{move || assumptions(state)}</p>
            <table::CurvesTable curves />
        </div>
    }
}

/// What the reference curves share with the reader's configuration.
fn assumptions(state: State) -> String {
    use bmax::Choice;
    state.scenario.with(|scenario| {
        format!(
            "Besides their GPUs and recomputation, set above, the reference models are counted as yours: {} of memory with {} % headroom, {}, {} method.",
            format::memory(scenario.device.memory()),
            format::input(scenario.device.headroom.get()),
            scenario.recipe.precision.label(),
            scenario.method.label().to_lowercase()
        )
    })
}
