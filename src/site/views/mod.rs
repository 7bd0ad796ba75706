//! Small views that several figures share.

mod breakdown;
mod formula;
mod memory_bar;

pub use breakdown::BreakdownTable;
pub use formula::{FormulaInNumbers, FormulaInSymbols};
pub use memory_bar::{Legend, MemoryBar};
