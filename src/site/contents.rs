//! The table of contents follows the reader: the section in the middle of the window is marked in it.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, IntersectionObserverEntry};

use super::sight::observe;

/// The line of the window that decides, a third from the top, as the margins that leave nothing else.
const READING_LINE: &str = "-33% 0px -66% 0px";

/// Marks the link of the section that is read with `aria-current`.
pub fn follow() {
    let Ok(sections) = document().query_selector_all("main > section") else { return };
    let sections = (0..sections.length()).filter_map(|at| sections.item(at)?.dyn_into().ok()).collect();
    observe(sections, READING_LINE, Box::new(|entries| entries.iter().for_each(mark)));
}

fn mark(entry: &IntersectionObserverEntry) {
    let Some(link) = link_to(&entry.target()) else { return };
    if entry.is_intersecting() {
        _ = link.set_attribute("aria-current", "location");
        keep_in_view(&link);
    } else {
        _ = link.remove_attribute("aria-current");
    }
}

fn link_to(section: &Element) -> Option<Element> {
    document().query_selector(&format!(".toc a[href=\"#{}\"]", section.id())).ok().flatten()
}

/// Scrolls the contents, and nothing but them, where they are longer than the window.
fn keep_in_view(link: &Element) {
    let Some(contents) = link.closest(".toc").ok().flatten() else { return };
    let (inside, around) = (link.get_bounding_client_rect(), contents.get_bounding_client_rect());
    let (above, below) = (inside.top() - around.top(), inside.bottom() - around.bottom());
    if above < 0.0 || below > 0.0 {
        let aside = if above < 0.0 { above } else { below };
        contents.set_scroll_top(contents.scroll_top() + aside as i32);
    }
}
