//! The share dialog.

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlDialogElement};

use crate::dom;

/// Opens the dialog for the figure in which `button` stands, or for the page.
pub fn open(button: &Element) {
    let dialog = dom::markup(include_str!("share.html")).unchecked_into::<HtmlDialogElement>();
    let place = dom::part(&dialog, "picture");
    crate::picture::mount(&place, button.closest(".figure").ok().flatten().as_ref());
    if let Some(body) = dom::document().body() {
        _ = body.append_child(&dialog);
    }
    _ = dialog.show_modal();
}
