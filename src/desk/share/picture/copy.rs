//! The page as a picture reads it: in the theme of the picture, with a copy of the figure.

use bmax::picture::{Theme, px};
use leptos::prelude::document;
use wasm_bindgen::JsCast;
use web_sys::{CustomEvent, Element, HtmlElement};

use crate::page::all;

/// What a picture cannot offer, or does not show: controls, what is folded, what is for listeners.
const LEFT_OUT: &str = "input, select, textarea, button, fieldset, details, template, script, canvas, label, \
    .field, .live-controls, .controls, .button-row, .visually-hidden, [hidden], [role=status], [role=alert], \
    .live-wait, .figure-share, .tour, [data-desk], .scale";

/// The event that asks a plot of the page what it shows.
const ASK: &str = "bmax-plot";
/// Where it puts its answer, as text, before the event is over.
pub(super) const ANSWER: &str = "data-plot";

/// Puts the page into a theme, and back when it is dropped.
pub(super) struct Themed {
    root: Element,
    before: Option<String>,
}

impl Themed {
    pub(super) fn new(theme: Theme) -> Option<Self> {
        let root = document().document_element()?;
        let before = root.get_attribute("data-theme");
        _ = root.set_attribute("data-theme", if theme == Theme::Dark { "dark" } else { "light" });
        Some(Self { root, before })
    }
}

impl Drop for Themed {
    fn drop(&mut self) {
        _ = match &self.before {
            Some(theme) => self.root.set_attribute("data-theme", theme),
            None => self.root.remove_attribute("data-theme"),
        };
    }
}

/// The copy of a figure, which is taken away when it is dropped.
pub(super) struct Copy(pub(super) HtmlElement);

impl Copy {
    /// A copy as wide as the figure is, without what a picture does not show, and with the answers of its plots.
    pub(super) fn of(figure: &Element) -> Option<Self> {
        let plots = all(figure, ".plot");
        let ask = CustomEvent::new(ASK).ok()?.into();
        for plot in &plots {
            _ = plot.dispatch_event(&ask);
        }
        let copy = figure.clone_node_with_deep(true);
        let silent = plots.iter().any(|plot| !plot.has_attribute(ANSWER));
        for plot in &plots {
            _ = plot.remove_attribute(ANSWER);
        }
        // Until the page's program has taken a figure over, nobody knows what its plots show.
        let copy: HtmlElement = copy.ok().filter(|_| !silent)?.dyn_into().ok()?;
        for part in all(&copy, LEFT_OUT) {
            part.remove();
        }
        copy.set_class_name("figure desk-copy");
        let width = px(figure.get_bounding_client_rect().width()) + "px";
        _ = copy.style().set_property("width", &width);
        figure.parent_element()?.append_child(&copy).ok()?;
        Some(Self(copy))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.0.remove();
    }
}
