//! The button that copies a link to the current configuration.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

use super::dom::{El, el};
use super::{State, address};

/// Copies the link; where the browser forbids that, the link is shown to be copied by hand.
pub fn copy_link(state: State) -> El {
    // What was tried: nothing yet, copied (an empty text), or the link that the reader has to copy.
    let outcome = RwSignal::new(None::<String>);
    let copy = move || {
        let link = address::link_to(&state.scenario.get_untracked());
        spawn_local(async move {
            let copied = copy_text(&link).await;
            outcome.set(Some(if copied { String::new() } else { link }));
        });
    };
    let message = move || match outcome.get() {
        None => Vec::new(),
        Some(link) if link.is_empty() => vec![el("span").text("Link copied.")],
        Some(link) => {
            let field = el("input").attr("type", "text").attr("readonly", "").attr("value", &link);
            vec![el("label").text("Copy it by hand: ").child(field)]
        }
    };
    el("div")
        .class("copy-link")
        .child(el("button").class("button").attr("type", "button").text("Copy link").on("click", move |_| copy()))
        .child(el("span").class("small").attr("role", "status").live(message))
}

/// Whether the text reached the clipboard.
async fn copy_text(text: &str) -> bool {
    let clipboard = window().navigator().clipboard();
    // Outside a secure context the browser has no clipboard, though its interface says it has.
    if clipboard.is_undefined() {
        return false;
    }
    JsFuture::from(clipboard.write_text(text)).await.is_ok()
}
