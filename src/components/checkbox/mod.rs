//! What is so or not.

use leptos::prelude::*;

use super::Model;

/// A box with its label. It follows the checkbox pattern with the browser's own checkbox:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/checkbox/>.
#[component]
pub fn Checkbox(
    /// What is so while it is checked.
    label: &'static str,
    /// Whether it is checked.
    #[prop(into)]
    checked: Model<bool>,
) -> impl IntoView {
    view! {
        <label class="check">
            <input
                type="checkbox"
                checked=checked.peek()
                prop:checked=move || checked.get()
                on:change=move |event| checked.set(event_target_checked(&event))
            />
            {label}
        </label>
    }
}
