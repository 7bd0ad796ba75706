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

use crate::site::{State, mount_figure, mount_part};

/// Mounts every figure on its placeholder.
pub fn mount_all(state: State) {
    mount_part("answer-bar", move || answer_bar::answer_bar(state));
    mount_figure("answer", move || p01_opening::opening_answer(state));
    mount_figure("buckets", move || p02_buckets::buckets(state));
    mount_figure("shapes", move || p03_why::shapes(state));
    mount_figure("grow", move || p04_grow::grow(state));
    mount_figure("derivation", move || p05_derivation::derivation(state));
    mount_figure("worked-example", move || p05_derivation::worked_example(state));
    mount_figure("oom-search", move || p06_search::oom_search(state));
    mount_figure("calculator", move || p07_calculator::calculator(state));
    mount_figure("levers", move || p08_levers::levers(state));
    mount_figure("planner", move || p09_global_batch::planner(state));
    mount_figure("chart", move || p10_sequence::chart(state));
}
