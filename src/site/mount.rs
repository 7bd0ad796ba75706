//! Mounting figures on the placeholders of the static text.

use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

/// Mounts `view` on the first element that `selector` finds, in place of what it holds. A page
/// without such an element, for instance a shortened copy, simply has one figure fewer.
fn mount_at<V: IntoView + 'static>(selector: &str, view: impl FnOnce() -> V + 'static) {
    let found = document().query_selector(selector).ok().flatten();
    let Some(place) = found.and_then(|element| element.dyn_into::<HtmlElement>().ok()) else { return };
    place.set_text_content(None);
    mount_to(place.clone(), view).forget();
    _ = place.set_attribute("data-mounted", "");
}

/// Mounts a figure on its placeholder, which carries its name as `data-figure`.
pub fn mount_figure<V: IntoView + 'static>(name: &str, view: impl FnOnce() -> V + 'static) {
    mount_at(&format!("[data-figure=\"{name}\"]"), view);
}

/// Mounts a part of the page's frame on the element with this `id`.
pub fn mount_part<V: IntoView + 'static>(id: &str, view: impl FnOnce() -> V + 'static) {
    mount_at(&format!("#{id}"), view);
}
