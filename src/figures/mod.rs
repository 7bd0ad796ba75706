//! The figures: a folder each, with the component, what it shows as a pure function, its style and its tests.

mod accumulation_loop;
mod activations;
mod answer;
mod autocast;
mod buckets;
mod buckets_by_length;
mod calculator;
mod calibration;
mod chart;
#[cfg(test)]
pub mod check;
mod checkpointing;
mod compare;
mod convergence;
mod count_switch;
mod derivation;
mod formats;
mod grid;
mod grow;
mod learning_rate;
mod lengths;
pub mod levers;
mod network;
mod oom_search;
mod optimizer_states;
mod others;
mod planner;
mod proof;
mod quiz;
mod recompute;
mod regimes;
mod saturation;
mod scaling;
mod shapes;
mod sharding;
mod stacked;
mod step;
mod swapping;
mod terms;
mod tuning;
mod update_time;
mod worked_example;
mod workshop_calculator;

use leptos::prelude::*;

use crate::components::ConfigurationBar;
use crate::site::Figure;

/// Names a component by its place in the page, and the part of the program that has it.
///
/// A part is fetched when the first of its figures comes near; what several parts need is fetched with the first of
/// them. A figure that is alone on its page may stand in any part that has room. More parts make each smaller and the
/// number of files larger: for eight parts, one a page, there were seventy-six files of what they share.
macro_rules! figure {
    ($name:literal in $part:ident => $component:path) => {
        Figure {
            name: $name,
            #[cfg(feature = "prerender")]
            html: |state| view! { <$component state/> }.to_html(),
            #[cfg(feature = "hydrate")]
            take_over: |place, state| {
                #[leptos::wasm_split::wasm_split($part, wasm_split_path = leptos::wasm_split, fallible)]
                fn take_over(
                    place: web_sys::HtmlElement,
                    state: crate::site::State,
                ) -> Result<(), leptos::wasm_split::SplitLoaderError> {
                    leptos::mount::hydrate_from(place, move || view! { <$component state/> }).forget();
                    Ok(())
                }
                Box::pin(take_over(place, state))
            },
        }
    };
}

/// Names each figure by its place in the page, `data-figure`.
macro_rules! figures {
    ($($name:literal in $part:ident => $component:path,)+) => {
        /// Every figure, in reading order.
        pub static FIGURES: &[Figure] = &[$(figure!($name in $part => $component),)+];

        /// The part of the program that has each figure: what the build asks, to say beforehand what a page will
        /// fetch.
        #[cfg(feature = "prerender")]
        pub static PARTS: &[(&str, &str)] = &[$(($name, stringify!($part)),)+];
    };
}

/// The bar at the top of the page, by its id. It is on every page, and so in the first part of the program.
pub static ANSWER_BAR: Figure = Figure {
    name: "answer-bar",
    #[cfg(feature = "prerender")]
    html: |state| view! { <ConfigurationBar state/> }.to_html(),
    #[cfg(feature = "hydrate")]
    take_over: |place, state| {
        leptos::mount::hydrate_from(place, move || view! { <ConfigurationBar state/> }).forget();
        Box::pin(std::future::ready(Ok(())))
    },
};

figures! {
    "answer" in first => answer::Answer,
    "count-switch" in workshop => count_switch::CountSwitch,
    "buckets" in workshop => buckets::Buckets,
    "shapes" in workshop => shapes::Shapes,
    "grow" in workshop => grow::Grow,
    "step" in room => step::Step,
    "formats" in room => formats::Formats,
    "regimes" in room => regimes::Regimes,
    "autocast" in room => autocast::Autocast,
    "optimizer-states" in room => optimizer_states::OptimizerStates,
    "derivation" in workshop => derivation::Derivation,
    "worked-example" in workshop => worked_example::WorkedExample,
    "oom-search" in workshop => oom_search::OomSearch,
    "workshop-calculator" in workshop => workshop_calculator::WorkshopCalculator,
    "calculator" in calculator => calculator::Calculator,
    "chart" in home => chart::Chart,
    "levers" in home => levers::Levers,
    "activations" in room => activations::Activations,
    "buckets-by-length" in room => buckets_by_length::BucketsByLength,
    "lengths" in room => lengths::Lengths,
    "recompute" in room => recompute::Recompute,
    "checkpointing" in room => checkpointing::Checkpointing,
    "swapping" in room => swapping::Swapping,
    "terms" in course => terms::Terms,
    "planner" in workshop => planner::Planner,
    "update-time" in course => update_time::UpdateTime,
    "accumulation-loop" in course => accumulation_loop::AccumulationLoop,
    "convergence" in course => convergence::Convergence,
    "learning-rate" in course => learning_rate::LearningRate,
    "saturation" in course => saturation::Saturation,
    "sharding" in practice => sharding::Sharding,
    "scaling" in practice => scaling::Scaling,
    "grid" in practice => grid::Grid,
    "network" in practice => network::NetworkList,
    "tuning" in practice => tuning::TuningPlan,
    "compare" in practice => compare::Compare,
    "calibration" in practice => calibration::Calibration,
    "quiz" in practice => quiz::Quiz,
    "others" in course => others::Others,
    "proof" in course => proof::Proof,
}
