//! What was wrong with the link, said to the reader.

use leptos::prelude::*;

use super::{State, mount_part};

/// More messages than this help nobody; the rest is counted.
const SHOWN: usize = 6;

/// Mounts the region for messages.
pub fn mount(state: State) {
    mount_part("notices", move || {
        move || (!state.notices.with(Vec::is_empty)).then(|| view! { <LinkNotices state /> })
    });
}

#[component]
fn LinkNotices(state: State) -> impl IntoView {
    let messages = move || {
        let all = state.notices.get();
        let more = all.len().saturating_sub(SHOWN);
        let rest = (more > 0).then(|| format!("{more} more parts of the link were not understood."));
        all.iter().take(SHOWN).map(ToString::to_string).chain(rest).map(|text| view! { <li>{text}</li> }).collect_view()
    };
    view! {
        <div class="notice">
            <div>
                <p class="notice-title">"Not everything in this link could be used"</p>
                <ul>{move || messages()}</ul>
            </div>
            <button class="button button-quiet button-small" on:click=move |_| state.notices.set(Vec::new())>
                "Dismiss"
            </button>
        </div>
    }
}
