//! b_max against sequence length: four reference models and the reader's own.

mod curves;
mod legend;
mod plot;
mod reading;
mod settings;
mod table;

use bmax::{Choice, Method};
use leptos::prelude::*;

use crate::site::dom::{El, keep};
use crate::site::{Live, State, format};
use reading::Reader;

/// The chart with its settings, its read-out and its table.
pub fn chart(state: State, figure: El) {
    let curves = curves::of(state);
    let reader = Reader::new(state, curves);
    let live = Live::over(state, &figure);
    settings::bind(state, &figure);
    plot::bind(state, &figure, curves, reader);
    _ = figure.part("use").on("click", move |_| legend::take(state, reader));
    let is_open = RwSignal::new(false);
    let fold = live.clone();
    _ = figure.part("fold").on("toggle", move |_| is_open.set(fold.is_open("fold")));
    // What follows from the curves is written apart from what follows the pointer.
    let drawn = live.clone();
    keep(Box::new(move || {
        curves.with(|curves| {
            plot::draw(&drawn, curves);
            if is_open.get() {
                table::draw(&drawn, curves);
            }
        });
        settings::draw(&drawn);
        assumptions(&drawn);
    }));
    keep(Box::new(move || curves.with(|curves| legend::draw(&live, curves, reader))));
}

/// What the reference curves share with the reader's configuration.
fn assumptions(live: &Live) {
    live.facts(|facts| {
        let scenario = &facts.scenario;
        let texts = [
            format::memory(scenario.device.memory),
            format::input(scenario.device.headroom.get()),
            scenario.recipe.precision.label().to_owned(),
            scenario.method.key().to_owned(),
        ];
        live.write("assumptions", &texts);
        // What the process takes is counted in the ledger.
        live.show("headroom", scenario.method != Method::Ledger);
    });
}

#[cfg(test)]
mod tests {
    use bmax::chart::{BAND, NAMES, PAD, PATTERNS, POINTS, first, last};
    use bmax::{Choice, Method, number, sweep};

    const PAGE: &str = include_str!("prose.html");

    #[test]
    fn the_legend_of_the_page_has_the_names_and_dashes_of_the_curves() {
        for (position, (name, pattern)) in NAMES.iter().zip(PATTERNS).enumerate() {
            let dashes = pattern.iter().map(|length| number::plain(*length)).collect::<Vec<_>>().join(" ");
            let row = PAGE.lines().find(|line| line.contains(&format!("data-series=\"{}\"", position + 1)));
            let row = row.expect("a row for every curve");
            assert!(row.contains(&format!("stroke-dasharray=\"{dashes}\"")), "{name}: {dashes}");
            assert!(row.contains(&format!("</svg>{name}</th>")), "{name}");
            assert!(PAGE.contains(&format!("<th scope=\"col\" class=\"num\">{name}</th>")), "{name}");
        }
    }

    #[test]
    fn page_and_style_sheet_have_the_ends_and_the_room_of_the_drawing() {
        let lengths = sweep::sequence_lengths(POINTS);
        for (end, length) in [("min", first(&lengths)), ("max", last(&lengths))] {
            assert!(PAGE.contains(&format!("aria-value{end}=\"{length}\"")), "{end}");
        }
        let style = include_str!("../../../style/chart.css");
        for (name, length) in [("pad", PAD), ("band", BAND)] {
            assert!(style.contains(&format!("--chart-{name}: {length}px;")), "{name}");
        }
    }

    #[test]
    fn the_word_of_a_method_is_its_name_in_a_sentence() {
        for method in Method::ALL {
            assert_eq!(method.key(), method.label().to_ascii_lowercase());
        }
    }
}
