//! The picture: a canvas with the labels of its axes around it and the read-out's slider over it.

use leptos::ev;
use leptos::html::Canvas;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{HtmlElement, KeyboardEvent, MouseEvent, PointerEvent, ResizeObserver};

use super::curves::{Curves, OWN};
use super::legend::take;
use super::reading::{Reader, after_key, description, first, last, nearest, sentence};
use crate::site::chart::canvas::paint;
use crate::site::chart::palette::Palette;
use crate::site::chart::scale::Tick;
use crate::site::chart::spec::{BAND, Frame, Mark, PAD, Spec};
use crate::site::{State, format};

/// The plot with its axes.
#[component]
pub fn Plot(state: State, curves: Curves, reader: Reader) -> impl IntoView {
    view! {
        <div class="chart-plot" style=("--chart-pad", format!("{PAD}px")) style=("--chart-band", format!("{BAND}px"))>
            <p class="chart-up-title"><i>"b"</i><sub>"max"</sub>", sequences per GPU"</p>
            <BatchLabels curves />
            <p class="chart-band-label">"does not fit"</p>
            <div class="chart-canvas-place">
                <Picture state curves reader />
                <OwnLength state curves />
                <LengthSlider state curves reader />
            </div>
            <LengthLabels curves />
            <p class="chart-across-title">"Sequence length "<i>"S"</i>" in tokens (1k = 1024)"</p>
        </div>
    }
}

/// The labels of the axis of micro-batches. Assistive technology reads values, not axes.
#[component]
fn BatchLabels(curves: Curves) -> impl IntoView {
    let label =
        |(tick, position): (Tick, f64)| view! { <span style=("--at", position.to_string())>{tick.label}</span> };
    let labels = move || {
        let places = curves.axes.with(|axes| {
            let written = axes.batches.iter().filter(|tick| !tick.label.is_empty());
            written.map(|tick| (tick.clone(), axes.up.position(tick.value))).collect::<Vec<_>>()
        });
        places.into_iter().map(label).collect_view()
    };
    view! { <div class="chart-up" aria-hidden="true">{labels}</div> }
}

/// The labels of the axis of lengths, which never changes.
#[component]
fn LengthLabels(curves: Curves) -> impl IntoView {
    let labels = curves.axes.with_untracked(|axes| {
        let label = |tick: &Tick| view! { <span style=("--at", axes.across.position(tick.value).to_string())>{tick.label.clone()}</span> };
        axes.lengths.iter().map(label).collect_view()
    });
    view! { <div class="chart-across" aria-hidden="true">{labels}</div> }
}

/// The label of the line at the reader's own length.
#[component]
fn OwnLength(state: State, curves: Curves) -> impl IntoView {
    let own = Memo::new(move |_| state.scenario.with(|scenario| scenario.recipe.sequence));
    let position = move || curves.axes.with(|axes| axes.across.position(own.get()));
    let text = move || match position() {
        position if position < 0.0 => format!("← your S = {}", format::count(own.get())),
        position if position > 1.0 => format!("your S = {} →", format::count(own.get())),
        _ => format!("your S = {}", format::count(own.get())),
    };
    view! { <p class="chart-own-length num" aria-hidden="true" style=("--at", move || position().clamp(0.0, 1.0).to_string())>{text}</p> }
}

/// The canvas, drawn again at most once a frame, when something it shows has changed.
#[component]
fn Picture(state: State, curves: Curves, reader: Reader) -> impl IntoView {
    let node = NodeRef::<Canvas>::new();
    let place = Trigger::new();
    let waiting = StoredValue::new(false);
    let own = Memo::new(move |_| state.scenario.with(|scenario| scenario.recipe.sequence));
    let own_mark =
        Memo::new(move |_| Mark { length: own.get(), batches: vec![(OWN, state.answer.with(bmax::Answer::batch))] });
    let cursor = Memo::new(move |_| {
        // At the reader's own length there is a mark already.
        reader.chosen.get().map(|_| {
            reader.reading.with(|reading| Mark {
                length: reading.length,
                batches: reading.batches.iter().copied().enumerate().collect(),
            })
        })
    });
    let spec = move |frame: Frame, palette: Palette| Spec {
        frame,
        palette,
        axes: curves.axes.get_untracked(),
        lengths: curves.lengths.get_value(),
        curves: curves.all.get_untracked(),
        own: Some(own_mark.get_untracked()),
        cursor: cursor.get_untracked(),
    };
    Effect::new(move |_| {
        place.track();
        curves.all.track();
        own_mark.track();
        cursor.track();
        if waiting.get_value() {
            return;
        }
        waiting.set_value(true);
        request_animation_frame(move || {
            waiting.set_value(false);
            if let Some(canvas) = node.get_untracked() {
                paint(&canvas, spec);
            }
        });
    });
    node.on_load(move |canvas| follow_size(&canvas, move || place.notify()));
    let label = move || curves.lengths.with_value(|lengths| curves.all.with(|all| description(lengths, all)));
    view! {
        // The style sheet gives the canvas the ink as its colour and lets it change over an instant.
        // The end of that change says that the theme is another one, whoever asked for it.
        <canvas class="chart-canvas" node_ref=node role="img" aria-label=label on:transitionend=move |_| place.notify()></canvas>
    }
}

/// Calls `changed` whenever the element around the canvas has another size, or a pixel of the screen
/// has, as when the window moves to another one.
fn follow_size(canvas: &HtmlElement, changed: impl Fn() + Copy + 'static) {
    _ = window_event_listener(ev::resize, move |_| changed());
    let Some(place) = canvas.parent_element() else { return };
    let callback = Closure::<dyn FnMut()>::new(changed);
    if let Ok(observer) = ResizeObserver::new(callback.as_ref().unchecked_ref()) {
        observer.observe(&place);
    }
    // The figure lives as long as the page.
    callback.forget();
}

/// The focusable layer over the canvas that moves the read-out.
#[component]
fn LengthSlider(state: State, curves: Curves, reader: Reader) -> impl IntoView {
    let look_at = move |length: u32| {
        if reader.chosen.get_untracked() != Some(length) {
            reader.chosen.set(Some(length));
        }
    };
    let on_key = move |event: KeyboardEvent| {
        let at = reader.reading.with_untracked(|reading| reading.length);
        match event.key().as_str() {
            _ if event.ctrl_key() || event.alt_key() || event.meta_key() => return,
            "Enter" => take(state, reader),
            "Escape" => reader.chosen.set(None),
            key => match curves.lengths.with_value(|lengths| after_key(lengths, at, key)) {
                Some(length) => look_at(length),
                None => return,
            },
        }
        event.prevent_default();
    };
    let on_pointer = move |event: PointerEvent| {
        let width = event_target::<HtmlElement>(&event).client_width();
        let position = (f64::from(event.offset_x()) - PAD) / (f64::from(width) - 2.0 * PAD).max(1.0);
        let across = curves.axes.with_untracked(|axes| axes.across);
        if let Some(length) = curves.lengths.with_value(|lengths| nearest(lengths, across, position)) {
            look_at(length);
        }
    };
    // A finger can only read by touching, so a touch must not change anything.
    let on_click = move |event: MouseEvent| {
        if event.dyn_ref::<PointerEvent>().is_none_or(|event| event.pointer_type() != "touch") {
            take(state, reader);
        }
    };
    let on_leave = move |event: PointerEvent| {
        if event.pointer_type() == "mouse" {
            reader.chosen.set(None);
        }
    };
    let (shortest, longest) = curves.lengths.with_value(|lengths| (first(lengths), last(lengths)));
    view! {
        <div
            class="chart-slider"
            role="slider"
            tabindex="0"
            aria-label="Sequence length read-out"
            aria-describedby="chart-help"
            aria-valuemin=shortest.to_string()
            aria-valuemax=longest.to_string()
            aria-valuenow=move || reader.reading.with(|reading| reading.length.to_string())
            aria-valuetext=move || reader.reading.with(sentence)
            on:keydown=on_key
            on:pointerdown=on_pointer
            on:pointermove=on_pointer
            on:pointerleave=on_leave
            on:click=on_click
        ></div>
    }
}
