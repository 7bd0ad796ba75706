//! The few things that the desk does with elements, so that the code of each is compiled once.

use wasm_bindgen::JsCast;
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;
use web_sys::{Document, Element, Event, EventTarget, HtmlElement, HtmlTemplateElement, Window};

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

/// Calls `handler` once, after this many milliseconds.
pub fn after(milliseconds: i32, handler: impl FnOnce() + 'static) {
    let handler = Closure::once_into_js(handler);
    _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(handler.unchecked_ref(), milliseconds);
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

/// Every element inside `whole` that a selector finds.
#[inline(never)]
pub fn all(whole: &Element, selector: &str) -> Vec<Element> {
    let Ok(found) = whole.query_selector_all(selector) else { return Vec::new() };
    (0..found.length()).filter_map(|position| found.item(position)?.dyn_into().ok()).collect()
}

/// Sets an attribute.
#[inline(never)]
pub fn attribute(element: &Element, name: &str, value: &str) {
    _ = element.set_attribute(name, value);
}

/// Shows or hides an element.
#[inline(never)]
pub fn show(element: &Element, shown: bool) {
    _ = element.toggle_attribute_with_force("hidden", !shown);
}

/// The value of a field or list.
#[inline(never)]
pub fn value(field: &Element) -> String {
    property(field, "value").as_string().unwrap_or_default()
}

/// Sets the value of a field or list.
#[inline(never)]
pub fn set_value(field: &Element, value: &str) {
    _ = js_sys::Reflect::set(field, &"value".into(), &value.into());
}

/// Whether a box is checked.
pub fn is_checked(field: &Element) -> bool {
    property(field, "checked").is_truthy()
}

/// A property of an object; undefined where it has none.
#[inline(never)]
pub fn property(object: &JsValue, name: &str) -> JsValue {
    js_sys::Reflect::get(object, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

/// Brings the keyboard to an element.
pub fn focus(element: &Element) {
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        _ = element.focus();
    }
}

/// An SVG file as the address of an image.
pub fn svg_address(file: &str) -> String {
    format!("data:image/svg+xml,{}", String::from(js_sys::encode_uri_component(file)))
}
