//! Talking with the page, by the messages that any other page may send it as well.

use bmax::{Scenario, link};
use js_sys::{Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::MessageEvent;

use crate::dom::{listen, window};

/// Sends the page a message: its type, and the configuration that it is about, as a query.
fn send(kind: &str, scenario: &str) {
    let message = Object::new();
    for (name, value) in [("bmax", JsValue::from(1)), ("type", kind.into()), ("scenario", scenario.into())] {
        _ = Reflect::set(&message, &name.into(), &value);
    }
    _ = window().post_message(&message, "*");
}

/// Changes what `query` names, and nothing else.
pub fn change(query: &str) {
    send("change", query);
}

/// Hands on the scenario of the page, now and whenever it changes.
pub fn follow(heard: impl Fn(Scenario) + 'static) {
    listen(&window(), "message", move |event| {
        let event: MessageEvent = event.unchecked_into();
        // Only what this window says of itself.
        if event.source().as_deref() != Some(window().as_ref()) {
            return;
        }
        let part = |name: &str| Reflect::get(&event.data(), &name.into()).ok().and_then(|part| part.as_string());
        if part("type").as_deref() == Some("answer")
            && let Some(link) = part("link")
        {
            heard(link::decode(&link).scenario);
        }
    });
    send("ask", "");
}
