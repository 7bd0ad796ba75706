//! A field that is typed into, with the list of what it may be: the models and the GPUs of the catalogue.
//!
//! The field is a part of every first look; its list comes with the first press or the first focus, in a part of the
//! program of its own.

mod found;
mod listed;
mod popup;

use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::site::{State, lead_to};
use found::{Listing, Offer};
use listed::Current;
pub use listed::Listed;

/// The place that reads a `config.json`.
const OWN_MODEL: &str = "config-help";

/// What somebody has typed and not chosen from. It is out of date once another row is in use.
#[derive(Clone, PartialEq)]
struct Draft {
    text: String,
    beside: &'static str,
}

/// What a field and its list know of each other. It is a handful of handles and is passed by value.
#[derive(Clone, Copy)]
struct Choice {
    listed: Listed,
    id: &'static str,
    state: State,
    /// What is in use.
    current: Memo<Current>,
    typed: RwSignal<Option<Draft>>,
    open: RwSignal<bool>,
    /// The row that arrows have gone to; none for the row that the list begins with.
    at: RwSignal<Option<usize>>,
    /// What is listed, once the part of the program is there that lists it.
    listing: RwSignal<Option<Memo<Listing>>>,
    place: NodeRef<html::Div>,
    field: NodeRef<html::Input>,
    is_fetched: StoredValue<bool>,
}

impl Choice {
    fn new(listed: Listed, id: &'static str, state: State) -> Self {
        Self {
            listed,
            id,
            state,
            current: Memo::new(move |_| state.asked(|scenario| listed.current(scenario))),
            typed: RwSignal::new(None),
            open: RwSignal::new(false),
            at: RwSignal::new(None),
            listing: RwSignal::new(None),
            place: NodeRef::new(),
            field: NodeRef::new(),
            is_fetched: StoredValue::new(false),
        }
    }

    /// What stands in the field in place of the name of what is in use.
    fn draft(self) -> Option<String> {
        let beside = self.current.get().slug;
        self.typed.get().filter(|draft| draft.beside == beside).map(|draft| draft.text)
    }

    /// What the field shows.
    fn text(self) -> String {
        self.draft().unwrap_or_else(|| self.current.get().text())
    }

    /// The id of the list.
    fn list(self) -> String {
        format!("{}-list", self.id)
    }

    /// The id of a row.
    fn row(self, at: usize) -> String {
        format!("{}-row-{at}", self.id)
    }

    /// The row that Enter would choose.
    fn pointed(self) -> Option<usize> {
        let listing = self.listing.get()?;
        listing.with(|listing| self.at.get().filter(|at| *at < listing.count()).or(listing.first))
    }

    /// Why what was typed has changed nothing, once the reader has left it.
    fn message(self) -> String {
        match (self.open.get(), self.draft(), self.listing.get()) {
            (false, Some(_), Some(listing)) => listing.with(|listing| listing.unchosen.clone()),
            _ => String::new(),
        }
    }

    fn unfold(self) {
        self.at.set(None);
        self.open.set(true);
    }

    /// Gives back what was there.
    fn give_back(self) {
        self.typed.set(None);
        self.at.set(None);
        self.open.set(false);
    }

    fn type_in(self, text: String) {
        self.fetch();
        self.typed.set(Some(Draft { text, beside: self.current.get_untracked().slug }));
        self.unfold();
    }

    fn choose(self, offer: Offer) {
        self.give_back();
        match offer {
            Offer::Row(slug) => self.state.change(|scenario| self.listed.apply(scenario, slug)),
            Offer::OwnModel => return self.lead_to_own_model(),
        }
        self.mark_all();
    }

    /// Goes to the place that reads a `config.json`: of the window above the page that the field stands in, or of the page.
    fn lead_to_own_model(self) {
        let window = self.field.get_untracked().and_then(|field| field.closest("dialog").ok().flatten());
        let place = window.and_then(|window| window.query_selector("[data-desk=config] > summary").ok().flatten());
        let Some(summary) = place.and_then(|place| place.dyn_into::<HtmlElement>().ok()) else {
            return lead_to(OWN_MODEL);
        };
        // The press fetches what reads it.
        if summary.closest("details:not([open])").is_ok_and(|closed| closed.is_some()) {
            summary.click();
        }
        _ = summary.focus();
    }

    /// Marks the name, so that the next letter takes its place: at once, and again when the field shows what was chosen, unless
    /// somebody has typed by then.
    fn mark_all(self) {
        // Who has gone on by then is not called back: Chromium gives the focus to a field whose text is selected.
        let mark = move || {
            if let Some(field) = self.field.get_untracked()
                && document().active_element().is_some_and(|now| now == **field)
            {
                field.select();
            }
        };
        mark();
        let typed = self.typed.get_untracked();
        request_animation_frame(move || {
            if self.typed.with_untracked(|now| *now == typed) {
                mark();
            }
        });
    }

    fn press(self) {
        if !self.open.get_untracked() {
            self.unfold();
            self.mark_all();
        }
    }

    /// Nothing typed and nothing chosen leaves the name as it was.
    fn leave(self) {
        self.open.set(false);
        let idle = |draft: &Draft| draft.text.trim().is_empty() || draft.text == self.current.get_untracked().text();
        self.typed.update(|typed| *typed = typed.take().filter(|draft| !idle(draft)));
    }

    /// The keys of the pattern. All others are the field's own.
    fn key(self, event: &KeyboardEvent) {
        if event.is_composing() || event.ctrl_key() || event.meta_key() || event.shift_key() {
            return;
        }
        let open = self.open.get_untracked();
        match (event.key().as_str(), open) {
            ("ArrowDown" | "ArrowUp", false) => self.unfold(),
            ("ArrowDown", true) => self.go(|at, count| at.map_or(0, |at| (at + 1) % count)),
            ("ArrowUp", true) => self.go(|at, count| at.map_or(count - 1, |at| (at + count - 1) % count)),
            ("Home", true) => self.go(|_, _| 0),
            ("End", true) => self.go(|_, count| count - 1),
            ("Enter", true) => self.enter(),
            ("Escape", _) if open || self.typed.with_untracked(Option::is_some) => self.give_back(),
            _ => return,
        }
        event.prevent_default();
    }

    /// Goes to another row, where there are any.
    fn go(self, to: fn(Option<usize>, usize) -> usize) {
        let count = self.listing.get_untracked().map_or(0, |listing| listing.with_untracked(Listing::count));
        if count > 0 {
            let at = untrack(|| self.pointed());
            self.at.set(Some(to(at, count)));
        }
    }

    fn enter(self) {
        let offer = untrack(|| self.listing.get()?.with(|listing| listing.at(self.pointed()?)));
        if let Some(offer) = offer {
            self.choose(offer);
        }
    }

    /// Fetches the list, once.
    fn fetch(self) {
        if !self.is_fetched.get_value() {
            self.is_fetched.set_value(true);
            popup::fetch(self);
        }
    }
}

/// Chooses a model or a GPU of the catalogue by any part of its name. It follows the pattern of an editable combobox with
/// a list: <https://www.w3.org/WAI/ARIA/apg/patterns/combobox/>. Nothing changes until a row is chosen, and what was typed
/// instead is kept and answered.
#[component]
pub fn Combobox(
    /// What is chosen.
    listed: Listed,
    /// Unique on the page.
    id: &'static str,
    /// The shared state.
    state: State,
) -> impl IntoView {
    let choice = Choice::new(listed, id, state);
    let changed = move || choice.current.get().is_changed().to_string();
    let error = format!("{id}-error");
    let place = choice.place;
    // As a property the message leaves the paragraph empty while there is none, by which the style sheet hides it.
    view! {
        <div class="field combobox" data-changed=changed>
            <label for=id>{listed.label()}</label>
            <div class="field-row">
                // It makes the field as wide as its name, and is that name where nothing can be typed.
                <span class="combobox-name" aria-hidden="true">{move || choice.current.get().text()}</span>
                {field(choice, error.clone())}
            </div>
            <div class="combobox-place" node_ref=place></div>
            <p class="field-error" id=error role="alert" prop:textContent=move || choice.message()></p>
        </div>
    }
}

fn field(choice: Choice, error: String) -> impl IntoView {
    let Choice { id, open, field, .. } = choice;
    view! {
        <input
            node_ref=field
            id=id
            type="text"
            role="combobox"
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            aria-autocomplete="list"
            aria-expanded=move || open.get().to_string()
            aria-controls=move || open.get().then(|| choice.list())
            aria-activedescendant=move || choice.pointed().filter(|_| open.get()).map(|at| choice.row(at))
            aria-describedby=error
            aria-invalid=move || (!choice.message().is_empty()).to_string()
            value=untrack(|| choice.text())
            prop:value=move || choice.text()
            on:pointerdown=move |_| choice.fetch()
            on:focus=move |_| {
                choice.fetch();
                choice.mark_all();
            }
            on:click=move |_| choice.press()
            on:input=move |event| choice.type_in(event_target_value(&event))
            on:keydown=move |event| choice.key(&event)
            on:blur=move |_| choice.leave()
        />
    }
}

#[cfg(all(test, feature = "prerender"))]
mod tests {
    use super::*;
    use bmax::catalogue::{DEVICES, MODELS};
    use bmax::{Field, Scenario};

    fn rendered(scenario: Scenario) -> String {
        Owner::new().with(|| {
            let state = State::of(scenario);
            view! { <Combobox listed=Listed::Model id="model" state/> <Combobox listed=Listed::Gpu id="gpu" state/> }
                .to_html()
        })
    }

    #[test]
    fn a_field_has_its_name_before_the_reader_comes_to_it_and_no_row_of_its_list() {
        let scenario = bmax::link::decode("model=qwen2.5-7b&gpu=rtx-4090").scenario;
        let html = rendered(scenario);
        for name in ["Qwen2.5 7B", "RTX 4090 24 GB"] {
            assert!(html.contains(&format!("value=\"{name}\"")), "{html}");
        }
        assert!(!html.contains("role=\"option\""), "{html}");
        assert!(html.len() < 2_500, "{} characters", html.len());
    }

    #[test]
    fn a_row_with_another_number_says_that_it_is_edited() -> Result<(), bmax::InputError> {
        let scenario = bmax::link::decode("model=qwen2.5-7b").scenario;
        assert!(rendered(scenario.with_number(Field::Layers, 41.0)?).contains("Qwen2.5 7B (edited)"));
        assert!(!rendered(scenario).contains("(edited)"));
        Ok(())
    }

    #[test]
    fn every_row_that_is_chosen_is_in_use_then() {
        let before = bmax::link::decode("model=qwen2.5-7b&gpu=rtx-4090").scenario;
        let rows = MODELS.iter().map(|row| (Listed::Model, row.slug));
        for (listed, slug) in rows.chain(DEVICES.iter().map(|row| (Listed::Gpu, row.slug))) {
            assert_eq!(listed.current(&listed.apply(before, slug)).slug, slug);
        }
    }
}
