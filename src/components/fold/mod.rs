//! What is there for whoever asks.

use leptos::prelude::*;

/// A summary that unfolds what it names. It follows the disclosure pattern with the browser's own `details`:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/disclosure/>.
#[component]
pub fn Fold<C: IntoView + 'static>(
    /// What is folded away.
    summary: &'static str,
    /// The style sheet's name for it.
    #[prop(default = "figure-data")]
    class: &'static str,
    /// What is seen once it is unfolded.
    children: TypedChildren<C>,
) -> impl IntoView {
    view! {
        <details class=class>
            <summary>{summary}</summary>
            {children.into_inner()()}
        </details>
    }
}
