use bmax::Bytes;
use leptos::prelude::*;

use super::Shown;
use super::layer::{Layer, size};
use crate::site::dom::{El, el};
use crate::site::format;

/// The batches that the text goes through; the current one follows them.
const WORKED: [u32; 3] = [1, 4, 8];

/// The sizes of the layer's tensors at a few batches: one column grows, three do not.
pub fn sizes_table(shown: Shown) -> El {
    let rows = WORKED.iter().map(|&batch| row(shown, Some(batch))).collect();
    let body = el("tbody").children(rows).child(row(shown, None));
    el("div")
        .class("table-scroll")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", "Sizes of the tensors of one layer")
        .child(el("table").class("data-table").attr("data-testid", "shapes-table").child(head()).child(body))
}

fn head() -> El {
    let letters = |letters: &str| el("i").text(letters);
    let tensor = |bucket: &str| {
        let swatch = el("span").class("bucket-swatch").attr("data-bucket", bucket);
        el("th").attr("scope", "col").class("num").child(swatch).text(" ")
    };
    el("thead").child(el("tr").children(vec![
        el("th").attr("scope", "col").class("num").text("Batch ").child(letters("b")),
        tensor("activations").child(letters("X")),
        tensor("parameters").child(letters("W")),
        tensor("gradients").child(letters("dW")),
        tensor("optimizer").child(letters("m")).text(" + ").child(letters("v")),
    ]))
}

/// The sizes at a batch, or at the current one.
fn row(shown: Shown, fixed: Option<u32>) -> El {
    let batch = move || fixed.unwrap_or_else(|| shown.batch.get());
    let weights = |of: fn(Layer) -> Bytes| el("td").class("num").bind_text(move || size(of(shown.layer())));
    let batch_head = el("th").attr("scope", "row").class("num").bind_text(move || format::count(batch()));
    let (row, batch_head) = match fixed {
        Some(_) => (el("tr"), batch_head),
        None => (el("tr").class("shapes-now"), batch_head.text(" (now)")),
    };
    row.children(vec![
        batch_head,
        el("td").class("num shapes-grows").bind_text(move || size(shown.layer().input(batch()))),
        weights(Layer::weights),
        weights(Layer::gradient),
        weights(Layer::moments),
    ])
}
