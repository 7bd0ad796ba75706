//! A canvas of the page as something to draw on.

use leptos::prelude::window;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::draw::draw;
use super::palette::Palette;
use super::spec::{Frame, Spec};

/// Units of the drawing in a pixel of the device.
const UNITS: f64 = 8.0;

/// How far outside the window a canvas is drawn ahead, in CSS pixels.
const AHEAD: f64 = 400.0;

/// The frame for a place of this size in CSS pixels on the present screen; none where there is
/// nothing to see. It has a pixel for every pixel of the screen: plotters knows nothing of dense
/// screens and would leave them blurred.
pub fn frame((width, height): (f64, f64)) -> Option<Frame> {
    let density = window().device_pixel_ratio().clamp(0.5, 4.0);
    let [width, height] = [width, height].map(|length| (length * density).floor() / density);
    (width * density >= 1.0 && height * density >= 1.0).then_some(Frame { width, height, density, units: UNITS })
}

/// The colours at the place of a canvas.
pub fn palette(canvas: &HtmlCanvasElement) -> Option<Palette> {
    let style = window().get_computed_style(canvas).ok()??;
    Some(Palette::from_tokens(|token| style.get_property_value(token).unwrap_or_default()))
}

/// Whether a canvas can be seen, or will be after a little scrolling.
pub fn is_near(canvas: &HtmlCanvasElement) -> bool {
    let place = canvas.get_bounding_client_rect();
    let window_height = window().inner_height().ok().and_then(|height| height.as_f64()).unwrap_or(f64::INFINITY);
    place.bottom() > -AHEAD && place.top() < window_height + AHEAD
}

/// Draws `spec` on `canvas`, whose size becomes that of its frame.
pub fn paint(canvas: &HtmlCanvasElement, spec: &Spec) {
    let Some(context) = fit(canvas, &spec.frame) else { return };
    let Some(mut backend) = CanvasBackend::with_canvas_object(canvas.clone()) else { return };
    _ = context.set_transform(1.0 / UNITS, 0.0, 0.0, 1.0 / UNITS, 0.0, 0.0);
    context.set_line_join("round");
    // What a backend refuses is missing from the picture; the table beside it has every number.
    _ = draw(spec, &mut backend);
}

/// Gives the canvas a backing store for the frame. Assigning its width throws the store away, so
/// that is left alone while it is right.
fn fit(canvas: &HtmlCanvasElement, frame: &Frame) -> Option<CanvasRenderingContext2d> {
    let [width, height] = [frame.width, frame.height].map(|length| (length * frame.density).round() as u32);
    if (canvas.width(), canvas.height()) != (width, height) {
        canvas.set_width(width);
        canvas.set_height(height);
    }
    for (property, length) in [("width", frame.width), ("height", frame.height)] {
        _ = canvas.style().set_property(property, &format!("{length}px"));
    }
    canvas.get_context("2d").ok()??.dyn_into().ok()
}
