//! What the reference curves assume. It is part of the scenario, so that a link shows the same chart.

use bmax::{Field, setting};
use leptos::prelude::*;

use crate::site::controls::{number_field, segmented};
use crate::site::dom::{El, el};
use crate::site::{State, format};

/// Numbers of GPUs offered as a press each.
const OFFERED: [u32; 5] = [1, 8, 64, 256, 1_024];

/// GPUs and recomputation of the reference curves.
pub fn settings(state: State) -> El {
    let offers = el("div")
        .class("button-row")
        .attr("role", "group")
        .attr("aria-label", "Usual numbers of GPUs")
        .children(OFFERED.into_iter().map(|gpus| offer(state, gpus)).collect());
    let gpus = el("div")
        .class("chart-gpus")
        .child(number_field(state.field(Field::ComparisonGpus), "chart-gpus", false))
        .child(offers);
    let recomputation = segmented(state.setting(&setting::COMPARISON_RECOMPUTATION), "chart-recomputation", true);
    el("div").class("chart-settings").child(gpus).child(recomputation)
}

/// A press that sets one number of GPUs.
fn offer(state: State, gpus: u32) -> El {
    let pressed = move || state.asked(|scenario| scenario.comparison.gpus == gpus);
    let label = if gpus == 1 { "1 GPU".to_owned() } else { format!("{} GPUs", format::count(gpus)) };
    let set =
        move |_| state.change(|scenario| scenario.with_number(Field::ComparisonGpus, gpus.into()).unwrap_or(scenario));
    el("button")
        .attr("type", "button")
        .class("button button-quiet button-small num")
        .attr("aria-label", &label)
        .bind("aria-pressed", move || pressed().to_string())
        .on("click", set)
        .text(&format::count(gpus))
}
