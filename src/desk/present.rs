//! What the page shows at present. The desk knows it from the address, which the page keeps up to date, and
//! asks the page as well, because the address follows a quarter of a second later and cannot follow at all
//! where the browser forbids it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bmax::link::{self, Decoded};
use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use web_sys::MessageEvent;

use crate::page::{self, property};

/// After so long the address has followed whatever was changed before the press; it follows after 250 ms
/// (`src/site/address.rs`).
const SETTLED: Duration = Duration::from_millis(300);

/// Somebody who is told once, by the page or by the address.
type Waiting = Rc<Cell<Option<Box<dyn FnOnce(Decoded)>>>>;

/// What the page shows, as far as it or its address have said.
#[derive(Clone, Copy)]
pub struct Present {
    /// The configuration of the page, and those that are pinned beside it.
    link: RwSignal<Decoded>,
    /// Who waits for what the page says next.
    waiting: StoredValue<Vec<Waiting>, LocalStorage>,
}

impl Present {
    /// Follows the page from now on.
    pub fn listen() -> Self {
        let present = Self { link: RwSignal::new(in_address()), waiting: StoredValue::new_local(Vec::new()) };
        _ = window_event_listener(ev::message, move |event| {
            // What comes from elsewhere, such as the preview, is about something else.
            if !is_of(&event, "answer") || !event.source().is_some_and(|source| js_sys::Object::is(&source, &window()))
            {
                return;
            }
            if let Some(link) = property(&event.data(), "link").as_string() {
                present.told(link::decode(&link));
            }
        });
        present
    }

    /// The configuration of the page, and those that are pinned beside it.
    pub fn link(self) -> ReadSignal<Decoded> {
        self.link.read_only()
    }

    /// Asks the page for what it shows. Once it has been asked, it tells every change by itself.
    pub fn ask(self) {
        self.ask_for(|_| ());
    }

    /// Asks the page for what it shows, and calls `told` once with its answer. Of a page that says nothing the
    /// address is read, which follows late.
    pub fn ask_for(self, told: impl FnOnce(Decoded) + 'static) {
        let waiting: Waiting = Rc::new(Cell::new(Some(Box::new(told))));
        self.waiting.update_value(|all| all.push(waiting.clone()));
        send("ask", "");
        set_timeout(
            move || {
                if let Some(told) = waiting.take() {
                    let now = in_address();
                    self.link.set(now.clone());
                    told(now);
                }
            },
            SETTLED,
        );
    }

    /// Changes what `query` names on the page, and nothing else.
    pub fn change(self, query: &str) {
        send("change", query);
    }

    fn told(self, now: Decoded) {
        if self.link.get_untracked() != now {
            self.link.set(now.clone());
        }
        let waiting = self.waiting.try_update_value(std::mem::take).unwrap_or_default();
        for told in waiting.iter().filter_map(|waiting| waiting.take()) {
            told(now.clone());
        }
    }
}

/// What the address says.
fn in_address() -> Decoded {
    page::beginning().read(&window().location().search().unwrap_or_default())
}

/// Sends the page a message of this type, about this configuration.
fn send(kind: &str, scenario: &str) {
    let message = js_sys::Object::new();
    for (name, value) in [("bmax", JsValue::from(1)), ("type", kind.into()), ("scenario", scenario.into())] {
        _ = js_sys::Reflect::set(&message, &name.into(), &value);
    }
    _ = window().post_message(&message, "*");
}

/// Whether the event is a message of this project of that type.
pub fn is_of(event: &MessageEvent, kind: &str) -> bool {
    let data = event.data();
    property(&data, "bmax").as_f64() == Some(1.0) && property(&data, "type").as_string().as_deref() == Some(kind)
}
