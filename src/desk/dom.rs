//! The few things that the desk does with elements, so that the code of each is compiled once.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Document, Element, Event, EventTarget, HtmlTemplateElement, Window};

/// The window. The desk is fetched by a page, so there is one.
pub fn window() -> Window {
    web_sys::window().expect("the desk runs in a page")
}

/// The page.
pub fn document() -> Document {
    window().document().expect("a window of a page has a document")
}

/// Calls `handler` for every event of this name, for as long as the page lives.
pub fn listen(target: &EventTarget, event: &str, handler: impl Fn(Event) + 'static) {
    listen_boxed(target, event, Closure::new(handler));
}

#[inline(never)]
fn listen_boxed(target: &EventTarget, event: &str, handler: Closure<dyn Fn(Event)>) {
    _ = target.add_event_listener_with_callback(event, handler.as_ref().unchecked_ref());
    handler.forget();
}

/// The element from which an event comes.
pub fn target(event: &Event) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

/// The first element of constant markup. Nothing that a reader or a link says may be in it.
pub fn markup(html: &'static str) -> Element {
    let template = create("template").unchecked_into::<HtmlTemplateElement>();
    template.set_inner_html(html);
    template.content().first_element_child().unwrap_or_else(|| create("div"))
}

/// A new element.
#[inline(never)]
pub fn create(tag: &'static str) -> Element {
    // Creating an element fails only for a name with forbidden characters, and tags are literals.
    document().create_element(tag).expect("a literal tag is a valid name")
}

/// The element inside `whole` that carries the name as `data-part`. Where there is none, what is done
/// to it is seen by nobody.
#[inline(never)]
pub fn part(whole: &Element, name: &str) -> Element {
    match whole.query_selector(&format!("[data-part=\"{name}\"]")) {
        Ok(Some(part)) => part,
        _ => create("span"),
    }
}
