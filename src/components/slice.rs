//! A part of a figure in a task of its own.

use leptos::prelude::*;

#[cfg(not(feature = "prerender"))]
use crate::site::slice;

/// A part of a figure that is taken over behind the rest of it. A browser compiles what it runs for the first time while it
/// runs it: a large figure taken over at once kept a phone busy for a quarter of a second, and whatever the reader did
/// meanwhile had to wait.
#[component]
pub fn Slice<V: IntoView + 'static>(
    /// The style sheet's name for it.
    class: &'static str,
    /// What is in it.
    children: TypedChildren<V>,
) -> impl IntoView {
    let content = children.into_inner();
    let place = NodeRef::new();
    let built = built_or_later(place, content);
    view! { <div class=class node_ref=place inner_html=built></div> }
}

/// What stands in the page.
#[cfg(feature = "prerender")]
fn built_or_later<V: IntoView>(_: NodeRef<leptos::html::Div>, content: impl FnOnce() -> View<V>) -> String {
    content().to_html()
}

/// The browser's program leaves what was built, and takes it over in its turn.
#[cfg(not(feature = "prerender"))]
fn built_or_later<V: IntoView + 'static>(
    place: NodeRef<leptos::html::Div>,
    content: impl FnOnce() -> View<V> + 'static,
) -> &'static str {
    slice(Box::new(move || {
        if let Some(place) = place.get_untracked() {
            leptos::mount::hydrate_from(place.into(), content).forget();
        }
    }));
    ""
}
