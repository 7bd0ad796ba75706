//! What is there for whoever asks.

use leptos::prelude::*;

use crate::site::before_print;

/// A summary that unfolds what it names, which is made when it is first unfolded, or printed, and then stays. It follows the
/// disclosure pattern with the browser's own `details`: <https://www.w3.org/WAI/ARIA/apg/patterns/disclosure/>.
#[component]
pub fn Fold<C: IntoView + 'static>(
    /// What is folded away.
    summary: &'static str,
    /// The style sheet's name for it.
    #[prop(default = "figure-data")]
    class: &'static str,
    /// What tests find it by.
    #[prop(optional)]
    name: Option<&'static str>,
    /// Whether there is nothing to unfold as things stand.
    #[prop(optional, into)]
    hidden: Signal<bool>,
    /// What is seen once it is unfolded.
    children: TypedChildrenFn<C>,
) -> impl IntoView {
    let content = children.into_inner();
    let unfolded = RwSignal::new(false);
    before_print(move || unfolded.set(true));
    let unscripted = unscripted(&*content);
    view! {
        <details class=class data-testid=name hidden=move || hidden.get() on:toggle=move |_| unfolded.set(true)>
            <summary>{summary}</summary>
            // Only where no scripts run does a browser make elements of this.
            <noscript inner_html=unscripted></noscript>
            {move || unfolded.get().then(|| content())}
        </details>
    }
}

/// What is unfolded where no scripts run.
#[cfg(feature = "prerender")]
fn unscripted<C: IntoView>(content: &dyn Fn() -> C) -> String {
    content().to_html()
}

/// What is unfolded where no scripts run. The browser's program leaves it as it was built.
#[cfg(not(feature = "prerender"))]
fn unscripted<C>(_: &dyn Fn() -> C) -> &'static str {
    ""
}
