//! The starting points of the first page, as links of the running page. The build has written them (`bmax::starts`): a
//! press opens the configuration without loading the page again, and the one in use is marked.

use bmax::{Scenario, link};
use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlAnchorElement};

use crate::site::{State, open};

/// The links to starting points.
const LINKS: &str = "a[data-start]";

/// What stays between a card and the edge of its row, in CSS pixels.
const EDGE: f64 = 16.0;

/// Takes presses on the starting points over, and marks the one in use. A page without them has nothing to take over.
pub fn follow(state: State) {
    let Ok(found) = document().query_selector_all(LINKS) else { return };
    let links = (0..found.length()).filter_map(|at| found.item(at)?.dyn_into::<HtmlAnchorElement>().ok());
    let links: Vec<_> = links.filter(is_here).map(|link| (wanted(&link), link)).collect();
    if links.is_empty() {
        return;
    }
    Effect::new(move |_| {
        let now = state.scenario.get();
        for (wanted, link) in &links {
            _ = if is_in_use(wanted, &now) {
                link.set_attribute("aria-current", "true")
            } else {
                link.remove_attribute("aria-current")
            };
        }
    });
    // They hear as long as the page lives.
    _ = window_event_listener(ev::focusin, |event| bring_into_sight(&event));
    _ = window_event_listener(ev::click, move |event| {
        // Whoever wants it in another tab gets it there.
        let is_plain = event.button() == 0
            && !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key())
            && !event.default_prevented();
        let pressed = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let link = pressed.and_then(|pressed| pressed.closest(LINKS).ok().flatten());
        if let Some(link) = link.and_then(|link| link.dyn_into::<HtmlAnchorElement>().ok())
            && is_plain
            && is_here(&link)
        {
            event.prevent_default();
            open(state, wanted(&link));
        }
    });
}

/// Browsers leave a card that the keyboard reaches where it is while a part of it can be seen.
fn bring_into_sight(event: &web_sys::FocusEvent) {
    let reached = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok())
        .filter(|one| one.matches(LINKS) == Ok(true));
    let Some((card, row)) = reached.and_then(|card| Some((card.get_bounding_client_rect(), card.closest("ul").ok()??)))
    else {
        return;
    };
    let within = row.get_bounding_client_rect();
    let (before, behind) = (card.left() - within.left(), card.right() - within.right());
    let by = if before < 0.0 {
        before - EDGE
    } else if behind > 0.0 {
        behind + EDGE
    } else {
        return;
    };
    row.set_scroll_left(row.scroll_left() + by as i32);
}

/// Whether a link leads to this page; another page is loaded as by any link.
fn is_here(link: &HtmlAnchorElement) -> bool {
    window().location().pathname().is_ok_and(|here| here == link.pathname())
}

fn wanted(link: &HtmlAnchorElement) -> Scenario {
    link::decode(&link.search()).scenario
}

/// Whether the page shows a start, at whatever micro-batch and with whatever chart.
fn is_in_use(start: &Scenario, now: &Scenario) -> bool {
    let start = Scenario { comparison: now.comparison, ..*start };
    start.with_batch(now.recipe.batch) == *now
}
