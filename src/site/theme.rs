//! Light or dark, as the system has it, as the reader chose, or as the page around the frame says.

use bmax::embed::Theme;
use leptos::ev::{afterprint, beforeprint};
use leptos::prelude::*;

/// The only thing the page stores.
const KEY: &str = "bmax-theme";

/// The attribute of the root by which the style sheet knows.
const ATTRIBUTE: &str = "data-theme";

/// The theme, which the script of the page has set before the first paint. The page follows it from now on. Paper is
/// light: a canvas that is drawn for it finds the light colours.
pub fn follow() -> RwSignal<Theme> {
    let root = document().document_element();
    let chosen = root.as_ref().and_then(|root| root.get_attribute(ATTRIBUTE)).unwrap_or_default();
    let theme = RwSignal::new(Theme::from_key(&chosen).unwrap_or_default());
    let prints = RwSignal::new(false);
    _ = window_event_listener(beforeprint, move |_| prints.set(true));
    _ = window_event_listener(afterprint, move |_| prints.set(false));
    Effect::new(move |_| {
        let shown = if prints.get() { Theme::Light } else { theme.get() };
        if let Some(root) = &root {
            _ = root.set_attribute(ATTRIBUTE, shown.key());
        }
    });
    theme
}

/// The button that walks through the three themes. It follows the button pattern, with a name that says both the
/// theme and what a press does: <https://www.w3.org/WAI/ARIA/apg/patterns/button/>.
#[component]
pub fn ThemeSwitch(
    /// The theme of the page.
    theme: RwSignal<Theme>,
) -> impl IntoView {
    let label = move || format!("Theme: {}. Switch to {}.", theme.get().key(), next(theme.get()).key());
    let walk = move |_| {
        let chosen = next(theme.get_untracked());
        theme.set(chosen);
        remember(chosen);
    };
    view! {
        <button
            type="button"
            class="button button-quiet theme-switch"
            aria-label=label
            title=label
            on:click=walk
        >
            <span aria-hidden="true">{move || mark(theme.get())}</span>
        </button>
    }
}

const fn next(theme: Theme) -> Theme {
    match theme {
        Theme::Auto => Theme::Light,
        Theme::Light => Theme::Dark,
        Theme::Dark => Theme::Auto,
    }
}

const fn mark(theme: Theme) -> &'static str {
    match theme {
        Theme::Auto => "◐",
        Theme::Light => "○",
        Theme::Dark => "●",
    }
}

/// Keeps what the reader chose; a message is no choice. In a sandboxed frame the storage is out of reach:
/// the theme then lasts as long as the page.
fn remember(theme: Theme) {
    if let Ok(Some(storage)) = window().local_storage() {
        _ = match theme {
            Theme::Auto => storage.remove_item(KEY),
            _ => storage.set_item(KEY, theme.key()),
        };
    }
}
