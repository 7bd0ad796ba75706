//! The drawing of Y = X·W: a stack of sheets that grows beside squares that do not.
//!
//! One unit is one pixel of the unscaled drawing; x grows to the right and y downwards. The front
//! sheet of a stack lies at the bottom left and each further one a step up and to the right.

use bmax::number::fixed;

use super::layer::{Layer, size};
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

/// What the batch changes in X · W = Y.
#[derive(Clone, Debug, PartialEq)]
pub struct Equation {
    /// The stack of X, with b sheets.
    pub input: String,
    /// That of Y.
    pub output: String,
    /// The way of both b from the foot of their stacks to the middle of the stacks' depth.
    pub aside: String,
}

impl Equation {
    /// The drawing for this batch.
    pub fn of(batch: u32) -> Self {
        let aside = fixed(depth(batch) / 2.0, 1);
        Self { input: sheets(22.0, batch), output: sheets(350.0, batch), aside: format!("translate({aside} -{aside})") }
    }
}

/// The rest of X · W = Y, which lies above the stacks.
pub const STILL: &str = "\
    <text class=\"shape-name\" x=\"64\" y=\"126\" data-bucket=\"activations\">X</text>\
    <text class=\"shape-side\" x=\"64\" y=\"168\">H</text>\
    <text class=\"shape-side\" x=\"10\" y=\"124\">S</text>\
    <text class=\"shape-sign\" x=\"190\" y=\"126\">·</text>\
    <rect class=\"shape\" data-bucket=\"parameters\" x=\"212\" y=\"62\" width=\"84\" height=\"84\"></rect>\
    <text class=\"shape-name\" x=\"254\" y=\"112\" data-bucket=\"parameters\">W</text>\
    <text class=\"shape-side\" x=\"254\" y=\"168\">H</text>\
    <text class=\"shape-side\" x=\"308\" y=\"110\">H</text>\
    <text class=\"shape-sign\" x=\"332\" y=\"126\">=</text>\
    <text class=\"shape-name shape-name-open\" x=\"392\" y=\"126\">Y</text>\
    <text class=\"shape-side\" x=\"392\" y=\"168\">H</text>";

/// What follows W: its gradient and Adam's two averages, squares of the same size.
pub const COMPANIONS: &str = "\
    <rect class=\"shape\" data-bucket=\"gradients\" x=\"2\" y=\"62\" width=\"84\" height=\"84\"></rect>\
    <text class=\"shape-name\" x=\"44\" y=\"112\" data-bucket=\"gradients\">dW</text>\
    <text class=\"shape-side\" x=\"44\" y=\"168\">H</text>\
    <rect class=\"shape\" data-bucket=\"optimizer\" x=\"98\" y=\"62\" width=\"84\" height=\"84\"></rect>\
    <text class=\"shape-name\" x=\"140\" y=\"112\" data-bucket=\"optimizer\">m</text>\
    <text class=\"shape-side\" x=\"140\" y=\"168\">H</text>\
    <rect class=\"shape\" data-bucket=\"optimizer\" x=\"194\" y=\"62\" width=\"84\" height=\"84\"></rect>\
    <text class=\"shape-name\" x=\"236\" y=\"112\" data-bucket=\"optimizer\">v</text>\
    <text class=\"shape-side\" x=\"236\" y=\"168\">H</text>\
    <text class=\"shape-side\" x=\"290\" y=\"110\">H</text>";

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
