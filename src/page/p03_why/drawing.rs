//! The drawing of Y = X·W: a stack of sheets that grows beside squares that do not.
//!
//! One unit is one pixel of the unscaled drawing; x grows to the right and y downwards. The front
//! sheet of a stack lies at the bottom left and each further one a step up and to the right.

use leptos::prelude::*;

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
    let mut path = format!("M{x} {top}h{WIDTH}v{HEIGHT}h-{WIDTH}z");
    for i in 1..count {
        let shift = f64::from(i) * step;
        let (left, upper) = (x + shift, top - shift);
        let (width, height) = (WIDTH - step, HEIGHT - step);
        path +=
            &format!("M{left:.1} {:.1}v-{step:.2}h{WIDTH}v{HEIGHT}h-{step:.2}v-{height:.2}h-{width:.2}z", upper + step);
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
#[component]
pub fn Equation(
    /// The layer.
    layer: Signal<Layer>,
    /// The micro-batch.
    batch: Signal<u32>,
) -> impl IntoView {
    // Beyond the last sheet that is drawn the outlines no longer change.
    let drawn = Memo::new(move |_| batch.get().clamp(1, MOST_SHEETS));
    let reach = move |along: f64| move || format!("{:.1}", along + depth(drawn.get()) / 2.0);
    let height = move || format!("{:.1}", FOOT - depth(drawn.get()) / 2.0 + 10.0);
    view! {
        <svg class="shapes-equation" viewBox="0 26 500 148" role="img" aria-label=move || sentence(layer.get(), batch.get())>
            <path class="shape" data-bucket="activations" d=move || sheets(22.0, drawn.get()) />
            <text class="shape-name" data-bucket="activations" x="64" y="126">"X"</text>
            <text class="shape-side" x="64" y="168">"H"</text>
            <text class="shape-side" x="10" y="124">"S"</text>
            <text class="shape-side shape-count" x=reach(120.0) y=height>"b"</text>
            <text class="shape-sign" x="190" y="126">"·"</text>
            <rect class="shape" data-bucket="parameters" x="212" y="62" width="84" height="84" />
            <text class="shape-name" data-bucket="parameters" x="254" y="112">"W"</text>
            <text class="shape-side" x="254" y="168">"H"</text>
            <text class="shape-side" x="308" y="110">"H"</text>
            <text class="shape-sign" x="332" y="126">"="</text>
            <path class="shape shape-open" data-bucket="activations" d=move || sheets(350.0, drawn.get()) />
            <text class="shape-name shape-name-open" x="392" y="126">"Y"</text>
            <text class="shape-side" x="392" y="168">"H"</text>
            <text class="shape-side shape-count" x=reach(448.0) y=height>"b"</text>
        </svg>
    }
}

/// The three tensors that copy the shape of W.
#[component]
pub fn Companions() -> impl IntoView {
    let square = |(x, bucket, name): (u32, &'static str, &'static str)| {
        view! {
            <rect class="shape" data-bucket=bucket x=x y="62" width="84" height="84" />
            <text class="shape-name" data-bucket=bucket x=x + 42 y="112">{name}</text>
            <text class="shape-side" x=x + 42 y="168">"H"</text>
        }
    };
    let squares = [(2, "gradients", "dW"), (98, "optimizer", "m"), (194, "optimizer", "v")];
    view! {
        <svg class="shapes-companions" viewBox="0 58 300 116" role="img" aria-label="The gradient dW and Adam’s m and v are squares of the same size as W.">
            {squares.map(square).into_iter().collect_view()}
            <text class="shape-side" x="290" y="110">"H"</text>
        </svg>
    }
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
