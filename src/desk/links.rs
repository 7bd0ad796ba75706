//! Links: short, full, as Markdown, as text, and as a QR code.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Blob, CanvasRenderingContext2d, HtmlCanvasElement, HtmlDialogElement};

use crate::dialog::Dialog;
use crate::{dom, qr, save};

/// Side of the PNG in pixels, at least: a slide is projected at twice that width.
const PIXELS: i32 = 1_024;

/// Lets the buttons around the QR code do what they say.
pub fn bind(dialog: &Rc<Dialog>) {
    let large = large();
    let shown = dialog.clone();
    dom::listen(&dialog.part("large"), "click", move |_| {
        let link = short_link(&shown);
        _ = dom::part(&large, "qr").set_attribute("src", &picture(&link).unwrap_or_default());
        dom::part(&large, "link").set_text_content(Some(&link));
        _ = large.show_modal();
    });
    let saved = dialog.clone();
    dom::listen(&dialog.part("qr-svg"), "click", move |_| {
        if let Some(svg) = qr::svg(&short_link(&saved)) {
            save::text(&saved, "bmax-qr.svg", "image/svg+xml", &svg);
        }
    });
    let saved = dialog.clone();
    dom::listen(&dialog.part("qr-png"), "click", move |_| save_png(&saved));
}

/// Writes the links of what is shared.
pub fn show(dialog: &Dialog) {
    let figure = dialog.figure();
    dialog.share(figure.as_ref(), |share| {
        for (part, text) in [
            ("short", share.short_link()),
            ("full", share.full_link()),
            ("markdown", share.markdown()),
            ("text", share.text()),
        ] {
            dom::set_value(&dialog.part(part), &text);
        }
        let code = picture(&share.short_link());
        dom::show(&dialog.part("code"), code.is_some());
        dom::show(&dialog.part("no-code"), code.is_none());
        dom::attribute(&dialog.part("qr"), "src", &code.unwrap_or_default());
    });
}

fn short_link(dialog: &Dialog) -> String {
    let figure = dialog.figure();
    dialog.share(figure.as_ref(), |share| share.short_link())
}

/// The QR code of a link as the address of an image.
fn picture(link: &str) -> Option<String> {
    qr::svg(link).map(|svg| dom::svg_address(&svg))
}

/// The dialog that shows the code as large as the window.
fn large() -> HtmlDialogElement {
    let large: HtmlDialogElement = dom::markup(include_str!("large.html")).unchecked_into();
    if let Some(body) = dom::document().body() {
        _ = body.append_child(&large);
    }
    let closed = large.clone();
    dom::listen(&dom::part(&large, "close"), "click", move |_| closed.close());
    large
}

fn save_png(dialog: &Rc<Dialog>) {
    let Some((side, runs)) = qr::modules(&short_link(dialog)) else { return };
    // Whole pixels for each module, so that edges are edges.
    let scale = (PIXELS + side - 1) / side;
    let canvas: HtmlCanvasElement = dom::create("canvas").unchecked_into();
    canvas.set_width((side * scale).unsigned_abs());
    canvas.set_height((side * scale).unsigned_abs());
    let context = canvas.get_context("2d").ok().flatten();
    let Some(context) = context.and_then(|context| context.dyn_into::<CanvasRenderingContext2d>().ok()) else { return };
    let fill = |colour: &str, [x, y, width, height]: [i32; 4]| {
        context.set_fill_style_str(colour);
        let [x, y, width, height] = [x, y, width, height].map(|length| f64::from(length * scale));
        context.fill_rect(x, y, width, height);
    };
    fill("#fff", [0, 0, side, side]);
    for (x, y, length) in runs {
        fill("#000", [x, y, length, 1]);
    }
    let dialog = dialog.clone();
    let done = Closure::once_into_js(move |blob: Option<Blob>| match blob {
        Some(blob) => save::blob(&dialog, "bmax-qr.png", &blob),
        None => dialog.say("The browser could not make a PNG of it."),
    });
    _ = canvas.to_blob(done.unchecked_ref());
}
