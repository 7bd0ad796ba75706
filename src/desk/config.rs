//! A model from a Hugging Face `config.json`: pasted, dropped or chosen, and read on this page.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bmax::catalogue::MODELS;
use bmax::config_json::{self, Reading};
use bmax::{Field, Model, Scenario, Setting, link, number, setting};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{CustomEvent, Element, Event, File};

use crate::dom::{create, listen, markup, part, property, set_value, show, target, value};
use crate::present;

/// A file of a model has a few kilobytes. What is larger is refused before it is read.
const LARGEST: u32 = 1 << 20;

/// The panel, with the model that was read last, the one that it took the place of, and the page's own.
struct Panel {
    root: Element,
    read: Cell<Option<Model>>,
    before: Cell<Option<Model>>,
    own: Cell<Model>,
}

thread_local! {
    /// There is one such panel in the page, and it is bound once.
    static PANEL: RefCell<Option<Rc<Panel>>> = const { RefCell::new(None) };
}

/// Fills the folded panel that was pressed, if that has not been done, and takes the files that were
/// dropped on it.
pub fn open(fold: &Element, event: &Event) {
    let panel = PANEL.with_borrow_mut(|panel| panel.get_or_insert_with(|| bind(fold)).clone());
    let files = event.dyn_ref::<CustomEvent>().map(CustomEvent::detail).unwrap_or_default();
    if panel.file_of(&files) {
        _ = fold.set_attribute("open", "");
    }
}

fn bind(fold: &Element) -> Rc<Panel> {
    let root = markup(include_str!("config.html"));
    _ = fold.append_child(&root);
    let panel = Rc::new(Panel {
        root,
        read: Cell::default(),
        before: Cell::default(),
        own: Cell::new(Scenario::default().model),
    });
    let (typed, chosen, pressed, followed) = (panel.clone(), panel.clone(), panel.clone(), panel.clone());
    listen(&part(&panel.root, "text"), "input", move |event| typed.pasted(&event));
    listen(&part(&panel.root, "file"), "change", move |event| {
        _ = chosen.file_of(&property(&property(&event, "target"), "files"));
    });
    listen(&part(&panel.root, "use"), "click", move |_| pressed.press());
    let follow = move |scenario: Scenario| {
        followed.own.set(scenario.model);
        followed.draw_button();
    };
    present::listen(follow.clone());
    present::ask(follow);
    panel
}

impl Panel {
    /// Reads what was typed or pasted; its length is asked for before it is copied.
    fn pasted(&self, event: &Event) {
        let Some(field) = target(event) else { return };
        if property(&field, "textLength").as_f64().is_some_and(|length| length > LARGEST.into()) {
            self.too_large();
        } else {
            self.read(&value(&field));
        }
    }

    /// Reads the first of some files; false when there is none.
    fn file_of(self: &Rc<Self>, files: &JsValue) -> bool {
        let Ok(file) = property(files, "0").dyn_into::<File>() else { return false };
        if file.size() > LARGEST.into() {
            self.too_large();
            return true;
        }
        let panel = self.clone();
        spawn_local(async move {
            match JsFuture::from(file.text()).await.ok().and_then(|text| text.as_string()) {
                Some(text) => {
                    set_value(&part(&panel.root, "text"), &text);
                    panel.read(&text);
                }
                None => panel.say("refused", "The file cannot be read: it may have been moved, or be a folder."),
            }
        });
        true
    }

    fn too_large(&self) {
        self.say("refused", "This is larger than 1 MiB and was not read; a config.json has a few kilobytes.");
    }

    fn read(&self, text: &str) {
        if text.trim().is_empty() {
            return self.say("", "");
        }
        match config_json::read(text) {
            Ok(reading) => self.accept(reading),
            Err(refusal) => self.say("refused", &refusal.to_string()),
        }
    }

    /// Says how the reading went, and forgets what was read before.
    fn say(&self, state: &str, text: &str) {
        self.read.set(None);
        let invalid = if state == "refused" { "true" } else { "false" };
        _ = part(&self.root, "text").set_attribute("aria-invalid", invalid);
        let said = part(&self.root, "said");
        _ = said.set_attribute("data-state", state);
        said.set_text_content(Some(text));
        show(&part(&self.root, "shown"), state == "read");
        self.draw_button();
    }

    fn accept(&self, reading: Reading) {
        // A row with the same numbers says more than numbers alone, and makes the shorter link.
        let row = MODELS.iter().find(|row| Model { origin: row.slug, ..reading.model } == row.model);
        let model = row.map_or(reading.model, |row| row.model);
        let count = number::grouped(model.parameters as f64);
        let mut text = format!("{}: {count} parameters.", reading.architecture);
        if let Some(row) = row {
            text += &format!(" These are the numbers of “{}” in the list.", row.name);
        }
        self.say("read", &text);

        let sizes = part(&self.root, "sizes");
        sizes.set_text_content(None);
        for (name, value) in described(&model) {
            let pair = create("div");
            let number = child(&pair, "dd", &value);
            number.set_class_name("num");
            _ = pair.insert_before(&text_in("dt", name), Some(&number));
            _ = sizes.append_child(&pair);
        }
        show(&part(&self.root, "notes-shown"), !reading.notes.is_empty());
        let notes = part(&self.root, "notes");
        notes.set_text_content(None);
        for note in &reading.notes {
            _ = child(&notes, "li", &note.to_string());
        }
        self.read.set(Some(model));
        self.draw_button();
    }

    /// Takes the model that was read, or gives back the one before.
    fn press(&self) {
        let Some(wanted) = self.read.get() else { return };
        let own = self.own.get();
        let next = if own == wanted { self.before.get() } else { Some(wanted) };
        if let Some(next) = next {
            self.before.set(Some(own));
            present::change(&named(next));
        }
    }

    fn draw_button(&self) {
        let button = part(&self.root, "use");
        show(&button, self.read.get().is_some());
        let Some(wanted) = self.read.get() else { return };
        let in_use = self.own.get() == wanted;
        button.set_text_content(Some(if in_use { "Back to the model before" } else { "Use this model" }));
        let idle = in_use && self.before.get().is_none();
        _ = button.set_attribute("aria-disabled", if idle { "true" } else { "false" });
    }
}

fn text_in(tag: &'static str, text: &str) -> Element {
    let element = create(tag);
    element.set_text_content(Some(text));
    element
}

fn child(parent: &Element, tag: &'static str, text: &str) -> Element {
    let element = text_in(tag, text);
    _ = parent.append_child(&element);
    element
}

/// A model as the change of a scenario: its row, or all that it consists of.
fn named(model: Model) -> String {
    if !model.origin.is_empty() {
        return format!("model={}", model.origin);
    }
    let scenario = Scenario { model, ..Scenario::default() };
    let numbers = [&[Field::Parameters][..], SHAPE, TABLES, EXPERTS, LATENT].into_iter().flatten();
    let numbers = numbers.map(|field| (field.bound().key, number::plain(scenario.number(*field))));
    let words = WORDS.iter().map(|word| (word.key, word.get(&scenario).to_owned()));
    numbers.chain(words).fold(format!("model={}", link::OWN), |query, (key, value)| query + "&" + key + "=" + &value)
}

/// The numbers and words that describe a network, in the order of the calculator.
static SHAPE: &[Field] = &[
    Field::Hidden,
    Field::Layers,
    Field::Heads,
    Field::KvHeads,
    Field::HeadDim,
    Field::FeedForward,
    Field::Vocabulary,
];
static TABLES: &[Field] = &[Field::Norms, Field::Positions];
static WORDS: &[&Setting] = &[
    &setting::MLP,
    &setting::TIED,
    &setting::NORM,
    &setting::PARALLEL,
    &setting::QK_NORM,
    &setting::PACKING,
    &setting::BIAS,
    &setting::POSITION,
    &setting::SOFTMAX,
    &setting::SOFT_CAP,
];
static EXPERTS: &[Field] =
    &[Field::Experts, Field::ActiveExperts, Field::ExpertWidth, Field::SharedWidth, Field::DenseLayers];
static LATENT: &[Field] = &[Field::KvRank, Field::QueryRank, Field::RopeDim];

/// The sizes and kinds that make up a model, each with its name, without those that mean nothing to it.
fn described(model: &Model) -> Vec<(&'static str, String)> {
    let scenario = Scenario { model: *model, ..Scenario::default() };
    let numbers = |fields: &[Field]| -> Vec<_> {
        let values = fields.iter().map(|field| (field.bound().name, number::grouped(scenario.number(*field))));
        values.filter(|(_, value)| value != "0").collect()
    };
    let mut all = numbers(SHAPE);
    all.extend(numbers(TABLES));
    for word in WORDS {
        let key = word.get(&scenario);
        let label = word.options.iter().find(|option| option.key == key).map_or("", |option| option.label);
        all.push((word.name, label.to_owned()));
    }
    if model.experts.count > 0 {
        all.extend(numbers(EXPERTS));
    }
    if model.latent.kv_rank > 0 {
        all.extend(numbers(LATENT));
    }
    all
}
