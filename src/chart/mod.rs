//! The chart of b_max against sequence length, model size or GPU memory, and the bar of a device's memory: their data, a
//! pure description of what is to be seen, and its drawing on anything plotters can draw on.
//!
//! The page draws on a canvas, an exported picture is drawn as SVG, and a test compares the same
//! drawing with a file: all three by [`draw`]. The page that was built has lines that the browser dashes, by [`draw_whole`].

mod axis;
mod curves;
mod dashes;
mod draw;
mod memory;
mod palette;
mod scale;
mod spec;
mod words;

pub use axis::{Words, names, number_text, own_place, place_text, value_text, words};
pub use curves::{Curves, OWN, POINTS, as_in_workshop, set_back, swept};
pub(crate) use dashes::dashed;
pub use draw::{draw, draw_whole};
pub use memory::{MemoryBar, NAMED, PARTS, Sizes, Tint, part, used_twice};
pub use palette::{Colour, Palette};
pub use scale::{LogScale, Tick};
pub use spec::{Axes, BAND, Curve, End, Frame, Mark, PAD, PATTERNS, Spec};
pub use words::{batch_text, description, end_text, first, last};
