//! What was wrong with the link, said to the reader.

use leptos::prelude::*;

use super::dom::{El, el};
use super::{State, mount_part};

/// More messages than this help nobody; the rest is counted.
const SHOWN: usize = 6;

/// Mounts the region for messages.
pub fn mount(state: State) {
    mount_part("notices", move || el("div").live(move || link_notices(state)));
}

fn link_notices(state: State) -> Vec<El> {
    let all = state.notices.get();
    if all.is_empty() {
        return Vec::new();
    }
    let mut items: Vec<_> = all.iter().take(SHOWN).map(|notice| el("li").text(&notice.to_string())).collect();
    if all.len() > SHOWN {
        items.push(el("li").text(&format!("{} more parts of the link were not understood.", all.len() - SHOWN)));
    }
    let text = el("div")
        .child(el("p").class("notice-title").text("Not everything in this link could be used"))
        .child(el("ul").children(items));
    let dismiss = el("button")
        .class("button button-quiet button-small")
        .attr("type", "button")
        .text("Dismiss")
        .on("click", move |_| state.notices.set(Vec::new()));
    vec![el("div").class("notice").child(text).child(dismiss)]
}
