//! The picture: a canvas with the labels of its axes around it and the read-out's slider over it.

use std::cell::Cell;
use std::rc::Rc;

use bmax::number;
use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, Event, HtmlCanvasElement, HtmlElement, KeyboardEvent, PointerEvent, ResizeObserver};

use super::curves::{Curves, OWN};
use super::legend::take;
use super::reading::{Reader, after_key, description, first, last, nearest, sentence};
use crate::site::chart::canvas;
use crate::site::chart::palette::Palette;
use crate::site::chart::scale::{LogScale, Tick};
use crate::site::chart::spec::{BAND, Frame, Mark, PAD, Spec};
use crate::site::dom::{El, el, keep};
use crate::site::{State, format};

/// The plot with its axes.
pub fn plot(state: State, curves: Memo<Curves>, reader: Reader) -> El {
    let symbol = |tag, text| el(tag).text(text);
    let up = el("p").class("chart-up-title").child(symbol("i", "b")).child(symbol("sub", "max"));
    let across = el("p").class("chart-across-title").text("Sequence length ").child(symbol("i", "S"));
    el("div")
        .class("chart-plot")
        .variable("--chart-pad", || number::plain(PAD) + "px")
        .variable("--chart-band", || number::plain(BAND) + "px")
        .child(up.text(", sequences per GPU"))
        .child(batch_labels(curves))
        .child(el("p").class("chart-band-label").text("does not fit"))
        .child(canvas_place(state, curves, reader))
        .child(length_labels(curves))
        .child(across.text(" in tokens (1k = 1024)"))
}

/// The labels of the axis of micro-batches. Assistive technology reads values, not axes.
fn batch_labels(curves: Memo<Curves>) -> El {
    let labels = move || curves.with(|curves| labels(&curves.axes.batches, curves.axes.up));
    el("div").class("chart-up").attr("aria-hidden", "true").live(labels)
}

/// The labels of the axis of lengths, which never changes.
fn length_labels(curves: Memo<Curves>) -> El {
    let labels = curves.with_untracked(|curves| labels(&curves.axes.lengths, curves.axes.across));
    el("div").class("chart-across").attr("aria-hidden", "true").children(labels)
}

/// The labels of an axis at their places.
fn labels(ticks: &[Tick], scale: LogScale) -> Vec<El> {
    let label = |tick: &Tick| {
        let position = scale.position(tick.value);
        el("span").variable("--at", move || at(position)).text(&tick.label)
    };
    ticks.iter().filter(|tick| !tick.label.is_empty()).map(label).collect()
}

/// A position on an axis for the style sheet.
fn at(position: f64) -> String {
    number::fixed(position, 5)
}

/// The canvas and what lies over it.
fn canvas_place(state: State, curves: Memo<Curves>, reader: Reader) -> El {
    let place = el("div").class("chart-canvas-place");
    let changed = Trigger::new();
    follow_size(place.element(), move || changed.notify());
    place
        .child(picture(state, curves, reader, changed))
        .child(own_length(curves, reader))
        .child(length_slider(state, curves, reader))
}

/// The label of the line at the reader's own length.
fn own_length(curves: Memo<Curves>, reader: Reader) -> El {
    let position = move || curves.with(|curves| curves.axes.across.position(reader.own.get()));
    let text = move || {
        let own = format::count(reader.own.get());
        match position() {
            position if position < 0.0 => format!("← your S = {own}"),
            position if position > 1.0 => format!("your S = {own} →"),
            _ => format!("your S = {own}"),
        }
    };
    el("p")
        .class("chart-own-length num")
        .attr("aria-hidden", "true")
        .variable("--at", move || at(position().clamp(0.0, 1.0)))
        .bind_text(text)
}

/// The canvas, drawn again at most once a frame, when something it shows or the size of its `place`
/// has changed.
fn picture(state: State, curves: Memo<Curves>, reader: Reader, place: Trigger) -> El {
    let own_batch = Memo::new(move |_| state.read(|facts| facts.answer.batch()).unwrap_or(0));
    let spec = move |frame: Frame, palette: Palette| {
        let own = Some(own_batch.get()).filter(|batch| *batch > 0);
        curves.with(|curves| Spec {
            frame,
            palette,
            axes: curves.axes.clone(),
            lengths: curves.lengths.clone(),
            curves: curves.all.clone(),
            own: Some(Mark { length: reader.own.get(), batches: vec![(OWN, own)] }),
            cursor: cursor(reader),
        })
    };
    let label = move || curves.with(|curves| description(&curves.lengths, &curves.all));
    let element = el("canvas")
        .class("chart-canvas")
        .attr("role", "img")
        .bind("aria-label", label)
        // The style sheet gives the canvas the ink as its colour and lets it change over an instant.
        // The end of that change says that the theme is another one, whoever asked for it.
        .on("transitionend", move |_| place.notify());
    let surface: HtmlCanvasElement = element.element().clone().unchecked_into();
    let waiting = Rc::new(Cell::new(false));
    let stale = Rc::new(Cell::new(false));
    // Another size or another theme is rare, and a picture that fits neither would be seen arriving.
    let anyway = Rc::new(Cell::new(true));
    let resized = anyway.clone();
    keep(Box::new(move || {
        place.track();
        resized.set(true);
    }));
    draw_when_seen(surface.clone(), stale.clone(), move |surface| untrack(|| canvas::paint(surface, spec)));
    keep(Box::new(move || {
        place.track();
        curves.track();
        own_batch.track();
        // What is drawn is read with the frame; here it only counts that it has changed.
        _ = (reader.own.get(), cursor(reader));
        if waiting.replace(true) {
            return;
        }
        let (waiting, stale, anyway, surface) = (waiting.clone(), stale.clone(), anyway.clone(), surface.clone());
        request_animation_frame(move || {
            waiting.set(false);
            // The reader may be moving a slider of another figure far away.
            stale.set(!anyway.replace(false) && !canvas::is_near(&surface));
            if !stale.get() {
                untrack(|| canvas::paint(&surface, spec));
            }
        });
    }));
    element
}

/// Makes up for a drawing that was left out because the canvas was far away: when it comes near, and
/// before the page is printed.
fn draw_when_seen(
    surface: HtmlCanvasElement,
    stale: Rc<Cell<bool>>,
    draw: impl Fn(&HtmlCanvasElement) + Copy + 'static,
) {
    let (printed, printed_stale) = (surface.clone(), stale.clone());
    let scroll = window_event_listener(ev::scroll, move |_| {
        if stale.get() && canvas::is_near(&surface) {
            stale.set(false);
            draw(&surface);
        }
    });
    let print = window_event_listener(ev::beforeprint, move |_| {
        if printed_stale.replace(false) {
            draw(&printed);
        }
    });
    // The figure lives as long as the page.
    std::mem::forget((scroll, print));
}

/// What is marked where the reader looks. At the reader's own length there is a mark already.
fn cursor(reader: Reader) -> Option<Mark> {
    reader.is_away().then(|| {
        let reading = reader.reading();
        Mark { length: reading.length, batches: reading.batches.into_iter().enumerate().collect() }
    })
}

/// Calls `changed` whenever the element around the canvas has another size, or a pixel of the screen
/// has, as when the window moves to another one.
fn follow_size(place: &Element, changed: impl Fn() + Copy + 'static) {
    _ = window_event_listener(ev::resize, move |_| changed());
    let callback = Closure::<dyn FnMut()>::new(changed);
    if let Ok(observer) = ResizeObserver::new(callback.as_ref().unchecked_ref()) {
        observer.observe(place);
    }
    // The figure lives as long as the page.
    callback.forget();
}

/// The focusable layer over the canvas that moves the read-out.
fn length_slider(state: State, curves: Memo<Curves>, reader: Reader) -> El {
    let ends = curves.with_untracked(|curves| (first(&curves.lengths), last(&curves.lengths)));
    let look = move |event: Event| look_below(&event.unchecked_into(), curves, reader);
    // A finger can only read by touching, so a touch must not change anything.
    let on_click = move |event: Event| {
        if event.dyn_ref::<PointerEvent>().is_none_or(|event| event.pointer_type() != "touch") {
            take(state, reader);
        }
    };
    let on_leave = move |event: Event| {
        if event.unchecked_ref::<PointerEvent>().pointer_type() == "mouse" {
            reader.look_back();
        }
    };
    el("div")
        .class("chart-slider")
        .attr("role", "slider")
        .attr("tabindex", "0")
        .attr("aria-label", "Sequence length read-out")
        .attr("aria-describedby", "chart-help")
        .attr("aria-valuemin", &ends.0.to_string())
        .attr("aria-valuemax", &ends.1.to_string())
        .bind("aria-valuenow", move || reader.length.get().to_string())
        .bind("aria-valuetext", move || sentence(&reader.reading()))
        .on("keydown", move |event| press(event.unchecked_ref(), state, curves, reader))
        .on("pointerdown", look)
        .on("pointermove", look)
        .on("pointerleave", on_leave)
        .on("click", on_click)
}

/// Moves the read-out by a key, or makes its length the reader's own.
fn press(event: &KeyboardEvent, state: State, curves: Memo<Curves>, reader: Reader) {
    let at = reader.length.get_untracked();
    match event.key().as_str() {
        _ if event.ctrl_key() || event.alt_key() || event.meta_key() => return,
        "Enter" => take(state, reader),
        "Escape" => reader.look_back(),
        key => match curves.with_untracked(|curves| after_key(&curves.lengths, at, key)) {
            Some(length) => reader.look_at(length),
            None => return,
        },
    }
    event.prevent_default();
}

/// Reads off the length below the pointer.
fn look_below(event: &PointerEvent, curves: Memo<Curves>, reader: Reader) {
    let width = event_target::<HtmlElement>(event).client_width();
    let position = (f64::from(event.offset_x()) - PAD) / (f64::from(width) - 2.0 * PAD).max(1.0);
    if let Some(length) = curves.with_untracked(|curves| nearest(&curves.lengths, curves.axes.across, position)) {
        reader.look_at(length);
    }
}
