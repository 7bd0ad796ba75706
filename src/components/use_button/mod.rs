//! Putting one of several in use.

use leptos::prelude::*;

/// A button beside what it puts in use, whose name is hidden from sight and heard: a list of buttons that are
/// all called "Use" says nothing. It follows the button pattern with the browser's own button
/// (<https://www.w3.org/WAI/ARIA/apg/patterns/button/>), and its name begins with what is seen
/// (<https://www.w3.org/WAI/WCAG22/Understanding/label-in-name>).
#[component]
pub fn UseButton(
    /// What it puts in use.
    what: &'static str,
    /// Puts it in use.
    #[prop(into)]
    press: Callback<()>,
) -> impl IntoView {
    view! {
        <button type="button" class="button button-quiet button-small" on:click=move |_| press.run(())>
            "Use"<span class="visually-hidden">" "{what}</span>
        </button>
    }
}
