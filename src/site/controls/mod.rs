//! Controls. Each takes a handle (a value and a way to write it) and knows nothing of the scenario.

mod number_field;
mod segmented;
mod select_field;
mod slider;

pub use number_field::NumberField;
pub use segmented::Segmented;
pub use select_field::{OptionGroup, Picker, SelectField};
pub use slider::Slider;
