//! Curves, bands, dots and marks between two axes: what a figure shows, as plain data, and its drawing on
//! anything plotters can draw on.
//!
//! A [`Plot`] says what is to be seen and knows neither sizes nor colours. [`draw`] draws it,
//! [`Plot::svg`] writes it for the page, whose style sheet colours every part by its class, and
//! `picture::plot` writes it as a file that stands alone: all three by the same drawing. [`Plot::to_text`] takes it
//! from one program to another.
//!
//! ```
//! use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
//!
//! let plot = Plot {
//!     x: Axis::powers_of_two(1.0, 64.0, "GPUs"),
//!     y: Axis::linear(0.0, 100.0, "%"),
//!     series: vec![Series::line(Ink::Own, vec![(1.0, 100.0), (64.0, 80.0)]).named("speed-up")],
//!     marks: vec![Mark::named(8.0, Rule::Soft, "yours".to_owned())],
//! };
//! assert!(plot.svg(400.0, 200.0).contains(r#"class="plot-line series-own""#));
//! // The middle of the axis is the root of its ends' product.
//! assert!((plot.value_at(48.0 + (400.0 - 48.0 - 14.0) / 2.0, 400.0) - 8.0).abs() < 1e-9);
//! ```

mod draw;
mod ink;
mod reading;
mod spec;
mod svg;
mod text;

pub use draw::{Layer, Pens, draw};
pub use ink::{Colour, Ink, Part, Rule, Shape};
pub use reading::Reading;
pub use spec::{Axis, Mark, Plot, Series};
#[cfg(feature = "picture")]
pub(crate) use svg::{escape, written};
