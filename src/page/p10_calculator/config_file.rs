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
use crate::site::State;
use crate::site::dom::{El, el, value_of};

/// A file of a model has a few kilobytes. What is larger is refused before it is read.
const LARGEST: u32 = 1 << 20;

const TOO_LARGE: &str = "This is larger than 1 MiB and was not read; a config.json has a few kilobytes.";

/// The panel, with what was read last.
#[derive(Clone)]
struct Panel {
    text: El,
    said: El,
    shown: El,
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
pub fn config_file(state: State) -> El {
    let text = el("textarea")
        .attr("id", "config-text")
        .attr("rows", "6")
        .attr("spellcheck", "false")
        .attr("autocomplete", "off")
        .attr("aria-describedby", "config-help config-said");
    let said = el("p").attr("id", "config-said").attr("role", "status").attr("data-testid", "config-said");
    let panel = Panel { text, said, shown: el("div").class("config-shown"), read: RwSignal::new(nothing()) };
    let (typed, chosen, dropped) = (panel.clone(), panel.clone(), panel.clone());
    let text = panel.text.clone().on("input", move |event| typed.pasted(&event));
    let file = el("input")
        .attr("id", "config-choice")
        .attr("type", "file")
        .attr("accept", ".json,application/json")
        .on("change", move |event| _ = chosen.file_in(&property(&event, "target")));
    let help = "Beside a model’s weights on Hugging Face lies the file that says its shape. Paste its text, choose it \
                or drop it here. It is read on this page and sent nowhere.";
    let body = el("div")
        .class("config-file")
        .child(el("p").class("field-help").attr("id", "config-help").text(help))
        .child(field("config-text", "Contents of config.json", text))
        .child(field("config-choice", "Or the file itself", file))
        .child(panel.said.clone())
        .child(panel.shown.clone())
        .child(use_button(state, panel.read));
    let fold = el("details").class("form-more").child(el("summary").text("Paste a config.json")).child(body);
    let opened = fold.clone();
    fold.on("dragover", |event| event.prevent_default()).on("drop", move |event| {
        // Text that is dropped goes where a browser puts it; only files would lead away from the page.
        if dropped.file_in(&property(&event, "dataTransfer")) {
            event.prevent_default();
            _ = opened.element().set_attribute("open", "");
        }
    })
}

fn field(id: &str, label: &str, control: El) -> El {
    el("div").class("field").child(el("label").attr("for", id).text(label)).child(control)
}

fn property(of: &JsValue, name: &str) -> JsValue {
    js_sys::Reflect::get(of, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

impl Panel {
    /// Reads what was typed or pasted; its length is asked for before it is copied.
    fn pasted(&self, event: &Event) {
        let length = property(&property(event, "target"), "textLength");
        if length.as_f64().is_some_and(|length| length > LARGEST.into()) {
            self.refuse(TOO_LARGE);
        } else {
            self.read(&value_of(event));
        }
    }

    /// Reads the first of the files that something holds; false when it holds none.
    fn file_in(&self, holder: &JsValue) -> bool {
        let Ok(file) = property(&property(holder, "files"), "0").dyn_into::<File>() else { return false };
        if file.size() > LARGEST.into() {
            self.refuse(TOO_LARGE);
            return true;
        }
        let panel = self.clone();
        spawn_local(async move {
            match JsFuture::from(file.text()).await.ok().and_then(|text| text.as_string()) {
                Some(text) => {
                    _ = js_sys::Reflect::set(panel.text.element(), &"value".into(), &text.as_str().into());
                    panel.read(&text);
                }
                None => panel.refuse("The file cannot be read: it may have been moved, or be a folder."),
            }
        });
        true
    }

    fn read(&self, text: &str) {
        if text.trim().is_empty() {
            return self.say("", "", Vec::new());
        }
        match config_json::read(text) {
            Ok(reading) => self.accept(reading),
            Err(refusal) => self.refuse(&Refusal::to_string(&refusal)),
        }
    }

    fn refuse(&self, message: &str) {
        self.say("refused", message, Vec::new());
    }

    fn say(&self, state: &'static str, message: &str, shown: Vec<El>) {
        self.read.set(nothing());
        _ = self.text.clone().attr("aria-invalid", if state == "refused" { "true" } else { "false" });
        _ = self.said.clone().clear().attr("data-state", state).text(message);
        _ = self.shown.clone().clear().children(shown);
    }

    fn accept(&self, reading: Reading) {
        // A row with the same numbers says more than numbers alone, and makes the shorter link.
        let row = MODELS.iter().find(|row| Model { origin: row.slug, ..reading.model } == row.model);
        let model = row.map_or(reading.model, |row| row.model);
        let count = number::grouped(model.parameters as f64);
        let mut message = format!("{}: {count} parameters.", reading.architecture);
        if let Some(row) = row {
            message += &format!(" These are the numbers of “{}” in the list.", row.name);
        }
        let size = |(name, value): (&'static str, String)| {
            el("div").child(el("dt").text(name)).child(el("dd").class("num").text(&value))
        };
        let sizes = described(&with_model(model)).into_iter().map(size).collect();
        let mut shown = vec![el("dl").class("config-sizes").children(sizes)];
        if !reading.notes.is_empty() {
            let notes = reading.notes.iter().map(|note| el("li").text(&note.to_string())).collect();
            shown.push(el("p").class("field-label").text("What to know about this file"));
            shown.push(el("ul").class("config-notes").attr("data-testid", "config-notes").children(notes));
        }
        self.say("read", &message, shown);
        self.read.set(with_model(model));
    }
}

/// Takes the model that was read, and gives back the one before.
fn use_button(state: State, read: Read) -> El {
    let before = RwSignal::new(nothing());
    let in_use = move || state.asked(|scenario| *scenario).model == read.get().model;
    let is_nothing = |read: Read| read.get().model.parameters == 0;
    let press = move || {
        let (current, wanted) = (state.scenario.get_untracked(), read.get_untracked().model);
        let next = if current.model == wanted { before.get_untracked().model } else { wanted };
        if next.parameters > 0 {
            before.set(current);
            state.change(|scenario| Scenario { model: next, ..scenario });
        }
    };
    el("button")
        .attr("type", "button")
        .class("button")
        .toggle("hidden", move || is_nothing(read))
        .bind("aria-disabled", move || (in_use() && is_nothing(before)).to_string())
        .bind_text(move || if in_use() { "Back to the model before" } else { "Use this model" }.to_owned())
        .on("click", move |_| press())
}
