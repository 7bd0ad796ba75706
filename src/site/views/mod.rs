//! Small views that several figures share.

mod formula;
mod memory_bar;

pub use formula::{formula_in_numbers, formula_in_symbols};
pub use memory_bar::*;
