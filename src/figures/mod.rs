//! The figures: a folder each, with the component, what it shows as a pure function, its style and its tests.

mod calculator;
#[cfg(test)]
mod check;
mod grow;
mod saturation;
mod step;

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
    "calculator" => calculator::Calculator,
    "saturation" => saturation::Saturation,
}
