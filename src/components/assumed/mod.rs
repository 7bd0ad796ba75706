//! What stands in for a number that nobody lists.

use leptos::prelude::*;

/// Says beside a figure's numbers what stands in for those that the scenario's device has not listed: its speed, or
/// what a process takes without CUDA. A paragraph with no role of its own: it stands beside what it is about.
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
