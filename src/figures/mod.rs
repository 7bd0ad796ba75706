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
mod out_of_memory;
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

/// Names a component by its place in the page, `data-figure`, or by its id.
macro_rules! figure {
    ($name:literal => $component:path, $take_over:path) => {
        Figure {
            name: $name,
            #[cfg(feature = "prerender")]
            html: |state| view! { <$component state/> }.to_html(),
            #[cfg(feature = "hydrate")]
            take_over: $take_over,
        }
    };
}

/// Names the figures of each part of the program.
///
/// A part is fetched when the first of its figures comes near; what several parts need is fetched with the first of
/// them. The figures of a small page may stand in any part that has room. More parts make each smaller and the
/// number of files larger. What is in `first` is in the first module, which every page has.
///
/// Each part has one function, which takes over any of its figures.
macro_rules! figures {
    ($($part:ident { $($name:literal => $component:path,)+ })+) => {
        /// Every figure, part by part, and in reading order within each.
        pub static FIGURES: &[Figure] = &[$($(figure!($name => $component, parts::$part),)+)+];

        /// The part of the program that has each figure: what the build asks, to say beforehand what a page will
        /// fetch.
        #[cfg(feature = "prerender")]
        pub static PARTS: &[(&str, &str)] = &[$($(($name, stringify!($part)),)+)+];

        #[cfg(feature = "hydrate")]
        mod parts {
            use leptos::mount::hydrate_from;
            use leptos::prelude::*;
            use leptos::wasm_split::SplitLoaderError;
            use web_sys::HtmlElement;

            use super::*;
            use crate::site::{State, Taking};

            $(part! { $part { $($name => $component,)+ } })+
        }
    };
}

/// The function that takes over any figure of a part.
#[cfg(feature = "hydrate")]
macro_rules! part {
    (first { $($name:literal => $component:path,)+ }) => {
        pub fn first(name: &'static str, place: HtmlElement, state: State) -> Taking {
            match name {
                $($name => hydrate_from(place, move || view! { <$component state/> }).forget(),)+
                _ => {}
            }
            Box::pin(std::future::ready(Ok(())))
        }
    };
    ($part:ident { $($name:literal => $component:path,)+ }) => {
        pub fn $part(name: &'static str, place: HtmlElement, state: State) -> Taking {
            #[leptos::wasm_split::wasm_split($part, wasm_split_path = leptos::wasm_split, fallible)]
            fn take_over(name: &'static str, place: HtmlElement, state: State) -> Result<(), SplitLoaderError> {
                match name {
                    $($name => hydrate_from(place, move || view! { <$component state/> }).forget(),)+
                    _ => {}
                }
                Ok(())
            }
            Box::pin(take_over(name, place, state))
        }
    };
}

figures! {
    first {
        "answer" => answer::Answer,
    }
    home {
        "chart" => chart::Chart,
        "levers" => levers::Levers,
    }
    calculator {
        "calculator" => calculator::Calculator,
    }
    workshop {
        "count-switch" => count_switch::CountSwitch,
        "buckets" => buckets::Buckets,
        "shapes" => shapes::Shapes,
        "grow" => grow::Grow,
        "derivation" => derivation::Derivation,
        "worked-example" => worked_example::WorkedExample,
        "oom-search" => oom_search::OomSearch,
        "workshop-calculator" => workshop_calculator::WorkshopCalculator,
        "planner" => planner::Planner,
    }
    memory {
        "step" => step::Step,
        "formats" => formats::Formats,
        "regimes" => regimes::Regimes,
        "autocast" => autocast::Autocast,
        "optimizer-states" => optimizer_states::OptimizerStates,
    }
    room {
        "activations" => activations::Activations,
        "buckets-by-length" => buckets_by_length::BucketsByLength,
        "lengths" => lengths::Lengths,
        "recompute" => recompute::Recompute,
        "checkpointing" => checkpointing::Checkpointing,
        "swapping" => swapping::Swapping,
    }
    course {
        "terms" => terms::Terms,
        "update-time" => update_time::UpdateTime,
        "accumulation-loop" => accumulation_loop::AccumulationLoop,
        "convergence" => convergence::Convergence,
        "learning-rate" => learning_rate::LearningRate,
        "saturation" => saturation::Saturation,
    }
    plan {
        "tuning" => tuning::TuningPlan,
        "compare" => compare::Compare,
        "calibration" => calibration::Calibration,
        "quiz" => quiz::Quiz,
    }
    error {
        "out-of-memory" => out_of_memory::OutOfMemory,
    }
    gpus {
        "sharding" => sharding::Sharding,
        "scaling" => scaling::Scaling,
        "grid" => grid::Grid,
        "network" => network::NetworkList,
    }
    trust {
        "others" => others::Others,
        "proof" => proof::Proof,
    }
}

/// The bar at the top of the page, by its id. It is on every page, and so in the first module.
pub static ANSWER_BAR: Figure = figure!("answer-bar" => ConfigurationBar, take_over_bar);

#[cfg(feature = "hydrate")]
fn take_over_bar(_: &'static str, place: web_sys::HtmlElement, state: crate::site::State) -> crate::site::Taking {
    leptos::mount::hydrate_from(place, move || view! { <ConfigurationBar state/> }).forget();
    Box::pin(std::future::ready(Ok(())))
}
