//! What the reference curves assume. It is part of the scenario, so that a link shows the same chart.

use bmax::{Field, number, setting};
use leptos::prelude::*;

use crate::site::State;
use crate::site::controls::{NumberField, Segmented};

/// Numbers of GPUs offered as a press each.
const OFFERED: [u32; 5] = [1, 8, 64, 256, 1_024];

/// GPUs and recomputation of the reference curves.
#[component]
pub fn Settings(state: State) -> impl IntoView {
    let recomputation = state.setting(&setting::COMPARISON_RECOMPUTATION);
    view! {
        <div class="chart-settings">
            <div class="chart-gpus">
                <NumberField handle=state.field(Field::ComparisonGpus) id="chart-gpus" explained=false />
                <div class="button-row" role="group" aria-label="Usual numbers of GPUs">
                    {OFFERED.map(|gpus| view! { <Offer state gpus /> }).collect_view()}
                </div>
            </div>
            <Segmented handle=recomputation id="chart-recomputation" />
        </div>
    }
}

/// A press that sets one number of GPUs.
#[component]
fn Offer(state: State, gpus: u32) -> impl IntoView {
    let pressed = move || state.scenario.with(|scenario| scenario.comparison.gpus == gpus);
    let label = if gpus == 1 { "1 GPU".to_owned() } else { format!("{gpus} GPUs") };
    let set =
        move |_| state.change(|scenario| scenario.with_number(Field::ComparisonGpus, gpus.into()).unwrap_or(scenario));
    view! {
        <button
            type="button"
            class="button button-quiet button-small num"
            aria-label=label
            aria-pressed=move || pressed().to_string()
            on:click=set
        >
            {number::grouped(gpus.into())}
        </button>
    }
}
