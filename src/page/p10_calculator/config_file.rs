//! A model from a Hugging Face `config.json`: pasted, dropped or chosen, and read on this page.

use bmax::catalogue::MODELS;
use bmax::config_json::{self, Reading, Refusal};
use bmax::{Model, Scenario, number};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Event, File};

use super::form::described;
use crate::site::dom::{El, keep, value_of};
use crate::site::{Live, State};

/// A file of a model has a few kilobytes. What is larger is refused before it is read.
const LARGEST: u32 = 1 << 20;

/// The panel, with what was read last.
#[derive(Clone)]
struct Panel {
    live: Live,
    read: Read,
}

/// The default scenario with the model that was read; without parameters, while there is none. A signal
/// of the type that the page has already is lighter than one of a type of its own.
type Read = RwSignal<Scenario>;

fn with_model(model: Model) -> Scenario {
    Scenario { model, ..Scenario::default() }
}

fn nothing() -> Scenario {
    with_model(Model { parameters: 0, ..Scenario::default().model })
}

/// The folded panel.
pub fn bind(state: State, fold: &El) {
    let panel = Panel { live: Live::over(state, fold), read: RwSignal::new(nothing()) };
    let (typed, chosen, dropped) = (panel.clone(), panel.clone(), panel.clone());
    _ = fold.part("text").on("input", move |event| typed.pasted(&event));
    _ = fold.part("file").on("change", move |event| _ = chosen.file_in(&property(&event, "target")));
    let fold = fold.clone().on("dragover", |event| event.prevent_default());
    _ = fold.on("drop", move |event| {
        // Text that is dropped goes where a browser puts it; only files would lead away from the page.
        if dropped.file_in(&property(&event, "dataTransfer")) {
            event.prevent_default();
            dropped.live.attr("", "open", "");
        }
    });
    use_button(state, panel);
}

fn property(of: &JsValue, name: &str) -> JsValue {
    js_sys::Reflect::get(of, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

impl Panel {
    /// Reads what was typed or pasted; its length is asked for before it is copied.
    fn pasted(&self, event: &Event) {
        let length = property(&property(event, "target"), "textLength");
        if length.as_f64().is_some_and(|length| length > LARGEST.into()) {
            self.say("refused", "too-large", &[]);
        } else {
            self.read(&value_of(event));
        }
    }

    /// Reads the first of the files that something holds; false when it holds none.
    fn file_in(&self, holder: &JsValue) -> bool {
        let Ok(file) = property(&property(holder, "files"), "0").dyn_into::<File>() else { return false };
        if file.size() > LARGEST.into() {
            self.say("refused", "too-large", &[]);
            return true;
        }
        let panel = self.clone();
        spawn_local(async move {
            match JsFuture::from(file.text()).await.ok().and_then(|text| text.as_string()) {
                Some(text) => {
                    panel.live.set("text", &text);
                    panel.read(&text);
                }
                None => panel.say("refused", "unreadable", &[]),
            }
        });
        true
    }

    fn read(&self, text: &str) {
        if text.trim().is_empty() {
            return self.say("", "", &[]);
        }
        match config_json::read(text) {
            Ok(reading) => self.accept(reading),
            Err(refusal) => self.say("refused", "refused", &[Refusal::to_string(&refusal)]),
        }
    }

    /// Says how the reading went, and forgets what was read before.
    fn say(&self, state: &str, case: &str, texts: &[String]) {
        self.read.set(nothing());
        self.live.control_attr("text", "aria-invalid", if state == "refused" { "true" } else { "false" });
        self.live.attr("said", "data-state", state);
        self.live.say("said", case, texts);
        self.live.show("shown", state == "read");
    }

    fn accept(&self, reading: Reading) {
        // A row with the same numbers says more than numbers alone, and makes the shorter link.
        let row = MODELS.iter().find(|row| Model { origin: row.slug, ..reading.model } == row.model);
        let model = row.map_or(reading.model, |row| row.model);
        let mut texts = vec![reading.architecture.to_owned(), number::grouped(model.parameters as f64)];
        texts.extend(row.map(|row| row.name.to_owned()));
        self.say("read", if row.is_some() { "listed" } else { "read" }, &texts);
        let sizes = described(&with_model(model));
        for (item, (name, value)) in self.live.copies("sizes", sizes.len()).iter().zip(sizes) {
            item.write("", &[name.to_owned(), value]);
        }
        self.live.show("notes-shown", !reading.notes.is_empty());
        for (item, note) in self.live.copies("notes", reading.notes.len()).iter().zip(reading.notes) {
            item.text("", &note.to_string());
        }
        self.read.set(with_model(model));
    }
}

/// Takes the model that was read, and gives back the one before.
fn use_button(state: State, panel: Panel) {
    let Panel { live, read } = panel;
    let before = RwSignal::new(nothing());
    let press = move || {
        let (current, wanted) = (state.scenario.get_untracked(), read.get_untracked().model);
        let next = if current.model == wanted { before.get_untracked().model } else { wanted };
        if next.parameters > 0 {
            before.set(current);
            state.change(|scenario| Scenario { model: next, ..scenario });
        }
    };
    _ = live.place("use").on("click", move |_| press());
    keep(Box::new(move || {
        let model = read.get().model;
        let in_use = state.asked(|scenario| scenario.model == model);
        live.show("use", model.parameters > 0);
        live.say("use", if in_use { "back" } else { "use" }, &[]);
        let idle = in_use && before.get().model.parameters == 0;
        live.attr("use", "aria-disabled", if idle { "true" } else { "false" });
    }));
}
