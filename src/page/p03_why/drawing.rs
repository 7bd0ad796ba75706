//! The drawing of Y = X·W: a stack of sheets that grows beside squares that do not.
//!
//! One unit is one pixel of the unscaled drawing; x grows to the right and y downwards. The front
//! sheet of a stack lies at the bottom left and each further one a step up and to the right.

use bmax::number::fixed;
use leptos::prelude::*;

use super::Shown;
use super::layer::{Layer, size};
use crate::site::dom::{El, svg};
use crate::site::format;

/// Width of a sheet and side of a square: both are H.
const WIDTH: f64 = 84.0;
/// Height of a sheet: S, not to the scale of H.
const HEIGHT: f64 = 56.0;
/// The foot of everything.
const FOOT: f64 = 146.0;
/// The step from one sheet to the next while there are few.
const STEP: f64 = 8.0;
/// How far a stack may reach; more sheets than fit lie closer together.
const REACH: f64 = 56.0;
/// More sheets than this could not be told apart.
const MOST_SHEETS: u32 = 15;

/// How many sheets are drawn, and the step between them.
fn stack(batch: u32) -> (u32, f64) {
    let sheets = batch.clamp(1, MOST_SHEETS);
    let steps = f64::from(sheets.saturating_sub(1)).max(1.0);
    (sheets, STEP.min(REACH / steps))
}

/// How far the stack reaches up and to the right.
fn depth(batch: u32) -> f64 {
    let (sheets, step) = stack(batch);
    f64::from(sheets.saturating_sub(1)) * step
}

/// The outline of a stack whose front sheet starts at `x`: the sheet, and of each one behind it the
/// strip that can be seen.
fn sheets(x: f64, batch: u32) -> String {
    let (count, step) = stack(batch);
    let top = FOOT - HEIGHT;
    let sheet = format!("h{}v{}h-", fixed(WIDTH, 0), fixed(HEIGHT, 0));
    let mut path = format!("M{} {}{sheet}{}z", fixed(x, 0), fixed(top, 0), fixed(WIDTH, 0));
    let back = format!("{}v-{}h-{}z", fixed(step, 2), fixed(HEIGHT - step, 2), fixed(WIDTH - step, 2));
    for i in 1..count {
        let shift = f64::from(i) * step;
        let (left, lower) = (fixed(x + shift, 1), fixed(top - shift + step, 1));
        path += &format!("M{left} {lower}v-{}{sheet}{back}", fixed(step, 2));
    }
    path
}

/// What the drawing shows, in two sentences.
pub fn sentence(layer: Layer, batch: u32) -> String {
    let Layer { hidden, sequence, .. } = layer;
    format!(
        "X is a stack of {} of {} by {} numbers and takes {}. W stays one square of {} by {} numbers, {}, and so do its gradient and Adam’s m and v.",
        format::counted(batch, "sheet", "sheets"),
        format::count(sequence),
        format::count(hidden),
        size(layer.input(batch)),
        format::count(hidden),
        format::count(hidden),
        size(layer.weights()),
    )
}

/// X · W = Y, with b sheets in X and in Y.
pub fn equation(shown: Shown) -> El {
    // Beyond the last sheet that is drawn the outlines no longer change.
    let drawn = Memo::new(move |_| shown.batch.get().clamp(1, MOST_SHEETS));
    svg("svg")
        .class("shapes-equation")
        .attr("viewBox", "0 26 500 148")
        .attr("role", "img")
        .bind("aria-label", move || sentence(shown.layer(), shown.batch.get()))
        .children(vec![
            pile(22.0, "shape", drawn),
            name("64", "126", "X").attr("data-bucket", "activations"),
            side("64", "168", "H"),
            side("10", "124", "S"),
            pile_side(120.0, drawn),
            sign("190", "·"),
            square("212", "parameters"),
            name("254", "112", "W").attr("data-bucket", "parameters"),
            side("254", "168", "H"),
            side("308", "110", "H"),
            sign("332", "="),
            pile(350.0, "shape shape-open", drawn),
            name("392", "126", "Y").class("shape-name shape-name-open"),
            side("392", "168", "H"),
            pile_side(448.0, drawn),
        ])
}

/// The three tensors that copy the shape of W.
pub fn companions() -> El {
    let squares = [("2", "44", "gradients", "dW"), ("98", "140", "optimizer", "m"), ("194", "236", "optimizer", "v")];
    let tensor = |&(x, middle, bucket, letters): &(&str, &str, &str, &str)| {
        vec![square(x, bucket), name(middle, "112", letters).attr("data-bucket", bucket), side(middle, "168", "H")]
    };
    svg("svg")
        .class("shapes-companions")
        .attr("viewBox", "0 58 300 116")
        .attr("role", "img")
        .attr("aria-label", "The gradient dW and Adam’s m and v are squares of the same size as W.")
        .children(squares.iter().flat_map(tensor).collect())
        .child(side("290", "110", "H"))
}

/// A stack of sheets whose front one starts at `x`.
fn pile(x: f64, class: &str, drawn: Memo<u32>) -> El {
    svg("path").class(class).attr("data-bucket", "activations").bind("d", move || sheets(x, drawn.get()))
}

/// The b beside the middle of a stack's depth, which begins at `x`.
fn pile_side(x: f64, drawn: Memo<u32>) -> El {
    svg("text")
        .class("shape-side shape-count")
        .bind("x", move || fixed(x + depth(drawn.get()) / 2.0, 1))
        .bind("y", move || fixed(FOOT - depth(drawn.get()) / 2.0 + 10.0, 1))
        .text("b")
}

/// A matrix of H by H.
fn square(x: &str, bucket: &str) -> El {
    let place = svg("rect").class("shape").attr("data-bucket", bucket).attr("x", x).attr("y", "62");
    place.attr("width", "84").attr("height", "84")
}

/// The letters of a tensor.
fn name(x: &str, y: &str, letters: &str) -> El {
    svg("text").class("shape-name").attr("x", x).attr("y", y).text(letters)
}

/// The letter of a side.
fn side(x: &str, y: &str, letter: &str) -> El {
    svg("text").class("shape-side").attr("x", x).attr("y", y).text(letter)
}

/// A sign between two tensors.
fn sign(x: &str, sign: &str) -> El {
    svg("text").class("shape-sign").attr("x", x).attr("y", "126").text(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_has_a_sheet_for_every_sequence_up_to_the_limit_and_stays_in_its_place() {
        for batch in [1, 2, 3, 8, 15, 16, 1_048_576] {
            let drawn = batch.min(MOST_SHEETS) as usize;
            assert_eq!(sheets(22.0, batch).matches('M').count(), drawn, "b = {batch}");
            assert!(depth(batch) <= REACH);
        }
        assert_eq!(depth(1), 0.0);
        assert!(depth(4) > depth(2));
    }

    #[test]
    fn the_text_alternative_tells_shape_and_size_of_both() {
        let text = sentence(Layer::WORKED, 4);
        for part in ["4 sheets of 2,048 by 4,096", "takes 64 MiB", "4,096 by 4,096 numbers, 64 MiB"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
