//! Reading the page, whose elements are not the desk's own.

use bmax::link::Beginning;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlLinkElement};

/// The address of the page, without query and fragment.
pub fn address() -> String {
    let address = window().location().href().unwrap_or_default();
    address.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// How the address of the page is read and written: by what it begins with, or as any link where it is one figure alone.
pub fn beginning() -> Beginning {
    let of_page = |root: Element| {
        let word = root.get_attribute("data-begins").filter(|_| !root.has_attribute("data-embed"));
        Beginning::from_key(&word?)
    };
    document().document_element().and_then(of_page).unwrap_or(Beginning::Site)
}

/// The address behind which the query of any configuration says all of it: that of the page, or of the first page of the
/// site where this page has a beginning of its own.
pub fn plain_address() -> String {
    if beginning() == Beginning::Site { address() } else { site() }
}

/// The address of the first page of the site, beside which the manifest lies.
pub fn site() -> String {
    let manifest = document().query_selector("link[rel=manifest]").ok().flatten();
    let address = manifest.and_then(|link| link.dyn_into::<HtmlLinkElement>().ok()).map(|link| link.href());
    let address = address.unwrap_or_else(self::address);
    address.rfind('/').map_or_else(String::new, |end| address[..=end].to_owned())
}

/// Every element inside `whole` that a selector finds.
#[inline(never)]
pub fn all(whole: &Element, selector: &str) -> Vec<Element> {
    let Ok(found) = whole.query_selector_all(selector) else { return Vec::new() };
    (0..found.length()).filter_map(|position| found.item(position)?.dyn_into().ok()).collect()
}

/// A new element that nobody is to see. Its tag is a literal and therefore a valid name.
#[inline(never)]
pub fn create<T: JsCast>(tag: &'static str) -> Option<T> {
    document().create_element(tag).ok()?.dyn_into().ok()
}

/// A property of an object; undefined where it has none.
#[inline(never)]
pub fn property(object: &JsValue, name: &str) -> JsValue {
    js_sys::Reflect::get(object, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

/// An SVG file as the address of an image.
pub fn svg_address(file: &str) -> String {
    format!("data:image/svg+xml,{}", String::from(js_sys::encode_uri_component(file)))
}
