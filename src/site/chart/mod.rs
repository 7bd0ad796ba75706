//! Charts: a pure description of what is to be seen, and its drawing on anything plotters can draw on.
//!
//! [`scale`], [`dashes`], [`spec`] and [`draw`] know no browser, so that the same drawing can be
//! tested natively; [`canvas`] is where they meet a page. Labels are no part of a drawing: they are
//! text of the page, laid over it by the same scales, so that they follow the reader's font size
//! and nothing has to be measured.

pub mod canvas;
mod dashes;
mod draw;
pub mod palette;
pub mod scale;
pub mod spec;
