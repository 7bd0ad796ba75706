//! A number that is moved along a line.

use bmax::number;
use leptos::ev::Event;
use leptos::prelude::*;

use super::Model;

/// A slider with its label and, where it is `shown`, its value as a text at the right. It follows the slider
/// pattern with the browser's own range input: <https://www.w3.org/WAI/ARIA/apg/patterns/slider/>.
#[component]
pub fn Slider<C: IntoView + 'static>(
    /// Unique on the page.
    id: &'static str,
    /// The value.
    #[prop(into)]
    value: Model<f64>,
    /// Both ends.
    #[prop(into)]
    ends: Signal<(f64, f64)>,
    /// The distance of two values.
    #[prop(default = 1.0)]
    step: f64,
    /// The value in words, as it is read out.
    #[prop(into)]
    text: Signal<String>,
    /// Whether the text is also seen.
    #[prop(optional)]
    shown: bool,
    /// What the slider moves.
    children: TypedChildren<C>,
) -> impl IntoView {
    // A browser clips a value to the ends, so that all three come from one signal, the ends before the value.
    let all = Memo::new(move |_| {
        let (from, to) = ends.get();
        [from, to, value.get()].map(number::plain)
    });
    let at = move |place: usize| all.with(|all| all[place].clone());
    let moved = move |event: Event| {
        if let Ok(moved) = number::parse(&event_target_value(&event)) {
            value.set(moved);
        }
    };
    let value = shown.then(|| view! { <span class="slider-value num">{move || text.get()}</span> });
    view! {
        <div class="field slider">
            <div class="slider-head"><label for=id>{children.into_inner()()}</label>{value}</div>
            <input
                type="range"
                id=id
                step=number::plain(step)
                min=move || at(0)
                max=move || at(1)
                value=all.with_untracked(|all| all[2].clone())
                prop:value=move || at(2)
                aria-valuetext=move || text.get()
                on:input=moved
                on:change=moved
            />
        </div>
    }
}
