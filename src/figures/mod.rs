//! The figures: a folder each, with the component, what it shows as a pure function, its style and its tests.

mod answer;
mod buckets;
#[cfg(test)]
pub mod check;
mod derivation;
mod grow;
mod oom_search;
mod saturation;
mod shapes;
mod step;
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
    "derivation" => derivation::Derivation,
    "worked-example" => worked_example::WorkedExample,
    "oom-search" => oom_search::OomSearch,
    "saturation" => saturation::Saturation,
}
