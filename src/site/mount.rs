//! Mounting figures on the placeholders of the static text: those in sight at once, the others one
//! after another while nothing else is to be done. Whoever goes through the page by keyboard, searches
//! it or prints it finds all of them.

use std::time::Duration;

use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::Element;

use super::State;
use super::nearby::nearby;

/// The element of the page with this `attribute`. A page without it, for instance a shortened copy,
/// simply has one figure fewer.
fn place(attribute: &str, name: &str) -> Option<Element> {
    document().query_selector(&format!("[{attribute}=\"{name}\"]")).ok().flatten()
}

/// Mounts a part of the page's frame in the element with this `id`, at once, in place of what that holds.
pub fn mount_frame<V: IntoView + 'static>(id: &str, part: impl FnOnce() -> V + 'static) {
    if let Some(place) = place("id", id) {
        place.set_text_content(None);
        mount_to(place.clone().unchecked_into(), part).forget();
        _ = place.set_attribute("data-mounted", "");
    }
}

/// A figure of the site, or a part of its frame.
pub struct Figure {
    /// The name of its place in the page: `data-figure`, or the id of a part of the frame.
    pub name: &'static str,
    /// What stands there, as the page is built.
    #[cfg(feature = "prerender")]
    pub html: fn(State) -> String,
    /// Takes over what stands there. One function a figure costs a third less than one view of any kind would,
    /// which carries three ways of being taken over.
    #[cfg(feature = "hydrate")]
    pub take_over: fn(web_sys::HtmlElement, State),
}

/// Takes over the figures that stand in the page since it was built.
pub fn take_over(figures: &'static [Figure], state: State) {
    for figure in figures {
        on_arrival(figure.name, state.turns, Box::new(move |place, near| take_over_at(place, figure, state, near)));
    }
}

/// Takes over a part of the page's frame, at once: it is always in sight.
pub fn take_over_part(part: &Figure, state: State) {
    if let Some(place) = place("id", part.name) {
        take_over_at(place, part, state, RwSignal::new(true));
    }
}

/// The page was built with the default configuration, so that the figure begins with that; what is asked
/// follows at once.
#[cfg(feature = "hydrate")]
fn take_over_at(place: Element, figure: &Figure, state: State, near: RwSignal<bool>) {
    let taken = RwSignal::new(false);
    (figure.take_over)(place.clone().unchecked_into(), state.for_figure(near, taken));
    taken.set(true);
    _ = place.remove_attribute("inert");
    _ = place.set_attribute("data-mounted", "");
}

/// A program that does not run in a browser has nothing to take over.
#[cfg(not(feature = "hydrate"))]
fn take_over_at(_: Element, _: &Figure, _: State, _: RwSignal<bool>) {}

/// How long the page is left alone between two figures that nobody waits for.
const PAUSE: Duration = Duration::from_millis(30);

/// Whose turn it is to be mounted without having been in sight.
#[derive(Clone, Copy)]
pub struct Turns {
    now: RwSignal<u32>,
    /// How many figures there are.
    figures: StoredValue<u32>,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { now: RwSignal::new(0), figures: StoredValue::new(0) }
    }

    /// Lets one figure after another come, the first of them after a pause.
    pub(super) fn begin(self) {
        set_timeout(
            move || {
                self.now.update(|turn| *turn += 1);
                if self.now.get_untracked() < self.figures.get_value() {
                    self.begin();
                }
            },
            PAUSE,
        );
    }

    /// The turn of the next figure.
    fn take(self) -> u32 {
        let turn = self.figures.get_value() + 1;
        self.figures.set_value(turn);
        turn
    }
}

/// Calls `mount` once with the placeholder of a figure, when that is near the window or its turn has
/// come, and with the signal of its being near.
#[inline(never)]
pub(super) fn on_arrival(name: &str, turns: Turns, mount: Box<dyn Fn(Element, RwSignal<bool>)>) {
    let Some(place) = place("data-figure", name) else { return };
    let Some(owner) = Owner::current() else { return };
    let near = nearby(&place);
    let turn = turns.take();
    let arrived = Memo::new(move |before| before == Some(&true) || near.get() || turns.now.get() >= turn);
    Effect::new(move |_| {
        if arrived.get() {
            // The figure outlives this effect, so it belongs to the owner of the page.
            owner.with(|| untrack(|| mount(place.clone(), near)));
        }
    });
}
