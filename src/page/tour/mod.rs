//! The tour over the opening figure. Its cards are `bmax::tour::CARDS`; the fragment of the address says which one is
//! open (`#tour-5`). A card sets the configuration of the page, and the reader's own one comes back at the end.
//!
//! The first module of the program knows only `follow`, which waits for such a fragment; the card and its texts are in the
//! part that few visits need, with the messages about a link.

mod view;

#[cfg(feature = "hydrate")]
use leptos::prelude::*;

#[cfg(feature = "hydrate")]
use crate::site::{State, embedded, fetch_once, fragment};

/// What the cards lead over, and where a card stands: before what the program answers for.
#[cfg(feature = "hydrate")]
const FIGURE: &str = "#embed-answer > .live";

/// Opens the card that the address names, now and whenever that changes. A page without the figure has no tour.
#[cfg(feature = "hydrate")]
pub fn follow(state: State) {
    let Ok(Some(figure)) = document().query_selector(FIGURE) else { return };
    let is_embed = embedded().is_some_and(|figure| figure == "tour");
    // A frame in which the address cannot be changed has no fragment.
    let first = if is_embed { Some(asked().unwrap_or_default()) } else { asked() };
    let card = RwSignal::new(first);
    // It hears as long as the page lives.
    _ = window_event_listener(leptos::ev::hashchange, move |_| card.set(asked()));
    let fetch = move || {
        let figure = figure.clone();
        leptos::task::spawn_local(async move {
            if open(figure, state, card).await.is_err() {
                // The same in words, where the link leads without scripts.
                _ = window().location().assign("teach/#tour-in-words");
            }
        });
    };
    fetch_once(move || card.get().is_some(), fetch);
}

/// The card that the address asks for.
#[cfg(feature = "hydrate")]
fn asked() -> Option<usize> {
    // Its number is checked where the cards are known.
    let fragment = fragment();
    match fragment.strip_prefix("tour")? {
        "" => Some(0),
        rest => rest.strip_prefix('-')?.parse::<usize>().ok()?.checked_sub(1),
    }
}

#[cfg(feature = "hydrate")]
#[leptos::wasm_split::wasm_split(seldom, wasm_split_path = leptos::wasm_split, fallible)]
fn open(
    figure: web_sys::Element,
    state: State,
    card: RwSignal<Option<usize>>,
) -> Result<(), leptos::wasm_split::SplitLoaderError> {
    let Ok(place) = document().create_element("div") else { return Ok(()) };
    place.set_class_name("tour-place");
    if figure.before_with_node_1(&place).is_ok() {
        use wasm_bindgen::JsCast;
        leptos::mount::mount_to(place.unchecked_into(), move || leptos::view! { <view::Tour state card/> }).forget();
    }
    Ok(())
}
