//! Light or dark, as the system has it or as the reader chose.

use leptos::prelude::*;
use web_sys::Storage;

use super::dom::{El, el, keep};
use super::mount_part;

/// The only thing the page stores.
const KEY: &str = "bmax-theme";

/// Mounts the button that walks through the three themes and applies the remembered one.
pub fn mount() {
    let theme = RwSignal::new(remembered());
    keep(Box::new(move || apply(theme.get())));
    mount_part("theme-switch", move || theme_switch(theme));
}

#[derive(Clone, Copy, PartialEq)]
enum Theme {
    Auto,
    Light,
    Dark,
}

impl Theme {
    const fn key(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    const fn next(self) -> Self {
        match self {
            Self::Auto => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::Auto,
        }
    }

    const fn mark(self) -> &'static str {
        match self {
            Self::Auto => "◐",
            Self::Light => "○",
            Self::Dark => "●",
        }
    }
}

fn theme_switch(theme: RwSignal<Theme>) -> El {
    let label = move || format!("Theme: {}. Switch to {}.", theme.get().key(), theme.get().next().key());
    el("button")
        .class("button button-quiet theme-switch")
        .attr("type", "button")
        .bind("aria-label", label)
        .bind("title", label)
        .on("click", move |_| theme.update(|theme| *theme = theme.next()))
        .child(el("span").attr("aria-hidden", "true").bind_text(move || theme.get().mark().to_owned()))
}

/// In a sandboxed frame the storage is out of reach; the theme then lasts as long as the page.
fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}

fn remembered() -> Theme {
    match storage().and_then(|storage| storage.get_item(KEY).ok().flatten()).as_deref() {
        Some("light") => Theme::Light,
        Some("dark") => Theme::Dark,
        _ => Theme::Auto,
    }
}

fn apply(theme: Theme) {
    let Some(root) = document().document_element() else { return };
    if theme == Theme::Auto {
        _ = root.remove_attribute("data-theme");
        if let Some(storage) = storage() {
            _ = storage.remove_item(KEY);
        }
    } else {
        _ = root.set_attribute("data-theme", theme.key());
        if let Some(storage) = storage() {
            _ = storage.set_item(KEY, theme.key());
        }
    }
}
