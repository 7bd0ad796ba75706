//! A number in a line of text that can be dragged.

use bmax::number;
use leptos::ev::{Event, PointerEvent};
use leptos::html::Input;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::Element;

use super::Model;

/// How far a pointer goes from one value to the next, in CSS pixels.
const STEP: f64 = 16.0;

/// A number that takes one of a few values. It follows the slider pattern
/// (<https://www.w3.org/WAI/ARIA/apg/patterns/slider/>) with the browser's own range input, which is not seen: keyboard
/// and assistive technology, the gestures of a phone's screen reader among them, need no code. The pointer does, because
/// the browser's slider would jump to where it is pressed, and all values would share the width of one number.
#[component]
pub fn Drag(
    /// What the number counts.
    label: &'static str,
    /// The values that it takes, the smallest first.
    values: &'static [f64],
    /// The number.
    #[prop(into)]
    value: Model<f64>,
    /// The number as it is read out, with what follows from it.
    #[prop(into)]
    spoken: Signal<String>,
) -> impl IntoView {
    let input = NodeRef::<Input>::new();
    let place = move || place(values, value.get());
    // Where the pointer went down, and the place of the value then.
    let held = StoredValue::new(None::<(i32, f64)>);
    let hold = move |event: PointerEvent| {
        if event.button() != 0 {
            return;
        }
        if let Some(number) = event.current_target() {
            // It fails when the pointer is gone again, and then there is nothing to follow.
            _ = number.unchecked_ref::<Element>().set_pointer_capture(event.pointer_id());
        }
        if let Some(input) = input.get_untracked() {
            _ = input.focus();
        }
        held.set_value(Some((event.client_x(), untrack(place))));
    };
    let follow = move |event: PointerEvent| {
        if let Some((from, place)) = held.get_value() {
            value.set(value_at(values, place + f64::from(event.client_x() - from) / STEP));
        }
    };
    let moved = move |event: Event| {
        if let Ok(place) = number::parse(&event_target_value(&event)) {
            value.set(value_at(values, place));
        }
    };
    view! {
        <span
            class="drag"
            style=("--widest", format!("{}ch", widest(values)))
            on:pointerdown=hold
            on:pointermove=follow
            on:lostpointercapture=move |_| held.set_value(None)
            // A drag selects no text, and leaves the focus where it is.
            on:mousedown=|event| event.prevent_default()
        >
            <input
                type="range"
                node_ref=input
                min="0"
                max=number::plain(last(values))
                value=number::plain(untrack(place))
                prop:value=move || number::plain(place())
                aria-label=label
                aria-valuetext=move || spoken.get()
                on:input=moved
            />
            // Where the slider says the number, it is not read out twice; without a program only this says it.
            <span class="num" prop:ariaHidden="true">{move || number::grouped(value.get())}</span>
        </span>
    }
}

/// The place of a value among the others.
fn place(values: &[f64], value: f64) -> f64 {
    values.iter().take_while(|other| **other < value).count() as f64
}

/// The place of the last value.
fn last(values: &[f64]) -> f64 {
    values.len().saturating_sub(1) as f64
}

/// The value nearest to a place, which may lie between two or beyond both ends.
fn value_at(values: &[f64], place: f64) -> f64 {
    values.get(place.round().clamp(0.0, last(values)) as usize).copied().unwrap_or_default()
}

/// The letters of the longest value, so that the line keeps its breaks while the number changes.
fn widest(values: &[f64]) -> usize {
    values.iter().map(|value| number::grouped(*value).len()).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: &[f64] = &[1.0, 2.0, 8.0, 1_024.0];

    #[test]
    fn each_value_has_its_place_and_each_place_its_value() {
        for (at, value) in VALUES.iter().enumerate() {
            assert_eq!((place(VALUES, *value), value_at(VALUES, at as f64)), (at as f64, *value));
        }
    }

    #[test]
    fn a_pointer_goes_to_the_nearest_value_and_not_beyond_the_ends() {
        assert_eq!([-7.0, 0.4, 0.6, 2.5, 99.0].map(|place| value_at(VALUES, place)), [1.0, 1.0, 2.0, 1_024.0, 1_024.0]);
    }

    #[test]
    fn the_room_is_that_of_the_longest_value_with_its_comma() {
        assert_eq!(widest(VALUES), 5);
    }
}
