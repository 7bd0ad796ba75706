//! Light or dark, as the system has it, as the reader chose, or as the page around the frame says.

use bmax::embed::Theme;
use leptos::prelude::*;

use super::dom::{El, el, keep};
use super::mount_part;

/// The only thing the page stores.
const KEY: &str = "bmax-theme";

/// The attribute of the root by which the style sheet knows.
const ATTRIBUTE: &str = "data-theme";

/// Mounts the button that walks through the three themes, and returns the theme. The script of the page
/// has set it before the first paint.
pub fn mount() -> RwSignal<Theme> {
    let root = document().document_element();
    let chosen = root.as_ref().and_then(|root| root.get_attribute(ATTRIBUTE)).unwrap_or_default();
    let theme = RwSignal::new(Theme::from_key(&chosen).unwrap_or_default());
    keep(Box::new(move || {
        if let Some(root) = &root {
            _ = root.set_attribute(ATTRIBUTE, theme.get().key());
        }
    }));
    mount_part("theme-switch", move || theme_switch(theme));
    theme
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

fn theme_switch(theme: RwSignal<Theme>) -> El {
    let label = move || format!("Theme: {}. Switch to {}.", theme.get().key(), next(theme.get()).key());
    let walk = move || {
        let chosen = next(theme.get_untracked());
        theme.set(chosen);
        remember(chosen);
    };
    el("button")
        .class("button button-quiet theme-switch")
        .attr("type", "button")
        .bind("aria-label", label)
        .bind("title", label)
        .on("click", move |_| walk())
        .child(el("span").attr("aria-hidden", "true").bind_text(move || mark(theme.get()).to_owned()))
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
