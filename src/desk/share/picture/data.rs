//! The tables of a figure as they are read.

use bmax::csv::Table;
use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

use crate::page::all;

/// A table with what it is called.
pub struct Named {
    /// Its caption, or that of the part around it.
    pub name: String,
    /// Its cells.
    pub table: Table,
}

impl Named {
    /// What its button is called: the first sentence of the caption.
    pub fn short_name(&self, position: usize) -> String {
        let name = self.name.split(". ").next().unwrap_or_default().trim_end_matches('.');
        if name.is_empty() { format!("table {}", position + 1) } else { name.to_owned() }
    }
}

/// Every table of a figure that has a row with something in it.
pub fn tables(figure: &Element) -> Vec<Named> {
    all(figure, "table")
        .iter()
        .map(read)
        .filter(|named| named.table.rows.iter().flatten().any(|cell| !cell.is_empty()))
        .collect()
}

fn read(table: &Element) -> Named {
    let text = |part: Option<&Element>| part.map(words).unwrap_or_default();
    let mut header = Vec::new();
    let mut rows = Vec::new();
    for row in all(table, "tr") {
        if row.closest("[hidden]").ok().flatten().is_some() {
            continue;
        }
        let mut cells = Vec::new();
        for cell in all(&row, "th, td") {
            let span = cell.get_attribute("colspan").and_then(|span| span.parse::<usize>().ok()).unwrap_or(1);
            cells.push(words(&cell));
            cells.extend((1..span.min(64)).map(|_| String::new()));
        }
        let is_header = row.closest("thead").ok().flatten().is_some();
        if is_header { header = cells } else { rows.push(cells) }
    }
    let caption = all(table, "caption");
    let around = table.closest("[aria-label]").ok().flatten().and_then(|part| part.get_attribute("aria-label"));
    let name = Some(text(caption.first())).filter(|name| !name.is_empty()).or(around).unwrap_or_default();
    Named { name, table: Table { header, rows } }
}

/// What a cell says, in one line: superscripts after ^, subscripts after _, nothing that is hidden, and
/// of a sign and its word the word.
fn words(cell: &Element) -> String {
    let mut text = String::new();
    collect(cell, &mut text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn collect(node: &Node, text: &mut String) {
    let mut next = node.first_child();
    while let Some(child) = next {
        next = child.next_sibling();
        if child.node_type() == Node::TEXT_NODE {
            *text += &child.text_content().unwrap_or_default();
        } else if let Some(element) = child.dyn_ref::<Element>() {
            let is_sign = element.get_attribute("aria-hidden").as_deref() == Some("true");
            if is_sign
                || element.has_attribute("hidden")
                || ["button", "template", "svg"].contains(&&*element.local_name())
            {
                continue;
            }
            match &*element.local_name() {
                "sup" => {
                    text.push('^');
                    collect(element, text);
                }
                "sub" => {
                    text.push('_');
                    collect(element, text);
                }
                "msup" | "msub" | "mfrac" => {
                    let between = match &*element.local_name() {
                        "msup" => '^',
                        "msub" => '_',
                        _ => '/',
                    };
                    for (position, part) in all(element, ":scope > *").iter().enumerate() {
                        if position > 0 {
                            text.push(between);
                        }
                        collect(part, text);
                    }
                }
                // Blocks are words of their own.
                "div" | "p" | "br" | "li" => {
                    text.push(' ');
                    collect(element, text);
                    text.push(' ');
                }
                _ => collect(element, text),
            }
        }
    }
}
