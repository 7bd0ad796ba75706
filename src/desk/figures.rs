//! The figures of the page.

use leptos::prelude::document;
use web_sys::Element;

use crate::page;

/// A figure, as its own markup calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name in links of embeds.
    pub name: String,
    /// Its caption.
    pub title: String,
    /// The `id` of its caption, to which a link leads.
    pub anchor: String,
}

/// Every figure, in the order of the page.
pub fn all() -> Vec<Figure> {
    let Some(page) = document().document_element() else { return Vec::new() };
    page::all(&page, ".figure").iter().filter_map(read).collect()
}

/// The figure in which an element stands.
pub fn around(element: &Element) -> Option<Figure> {
    read(&element.closest(".figure").ok()??)
}

fn read(figure: &Element) -> Option<Figure> {
    let name = figure.query_selector("[data-figure]").ok()??.get_attribute("data-figure")?;
    let caption = figure.query_selector(".figure-title").ok()??;
    Some(Figure { name, title: caption.text_content().unwrap_or_default(), anchor: caption.id() })
}
