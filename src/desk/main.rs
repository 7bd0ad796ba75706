//! The desk: what a reader has to ask for, in a module of its own that the page fetches on the first
//! press. The page's own module does not know it.
//!
//! The inline script of `index.html` fetches it and then sends each press as the event [`PRESSED`] from
//! the button that was pressed. `data-desk` of the button says what is wanted. The desk takes the
//! configuration from the page's address and its messages, and changes the page by messages only. Its parts
//! are Leptos components like those of the page, mounted when they are first wanted.

#![forbid(unsafe_code)]

mod components;
mod config;
mod copy_link;
mod figures;
mod page;
mod present;
mod save;
mod share;

use bmax::export::Target;
use leptos::ev::Custom;
use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{CustomEvent, HtmlElement};

use config::{Config, ConfigPanel};
use copy_link::{CopiedLink, LinkCopy};
use present::Present;
use share::{ShareDialog, Sharing};

/// What the inline script of the page calls its event.
const PRESSED: &str = "bmax-desk";

fn main() {
    // A stopped desk is reported to the reader by the page itself; here a developer sees why.
    #[cfg(debug_assertions)]
    console_error_panic_hook::set_once();
    let root = Owner::new();
    root.with(|| Desk::new().listen());
    // The desk lives as long as the page.
    std::mem::forget(root);
}

/// What the desk offers, and which parts of it are in the page already.
#[derive(Clone, Copy)]
struct Desk {
    sharing: Part<Sharing>,
    copy: Part<LinkCopy>,
    config: Part<Config>,
}

impl Desk {
    fn new() -> Self {
        let present = Present::listen();
        Self {
            sharing: Part::of(Sharing::new(present)),
            copy: Part::of(LinkCopy::new(present)),
            config: Part::of(Config::new(present)),
        }
    }

    /// Hears every press.
    fn listen(self) {
        _ = window_event_listener(Custom::<CustomEvent>::new(PRESSED), move |event| {
            let Some(button) = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok()) else { return };
            match button.get_attribute("data-desk").as_deref() {
                Some("share") => self.sharing().share(&button),
                Some("export") => {
                    let target = button.get_attribute("data-target").and_then(|word| Target::from_key(&word));
                    self.sharing().export(&button, target.unwrap_or(Target::Transformers));
                }
                Some("copy") => {
                    let said = button.next_element_sibling().and_then(|said| said.dyn_into().ok());
                    let copy = self.copy.there(said, |copy| view! { <CopiedLink copy/> });
                    copy.press();
                }
                Some("config") => {
                    let config = self.config.there(Some(button.clone()), |config| view! { <ConfigPanel config/> });
                    if config.take_file(&event.detail()) {
                        _ = button.set_attribute("open", "");
                    }
                }
                _ => {}
            }
        });
    }

    fn sharing(self) -> Sharing {
        let body = document().body();
        self.sharing.there(body, |sharing| view! { <ShareDialog sharing/> })
    }
}

/// A part of the desk, which is put into the page when it is first wanted.
#[derive(Clone, Copy)]
struct Part<T: Copy + Send + Sync + 'static> {
    state: T,
    /// What its view stands in, once it is wanted.
    frame: StoredValue<Option<HtmlElement>, LocalStorage>,
}

impl<T: Copy + Send + Sync + 'static> Part<T> {
    fn of(state: T) -> Self {
        Self { state, frame: StoredValue::new_local(None) }
    }

    /// The state of the part, whose view now stands in this place. Of two places of one kind, as the form of the page and
    /// that of the drawer, it stands in the one that was pressed last.
    fn there<V: IntoView + 'static>(self, place: Option<HtmlElement>, view: impl FnOnce(T) -> V + 'static) -> T {
        let Some(place) = place else { return self.state };
        match self.frame.get_value() {
            Some(frame) if !place.contains(Some(&frame)) => _ = place.append_child(&frame),
            Some(_) => {}
            None => self.mount_in(&place, view),
        }
        self.state
    }

    fn mount_in<V: IntoView + 'static>(self, place: &HtmlElement, view: impl FnOnce(T) -> V + 'static) {
        let frame = document().create_element("div").map(JsCast::unchecked_into::<HtmlElement>);
        let Ok(frame) = frame else { return };
        frame.set_class_name("desk-part");
        _ = place.append_child(&frame);
        let state = self.state;
        mount_to(frame.clone(), move || view(state)).forget();
        self.frame.set_value(Some(frame));
    }
}
