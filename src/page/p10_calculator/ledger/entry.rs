//! One entry: its size, and unfolded its formula, the numbers in it, its source and its lifetime.

use bmax::{Bytes, Entry, Estimate, Expr, Symbol, Values, number};
use leptos::prelude::*;
use web_sys::Element;

use crate::site::dom::{El, el};
use crate::site::format;
use crate::site::views::{formula_in_numbers, formula_in_symbols};

/// The entry, folded unless its name is among the `open` ones; `whole` is its bucket.
pub fn entry(entry: &Entry, estimate: &Estimate, whole: Bytes, open: StoredValue<Vec<&'static str>>) -> El {
    let name = entry.name;
    let is_open = RwSignal::new(open.with_value(|open| open.contains(&name)));
    let share = format::css_percent(entry.bytes.share_of(whole));
    let summary = el("summary")
        .child(el("span").class("ledger-name").text(name))
        .child(el("span").class("ledger-size num").text(&format::memory(entry.bytes)))
        .child(el("span").class("ledger-bar").attr("aria-hidden", "true").variable("--share", move || share.clone()));
    let toggled = move |event| {
        let now = event_target::<Element>(&event).has_attribute("open");
        open.update_value(|open| {
            open.retain(|other| *other != name);
            if now {
                open.push(name);
            }
        });
        is_open.set(now);
    };
    let (entry, values) = (*entry, entry.values(estimate));
    let alive = lifetime(&entry, estimate);
    let body = move || if is_open.get() { vec![explained(&entry, &values, &alive)] } else { Vec::new() };
    let details = el("details").on("toggle", toggled).child(summary).child(el("div").live(body));
    let details = if is_open.get_untracked() { details.attr("open", "") } else { details };
    el("li").child(details)
}

/// When the entry is alive, in words.
pub fn lifetime(entry: &Entry, estimate: &Estimate) -> String {
    let alive = estimate.instants.iter().enumerate().filter(|(at, _)| entry.alive.contains(*at));
    let names: Vec<&str> = alive.map(|(_, instant)| instant.name).collect();
    if names.len() == estimate.instants.len() { "the whole step".to_owned() } else { names.join("; ") }
}

/// The entry's source as a link.
pub fn source(entry: &Entry) -> El {
    el("a").attr("href", entry.source.url).text(entry.source.short)
}

fn explained(entry: &Entry, values: &Values, alive: &str) -> El {
    let row = |name: &str, value: El| el("div").child(el("dt").text(name)).child(value);
    let formula = el("dd").class("ledger-formula").child(formula_in_symbols(entry.formula, values));
    let numbers = el("dd").class("ledger-formula").child(formula_in_numbers(entry.formula, values)).text(" bytes");
    let source = el("dd").child(source(entry));
    el("dl")
        .class("ledger-entry")
        .child(row("Formula", formula))
        .child(row("With your numbers", numbers))
        .child(row("Symbols", el("dd").children(symbols(entry.formula, values))))
        .child(row("Alive", el("dd").text(alive)))
        .child(row("Source", source))
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
    let first = el("span").class("ledger-symbol").text("The number in front is bytes, for each element or weight.");
    let letters = Symbol::ALL.iter().filter(written).map(line);
    letters.chain([first]).collect()
}
