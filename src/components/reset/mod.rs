//! The way back to a default.

use leptos::prelude::*;

/// Brings one control back to its default. It keeps its place when there is nothing to reset, so that the
/// control does not change its width. It follows the button pattern with the browser's own button:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/button/>.
#[component]
pub fn ResetButton(
    /// What is reset.
    name: &'static str,
    /// Whether there is something to reset.
    #[prop(into)]
    changed: Signal<bool>,
    /// The default in words.
    #[prop(into)]
    default: Signal<String>,
    /// Resets it.
    #[prop(into)]
    reset: Callback<()>,
) -> impl IntoView {
    let label = move || format!("Reset {name} to {}", default.get());
    view! {
        <button
            type="button"
            class="button button-quiet button-small reset"
            class:reset-idle=move || !changed.get()
            disabled=move || !changed.get()
            aria-label=label
            title=label
            on:click=move |_| reset.run(())
        >
            "↺"
        </button>
    }
}
