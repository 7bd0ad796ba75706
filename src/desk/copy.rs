//! Buttons that copy the text of a field. Where the clipboard is refused or absent, the text is selected and
//! the reader is told which keys copy it.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Element, HtmlInputElement, HtmlTextAreaElement};

use crate::dialog::Dialog;
use crate::dom;

/// Lets every button with `data-copy` copy the part of that name.
pub fn bind(dialog: &Rc<Dialog>) {
    let dialog = dialog.clone();
    let again = dialog.clone();
    dialog.on("click", move |_, target| {
        let Some(button) = target.closest("[data-copy]").ok().flatten() else { return };
        let name = button.get_attribute("data-copy").unwrap_or_default();
        let dialog = again.clone();
        spawn_local(async move {
            let field = dialog.part(&name);
            let what = label(&dialog, &field);
            let said = if is_copied(&dom::value(&field)).await {
                format!("{what} copied.")
            } else {
                select(&field);
                format!("The browser does not let this page copy. {what} is selected: press {} to copy.", keys())
            };
            dialog.say(&said);
        });
    });
}

/// What a field is called.
fn label(dialog: &Dialog, field: &Element) -> String {
    let label = dialog.all(&format!("label[for={}]", field.id()));
    label.first().and_then(|label| label.text_content()).unwrap_or_default()
}

/// Whether the text reached the clipboard.
pub async fn is_copied(text: &str) -> bool {
    let clipboard = dom::window().navigator().clipboard();
    // Outside a secure context the browser has no clipboard, though its interface says it has.
    !clipboard.is_undefined() && JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

fn select(field: &Element) {
    dom::focus(field);
    if let Some(field) = field.dyn_ref::<HtmlInputElement>() {
        field.select();
    } else if let Some(field) = field.dyn_ref::<HtmlTextAreaElement>() {
        field.select();
    }
}

/// The keys that copy on this machine.
fn keys() -> &'static str {
    let platform = dom::window().navigator().platform().unwrap_or_default();
    if ["Mac", "iPhone", "iPad"].iter().any(|name| platform.starts_with(name)) { "⌘C" } else { "Ctrl+C" }
}
