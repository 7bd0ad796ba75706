//! Everything that is alive at one instant as one table.

use bmax::{Entry, Estimate};

use super::Look;
use super::entry::{lifetime, source};
use crate::site::dom::{El, el};
use crate::site::format;
use crate::site::views::{formula_in_numbers, formula_in_symbols};

/// The entries, largest first, and their sum.
pub fn table(look: Look) -> Vec<El> {
    let heading = |text, class| el("th").attr("scope", "col").class(class).text(text);
    let head = el("tr")
        .child(heading("Entry", ""))
        .child(heading("Memory", "num"))
        .child(heading("Formula", ""))
        .child(heading("With your numbers, in bytes", ""))
        .child(heading("Alive", ""))
        .child(heading("Source", ""));
    let (rows, total) = look.read(|estimate, at| {
        let rows = estimate.largest_at(at).into_iter().map(|entry| row(entry, estimate)).collect();
        (rows, format::memory(estimate.total_at(at)))
    });
    let foot = el("tr")
        .child(el("th").attr("scope", "row").text("Together"))
        .child(el("td").class("num").text(&total))
        .child(el("td").attr("colspan", "4"));
    let table = el("table")
        .class("data-table breakdown")
        .child(el("caption").text(&look.title()))
        .child(el("thead").child(head))
        .child(el("tbody").children(rows))
        .child(el("tfoot").child(foot));
    let region = el("div")
        .class("table-scroll")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", "Breakdown, entry by entry");
    vec![region.child(table)]
}

fn row(entry: &Entry, estimate: &Estimate) -> El {
    let values = entry.values(estimate);
    let swatch = el("span").class("bucket-swatch").attr("data-bucket", entry.bucket.key());
    let name = el("th").attr("scope", "row").child(swatch).text(entry.name);
    el("tr")
        .child(name.child(el("span").class("soft").text(" ").text(entry.bucket.name())))
        .child(el("td").class("num").text(&format::memory(entry.bytes)))
        .child(el("td").child(formula_in_symbols(entry.formula, &values)))
        .child(el("td").child(formula_in_numbers(entry.formula, &values)))
        .child(el("td").text(&lifetime(entry, estimate)))
        .child(el("td").child(source(entry)))
}
