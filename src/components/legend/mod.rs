//! What the colours of a drawing stand for.

use leptos::prelude::*;

/// One entry of a legend.
#[derive(Clone, Copy)]
pub struct Key {
    /// The style sheet's names for its colour and its sample.
    pub class: &'static str,
    /// What it stands for.
    pub name: &'static str,
}

/// The legend of a drawing: samples and names. A plain list, because the drawing has a text of its own.
#[component]
pub fn Legend(
    /// Its entries, in the order of the drawing.
    keys: &'static [Key],
) -> impl IntoView {
    let entry = |key: &Key| view! { <li class=key.class><span>{key.name}</span></li> };
    view! { <ul class="legend">{keys.iter().map(entry).collect_view()}</ul> }
}
