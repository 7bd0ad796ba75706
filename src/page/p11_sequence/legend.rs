//! The legend, which is the read-out too: what each curve is, b_max where the reader looks, and
//! where the curve ends.

use bmax::number;
use leptos::prelude::*;

use super::curves::{Curves, NAMES, OWN};
use super::reading::{Reader, batch_text, end_text};
use crate::site::chart::spec::PATTERNS;
use crate::site::dom::{El, el, svg};
use crate::site::{State, format};

/// One row a curve.
pub fn legend(state: State, curves: Memo<Curves>, reader: Reader) -> El {
    let which = move || if reader.length.get() == reader.own.get() { ", your length" } else { "" };
    let caption = el("caption")
        .text("At ")
        .child(el("strong").class("num").bind_text(move || format::count(reader.length.get())))
        .text(" tokens")
        .bind_text(move || which().to_owned());
    let table = el("table")
        .class("chart-legend")
        .attr("data-testid", "chart-readout")
        .child(caption)
        .child(el("thead").child(heads()))
        .child(el("tbody").children((0..NAMES.len()).map(|position| row(position, curves, reader)).collect()));
    el("div").class("chart-panel").child(table).child(use_length(state, reader))
}

fn heads() -> El {
    let head = || el("th").attr("scope", "col");
    let batch = head().class("num").child(el("i").text("b")).child(el("sub").text("max"));
    let end = head().class("num").text("Ends at ").child(el("i").text("S")).text(" =");
    el("tr").child(head().text("Model")).child(batch).child(end)
}

/// A curve: how it is drawn, its value at the read-out and its end.
fn row(position: usize, curves: Memo<Curves>, reader: Reader) -> El {
    let batch = move || reader.batch(position);
    let end = move || curves.with(|curves| curves.all.get(position).and_then(|curve| curve.longest));
    let head =
        el("th").attr("scope", "row").child(sample(position)).text(NAMES.get(position).copied().unwrap_or_default());
    let value = el("td")
        .class("num")
        .toggle_class("chart-none", move || batch().is_none())
        .bind_text(move || batch_text(batch()));
    let row = el("tr").child(head).child(value);
    let row = row.child(el("td").class("num soft").bind_text(move || end_text(end())));
    if position == OWN { row.class("chart-own") } else { row }
}

/// A piece of the line that a curve is drawn with.
fn sample(position: usize) -> El {
    let pattern = PATTERNS.get(position).copied().unwrap_or_default();
    let dashes = pattern.iter().map(|length| number::plain(*length)).collect::<Vec<_>>().join(" ");
    let line = svg("line")
        .attr("x1", "0")
        .attr("y1", "5")
        .attr("x2", "36")
        .attr("y2", "5")
        .attr("stroke-width", if position == OWN { "3" } else { "2" })
        .attr("stroke-dasharray", &dashes);
    svg("svg")
        .class("chart-sample")
        .attr("data-series", &(position + 1).to_string())
        .attr("width", "36")
        .attr("height", "10")
        .attr("aria-hidden", "true")
        .child(line)
}

/// Makes the length that is read off the reader's own; also where a tap only reads.
fn use_length(state: State, reader: Reader) -> El {
    let Reader { own, length, .. } = reader;
    let idle = move || length.get() == own.get();
    let text = move || {
        if idle() {
            format!("Your S is {}", format::count(own.get()))
        } else {
            format!("Set your S to {}", format::count(length.get()))
        }
    };
    el("button")
        .attr("type", "button")
        .class("button button-quiet button-small")
        .bind("aria-disabled", move || idle().to_string())
        .on("click", move |_| take(state, reader))
        .bind_text(text)
}

/// Makes the length that is read off the reader's own.
pub fn take(state: State, reader: Reader) {
    let length = reader.length.get_untracked();
    state.change(|mut scenario| {
        scenario.recipe.sequence = length;
        scenario
    });
    reader.look_back();
}
