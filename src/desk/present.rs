//! What the page shows at present. The desk knows it from the address, which the page keeps up to date, and
//! asks the page as well, because the address follows a quarter of a second later and cannot follow at all
//! where the browser forbids it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bmax::{Scenario, link};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::MessageEvent;

use crate::dom;

/// After so many milliseconds the address has followed whatever was changed before the press; it follows
/// after 250 (`src/site/address.rs`).
const SETTLED: i32 = 300;

/// The address of the page, without query and fragment.
pub fn page() -> String {
    let address = dom::window().location().href().unwrap_or_default();
    address.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// The configuration in the address.
pub fn scenario() -> Scenario {
    link::decode(&dom::window().location().search().unwrap_or_default()).scenario
}

/// Sends the page a message of this type, about this configuration.
fn send(kind: &str, scenario: &str) {
    let message = js_sys::Object::new();
    for (name, value) in [("bmax", JsValue::from(1)), ("type", kind.into()), ("scenario", scenario.into())] {
        _ = js_sys::Reflect::set(&message, &name.into(), &value);
    }
    _ = dom::window().post_message(&message, "*");
}

/// Somebody who is told once, by the page or by the address.
type Waiting = Rc<Cell<Option<Box<dyn FnOnce(Scenario)>>>>;

/// Somebody who is told of everything.
type Listener = Rc<dyn Fn(Scenario)>;

thread_local! {
    /// Who waits for what the page says next.
    static WAITING: RefCell<Vec<Waiting>> = const { RefCell::new(Vec::new()) };
    /// Who is told of everything that it says.
    static LISTENING: RefCell<Vec<Listener>> = const { RefCell::new(Vec::new()) };
}

/// Hears what the page says, and passes it on.
pub fn start() {
    dom::listen(&dom::window(), "message", move |event| {
        let Some(message) = message(&event, "answer") else { return };
        // What comes from elsewhere, such as the preview, is about something else.
        if message.source().is_none_or(|source| !js_sys::Object::is(&source, &dom::window())) {
            return;
        }
        let Some(link) = dom::property(&message.data(), "link").as_string() else { return };
        let scenario = link::decode(&link).scenario;
        // Whoever is told may ask again, so that nothing is borrowed meanwhile.
        for told in WAITING.take().iter().filter_map(|waiting| waiting.take()) {
            told(scenario);
        }
        for told in LISTENING.with_borrow(Clone::clone) {
            told(scenario);
        }
    });
}

/// Asks the page for what it shows, and calls `told` once with its answer. Of a page that says nothing the
/// address is read, which follows late.
pub fn ask(told: impl FnOnce(Scenario) + 'static) {
    let waiting: Waiting = Rc::new(Cell::new(Some(Box::new(told))));
    WAITING.with_borrow_mut(|all| all.push(waiting.clone()));
    send("ask", "");
    dom::after(SETTLED, move || {
        if let Some(told) = waiting.take() {
            told(scenario());
        }
    });
}

/// Changes what `query` names on the page, and nothing else.
pub fn change(query: &str) {
    send("change", query);
}

/// Calls `told` with the configuration whenever the page says which one it shows.
pub fn listen(told: impl Fn(Scenario) + 'static) {
    LISTENING.with_borrow_mut(|all| all.push(Rc::new(told)));
}

/// The event as a message of this project of that type.
pub fn message(event: &web_sys::Event, kind: &str) -> Option<MessageEvent> {
    let message: MessageEvent = event.clone().dyn_into().ok()?;
    let data = message.data();
    let is_ours = dom::property(&data, "bmax").as_f64() == Some(1.0);
    (is_ours && dom::property(&data, "type").as_string().as_deref() == Some(kind)).then_some(message)
}
