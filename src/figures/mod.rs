//! The figures: a folder each, with the component, what it shows as a pure function, its style and its tests.

mod calibration;
mod chart;
mod activations;
#[cfg(test)]
mod check;
mod convergence;
mod formats;
mod grow;
mod learning_rate;
mod network;
mod planner;
mod quiz;
pub mod levers;
mod optimizer_states;
mod recompute;
mod regimes;
mod saturation;
mod scaling;
mod sharding;
mod step;
mod tuning;
mod terms;
mod update_time;
mod swapping;

use leptos::prelude::*;

use crate::site::Figure;

/// Names each figure by its place in the page, `data-figure`.
macro_rules! figures {
    ($($name:literal => $component:path,)+) => {
        /// Every figure, in reading order.
        pub static FIGURES: &[Figure] =
            &[$(Figure {
                name: $name,
                #[cfg(feature = "prerender")]
                html: |state| view! { <$component state/> }.to_html(),
                #[cfg(feature = "hydrate")]
                take_over: |place, state| {
                    leptos::mount::hydrate_from(place, move || view! { <$component state/> }).forget();
                },
            },)+];
    };
}

figures! {
    "grow" => grow::Grow,
    "step" => step::Step,
    "convergence" => convergence::Convergence,
    "learning-rate" => learning_rate::LearningRate,
    "chart" => chart::Chart,
    "terms" => terms::Terms,
    "planner" => planner::Planner,
    "update-time" => update_time::UpdateTime,
    "formats" => formats::Formats,
    "regimes" => regimes::Regimes,
    "optimizer-states" => optimizer_states::OptimizerStates,
    "levers" => levers::Levers,
    "activations" => activations::Activations,
    "recompute" => recompute::Recompute,
    "swapping" => swapping::Swapping,
    "saturation" => saturation::Saturation,
    "sharding" => sharding::Sharding,
    "scaling" => scaling::Scaling,
    "network" => network::NetworkList,
    "tuning" => tuning::TuningPlan,
    "calibration" => calibration::Calibration,
    "quiz" => quiz::Quiz,
}
