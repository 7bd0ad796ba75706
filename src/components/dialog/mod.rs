//! A window above the page.

use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// A window above the page, which keeps the keyboard inside, closes by Esc or by a press beside it, and gives the
/// keyboard back to what had it before. It follows the pattern of a modal dialog with the browser's own `dialog`,
/// which does all of this by itself: <https://www.w3.org/WAI/ARIA/apg/patterns/dialog-modal/>. Whoever opens it
/// gives the focus to the button first, because Safari does not do that for a press by mouse.
#[component]
pub fn Dialog<C: IntoView + 'static>(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// Unique on the page.
    id: &'static str,
    /// The style sheet's name for it.
    class: &'static str,
    /// The `id` of its title.
    labelled_by: &'static str,
    /// The `id` of a sentence that is read out with the title.
    #[prop(optional)]
    described_by: Option<&'static str>,
    /// What stands in it.
    children: TypedChildren<C>,
) -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        match (open.get(), dialog.open()) {
            (true, false) => _ = dialog.show_modal(),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    // The reader may have closed it by Esc; one that stands in this one may have been closed instead.
    let closed = move |_| open.set(dialog.get_untracked().is_some_and(|dialog| dialog.open()));
    // Safari keeps Esc for a field to search in, even if there is nothing to empty.
    let pressed = move |event: KeyboardEvent| {
        if event.key() == "Escape" && !event.default_prevented() && is_empty_search(&event) {
            event.prevent_default();
            open.set(false);
        }
    };
    view! {
        <dialog
            node_ref=dialog
            id=id
            class=class
            aria-labelledby=labelled_by
            aria-describedby=described_by
            closedby="any"
            on:close=closed
            on:keydown=pressed
        >
            {children.into_inner()()}
        </dialog>
    }
}

/// Whether the key was pressed in a field to search in that is empty.
fn is_empty_search(event: &KeyboardEvent) -> bool {
    let field = event.target().and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok());
    field.is_some_and(|field| field.type_() == "search" && field.value().is_empty())
}
