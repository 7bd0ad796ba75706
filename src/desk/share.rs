//! The share dialog.

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlDialogElement};

use crate::dom;

/// Opens the dialog for the figure in which `button` stands, or for the page.
pub fn open(button: &Element) {
    _ = button;
    let dialog = dom::markup(include_str!("share.html")).unchecked_into::<HtmlDialogElement>();
    if let Some(body) = dom::document().body() {
        _ = body.append_child(&dialog);
    }
    _ = dialog.show_modal();
}
