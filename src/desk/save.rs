//! Files that the reader saves.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Url};

use crate::dialog::Dialog;
use crate::dom;

/// For how many milliseconds a browser may take the file from where it lies.
const KEPT: i32 = 60_000;

/// Hands a text to the browser to be saved, and says so.
pub fn text(dialog: &Dialog, name: &str, media_type: &str, text: &str) {
    let kind = BlobPropertyBag::new();
    kind.set_type(media_type);
    if let Ok(blob) = Blob::new_with_str_sequence_and_options(&js_sys::Array::of1(&text.into()), &kind) {
        self::blob(dialog, name, &blob);
    }
}

/// Hands a file to the browser to be saved, and says so.
pub fn blob(dialog: &Dialog, name: &str, blob: &Blob) {
    let Ok(address) = Url::create_object_url_with_blob(blob) else {
        dialog.say("The browser does not let this page save files.");
        return;
    };
    let link: HtmlAnchorElement = dom::create("a").unchecked_into();
    link.set_href(&address);
    link.set_download(name);
    link.click();
    dom::after(KEPT, move || _ = Url::revoke_object_url(&address));
    // A frame without an origin may be forbidden to save, and is not told.
    let framed = dom::property(&JsValue::from(dom::window()), "origin").as_string().as_deref() == Some("null");
    let perhaps =
        if framed { " If nothing happens, this frame may not save files; copying works all the same." } else { "" };
    dialog.say(&format!("{name} is handed to the browser to be saved.{perhaps}"));
}
