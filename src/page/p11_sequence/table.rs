//! The curves as a table.

use leptos::prelude::*;
use web_sys::Element;

use super::curves::{Curves, NAMES};
use super::reading::batch_text;
use crate::site::dom::{El, el};
use crate::site::format;

/// b_max of every curve at every power of two. It is written only while it is open: it would
/// otherwise be the largest part of every change of the page.
pub fn curves_table(curves: Memo<Curves>) -> El {
    let open = RwSignal::new(false);
    let place = el("div")
        .class("table-scroll")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", "The curves as a table")
        .live(move || open.get().then(|| table(curves)).into_iter().collect());
    el("details")
        .class("chart-table")
        .attr("data-testid", "chart-table")
        .on("toggle", move |event| open.set(event_target::<Element>(&event).has_attribute("open")))
        .child(el("summary").text("The curves as a table"))
        .child(place)
}

fn table(curves: Memo<Curves>) -> El {
    let head = |name: &&str| el("th").attr("scope", "col").class("num").text(name);
    let tokens = el("th").attr("scope", "col").class("num").text("Tokens ").child(el("i").text("S"));
    let heads = el("tr").child(tokens).children(NAMES.iter().map(head).collect());
    el("table")
        .class("data-table")
        .child(el("caption").text("Largest micro-batch in sequences per GPU. A dash: not even one sequence fits."))
        .child(el("thead").child(heads))
        .child(el("tbody").live(move || curves.with(rows)))
}

fn rows(curves: &Curves) -> Vec<El> {
    let row = |(position, length): (usize, &u32)| {
        let cells = curves.all.iter().map(|curve| cell(curve.batches.get(position).copied().flatten()));
        el("tr")
            .child(el("th").attr("scope", "row").class("num").text(&format::count(*length)))
            .children(cells.collect())
    };
    let known = curves.lengths.iter().enumerate();
    known.filter(|(_, length)| length.is_power_of_two()).map(row).collect()
}

fn cell(batch: Option<u32>) -> El {
    let cell = el("td").class("num");
    match batch {
        Some(_) => cell.text(&batch_text(batch)),
        None => cell
            .child(el("span").attr("aria-hidden", "true").text("–"))
            .child(el("span").class("visually-hidden").text("does not fit")),
    }
}
