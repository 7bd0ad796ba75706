//! What the page itself says of how it is read.

use bmax::link::Beginning;
use leptos::prelude::*;

/// The figure that is embedded alone, as the first script of the page has marked it.
pub fn embedded() -> Option<String> {
    document().document_element()?.get_attribute("data-embed")
}

/// What the page was built with.
pub fn built_with() -> Beginning {
    let word = document().document_element().and_then(|root| root.get_attribute("data-begins"));
    word.and_then(|word| Beginning::from_key(&word)).unwrap_or(Beginning::Site)
}

/// How the address of the page is read and written. That of one figure alone is a link like any other.
pub fn beginning() -> Beginning {
    if embedded().is_some() { Beginning::Site } else { built_with() }
}

/// Whether the reader wants nothing to move.
pub fn prefers_less_motion() -> bool {
    let query = window().match_media("(prefers-reduced-motion: reduce)").ok().flatten();
    query.is_some_and(|query| query.matches())
}

/// Calls `act` before the page is printed, for as long as the current owner lives.
pub fn before_print(act: impl Fn() + Clone + 'static) {
    whenever("beforeprint", act);
}

/// Calls `act` when the page has been printed, for as long as the current owner lives.
pub fn after_print(act: impl Fn() + Clone + 'static) {
    whenever("afterprint", act);
}

fn whenever(event: &'static str, act: impl Fn() + Clone + 'static) {
    Effect::new(move |_| {
        let act = act.clone();
        let listener = window_event_listener_untyped(event, move |_| act());
        on_cleanup(move || listener.remove());
    });
}
