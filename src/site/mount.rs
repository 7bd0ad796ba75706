//! Mounting figures on the placeholders of the static text.

use leptos::prelude::document;

use super::dom::El;

/// Mounts what `figure` makes on the first element that `selector` finds, in place of what it holds.
/// A page without such an element, for instance a shortened copy, simply has one figure fewer.
#[inline(never)]
fn mount_at(selector: &str, figure: &dyn Fn() -> El) {
    let Some(place) = document().query_selector(selector).ok().flatten() else { return };
    _ = El::at(place).clear().child(figure()).attr("data-mounted", "");
}

/// Mounts a figure on its placeholder, which carries its name as `data-figure`.
pub fn mount_figure(name: &str, figure: impl Fn() -> El) {
    mount_at(&format!("[data-figure=\"{name}\"]"), &figure);
}

/// Mounts a part of the page's frame on the element with this `id`.
pub fn mount_part(id: &str, part: impl Fn() -> El) {
    mount_at(&format!("#{id}"), &part);
}
