//! The shared micro-batch on a slider, with a scale that shows which values fit.

mod shown;

use leptos::ev::PointerEvent;
use leptos::prelude::*;

use super::{Model, Slider};
use crate::site::{State, derived, format};
use shown::{Shown, Tick};

/// A slider that sets the micro-batch everywhere on the page; below it stand the values that fit and those
/// that do not. It follows the slider pattern as [`Slider`] does; the scale says nothing that the slider's own text
/// does not say, so that it is hidden from screen readers.
#[component]
pub fn BatchSlider(
    /// Unique on the page.
    id: &'static str,
    /// The shared state.
    state: State,
) -> impl IntoView {
    let held = RwSignal::new(false);
    let shown = Memo::new(move |before: Option<&Shown>| {
        let least = before.filter(|_| held.get()).map_or(0, |before| before.end);
        state.read(|facts| Shown::of(facts, least))
    });
    let batch = Model::new(Signal::derive(move || shown.with(|shown| f64::from(shown.batch))), move |batch: f64| {
        state.change(|scenario| scenario.with_batch(batch as u32))
    });
    let ends = Signal::derive(move || (1.0, shown.with(|shown| f64::from(shown.end))));
    let text = derived(shown, |shown| &shown.text);
    // The numbers of the scale stay while the slider moves.
    let ticks = Memo::new(move |_| shown.with(|shown| shown.ticks.clone()));
    let zone = move |at: usize| move || shown.with(|shown| shown.zones[at].clone());
    let release = move |_: PointerEvent| held.set(false);
    view! {
        <div
            class="batch-slider"
            style=("--safe", zone(0))
            style=("--fits", zone(1))
            style=("--best", zone(2))
            on:pointerdown=move |_| held.set(true)
            on:pointerup=release
            on:pointercancel=release
        >
            <Slider id value=batch ends text shown=true>"Micro-batch b"</Slider>
            <div class="scale" aria-hidden="true">
                {move || ticks.get().into_iter().map(tick).collect_view()}
            </div>
        </div>
    }
}

/// A number below the slider, in its place.
fn tick(Tick { value, mark, has_word, along }: Tick) -> impl IntoView {
    let word = if has_word { mark.word() } else { "" };
    view! { <span class="tick num" data-kind=mark.key() style=("--along", along)>{format::count(value)} {word}</span> }
}
