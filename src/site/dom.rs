//! Building elements, with what lives in them bound to signals.
//!
//! The figures use Leptos for what it is best at, signals, memos, effects and their owners, and this
//! builder in place of its views. The reason is the reader's wait: the same figures as typed views
//! compile to 205 kB (Brotli), because every element and closure of a view is a type of its own with
//! its own copy of the code that builds, rebuilds and removes it. Here an element is a browser node,
//! a binding is a boxed closure in an effect, and all of them share one copy of this file.
//!
//! Bindings belong to the owner in which they were made: when a [`El::live`] part is built anew, the
//! effects and listeners of its old content go with it.

use std::cell::RefCell;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, Event, HtmlElement};

/// An element under construction, or part of the page. A copy is another handle on the same node.
#[derive(Clone, Debug)]
pub struct El(Element);

/// A new HTML element.
pub fn el(tag: &'static str) -> El {
    create("http://www.w3.org/1999/xhtml", tag)
}

/// A new element of a drawing.
pub fn svg(tag: &'static str) -> El {
    create("http://www.w3.org/2000/svg", tag)
}

/// A new element of a formula.
pub fn math(tag: &'static str) -> El {
    create("http://www.w3.org/1998/Math/MathML", tag)
}

#[inline(never)]
fn create(namespace: &str, tag: &'static str) -> El {
    // Creating an element fails only for a name with forbidden characters, and tags are literals.
    El(document().create_element_ns(Some(namespace), tag).expect("a literal tag is a valid name"))
}

impl El {
    /// Takes over an element that is in the page already.
    pub fn at(element: Element) -> Self {
        Self(element)
    }

    /// The element inside this one that carries the name as `data-part`. Where the page has none, what
    /// is bound to it is bound to nothing that is seen.
    #[inline(never)]
    pub fn part(&self, name: &str) -> Self {
        match self.0.query_selector(&format!("[data-part=\"{name}\"]")) {
            Ok(Some(part)) => Self(part),
            _ => el("span"),
        }
    }

    /// Puts another element in the place of the one inside this that carries the name as `data-part`.
    #[inline(never)]
    pub fn place(&self, name: &str, other: El) {
        _ = self.part(name).0.replace_with_with_node_1(&other.0);
    }

    /// The browser's element.
    pub fn element(&self) -> &Element {
        &self.0
    }

    /// Sets the `class` attribute.
    pub fn class(self, names: &str) -> Self {
        self.attr("class", names)
    }

    /// Sets an attribute.
    #[inline(never)]
    pub fn attr(self, name: &str, value: &str) -> Self {
        _ = self.0.set_attribute(name, value);
        self
    }

    /// Appends text.
    #[inline(never)]
    pub fn text(self, text: &str) -> Self {
        _ = self.0.append_child(&document().create_text_node(text));
        self
    }

    /// Appends an element.
    #[inline(never)]
    pub fn child(self, child: El) -> Self {
        _ = self.0.append_child(&child.0);
        self
    }

    /// Appends elements.
    #[inline(never)]
    pub fn children(self, children: Vec<El>) -> Self {
        for child in children {
            _ = self.0.append_child(&child.0);
        }
        self
    }

    /// Appends an element, if there is one.
    pub fn maybe(self, child: Option<El>) -> Self {
        match child {
            Some(child) => self.child(child),
            None => self,
        }
    }

    /// Appends text that follows what it reads.
    pub fn bind_text(self, text: impl Fn() -> String + 'static) -> Self {
        self.bind_text_boxed(Box::new(text))
    }

    #[inline(never)]
    fn bind_text_boxed(self, text: Box<dyn Read<String>>) -> Self {
        let node = document().create_text_node("");
        _ = self.0.append_child(&node);
        keep_changes(text, Box::new(move |text: &str| node.set_data(text)));
        self
    }

    /// Sets an attribute to what it reads.
    pub fn bind(self, name: &'static str, value: impl Fn() -> String + 'static) -> Self {
        self.bind_boxed(name, Box::new(value))
    }

    #[inline(never)]
    fn bind_boxed(self, name: &'static str, value: Box<dyn Read<String>>) -> Self {
        let element = self.0.clone();
        keep_changes(value, Box::new(move |value: &str| _ = element.set_attribute(name, value)));
        self
    }

    /// Sets an attribute without a value, such as `hidden` or `disabled`, while `on` holds.
    pub fn toggle(self, name: &'static str, on: impl Fn() -> bool + 'static) -> Self {
        self.toggle_boxed(name, Box::new(on))
    }

    #[inline(never)]
    fn toggle_boxed(self, name: &'static str, on: Box<dyn Read<bool>>) -> Self {
        let element = self.0.clone();
        keep(Box::new(move || _ = element.toggle_attribute_with_force(name, on.read())));
        self
    }

    /// Gives the element a class while `on` holds.
    pub fn toggle_class(self, name: &'static str, on: impl Fn() -> bool + 'static) -> Self {
        self.toggle_class_boxed(name, Box::new(on))
    }

    #[inline(never)]
    fn toggle_class_boxed(self, name: &'static str, on: Box<dyn Read<bool>>) -> Self {
        let classes = self.0.class_list();
        keep(Box::new(move || _ = classes.toggle_with_force(name, on.read())));
        self
    }

    /// Sets a property of the node, such as the `value` of a field, to the text it reads.
    pub fn property(self, name: &'static str, value: impl Fn() -> String + 'static) -> Self {
        self.property_boxed(name, Box::new(move || value().into()))
    }

    /// Sets a property of the node, such as `checked`, to the truth it reads.
    pub fn flag(self, name: &'static str, value: impl Fn() -> bool + 'static) -> Self {
        self.property_boxed(name, Box::new(move || value().into()))
    }

    #[inline(never)]
    fn property_boxed(self, name: &'static str, value: Box<dyn Read<wasm_bindgen::JsValue>>) -> Self {
        let element = self.0.clone();
        keep(Box::new(move || _ = js_sys::Reflect::set(&element, &name.into(), &value.read())));
        self
    }

    /// Hands a number or a length to the style sheet as a custom property. The policy of the page
    /// forbids `style` attributes, but not this.
    #[inline(never)]
    pub fn set_variable(self, name: &str, value: &str) -> Self {
        _ = self.0.unchecked_ref::<HtmlElement>().style().set_property(name, value);
        self
    }

    /// Calls `handler` for every event of this name.
    pub fn on(self, event: &'static str, handler: impl Fn(Event) + 'static) -> Self {
        self.on_boxed(event, Box::new(handler))
    }

    #[inline(never)]
    fn on_boxed(self, event: &'static str, handler: Box<dyn Hear>) -> Self {
        let closure = Closure::<dyn Fn(Event)>::new(move |event| handler.hear(event));
        // Folding does not bubble: it is heard on its way down.
        let (callback, down) = (closure.as_ref().unchecked_ref(), event == "toggle");
        _ = self.0.add_event_listener_with_callback_and_bool(event, callback, down);
        StoredValue::new_local(closure);
        self
    }

    /// Fills the element with children that are built anew whenever what `children` reads changes.
    /// The element must have no other children.
    pub fn live(self, children: impl Fn() -> Vec<El> + 'static) -> Self {
        self.live_boxed(Box::new(children))
    }

    #[inline(never)]
    fn live_boxed(self, children: Box<dyn Read<Vec<El>>>) -> Self {
        let element = self.0.clone();
        keep(Box::new(move || {
            let fresh = children.read();
            element.set_text_content(None);
            for child in fresh {
                _ = element.append_child(&child.0);
            }
        }));
        self
    }

    /// Removes what the element holds.
    pub fn clear(self) -> Self {
        self.0.set_text_content(None);
        self
    }
}

/// Runs `effect` now and whenever what it reads changes, for as long as the current owner lives.
#[inline(never)]
pub fn keep(effect: Box<dyn Read<()>>) {
    StoredValue::new_local(RenderEffect::new(move |_| effect.read()));
}

/// Writes a text now and whenever another one is read: a browser lays out again what is written again.
#[inline(never)]
fn keep_changes(read: Box<dyn Read<String>>, write: Box<dyn Write>) {
    let last = RefCell::new(None);
    keep(Box::new(move || {
        let now = Some(read.read());
        if *last.borrow() != now {
            write.write(now.as_deref().unwrap_or_default());
            last.replace(now);
        }
    }));
}

/// What a binding reads. It is a trait of our own because a boxed `Fn` also carries the code of being
/// called as `FnMut` and as `FnOnce`, which for hundreds of bindings adds up to two kilobytes.
pub trait Read<T> {
    /// Calls the closure.
    fn read(&self) -> T;
}

impl<T, F: Fn() -> T> Read<T> for F {
    fn read(&self) -> T {
        self()
    }
}

/// What writes a text; for the same reason.
trait Write {
    fn write(&self, text: &str);
}

impl<F: Fn(&str)> Write for F {
    fn write(&self, text: &str) {
        self(text);
    }
}

/// What listens to an event; for the same reason.
trait Hear {
    fn hear(&self, event: Event);
}

impl<F: Fn(Event)> Hear for F {
    fn hear(&self, event: Event) {
        self(event);
    }
}

/// The text of the field or list that an event comes from.
#[inline(never)]
pub fn value_of(event: &Event) -> String {
    let value = event.target().and_then(|target| js_sys::Reflect::get(&target, &"value".into()).ok());
    value.and_then(|value| value.as_string()).unwrap_or_default()
}
