//! Mounting figures on the placeholders of the static text, each when the reader comes near.

use leptos::prelude::*;
use web_sys::Element;

use super::State;
use super::dom::{El, keep};
use super::nearby::nearby;

/// The element of the page with this `attribute`. A page without it, for instance a shortened copy,
/// simply has one figure fewer.
fn place(attribute: &str, name: &str) -> Option<Element> {
    document().query_selector(&format!("[{attribute}=\"{name}\"]")).ok().flatten()
}

/// Mounts a part of the page's frame on the element with this `id`, at once.
pub fn mount_part(id: &str, part: impl Fn() -> El) {
    if let Some(place) = place("id", id) {
        _ = El::at(place).clear().child(part()).attr("data-mounted", "");
    }
}

/// Mounts a figure on its placeholder, which carries its name as `data-figure`, in place of what that
/// holds. Away from the window the figure stands still.
#[inline(never)]
pub fn mount_figure(name: &'static str, state: State, figure: fn(State) -> El) {
    on_first_sight(name, move |place, near| {
        _ = El::at(place).clear().child(figure(state.while_near(near))).attr("data-mounted", "");
    });
}

/// Calls `mount` with the placeholder of a figure once that is near the window, and with the signal of
/// its being near.
pub(super) fn on_first_sight(name: &'static str, mount: impl Fn(Element, RwSignal<bool>) + 'static) {
    on_first_sight_boxed(name, Box::new(mount));
}

#[inline(never)]
fn on_first_sight_boxed(name: &'static str, mount: Box<dyn Fn(Element, RwSignal<bool>)>) {
    let Some(place) = place("data-figure", name) else { return };
    let Some(owner) = Owner::current() else { return };
    let near = nearby(&place);
    let mounted = StoredValue::new(false);
    keep(Box::new(move || {
        if near.get() && !mounted.get_value() {
            mounted.set_value(true);
            // The figure outlives this effect, so it belongs to the owner of the page.
            owner.with(|| untrack(|| mount(place.clone(), near)));
        }
    }));
}
