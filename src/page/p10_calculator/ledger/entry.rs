//! One entry: its size, and unfolded its formula, the numbers in it, its source and its lifetime.

use bmax::{Bytes, Entry, Estimate, Expr, Symbol, Values, number};

use crate::site::dom::{El, el};
use crate::site::views::{formula_in_numbers, formula_in_symbols};
use crate::site::{Live, format};

/// The entries of a bucket of this size. What the reader has unfolded stays unfolded when the entries
/// change places.
pub fn draw(bucket: &Live, entries: &[&Entry], estimate: &Estimate, whole: Bytes) {
    let before = bucket.copies("entries", entries.len());
    let name = |item: &Live| item.text_of("name");
    let open: Vec<String> = before.iter().filter(|item| item.is_open("fold")).map(name).collect();
    for (item, entry) in before.iter().zip(entries) {
        item.write("", &[entry.name.to_owned(), format::memory(entry.bytes)]);
        item.variable("bar", "--share", &format::css_percent(entry.bytes.share_of(whole)));
        let is_open = open.iter().any(|name| name == entry.name);
        item.flag("fold", "open", is_open);
        if is_open {
            let values = entry.values(estimate);
            item.fill("formula", vec![formula_in_symbols(entry.formula, &values)]);
            item.fill("numbers", vec![formula_in_numbers(entry.formula, &values)]);
            item.fill("symbols", symbols(entry.formula, &values));
            item.text("alive", &lifetime(entry, estimate));
            source(item, entry);
        }
    }
}

/// When the entry is alive, in words.
pub fn lifetime(entry: &Entry, estimate: &Estimate) -> String {
    let alive = estimate.instants.iter().enumerate().filter(|(at, _)| entry.alive.contains(*at));
    let names: Vec<&str> = alive.map(|(_, instant)| instant.name).collect();
    if names.len() == estimate.instants.len() { "the whole step".to_owned() } else { names.join("; ") }
}

/// The entry's source as a link.
pub fn source(item: &Live, entry: &Entry) {
    item.text("source", entry.source.short);
    item.attr("source", "href", entry.source.url);
}

/// The letters of a formula and what they stand for.
fn symbols(formula: &Expr, values: &Values) -> Vec<El> {
    let written = |symbol: &&Symbol| {
        let neutral = symbol.is_neutral_at_one() && values.get(**symbol) == 1.0;
        !symbol.is_coefficient() && !neutral && formula.contains(**symbol)
    };
    let line = |symbol: &Symbol| {
        let letter = formula_in_symbols(&Expr::Symbol(*symbol), values);
        let text = format!(" {}: {}", symbol.meaning(), number::grouped(values.get(*symbol)));
        el("span").class("ledger-symbol").child(letter).text(&text)
    };
    Symbol::ALL.iter().filter(written).map(line).collect()
}
