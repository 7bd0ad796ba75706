//! The share dialog: one element, made at the first press and shown again at every later one.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use bmax::export::Target;
use bmax::snippet::Share;
use bmax::{Answer, Scenario, b_max, catalogue, number};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlDialogElement, KeyboardEvent};

use crate::figures::{self, Figure};
use crate::{copy, dom, embed, export, links, picture, present};

thread_local! {
    static DIALOG: OnceCell<Rc<Dialog>> = const { OnceCell::new() };
}

/// The dialog and what it is about.
pub struct Dialog {
    element: HtmlDialogElement,
    /// Where the keyboard goes back to.
    button: RefCell<Option<Element>>,
    /// The configuration that the page shows.
    scenario: RefCell<Scenario>,
    /// The figure that is shared; none for the page as a whole.
    figure: RefCell<Option<Figure>>,
    tab: Cell<Tab>,
    /// How often it was opened: what was asked for an earlier time is of no interest.
    times: Cell<u32>,
}

/// What the dialog offers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tab {
    Link,
    Embed,
    Picture,
    Export,
}

impl Tab {
    const ALL: [Self; 4] = [Self::Link, Self::Embed, Self::Picture, Self::Export];

    const fn key(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Embed => "embed",
            Self::Picture => "picture",
            Self::Export => "export",
        }
    }
}

/// Opens the dialog for the figure in which `button` stands, or for the page.
pub fn open(button: Element) {
    open_at(button, Tab::Link);
}

/// Opens it with the file of this target.
pub fn open_export(button: Element, target: Target) {
    let dialog = DIALOG.with(|dialog| dialog.get_or_init(Dialog::make).clone());
    export::choose(&dialog, target);
    open_at(button, Tab::Export);
}

fn open_at(button: Element, tab: Tab) {
    let dialog = DIALOG.with(|dialog| dialog.get_or_init(Dialog::make).clone());
    if dialog.element.open() {
        return;
    }
    let times = dialog.times.get() + 1;
    dialog.times.set(times);
    *dialog.scenario.borrow_mut() = present::scenario();
    *dialog.figure.borrow_mut() = figures::around(&button);
    *dialog.button.borrow_mut() = Some(button);
    embed::choose(&dialog);
    dialog.select(tab);
    dialog.say("");
    _ = dialog.element.show_modal();
    // The close button comes first, and nobody opens a dialog to close it.
    dom::focus(&dialog.tab(dialog.tab.get()));
    dialog.part("body").set_scroll_top(0);
    let asked = dialog.clone();
    present::ask(move |scenario| {
        if asked.times.get() == times {
            asked.show(scenario);
        }
    });
}

impl Dialog {
    fn make() -> Rc<Self> {
        let element: HtmlDialogElement = dom::markup(include_str!("share.html")).unchecked_into();
        if let Some(body) = dom::document().body() {
            _ = body.append_child(&element);
        }
        let dialog = Rc::new(Self {
            element,
            button: RefCell::new(None),
            scenario: RefCell::new(Scenario::default()),
            figure: RefCell::new(None),
            tab: Cell::new(Tab::Link),
            times: Cell::new(0),
        });
        dialog.listen();
        copy::bind(&dialog);
        links::bind(&dialog);
        embed::bind(&dialog);
        picture::bind(&dialog);
        export::bind(&dialog);
        dialog
    }

    fn listen(self: &Rc<Self>) {
        let dialog = self.clone();
        dom::listen(&self.part("close"), "click", move |_| dialog.element.close());
        let dialog = self.clone();
        dom::listen(&self.element, "close", move |event| {
            // The event of a dialog that stands above this one comes here, too.
            if dom::target(&event).is_some_and(|target| target == **dialog.element) {
                dialog.closed();
            }
        });
        for tab in Tab::ALL {
            let dialog = self.clone();
            dom::listen(&self.tab(tab), "click", move |_| dialog.select(tab));
            let dialog = self.clone();
            dom::listen(&self.tab(tab), "keydown", move |event| dialog.step(&event));
        }
        let dialog = self.clone();
        present::listen(move |scenario| dialog.show(scenario));
    }

    /// Nothing runs behind a closed dialog, and the keyboard is where it was.
    fn closed(&self) {
        embed::clear(self);
        if let Some(button) = self.button.take() {
            dom::focus(&button);
        }
    }

    /// Moves along the tabs, which are one stop of the tab key.
    fn step(&self, event: &web_sys::Event) {
        let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
        let count = Tab::ALL.len();
        let now = Tab::ALL.iter().position(|tab| *tab == self.tab.get()).unwrap_or(0);
        let next = match event.key().as_str() {
            "ArrowRight" => (now + 1) % count,
            "ArrowLeft" => (now + count - 1) % count,
            "Home" => 0,
            "End" => count - 1,
            _ => return,
        };
        event.prevent_default();
        self.select(Tab::ALL[next]);
        dom::focus(&self.tab(Tab::ALL[next]));
    }

    fn tab(&self, tab: Tab) -> Element {
        self.element
            .query_selector(&format!("[data-tab={}]", tab.key()))
            .ok()
            .flatten()
            .unwrap_or_else(|| dom::create("span"))
    }

    fn select(&self, chosen: Tab) {
        self.tab.set(chosen);
        for tab in Tab::ALL {
            let button = self.tab(tab);
            let on = tab == chosen;
            dom::attribute(&button, "aria-selected", if on { "true" } else { "false" });
            dom::attribute(&button, "tabindex", if on { "0" } else { "-1" });
            if let Ok(Some(panel)) = self.element.query_selector(&format!("#desk-{}", tab.key())) {
                dom::show(&panel, on);
            }
        }
        self.say("");
        self.refresh();
    }

    /// Takes over a configuration of the page.
    fn show(&self, scenario: Scenario) {
        if self.element.open() && *self.scenario.borrow() != scenario {
            *self.scenario.borrow_mut() = scenario;
            self.refresh();
        }
    }

    /// Writes what the open tab shows.
    fn refresh(&self) {
        let figure = self.figure();
        let title = if figure.is_some() { "Share this figure" } else { "Share this page" };
        self.write("title", title);
        self.write("caption", &figure.map_or_else(String::new, |figure| figure.title));
        self.write("about", &about(&self.scenario()));
        if self.tab.get() != Tab::Embed {
            embed::clear(self);
        }
        match self.tab.get() {
            Tab::Link => links::show(self),
            Tab::Embed => embed::show(self),
            Tab::Picture => picture::show(self),
            Tab::Export => export::show(self),
        }
    }

    /// The element of the dialog with this name.
    pub fn part(&self, name: &str) -> Element {
        dom::part(&self.element, name)
    }

    /// Every element of the dialog that a selector finds.
    pub fn all(&self, selector: &str) -> Vec<Element> {
        dom::all(&self.element, selector)
    }

    /// Calls `handler` for events of this name in the whole dialog.
    pub fn on(self: &Rc<Self>, event: &str, handler: impl Fn(&Self, Element) + 'static) {
        let dialog = self.clone();
        dom::listen(&self.element, event, move |event| {
            if let Some(target) = dom::target(&event) {
                handler(&dialog, target);
            }
        });
    }

    /// Writes a text.
    pub fn write(&self, name: &str, text: &str) {
        self.part(name).set_text_content(Some(text));
    }

    /// Says to eye and ear what a press has done.
    pub fn say(&self, text: &str) {
        self.write("said", text);
    }

    /// The configuration that the page shows.
    pub fn scenario(&self) -> Scenario {
        *self.scenario.borrow()
    }

    /// The figure that is shared; none for the page as a whole.
    pub fn figure(&self) -> Option<Figure> {
        self.figure.borrow().clone()
    }

    /// Calls `write` with what is shared: a figure, or the page.
    pub fn share<T>(&self, figure: Option<&Figure>, write: impl FnOnce(&Share) -> T) -> T {
        let scenario = self.scenario();
        let page = present::page();
        let title = dom::document().title();
        write(&Share {
            page: &page,
            scenario: &scenario,
            title: figure.map_or(&title, |figure| &figure.title),
            anchor: figure.map_or("", |figure| &figure.anchor),
        })
    }
}

/// The configuration in a few words.
fn about(scenario: &Scenario) -> String {
    let named = |row: Option<(&str, bool)>, none: &str| match row {
        Some((name, false)) => name.to_owned(),
        Some((name, true)) => format!("{name} (edited)"),
        None => none.to_owned(),
    };
    let count = |count: u32| number::grouped(count.into());
    let answer = match b_max(scenario) {
        Answer::Fits(room) if room.capped => format!("at least {} sequences fit", count(room.batch)),
        Answer::Fits(room) if room.batch == 1 => "1 sequence fits".to_owned(),
        Answer::Fits(room) => format!("{} sequences fit", count(room.batch)),
        Answer::Infeasible(_) => "not even one sequence fits".to_owned(),
    };
    format!(
        "{} on {} × {}, S = {}: {answer}",
        named(catalogue::model_row_of(scenario).map(|(row, edited)| (row.name, edited)), "A model of your own"),
        count(scenario.cluster.gpus),
        named(catalogue::device_row_of(scenario).map(|(row, edited)| (row.name, edited)), "a GPU of your own"),
        count(scenario.recipe.sequence),
    )
}
