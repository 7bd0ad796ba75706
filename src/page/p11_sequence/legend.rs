//! The legend, which is the read-out too: b_max of each curve where the reader looks, and where the
//! curve ends.

use bmax::chart::{Curves, batch_text, end_text};
use leptos::prelude::*;

use super::reading::{Reader, at, sentence};
use crate::site::{Live, State, format};

/// Everything that follows the read-out.
pub fn draw(live: &Live, curves: &Curves, reader: Reader) {
    let (own, reading) = (reader.own.get(), reader.reading());
    let shown = format::count(reading.length);
    let is_own = reading.length == own;
    live.text("length", &shown);
    live.show("is-own", is_own);
    let mut cells = Vec::new();
    for (position, curve) in curves.all.iter().enumerate() {
        let batch = reading.batches.get(position).copied().flatten();
        cells.extend([batch_text(batch), end_text(curve.longest)]);
        live.class(&("batch-".to_owned() + &position.to_string()), "chart-none", batch.is_none());
    }
    live.write("legend", &cells);
    live.attr("slider", "aria-valuenow", &reading.length.to_string());
    live.attr("slider", "aria-valuetext", &sentence(&reading));
    // The press makes the length that is read off the reader's own; also where a tap only reads.
    let own_text = format::count(own);
    live.attr("use", "aria-disabled", if is_own { "true" } else { "false" });
    live.say("use", if is_own { "own" } else { "other" }, &[shown]);
    // The label of the line at the reader's own length, which may lie beyond the chart.
    let position = curves.axes.across.position(own);
    let case = match position {
        position if position < 0.0 => "left",
        position if position > 1.0 => "right",
        _ => "there",
    };
    live.say("own", case, &[own_text]);
    live.variable("own", "--at", &at(position.clamp(0.0, 1.0)));
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
