//! Panels of which one is seen at a time.

use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::Model;

/// One panel as its tab knows it.
#[derive(Clone, Copy)]
pub struct Tab<T> {
    /// The value that chooses it.
    pub value: T,
    /// Its word in the ids of tab and panel, unique among these tabs.
    pub key: &'static str,
    /// What its tab says.
    pub label: &'static str,
}

/// A row of tabs, each of which shows a [`TabPanel`]. It follows the tabs pattern with automatic activation:
/// the row is one stop of the tab key, and arrows, Home and End go along it:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/tabs/>.
#[component]
pub fn Tabs<T: Clone + PartialEq + Send + Sync + 'static>(
    /// What there is to choose from.
    label: &'static str,
    /// What the ids of these tabs and panels begin with.
    id: &'static str,
    /// The tabs in their order.
    tabs: impl IntoIterator<Item = Tab<T>>,
    /// The value of the panel that is seen.
    #[prop(into)]
    chosen: Model<T>,
    /// Whether the chosen tab has the keyboard first when a dialog around it opens.
    #[prop(optional)]
    autofocus: bool,
) -> impl IntoView {
    let (values, names): (Vec<T>, Vec<_>) = tabs.into_iter().map(|tab| (tab.value, (tab.key, tab.label))).unzip();
    let values = StoredValue::new(values);
    let position = move || values.with_value(|values| values.iter().position(|one| *one == chosen.get())).unwrap_or(0);
    let pick = move |at: usize| {
        if let Some(picked) = values.with_value(|values| values.get(at).cloned()) {
            chosen.set(picked);
        }
    };
    // What follows is compiled once, and not once for each type of value.
    tab_list(label, id, names, Signal::derive(position), Callback::new(pick), autofocus)
}

fn tab_list(
    label: &'static str,
    id: &'static str,
    names: Vec<(&'static str, &'static str)>,
    chosen: Signal<usize>,
    pick: Callback<usize>,
    autofocus: bool,
) -> impl IntoView {
    let list = NodeRef::<html::Div>::new();
    let count = names.len();
    let step = move |event: KeyboardEvent| {
        let Some(next) = next(&event.key(), chosen.get_untracked(), count) else { return };
        event.prevent_default();
        pick.run(next);
        let tab = list.get_untracked().and_then(|list| list.children().item(next as u32));
        if let Some(tab) = tab.as_ref().and_then(|tab| tab.dyn_ref::<HtmlElement>()) {
            _ = tab.focus();
        }
    };
    let tab = |(at, (key, label)): (usize, (&'static str, &'static str))| {
        let is_chosen = move || chosen.get() == at;
        view! {
            <button
                type="button"
                role="tab"
                id=format!("{id}-tab-{key}")
                aria-controls=format!("{id}-{key}")
                aria-selected=move || is_chosen().to_string()
                tabindex=move || if is_chosen() { "0" } else { "-1" }
                autofocus=move || autofocus && is_chosen()
                on:click=move |_| pick.run(at)
            >
                {label}
            </button>
        }
    };
    view! {
        <div node_ref=list class="tabs" role="tablist" aria-label=label on:keydown=step>
            {names.into_iter().enumerate().map(tab).collect_view()}
        </div>
    }
}

/// The place among `count` tabs to which a key leads from the one at `now`.
fn next(key: &str, now: usize, count: usize) -> Option<usize> {
    match key {
        "ArrowRight" => Some((now + 1) % count),
        "ArrowLeft" => Some((now + count - 1) % count),
        "Home" => Some(0),
        "End" => Some(count - 1),
        _ => None,
    }
}

/// What a tab shows. Its content is there only while it is seen.
#[component]
pub fn TabPanel<C: IntoView + 'static>(
    /// What the ids of these tabs and panels begin with.
    id: &'static str,
    /// The word of its tab.
    key: &'static str,
    /// The style sheet's name for it.
    class: &'static str,
    /// Whether it is seen.
    #[prop(into)]
    seen: Signal<bool>,
    /// What stands in it.
    children: TypedChildrenFn<C>,
) -> impl IntoView {
    let children = children.into_inner();
    view! {
        <section
            role="tabpanel"
            class=class
            id=format!("{id}-{key}")
            aria-labelledby=format!("{id}-tab-{key}")
            hidden=move || !seen.get()
        >
            {move || seen.get().then(|| children())}
        </section>
    }
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn arrows_go_round_and_home_and_end_to_the_ends() {
        for (key, now, wanted) in [
            ("ArrowRight", 0, Some(1)),
            ("ArrowRight", 3, Some(0)),
            ("ArrowLeft", 0, Some(3)),
            ("ArrowLeft", 2, Some(1)),
            ("Home", 2, Some(0)),
            ("End", 1, Some(3)),
            ("Enter", 1, None),
        ] {
            assert_eq!(next(key, now, 4), wanted, "{key} from {now}");
        }
    }
}
