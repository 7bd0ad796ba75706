//! What the colours of a drawing stand for.

use bmax::chart::Tint;
use leptos::prelude::*;

/// One entry of a legend.
#[derive(Clone, Copy)]
pub struct Key {
    /// The style sheet's names for its sample, and for its colour where that is of no memory.
    class: &'static str,
    /// The memory whose colour it has.
    tint: Option<Tint>,
    /// What it stands for.
    name: &'static str,
}

impl Key {
    /// An entry with the style sheet's names for its colour and its sample.
    pub const fn new(class: &'static str, name: &'static str) -> Self {
        Self { class, tint: None, name }
    }

    /// The colour of some memory, by the name that it has everywhere.
    pub const fn memory(tint: Tint) -> Self {
        Self::of(tint, tint.name())
    }

    /// A kind of some memory: `name` begins as that is called, and says which of it. Legends are statics, so that one that
    /// begins otherwise does not compile.
    pub const fn of(tint: Tint, name: &'static str) -> Self {
        assert!(begins(name, tint.name()), "a colour of memory goes by the name that it has everywhere");
        Self { class: "", tint: Some(tint), name }
    }

    /// The same with another sample.
    pub const fn drawn(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

/// Whether a text begins with another.
const fn begins(text: &str, with: &str) -> bool {
    match text.as_bytes().split_at_checked(with.len()) {
        Some((mut start, _)) => {
            let mut rest = with.as_bytes();
            while let ([one, after @ ..], [other, others @ ..]) = (start, rest) {
                if *one != *other {
                    return false;
                }
                (start, rest) = (after, others);
            }
            true
        }
        None => false,
    }
}

/// The legend of a drawing: samples and names. A plain list, because the drawing has a text of its own.
#[component]
pub fn Legend(
    /// Its entries, in the order of the drawing.
    keys: &'static [Key],
) -> impl IntoView {
    let entry =
        |key: &Key| view! { <li class=key.class data-bucket=key.tint.map(Tint::key)><span>{key.name}</span></li> };
    view! { <ul class="legend">{keys.iter().map(entry).collect_view()}</ul> }
}
