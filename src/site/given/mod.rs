//! What is pasted or dropped on the page: configurations, commands, error texts and names of models. The page reads it in
//! the browser, takes it over at once and says what became of every key; its own Undo gives back what was there before.
//!
//! The page's inline script hears the reader and hands over a text or files as a message to its own window ([`super::host`]).
//! What reads is a part of the program of its own, which the first message fetches.

mod back;
mod view;

use std::cell::{Cell, OnceCell};

use bmax::input::Input;
use bmax::read::{Needs, Readers, Reading, Text};
use leptos::children::ViewFn;
use leptos::prelude::*;
use leptos::wasm_split::{SplitLoaderError, wasm_split};
use wasm_bindgen::JsValue;

use super::State;
use super::mount::mount_frame;

/// What a reader is told without a network.
const NOT_FETCHED: &str = "What reads this could not be fetched. Reload the page and paste it again.";

/// The id of the element of the page that says what was read.
const PLACE: &str = "given";

thread_local! {
    /// What was given last, once anything was.
    static GIVEN: OnceCell<RwSignal<JsValue, LocalStorage>> = const { OnceCell::new() };
    /// The readers that were fetched.
    static READERS: Cell<Readers> = Cell::default();
}

/// Reads texts with their names, and takes over what they say.
pub fn take(state: State, given: JsValue) {
    leptos::task::spawn_local(async move {
        if read(state, given).await.is_err() {
            mount_frame(PLACE, || NOT_FETCHED);
        }
    });
}

#[wasm_split(read, wasm_split_path = leptos::wasm_split, fallible)]
fn read(state: State, given: JsValue) -> Result<(), SplitLoaderError> {
    GIVEN.with(|last| match last.get() {
        Some(last) => last.set(given),
        None => {
            let first = *last.get_or_init(|| RwSignal::new_local(given));
            mount_frame(PLACE, move || view! { <view::Given state given=first/> });
        }
    });
    Ok(())
}

/// Reads texts, and fetches the readers that they need.
async fn reading(texts: &[Text<'_>]) -> Result<Reading, SplitLoaderError> {
    loop {
        let readers = READERS.get();
        let more = match readers.read(texts) {
            Ok(reading) => return Ok(reading),
            Err(Needs::Python) => python(readers).await?,
            Err(Needs::Json) => json(readers).await?,
            Err(Needs::Yaml) => yaml(readers).await?,
            Err(Needs::Toml) => toml(readers).await?,
            Err(Needs::Models) => models(readers).await?,
            Err(Needs::FineTuning) => fine_tuning(readers).await?,
            Err(Needs::Pretraining) => pretraining(readers).await?,
        };
        READERS.set(more);
    }
}

#[wasm_split(python, wasm_split_path = leptos::wasm_split, fallible)]
fn python(readers: Readers) -> Result<Readers, SplitLoaderError> {
    Ok(readers.with_python())
}

#[wasm_split(json, wasm_split_path = leptos::wasm_split, fallible)]
fn json(readers: Readers) -> Result<Readers, SplitLoaderError> {
    Ok(readers.with_json())
}

#[wasm_split(yaml, wasm_split_path = leptos::wasm_split, fallible)]
fn yaml(readers: Readers) -> Result<Readers, SplitLoaderError> {
    Ok(readers.with_yaml())
}

#[wasm_split(toml, wasm_split_path = leptos::wasm_split, fallible)]
fn toml(readers: Readers) -> Result<Readers, SplitLoaderError> {
    Ok(readers.with_toml())
}

#[wasm_split(models, wasm_split_path = leptos::wasm_split, fallible)]
fn models(readers: Readers) -> Result<Readers, SplitLoaderError> {
    Ok(readers.with_models())
}

#[wasm_split(fine_tuning, wasm_split_path = leptos::wasm_split, fallible)]
fn fine_tuning(readers: Readers) -> Result<Readers, SplitLoaderError> {
    Ok(readers.with_fine_tuning())
}

#[wasm_split(pretraining, wasm_split_path = leptos::wasm_split, fallible)]
fn pretraining(readers: Readers) -> Result<Readers, SplitLoaderError> {
    Ok(readers.with_pretraining())
}

/// Gives texts back that were read, with these values of inputs, as a view. Whatever reads them was fetched then.
#[wasm_split(rewrite, wasm_split_path = leptos::wasm_split, fallible)]
fn rewritten(texts: Vec<(String, String)>, wanted: Vec<(Input, String)>) -> Result<ViewFn, SplitLoaderError> {
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let found = READERS.get().rewrite(&texts, &wanted).unwrap_or_default();
    Ok(ViewFn::from(move || back::view(found.clone())))
}
