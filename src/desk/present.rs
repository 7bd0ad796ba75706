//! What the page shows at present. The desk knows it from the address, which the page keeps up to date, and
//! asks the page as well, because the address follows a quarter of a second later and cannot follow at all
//! where the browser forbids it.

use std::cell::Cell;

use bmax::{Scenario, link};
use js_sys::Promise;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
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

thread_local! {
    /// How often the page has said what it shows.
    static HEARD: Cell<u32> = const { Cell::new(0) };
}

/// Asks the page for what it shows; [`listen`] hears the answer, and every later one. Of a page that says
/// nothing the address is read again, which follows late.
pub fn ask(again: impl FnOnce(Scenario) + 'static) {
    let before = HEARD.get();
    send("ask", "");
    dom::after(SETTLED, move || {
        if HEARD.get() == before {
            again(scenario());
        }
    });
}

/// The configuration of the page as it says itself, or as the address has it if it says nothing.
pub async fn current() -> Scenario {
    let said = Promise::new(&mut |resolve, _| {
        let told = resolve.clone();
        listen(move |scenario| _ = told.call1(&JsValue::NULL, &link::encode(&scenario).into()));
        send("ask", "");
        dom::after(SETTLED, move || _ = resolve.call0(&JsValue::NULL));
    });
    let said = JsFuture::from(said).await.ok().and_then(|link| link.as_string());
    said.map_or_else(scenario, |link| link::decode(&link).scenario)
}

/// Changes what `query` names on the page, and nothing else.
pub fn change(query: &str) {
    send("change", query);
}

/// Calls `told` with the configuration whenever the page says which one it shows.
pub fn listen(told: impl Fn(Scenario) + 'static) {
    dom::listen(&dom::window(), "message", move |event| {
        let Some(message) = message(&event, "answer") else { return };
        // What comes from elsewhere, such as the preview, is about something else.
        if message.source().is_none_or(|source| !js_sys::Object::is(&source, &dom::window())) {
            return;
        }
        if let Some(link) = dom::property(&message.data(), "link").as_string() {
            HEARD.set(HEARD.get() + 1);
            told(link::decode(&link).scenario);
        }
    });
}

/// The event as a message of this project of that type.
pub fn message(event: &web_sys::Event, kind: &str) -> Option<MessageEvent> {
    let message: MessageEvent = event.clone().dyn_into().ok()?;
    let data = message.data();
    let is_ours = dom::property(&data, "bmax").as_f64() == Some(1.0);
    (is_ours && dom::property(&data, "type").as_string().as_deref() == Some(kind)).then_some(message)
}
