//! The figures: a folder each, with the component, what it shows as a pure function, its style and its tests.

mod activations;
mod answer;
mod buckets;
mod calculator;
mod calibration;
mod chart;
#[cfg(test)]
pub mod check;
mod convergence;
mod derivation;
mod formats;
mod grow;
mod learning_rate;
pub mod levers;
mod network;
mod oom_search;
mod optimizer_states;
mod planner;
mod quiz;
mod recompute;
mod regimes;
mod saturation;
mod scaling;
mod shapes;
mod sharding;
mod step;
mod swapping;
mod terms;
mod tuning;
mod update_time;
mod worked_example;

use leptos::prelude::*;

use crate::components::AnswerBar;
use crate::site::Figure;

/// Names a component by its place in the page.
macro_rules! figure {
    ($name:literal => $component:path) => {
        Figure {
            name: $name,
            #[cfg(feature = "prerender")]
            html: |state| view! { <$component state/> }.to_html(),
            #[cfg(feature = "hydrate")]
            take_over: |place, state| {
                leptos::mount::hydrate_from(place, move || view! { <$component state/> }).forget();
            },
        }
    };
}

/// Names each figure by its place in the page, `data-figure`.
macro_rules! figures {
    ($($name:literal => $component:path,)+) => {
        /// Every figure, in reading order.
        pub static FIGURES: &[Figure] = &[$(figure!($name => $component),)+];
    };
}

/// The bar at the top of the page, by its id.
pub static ANSWER_BAR: Figure = figure!("answer-bar" => AnswerBar);

figures! {
    "answer" => answer::Answer,
    "buckets" => buckets::Buckets,
    "shapes" => shapes::Shapes,
    "grow" => grow::Grow,
    "step" => step::Step,
    "formats" => formats::Formats,
    "regimes" => regimes::Regimes,
    "optimizer-states" => optimizer_states::OptimizerStates,
    "derivation" => derivation::Derivation,
    "worked-example" => worked_example::WorkedExample,
    "oom-search" => oom_search::OomSearch,
    "calculator" => calculator::Calculator,
    "chart" => chart::Chart,
    "levers" => levers::Levers,
    "activations" => activations::Activations,
    "recompute" => recompute::Recompute,
    "swapping" => swapping::Swapping,
    "terms" => terms::Terms,
    "planner" => planner::Planner,
    "update-time" => update_time::UpdateTime,
    "convergence" => convergence::Convergence,
    "learning-rate" => learning_rate::LearningRate,
    "saturation" => saturation::Saturation,
    "sharding" => sharding::Sharding,
    "scaling" => scaling::Scaling,
    "network" => network::NetworkList,
    "tuning" => tuning::TuningPlan,
    "calibration" => calibration::Calibration,
    "quiz" => quiz::Quiz,
}
