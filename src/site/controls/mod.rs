//! Controls. Each takes a handle (a value and a way to write it) and knows nothing of the scenario.

mod number_field;
mod segmented;
mod select_field;

pub use number_field::{number_field, number_field_with_help};
pub use segmented::segmented;
pub use select_field::{OptionGroup, picker, select_field};
