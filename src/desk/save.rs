//! Files that the reader saves.

use std::time::Duration;

use leptos::prelude::*;
use wasm_bindgen::JsValue;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Url};

use crate::page::{create, property};

/// For how long a browser may take the file from where it lies.
const KEPT: Duration = Duration::from_secs(60);

/// Hands a text to the browser to be saved, and returns what is to be said of it.
pub fn text(name: &str, media_type: &str, text: &str) -> String {
    let kind = BlobPropertyBag::new();
    kind.set_type(media_type);
    match Blob::new_with_str_sequence_and_options(&js_sys::Array::of1(&text.into()), &kind) {
        Ok(file) => blob(name, &file),
        Err(_) => REFUSED.to_owned(),
    }
}

/// Hands a file to the browser to be saved, and returns what is to be said of it.
pub fn blob(name: &str, blob: &Blob) -> String {
    let Some((link, address)) = create::<HtmlAnchorElement>("a").zip(Url::create_object_url_with_blob(blob).ok())
    else {
        return REFUSED.to_owned();
    };
    link.set_href(&address);
    link.set_download(name);
    link.click();
    set_timeout(move || _ = Url::revoke_object_url(&address), KEPT);
    // A frame without an origin may be forbidden to save, and is not told.
    let framed = property(&JsValue::from(window()), "origin").as_string().as_deref() == Some("null");
    let perhaps =
        if framed { " If nothing happens, this frame may not save files; copying works all the same." } else { "" };
    format!("{name} is handed to the browser to be saved.{perhaps}")
}

const REFUSED: &str = "The browser does not let this page save files.";
