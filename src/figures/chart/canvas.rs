//! A canvas of the page as something to draw on.

use bmax::chart::{Frame, Palette, Spec, draw};
use bmax::number;
use leptos::prelude::window;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

/// Units of the drawing in a pixel of the device.
const UNITS: f64 = 8.0;

/// Draws on `canvas` what `spec` makes of its size and of the colours of its place, filling the
/// element around it. Nothing happens where there is nothing to see.
///
/// The backing store has a pixel for every pixel of the screen, of which there are `density` in a CSS pixel: plotters knows nothing of dense
/// screens and would leave them blurred.
pub fn paint(canvas: &HtmlCanvasElement, density: f64, spec: impl FnOnce(Frame, Palette) -> Spec) {
    let Some(place) = canvas.parent_element() else { return };
    let room = place.get_bounding_client_rect();
    let density = density.clamp(0.5, 4.0);
    let pixels = [room.width(), room.height()].map(|length| (length * density).floor());
    if pixels.iter().any(|pixels| *pixels < 1.0) {
        return;
    }
    let [width, height] = pixels.map(|pixels| pixels / density);
    let Some(context) = fit(canvas, pixels, [width, height]) else { return };
    let Some(palette) = palette(canvas) else { return };
    let Some(mut backend) = CanvasBackend::with_canvas_object(canvas.clone()) else { return };
    _ = context.set_transform(1.0 / UNITS, 0.0, 0.0, 1.0 / UNITS, 0.0, 0.0);
    context.set_line_join("round");
    // What a backend refuses is missing from the picture; the table beside it has every number.
    _ = draw(&spec(Frame { width, height, density, units: UNITS }, palette), &mut backend);
}

/// Gives the canvas a backing store of `pixels`, shown at `size` in CSS pixels. Assigning its width
/// clears it and throws the store away, so that is left alone while it is right.
fn fit(canvas: &HtmlCanvasElement, pixels: [f64; 2], size: [f64; 2]) -> Option<CanvasRenderingContext2d> {
    let [width, height] = pixels.map(|pixels| pixels as u32);
    if (canvas.width(), canvas.height()) != (width, height) {
        canvas.set_width(width);
        canvas.set_height(height);
        for (property, length) in ["width", "height"].into_iter().zip(size) {
            _ = canvas.style().set_property(property, &(number::plain(length) + "px"));
        }
    }
    canvas.get_context("2d").ok()??.dyn_into().ok()
}

fn palette(canvas: &HtmlCanvasElement) -> Option<Palette> {
    let style = window().get_computed_style(canvas).ok()??;
    Some(Palette::from_tokens(|token| style.get_property_value(token).unwrap_or_default()))
}
