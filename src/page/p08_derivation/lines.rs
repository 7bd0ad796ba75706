//! The two kinds of lines a derivation has.

use bmax::{Entry, Values};

use super::quantity::gib;
use crate::site::dom::{El, el};
use crate::site::views::{formula_in_numbers, formula_in_symbols};

/// What a line says, in words: text, to which the caller may add.
pub fn title(text: &str) -> El {
    el("p").class("derivation-title").text(text)
}

/// A relation between totals, in symbols and with numbers.
pub fn formula_line(title: El, symbols: El, numbers: El) -> El {
    el("li").class("derivation-line").child(title).child(both(symbols, numbers))
}

/// The two ways to write a relation, beside each other.
pub fn both(symbols: El, numbers: El) -> El {
    let long = |formula: El| el("div").class("formula formula-long").child(formula);
    el("div").class("derivation-both").child(long(symbols)).child(long(numbers))
}

/// A total and the entries it is the sum of.
pub fn entries_line(title: El, entries: Vec<El>, total: El) -> El {
    el("li").class("derivation-line").children(vec![
        title,
        el("ul").class("derivation-entries").children(entries),
        el("p").class("derivation-total").child(total),
    ])
}

/// One entry of the ledger: its name and size, and how the size comes about.
pub fn entry_line(entry: &Entry, values: &Values) -> El {
    let swatch = el("span").class("bucket-swatch").attr("data-bucket", entry.bucket.key());
    let symbols = el("span").child(formula_in_symbols(entry.formula, values));
    let numbers =
        el("span").child(formula_in_numbers(entry.formula, values)).child(el("span").class("soft").text(" bytes"));
    el("li").class("derivation-entry").children(vec![
        el("span").class("derivation-name").child(swatch).text(" ").text(entry.name),
        el("div").class("derivation-formulas").child(symbols).child(numbers),
        el("span").class("derivation-memory num").text("= ").text(&gib(entry.bytes)).text(" GiB"),
    ])
}
