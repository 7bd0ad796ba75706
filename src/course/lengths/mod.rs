//! Lengths that vary: what a typical micro-batch holds, what padding costs, and when a run that is too large fails.
//!
//! The estimator counts the worst micro-batch. Here are the others: how lengths are spread, and what the ways of making
//! micro-batches of them make of that.

mod batched;
mod failing;
mod pasted;
mod spread;

pub use batched::{Batched, PACKED_TOGETHER, batched, documents_a_row, packed_share, wrapped_share};
pub use failing::{Failing, failing, fits_to};
pub use pasted::{MOST_BYTES, PastedError, PastedErrorKind, pasted};
pub use spread::Spread;
