//! Curves, bands and marks between two axes.

use bmax::plot::{Axis, Layer, Plot as Spec, Series};
use leptos::ev::{CustomEvent, PointerEvent};
use leptos::prelude::*;
use leptos::svg::Svg;
use leptos_use_resize_observer::use_resize_observer;

use super::Model;

/// The size of a drawing in the page as it was built, in CSS pixels; a browser knows better.
const BUILT: (f64, f64) = (720.0, 320.0);

/// A slider that follows the pointer on a drawing.
#[derive(Clone, Copy)]
pub struct Scrub<Ends = (f64, f64)> {
    /// The value of the slider.
    pub value: Model<f64>,
    /// Both ends of the slider, which are those of the axis: a pair, or a signal of one where they change.
    pub ends: Ends,
    /// The distance of two values of the slider.
    pub step: f64,
}

impl From<Scrub> for Scrub<Signal<(f64, f64)>> {
    fn from(Scrub { value, ends, step }: Scrub) -> Self {
        Self { value, ends: ends.into(), step }
    }
}

/// A drawing by plotters, as an `<svg>` whose colours are the style sheet's. Where it can be read off, the
/// pointer moves the slider that does the same by keyboard. It follows the pattern of an image with a text;
/// a table beside it has its numbers: <https://www.w3.org/WAI/tutorials/images/complex/>.
#[component]
pub fn Plot(
    /// What is drawn.
    #[prop(into)]
    plot: Signal<Spec>,
    /// What tests find the drawing by.
    #[prop(default = "plot")]
    name: &'static str,
    /// What the drawing shows, in a few words.
    label: &'static str,
    /// The element with more of it.
    #[prop(optional, into)]
    described_by: Option<&'static str>,
    /// The slider that the pointer moves.
    #[prop(optional, into)]
    scrub: Option<Scrub<Signal<(f64, f64)>>>,
    /// A further name for the style sheet.
    #[prop(optional)]
    class: &'static str,
) -> impl IntoView {
    #[cfg(feature = "prerender")]
    crate::site::prerender::keep(|| plot.with_untracked(Spec::to_text));
    let drawing = NodeRef::<Svg>::new();
    let size = RwSignal::new(BUILT);
    use_resize_observer(drawing, move |entries, _| {
        if let Some(room) = entries.last().map(|entry| entry.content_rect()) {
            size.set((room.width(), room.height()));
        }
    });
    let still = Memo::new(move |before: Option<&Still>| plot.with(|plot| Still::of(plot, size.get(), before)));
    let follow = move |event: PointerEvent| {
        let Some((scrub, drawing)) = scrub.filter(|_| event.buttons() == 1).zip(drawing.get_untracked()) else {
            return;
        };
        let place = drawing.get_bounding_client_rect();
        let (from, to) = scrub.ends.get_untracked();
        let part = part(f64::from(event.client_x()) - place.left(), place.width());
        let value = from + ((to - from) * part / scrub.step).round() * scrub.step;
        scrub.value.set(value.clamp(from, to));
    };
    // The desk asks, which is another program and draws the plot into a file.
    let answer = move |_: CustomEvent| {
        if let Some(drawing) = drawing.get_untracked() {
            _ = drawing.set_attribute("data-plot", &plot.with_untracked(Spec::to_text));
        }
    };
    view! {
        <svg
            node_ref=drawing
            class=format!("plot {class}")
            class:is-scrubbed=scrub.is_some()
            viewBox=move || format!("0 0 {} {}", size.get().0, size.get().1)
            role="img"
            data-testid=name
            aria-label=label
            aria-describedby=described_by
            on:pointerdown=follow
            on:pointermove=follow
            on:bmax-plot=answer
        >
            <g inner_html=move || still.with(|still| still.drawn.clone())></g>
            <g inner_html=move || plot.with(|plot| layer(plot, Layer::Moving, size.get()))></g>
        </svg>
    }
}

/// The lower layer of a drawing, and what it was drawn from.
#[derive(Clone, PartialEq)]
struct Still {
    axes: [Axis; 2],
    series: Vec<Series>,
    size: (f64, f64),
    drawn: String,
}

impl Still {
    /// The layer of this plot: the one from `before` where nothing in it has changed since.
    fn of(plot: &Spec, size: (f64, f64), before: Option<&Self>) -> Self {
        let (series, _) = plot.still_and_moving();
        let is_same = |before: &&Self| {
            before.size == size && before.axes[0] == plot.x && before.axes[1] == plot.y && before.series == series
        };
        before.filter(is_same).cloned().unwrap_or_else(|| Self {
            axes: [plot.x.clone(), plot.y.clone()],
            series: series.to_vec(),
            size,
            drawn: layer(plot, Layer::Still, size),
        })
    }
}

fn layer(plot: &Spec, layer: Layer, (width, height): (f64, f64)) -> String {
    plot.layer(layer, width, height)
}

/// Which part of the axis a place is at, from 0 to 1: the margins of the drawing are the same at every size.
fn part(place: f64, width: f64) -> f64 {
    let axis = Axis::linear(0.0, 1.0, "");
    let empty = Spec { x: axis.clone(), y: axis, series: Vec::new(), marks: Vec::new() };
    empty.value_at(place, width)
}
