//! What is near the reader's eyes: only that is built, and only that follows a change.

use leptos::prelude::*;
use web_sys::Element;

use super::document::before_print;
use super::sight::observe;

/// How far outside the window a figure counts as near: a figure is there before it is scrolled to.
const AHEAD: &str = "160px 0px";

/// Whether `element` is near the window, as a signal that follows scrolling. Before a print everything is.
#[inline(never)]
pub fn nearby(element: &Element) -> RwSignal<bool> {
    let near = RwSignal::new(false);
    observe(
        vec![element.clone()],
        AHEAD,
        Box::new(move |entries| {
            // The newest word comes last.
            let now = entries.last().is_some_and(|entry| entry.is_intersecting());
            if near.get_untracked() != now {
                near.set(now);
            }
        }),
    );
    before_print(move || near.set(true));
    near
}
