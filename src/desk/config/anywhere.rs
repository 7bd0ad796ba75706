//! A `config.json` that is pasted or dropped where there is no field for it: it is taken at once, and the page says what
//! it was. The page's own Undo gives back the model before.

use bmax::{config_json, link};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::File;

use super::described::Described;
use super::{LARGEST, UNREADABLE, too_large};
use crate::page::property;
use crate::present::Present;

/// What was pasted or dropped last, in words.
#[derive(Clone, Copy)]
pub struct Given {
    present: Present,
    /// What the page says of it; empty while there is nothing to say.
    said: RwSignal<String>,
}

impl Given {
    /// Nothing was given.
    pub fn new(present: Present) -> Self {
        Self { present, said: RwSignal::new(String::new()) }
    }

    /// Takes a text, or the first of some files.
    pub fn take(self, given: &JsValue) {
        if let Some(text) = given.as_string() {
            return self.read(&text);
        }
        let Ok(file) = property(given, "0").dyn_into::<File>() else { return };
        if file.size() > LARGEST.into() {
            return self.said.set(too_large(file.size(), "bytes"));
        }
        spawn_local(async move {
            match JsFuture::from(file.text()).await.ok().and_then(|text| text.as_string()) {
                Some(text) => self.read(&text),
                None => self.said.set(UNREADABLE.to_owned()),
            }
        });
    }

    fn read(self, text: &str) {
        if text.len() > LARGEST as usize {
            return self.said.set(too_large(text.len() as f64, "bytes"));
        }
        match config_json::read(text) {
            Ok(reading) => {
                let model = Described::from(reading);
                let taken = model.taken;
                // The page is asked first: its address follows late.
                self.present.ask_for(move |now| {
                    let now = now.scenario;
                    self.present.change(&link::encode_change(&now.then(taken.apply(now)), &now));
                });
                let notes = model.notes.iter().map(|note| " ".to_owned() + note).collect::<String>();
                self.said.set(format!("The model is that of the config.json: {}{notes}", model.sentence));
            }
            Err(refusal) => self.said.set(refusal.on_page()),
        }
    }
}

/// What is said of it, until it is sent away. The place is a live region, which announces it:
/// <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>.
#[component]
pub fn GivenNotice(
    /// What was given.
    given: Given,
) -> impl IntoView {
    let said = given.said;
    view! {
        <Show when=move || !said.with(String::is_empty)>
            <div class="notice">
                <p data-testid="given-said">{move || said.get()}</p>
                <button
                    type="button"
                    class="button button-quiet button-small"
                    on:click=move |_| said.set(String::new())
                >
                    "Dismiss"
                </button>
            </div>
        </Show>
    }
}
