//! The chart of b_max against sequence length: its curves, a pure description of what is to be seen,
//! and its drawing on anything plotters can draw on.
//!
//! The page draws on a canvas, an exported picture is drawn as SVG, and a test compares the same
//! drawing with a file: all three by [`draw`].

mod curves;
mod dashes;
mod draw;
mod palette;
mod scale;
mod spec;

pub use curves::{Curves, NAMES, OWN, POINTS, swept};
pub use draw::draw;
pub use palette::{Colour, Palette};
pub use scale::{LogScale, Tick};
pub use spec::{Axes, BAND, Curve, Frame, Mark, PAD, PATTERNS, Spec};
