//! What is near the reader's eyes: only that is built, and only that follows a change.

use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry, IntersectionObserverInit};

/// How far outside the window a figure counts as near: a figure is there before it is scrolled to.
const AHEAD: &str = "640px 0px";

/// Whether `element` is near the window, as a signal that follows scrolling. Before a print everything is.
///
/// A browser that cannot observe says that everything is near.
#[inline(never)]
pub fn nearby(element: &Element) -> RwSignal<bool> {
    let near = RwSignal::new(false);
    let seen = Closure::<dyn Fn(Array)>::new(move |entries: Array| {
        // The newest word comes last.
        let entry: IntersectionObserverEntry = entries.get(entries.length().saturating_sub(1)).unchecked_into();
        if near.get_untracked() != entry.is_intersecting() {
            near.set(entry.is_intersecting());
        }
    });
    let options = IntersectionObserverInit::new();
    options.set_root_margin(AHEAD);
    match IntersectionObserver::new_with_options(seen.as_ref().unchecked_ref(), &options) {
        Ok(observer) => {
            observer.observe(element);
            StoredValue::new_local((observer, seen));
        }
        Err(_) => near.set(true),
    }
    let print = Closure::<dyn Fn()>::new(move || near.set(true));
    _ = window().add_event_listener_with_callback("beforeprint", print.as_ref().unchecked_ref());
    StoredValue::new_local(print);
    near
}
