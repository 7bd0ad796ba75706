//! The ledger as a table: every entry with its formula, the numbers in it and its source.

use bmax::{Entry, Estimate};

use super::super::dom::{El, el};
use super::super::{State, format};
use super::{formula_in_numbers, formula_in_symbols};

/// The entries alive at the peak, and their sum.
pub fn breakdown_table(state: State) -> El {
    let heading = |text, class| el("th").attr("scope", "col").class(class).text(text);
    let head = el("tr")
        .child(heading("Entry", ""))
        .child(heading("Formula", ""))
        .child(heading("With your numbers, in bytes", ""))
        .child(heading("Memory", "num"))
        .child(heading("Source", ""));
    let rows = move || {
        state.read(|facts| facts.estimate.entries.iter().map(|entry| entry_row(entry, &facts.estimate)).collect())
    };
    let total = move || state.read(|facts| format::memory(facts.estimate.peak().bytes));
    let foot = el("tr")
        .child(el("th").attr("scope", "row").attr("colspan", "3").text("Peak"))
        .child(el("td").class("num").bind_text(total))
        .child(el("td"));
    let table = el("table")
        .class("data-table breakdown")
        .child(el("thead").child(head))
        .child(el("tbody").live(rows))
        .child(el("tfoot").child(foot));
    el("div")
        .class("table-scroll")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", "Breakdown, entry by entry")
        .child(table)
}

fn entry_row(entry: &Entry, estimate: &Estimate) -> El {
    let share = format::percent(entry.bytes.share_of(estimate.peak().bytes));
    let swatch = el("span").class("bucket-swatch").attr("data-bucket", entry.bucket.key());
    let memory = el("td").class("num").text(&format::memory(entry.bytes));
    el("tr")
        .child(el("th").attr("scope", "row").child(swatch).text(entry.name))
        .child(el("td").child(formula_in_symbols(entry.formula, &estimate.values)))
        .child(el("td").child(formula_in_numbers(entry.formula, &estimate.values)))
        .child(memory.child(el("span").class("soft").text(" ").text(&share)))
        .child(el("td").child(el("a").attr("href", entry.source.url).text(entry.source.short)))
}
