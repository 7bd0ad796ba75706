//! Figures as pictures that stand alone: SVG with its title, its legend and the link of what it
//! shows, which any viewer draws without fetching anything.
//!
//! [`chart`] is drawn by the same painter as the page's canvas, [`memory`] from the same sizes as the page's
//! bar, and [`plot()`] by the drawing of the page's plots; [`preview`] puts one of these below a title. For figures that are made of elements of the page, [`Drawing`] takes what a program
//! has measured there, and [`paint`] reads the colours in the form in which a browser gives them.
//!
//! Every text is a text and every colour a colour: a picture holds no style sheet, no script, no font
//! and no address that anything is loaded from.

mod chart;
mod drawing;
mod frame;
mod memory;
pub mod paint;
mod plot;
mod preview;
mod theme;

pub use chart::{chart, chart_plot};
pub use drawing::{Attribute, Drawing, px};
pub use frame::{Footer, configuration};
pub use memory::memory;
pub use plot::plot;
pub use preview::{Preview, SIZE as PREVIEW_SIZE, Scene, preview};
pub use theme::Theme;

/// The faces of the page, in which the first that a viewer has is taken.
pub const FACES: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif";

/// How a picture is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its colours.
    pub theme: Theme,
    /// Whether it has a ground; otherwise what lies below it is seen.
    pub ground: bool,
}
