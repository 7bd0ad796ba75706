//! The picture: a canvas with the labels of its axes around it and the read-out's slider over it.

use leptos::ev;
use leptos::html::Canvas;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{HtmlCanvasElement, HtmlElement, KeyboardEvent, MouseEvent, PointerEvent, ResizeObserver};

use super::curves::{Curves, OWN};
use super::legend::take;
use super::reading::{Reader, Reading, after_key, description, first, last, nearest, sentence};
use crate::site::chart::canvas;
use crate::site::chart::palette::Palette;
use crate::site::chart::scale::Tick;
use crate::site::chart::spec::{BAND, Mark, PAD, Spec};
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

/// The canvas, drawn again at most once a frame when something it shows has changed, and only where
/// it can be seen: the reader may be moving a slider of another figure far away.
#[component]
fn Picture(state: State, curves: Curves, reader: Reader) -> impl IntoView {
    let node = NodeRef::<Canvas>::new();
    let size = RwSignal::new(None::<(f64, f64)>);
    let colours = RwSignal::new(None::<Palette>);
    let own = Memo::new(move |_| Mark {
        length: state.scenario.with(|scenario| scenario.recipe.sequence),
        batches: vec![(OWN, state.answer.with(bmax::Answer::batch))],
    });
    let spec = spec_of(own, curves, reader, size, colours);
    let (waiting, stale, anyway) = (StoredValue::new(false), StoredValue::new(false), StoredValue::new(true));
    let draw = move |canvas: &HtmlCanvasElement| {
        stale.set_value(false);
        anyway.set_value(false);
        if let Some(spec) = spec() {
            canvas::paint(canvas, &spec);
        }
    };
    let ask = move || {
        if !waiting.get_value() {
            waiting.set_value(true);
            request_animation_frame(move || {
                waiting.set_value(false);
                let found = node.get_untracked();
                if let Some(canvas) = found.filter(|canvas| anyway.get_value() || canvas::is_near(canvas)) {
                    draw(&canvas);
                }
            });
        }
    };
    Effect::new(move |_| {
        curves.all.track();
        own.track();
        reader.reading.track();
        reader.chosen.track();
        stale.set_value(true);
        ask();
    });
    // Another size or another theme is rare, and a picture that fits neither would be seen arriving.
    Effect::new(move |_| {
        size.track();
        colours.track();
        anyway.set_value(true);
        ask();
    });
    let ask_if_stale = move || {
        if stale.get_value() {
            ask()
        }
    };
    _ = window_event_listener(ev::scroll, move |_| ask_if_stale());
    // Paper shows every figure, also those that were never scrolled to.
    _ = window_event_listener(ev::beforeprint, move |_| {
        if let Some(canvas) = node.get_untracked() {
            draw(&canvas)
        }
    });
    let read_colours = move || colours.set(node.get_untracked().and_then(|canvas| canvas::palette(&canvas)));
    node.on_load(move |canvas| {
        read_colours();
        follow_size(&canvas, size);
    });
    let label = move || curves.lengths.with_value(|lengths| curves.all.with(|all| description(lengths, all)));
    view! {
        // The style sheet gives the canvas the ink as its colour and lets it change over an instant.
        // The end of that change says that the theme is another one, whoever asked for it.
        <canvas class="chart-canvas" node_ref=node role="img" aria-label=label on:transitionend=move |_| read_colours()></canvas>
    }
}

/// What is to be drawn now, once size and colours are known.
fn spec_of(
    own: Memo<Mark>,
    curves: Curves,
    reader: Reader,
    size: RwSignal<Option<(f64, f64)>>,
    colours: RwSignal<Option<Palette>>,
) -> impl Fn() -> Option<Spec> + Copy {
    move || {
        // At the reader's own length there is a mark already.
        let cursor = reader.chosen.get_untracked().map(|_| {
            let Reading { length, batches } = reader.reading.get_untracked();
            Mark { length, batches: batches.into_iter().enumerate().collect() }
        });
        Some(Spec {
            frame: canvas::frame(size.get_untracked()?)?,
            palette: colours.get_untracked()?,
            axes: curves.axes.get_untracked(),
            lengths: curves.lengths.get_value(),
            curves: curves.all.get_untracked(),
            own: Some(own.get_untracked()),
            cursor,
        })
    }
}

/// Writes the size of the element around the canvas whenever it is another one, or a pixel of the
/// screen is, as when the window moves to another screen.
fn follow_size(canvas: &HtmlElement, size: RwSignal<Option<(f64, f64)>>) {
    _ = window_event_listener(ev::resize, move |_| size.update(|_| ()));
    let Some(place) = canvas.parent_element() else { return };
    let observed = place.clone();
    let callback = Closure::<dyn FnMut()>::new(move || {
        // The border is the place's own; the canvas lies inside it.
        size.set(Some((f64::from(observed.client_width()), f64::from(observed.client_height()))));
    });
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
