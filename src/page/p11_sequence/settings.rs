//! What the reference curves assume. It is part of the scenario, so that a link shows the same chart.

use bmax::{Field, setting};

use crate::site::controls::{number_field, select_field};
use crate::site::dom::El;
use crate::site::{Live, State};

/// Numbers of GPUs offered as a press each, by the name of the button in the page.
const OFFERED: [(&str, f64); 5] = [("1", 1.0), ("8", 8.0), ("64", 64.0), ("256", 256.0), ("1024", 1_024.0)];

/// GPUs and recomputation of the reference curves.
pub fn bind(state: State, figure: &El) {
    figure.place("gpus", number_field(state.field(Field::ComparisonGpus), "chart-gpus", false));
    let recomputation = state.setting(&setting::COMPARISON_RECOMPUTATION);
    figure.place(
        "recomputation",
        select_field(recomputation, "chart-recomputation", Box::new(move || recomputation.effect())),
    );
    for (name, gpus) in OFFERED {
        _ = figure.part(name).on("click", move |_| {
            state.change(|scenario| scenario.with_number(Field::ComparisonGpus, gpus).unwrap_or(scenario));
        });
    }
}

/// Marks the number that is in use.
pub fn draw(live: &Live) {
    let used = live.facts(|facts| facts.scenario.comparison.gpus);
    for (name, gpus) in OFFERED {
        live.attr(name, "aria-pressed", if f64::from(used) == gpus { "true" } else { "false" });
    }
}
