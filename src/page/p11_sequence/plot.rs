//! The picture: a canvas with the labels of its axes around it and the read-out's slider over it.

use std::cell::Cell;
use std::rc::Rc;

use bmax::chart::{Curves, Frame, Mark, OWN, PAD, Palette, Spec, Tick, description};
use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, Event, HtmlCanvasElement, HtmlElement, KeyboardEvent, PointerEvent, ResizeObserver};

use super::legend::take;
use super::reading::{Reader, after_key, at, nearest};
use crate::site::chart::canvas;
use crate::site::dom::{El, keep};
use crate::site::{Live, State};

/// The plot: what is drawn, and the focusable layer over it that moves the read-out.
pub fn bind(state: State, figure: &El, curves: Memo<Curves>, reader: Reader) {
    let changed = Trigger::new();
    follow_size(figure.part("place").element(), move || changed.notify());
    picture(figure.part("canvas"), state, curves, reader, changed);
    length_slider(figure.part("slider"), state, curves, reader);
}

/// The labels of both axes, and what the picture shows for those who do not see it. Assistive
/// technology reads values, not axes.
pub fn draw(live: &Live, curves: &Curves) {
    let axes = &curves.axes;
    for (name, ticks, scale) in [("up", &axes.batches, axes.up), ("across", &axes.lengths, axes.across)] {
        let named: Vec<&Tick> = ticks.iter().filter(|tick| !tick.label.is_empty()).collect();
        for (label, tick) in live.copies(name, named.len()).iter().zip(named) {
            label.text("", &tick.label);
            label.variable("", "--at", &at(scale.position(tick.value)));
        }
    }
    live.attr("canvas", "aria-label", &description(&curves.lengths, &curves.all));
}

/// The canvas, drawn again at most once a frame, when something it shows or the size of its `place`
/// has changed.
fn picture(element: El, state: State, curves: Memo<Curves>, reader: Reader, place: Trigger) {
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
    // The style sheet gives the canvas the ink as its colour and lets it change over an instant. The
    // end of that change says that the theme is another one, whoever asked for it.
    let element = element.on("transitionend", move |_| place.notify());
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

/// Listens to the layer over the canvas.
fn length_slider(slider: El, state: State, curves: Memo<Curves>, reader: Reader) {
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
    _ = slider
        .on("keydown", move |event| press(event.unchecked_ref(), state, curves, reader))
        .on("pointerdown", look)
        .on("pointermove", look)
        .on("pointerleave", on_leave)
        .on("click", on_click);
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
