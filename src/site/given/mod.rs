//! What is pasted or dropped on the page: configurations, commands, error texts and names of models. The page reads it in
//! the browser, takes it over at once and says what became of every key; its own Undo gives back what was there before.
//!
//! The page's inline script hears the reader and hands over a text or files as a message to its own window ([`super::host`]).
//! What reads is a part of the program of its own, which the first message fetches.

mod view;

use std::cell::OnceCell;

use leptos::prelude::*;
use wasm_bindgen::JsValue;

use super::State;
use super::mount::mount_frame;

/// The id of the element of the page that says what was read.
const PLACE: &str = "given";

thread_local! {
    /// What was given last, once anything was.
    static GIVEN: OnceCell<RwSignal<JsValue, LocalStorage>> = const { OnceCell::new() };
}

/// Reads texts with their names, and takes over what they say.
pub fn take(state: State, given: JsValue) {
    leptos::task::spawn_local(async move {
        if read(state, given).await.is_err() {
            mount_frame(PLACE, || "What reads this could not be fetched. Reload the page and paste it again.");
        }
    });
}

#[leptos::wasm_split::wasm_split(read, wasm_split_path = leptos::wasm_split, fallible)]
fn read(state: State, given: JsValue) -> Result<(), leptos::wasm_split::SplitLoaderError> {
    GIVEN.with(|last| match last.get() {
        Some(last) => last.set(given),
        None => {
            let first = *last.get_or_init(|| RwSignal::new_local(given));
            mount_frame(PLACE, move || view! { <view::Given state given=first/> });
        }
    });
    Ok(())
}
