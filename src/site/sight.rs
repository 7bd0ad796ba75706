//! What is in sight of the reader.

use leptos_use_intersection_observer::{UseIntersectionObserverOptions, use_intersection_observer_with_options};
use web_sys::{Element, IntersectionObserverEntry};

/// What is told of what came into the window or left it.
pub type Seen = Box<dyn Fn(&[IntersectionObserverEntry])>;

/// Calls `seen` with what has come into the window or left it among `elements`, for as long as the current owner
/// lives. `margin` makes the window larger or smaller, as in CSS. It is compiled once for all who ask.
#[inline(never)]
pub fn observe(elements: Vec<Element>, margin: &str, seen: Seen) {
    let options = UseIntersectionObserverOptions::default().root_margin(margin);
    _ = use_intersection_observer_with_options(elements, move |entries, _| seen(&entries), options);
}
