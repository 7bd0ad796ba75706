//! The button that copies a link to the current configuration.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

use super::{State, address};

/// Copies the link; where the browser forbids that, the link is shown to be copied by hand.
#[component]
pub fn CopyLink(state: State) -> impl IntoView {
    let outcome = RwSignal::new(None::<Outcome>);
    let copy = move |_| {
        let link = address::link_to(&state.scenario.get_untracked());
        spawn_local(async move {
            let copied = copy_text(&link).await;
            outcome.set(Some(if copied { Outcome::Copied } else { Outcome::Refused(link) }));
        });
    };
    let message = move || match outcome.get() {
        None => ().into_any(),
        Some(Outcome::Copied) => view! { <span>"Link copied."</span> }.into_any(),
        Some(Outcome::Refused(link)) => {
            view! { <label>"Copy it by hand: "<input type="text" readonly prop:value=link /></label> }.into_any()
        }
    };
    view! {
        <div class="copy-link">
            <button type="button" class="button" on:click=copy>"Copy link"</button>
            <span role="status" class="small">{move || message()}</span>
        </div>
    }
}

#[derive(Clone)]
enum Outcome {
    Copied,
    Refused(String),
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
