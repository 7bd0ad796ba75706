//! A model from a Hugging Face `config.json`: pasted, dropped or chosen, and read on this page.

mod described;

use bmax::catalogue::{AsUsual, Usual};
use bmax::{Scenario, config_json, json, link, number};
use leptos::ev::Event;
use leptos::html::Textarea;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::File;

use crate::page::property;
use crate::present::Present;
use described::Described;

/// What is larger is refused before it is read, in bytes.
const LARGEST: u32 = json::MAX_FILE_BYTES as u32;

/// The longest text of a file that is also put into the field, in bytes: a browser takes seconds to lay out more.
const SHOWN: usize = 1 << 18;

/// What is said of a file that the browser cannot read.
const UNREADABLE: &str = "The file cannot be read: it may have been moved, or be a folder.";

/// What is said of a text of this `size`, which counts `unit`: “bytes” or “characters”.
fn too_large(size: f64, unit: &str) -> String {
    let [size, most] = [size, LARGEST.into()].map(number::grouped);
    format!("This has {size} {unit} and was not read; at most {most} are.")
}

/// How the reading of a file went.
#[derive(Clone, PartialEq)]
enum Outcome {
    /// There is no text.
    Nothing,
    /// It cannot be used, for this reason.
    Refused(String),
    /// It is a model.
    Read(Box<Described>),
}

impl Outcome {
    /// The style sheet's word for it.
    const fn key(&self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Refused(_) => "refused",
            Self::Read(_) => "read",
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Refused(reason) => reason.clone(),
            Self::Read(model) => model.sentence.clone(),
        }
    }

    const fn model(&self) -> Option<&Described> {
        match self {
            Self::Read(model) => Some(&**model),
            _ => None,
        }
    }

    fn of(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Nothing;
        }
        match config_json::read(text) {
            Ok(reading) => Self::Read(Box::new(reading.into())),
            Err(refusal) => Self::Refused(refusal.on_page()),
        }
    }
}

/// The model that was read last, and the one that it took the place of.
#[derive(Clone, Copy)]
pub struct Config {
    present: Present,
    outcome: RwSignal<Outcome>,
    before: RwSignal<Option<AsUsual>>,
    field: NodeRef<Textarea>,
}

impl Config {
    /// Nothing has been read.
    pub fn new(present: Present) -> Self {
        present.ask();
        Self { present, outcome: RwSignal::new(Outcome::Nothing), before: RwSignal::new(None), field: NodeRef::new() }
    }

    /// Reads the first of some files; false when there is none.
    pub fn take_file(self, files: &JsValue) -> bool {
        let Ok(file) = property(files, "0").dyn_into::<File>() else { return false };
        if file.size() > LARGEST.into() {
            self.outcome.set(Outcome::Refused(too_large(file.size(), "bytes")));
            return true;
        }
        spawn_local(async move {
            let text = JsFuture::from(file.text()).await.ok().and_then(|text| text.as_string());
            if let (Some(field), Some(text)) = (self.field.get_untracked(), &text) {
                field.set_value(if text.len() > SHOWN { "" } else { text.as_str() });
            }
            self.outcome.set(text.map_or_else(|| Outcome::Refused(UNREADABLE.to_owned()), |text| Outcome::of(&text)));
        });
        true
    }

    /// Reads what was typed or pasted; its length is asked for before it is copied.
    fn pasted(self) {
        let Some(field) = self.field.get_untracked() else { return };
        let length = field.text_length();
        let outcome = if length > LARGEST {
            Outcome::Refused(too_large(length.into(), "characters"))
        } else {
            Outcome::of(&field.value())
        };
        self.outcome.set(outcome);
    }

    /// What the page shows.
    fn now(self) -> Scenario {
        self.present.link().get().scenario
    }

    fn read(self) -> Option<AsUsual> {
        self.outcome.with(|outcome| outcome.model().map(|model| model.taken))
    }

    /// Whether the page shows the model that was read.
    fn is_in_use(self) -> bool {
        self.read().is_some_and(|read| read.model == self.now().model)
    }

    /// Takes the model that was read, or gives back the one before.
    fn press(self) {
        let now = self.now();
        let wanted = if self.is_in_use() { self.before.get_untracked() } else { self.read() };
        if let Some(next) = wanted {
            let (dropout, recomputation) = (now.recipe.dropout, now.recipe.recomputation);
            self.before.set(Some(AsUsual { model: now.model, usual: Usual { dropout, recomputation } }));
            self.present.change(&link::encode_change(&now.then(next.apply(now)), &now));
        }
    }
}

/// The panel in which a file is given, and what was found in it.
#[component]
pub fn ConfigPanel(
    /// What was read.
    config: Config,
) -> impl IntoView {
    let Config { outcome, field, .. } = config;
    let refused = move || outcome.with(|outcome| matches!(outcome, Outcome::Refused(_)));
    let chosen = move |event: Event| {
        let files = event.target().map_or(JsValue::UNDEFINED, |field| property(&field, "files"));
        _ = config.take_file(&files);
    };
    view! {
        <div class="config-file">
            <div class="field">
                <label for="config-text">"Contents of config.json"</label>
                <textarea
                    node_ref=field
                    id="config-text"
                    rows="6"
                    spellcheck="false"
                    autocomplete="off"
                    aria-describedby="config-help config-said"
                    aria-invalid=move || refused().to_string()
                    on:input=move |_| config.pasted()
                ></textarea>
            </div>
            <div class="field">
                <label for="config-choice">"Or the file itself"</label>
                <input id="config-choice" type="file" accept=".json,.yaml,.yml,application/json" on:change=chosen/>
            </div>
            <p id="config-said" role="status" data-testid="config-said" data-state=move || outcome.with(Outcome::key)>
                {move || outcome.with(Outcome::sentence)}
            </p>
            <Found outcome/>
            <UseButton config/>
        </div>
    }
}

/// The sizes of the model, and what to know about its file.
#[component]
fn Found(outcome: RwSignal<Outcome>) -> impl IntoView {
    let size = |(name, value): (&'static str, String)| view! { <div><dt>{name}</dt><dd class="num">{value}</dd></div> };
    let note = |note: String| view! { <li>{note}</li> };
    let sizes = move || outcome.with(|outcome| outcome.model().map(|model| model.sizes.clone())).unwrap_or_default();
    let notes = move || outcome.with(|outcome| outcome.model().map(|model| model.notes.clone())).unwrap_or_default();
    view! {
        <div class="config-shown" hidden=move || outcome.with(|outcome| outcome.model().is_none())>
            <dl class="config-sizes">{move || sizes().into_iter().map(size).collect_view()}</dl>
            <div class="config-shown" hidden=move || notes().is_empty()>
                <p class="field-label">"What to know about this file"</p>
                <ul class="config-notes" data-testid="config-notes">
                    {move || notes().into_iter().map(note).collect_view()}
                </ul>
            </div>
        </div>
    }
}

/// The button that takes the model, and gives back the one before.
#[component]
fn UseButton(config: Config) -> impl IntoView {
    let in_use = move || config.is_in_use();
    let idle = move || in_use() && config.before.get().is_none();
    view! {
        <button
            type="button"
            class="button"
            hidden=move || config.read().is_none()
            aria-disabled=move || idle().to_string()
            on:click=move |_| untrack(move || config.press())
        >
            {move || if in_use() { "Back to the model before" } else { "Use this model" }}
        </button>
    }
}
