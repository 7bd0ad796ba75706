//! The figure as a picture, its table as CSV.
//!
//! The panel is the part `picture` of the dialog. `bind` is called once, when the dialog is made, and `show`
//! whenever the panel is to be seen or the configuration has changed.

use std::rc::Rc;

use crate::dialog::Dialog;

/// Fills the panel with its controls and listens to them.
pub fn bind(_dialog: &Rc<Dialog>) {}

/// Writes what the panel shows.
pub fn show(_dialog: &Dialog) {}
