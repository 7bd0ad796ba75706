//! The button that copies a link to the present configuration.

use bmax::{Scenario, link};
use wasm_bindgen_futures::spawn_local;
use web_sys::Element;

use crate::{copy, dom, present};

/// Copies the link and says so beside the button; where the browser forbids that, the link is shown to be
/// copied by hand.
pub fn copy(button: Element) {
    present::ask(move |scenario| spawn_local(copy_to(button, scenario)));
}

async fn copy_to(button: Element, scenario: Scenario) {
    let link = format!("{}?{}", present::page(), link::encode(&scenario));
    let Some(said) = button.next_element_sibling() else { return };
    if copy::is_copied(&link).await {
        return said.set_text_content(Some("Link copied."));
    }
    let (label, field) = (dom::create("label"), dom::create("input"));
    label.set_text_content(Some("Copy it by hand: "));
    for (name, value) in [("type", "text"), ("readonly", ""), ("value", &*link)] {
        dom::attribute(&field, name, value);
    }
    _ = label.append_child(&field);
    said.set_text_content(None);
    _ = said.append_child(&label);
}
