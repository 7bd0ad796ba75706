//! The page, section by section, in reading order.
//!
//! A folder is a section: `prose.html` is its static text, which is inlined into the page when it is
//! built, and `mod.rs` holds the figures that are mounted into that text.

mod answer_bar;
mod p01_opening;
mod p02_buckets;
mod p03_why;
mod p04_grow;
mod p05_derivation;
mod p06_search;
mod p07_calculator;
mod p08_levers;
mod p09_global_batch;
mod p10_sequence;
mod pickers;

use leptos::prelude::*;

use crate::site::{State, mount_figure, mount_part};

/// Mounts every figure on its placeholder.
pub fn mount_all(state: State) {
    mount_part("answer-bar", move || view! { <answer_bar::AnswerBar state /> });
    mount_figure("answer", move || view! { <p01_opening::OpeningAnswer state /> });
    mount_figure("buckets", move || view! { <p02_buckets::Buckets state /> });
    mount_figure("shapes", move || view! { <p03_why::Shapes state /> });
    mount_figure("grow", move || view! { <p04_grow::Grow state /> });
    mount_figure("derivation", move || view! { <p05_derivation::Derivation state /> });
    mount_figure("worked-example", move || view! { <p05_derivation::WorkedExample state /> });
    mount_figure("oom-search", move || view! { <p06_search::OomSearch state /> });
    mount_figure("calculator", move || view! { <p07_calculator::Calculator state /> });
    mount_figure("levers", move || view! { <p08_levers::Levers state /> });
    mount_figure("planner", move || view! { <p09_global_batch::Planner state /> });
    mount_figure("chart", move || view! { <p10_sequence::Chart state /> });
}
