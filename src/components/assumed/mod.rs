//! What times are worked out with.

use leptos::prelude::*;

/// Says beside a figure's times that they are assumed, where the scenario's device has no listed speed.
/// A paragraph with no role of its own: it stands beside what it is about.
#[component]
pub fn Assumed(
    /// The sentence.
    #[prop(into)]
    text: Signal<Option<String>>,
) -> impl IntoView {
    view! {
        <Show when=move || text.with(Option::is_some)>
            <p class="live-note" data-testid="assumed">{move || text.get()}</p>
        </Show>
    }
}
