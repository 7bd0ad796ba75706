//! b_max against sequence length: four reference models and the reader's own.

mod curves;
mod legend;
mod plot;
mod reading;
mod settings;
mod table;

use leptos::prelude::*;

use crate::site::dom::{El, el};
use crate::site::{State, format};
use reading::Reader;

/// The chart with its settings, its read-out and its table.
pub fn chart(state: State) -> El {
    let curves = curves::of(state);
    let reader = Reader::new(state, curves);
    let body = el("div")
        .class("chart-body")
        .child(plot::plot(state, curves, reader))
        .child(legend::legend(state, curves, reader));
    el("div")
        .class("chart")
        .child(settings::settings(state))
        .child(body)
        .child(help())
        .child(el("p").class("figure-note").bind_text(move || assumptions(state)))
        .child(table::curves_table(curves))
}

/// How the read-out is moved.
fn help() -> El {
    let key = |name: &str| el("kbd").text(name);
    el("p")
        .class("figure-note")
        .attr("id", "chart-help")
        .text("Point at the chart, or focus it and press ")
        .child(key("←"))
        .text(" and ")
        .child(key("→"))
        .text(", ")
        .child(key("Page Up"))
        .text(" and ")
        .child(key("Page Down"))
        .text(", ")
        .child(key("Home"))
        .text(" and ")
        .child(key("End"))
        .text(", to read off other lengths. ")
        .child(key("Enter"))
        .text(" or a click makes the length yours, ")
        .child(key("Esc"))
        .text(" goes back to it.")
}

/// What the reference curves share with the reader's configuration.
fn assumptions(state: State) -> String {
    use bmax::{Choice, Method};
    state.asked(|scenario| {
        format!(
            "Besides their GPUs and recomputation, set above, the reference models are counted as yours: {} of memory{}, {}, {} method.",
            format::memory(scenario.device.memory()),
            match scenario.method {
                // What the process takes is counted there.
                Method::Ledger => String::new(),
                _ => format!(" with {} % headroom", format::input(scenario.device.headroom.get())),
            },
            scenario.recipe.precision.label(),
            scenario.method.label().to_ascii_lowercase()
        )
    })
}
