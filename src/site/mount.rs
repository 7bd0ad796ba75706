//! Taking over the figures and sentences that stand in the page since it was built. Whoever goes through the page by
//! keyboard, searches it or prints it finds all of them.

use std::cell::RefCell;
use std::time::Duration;

use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::Element;

#[cfg(feature = "hydrate")]
use super::arrivals::settle;
use super::arrivals::{Place, Sight};
use super::state::Facts;
use super::{State, behind_paint};

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

/// A figure or sentence that is being taken over. It fails where its part of the program cannot be fetched.
#[cfg(feature = "hydrate")]
pub type Taking = std::pin::Pin<Box<dyn Future<Output = Result<(), leptos::wasm_split::SplitLoaderError>>>>;

/// Fetches a part of the program the first time that it is `wanted`, which is asked again whenever what it reads changes.
#[cfg(feature = "hydrate")]
pub fn fetch_once(wanted: impl Fn() -> bool + 'static, fetch: impl Fn() + 'static) {
    let is_fetched = StoredValue::new(false);
    Effect::new(move |_| {
        if wanted() && !is_fetched.get_value() {
            is_fetched.set_value(true);
            fetch();
        }
    });
}

/// A figure of the site, or a part of its frame.
pub struct Figure {
    /// The name of its place in the page: `data-figure`, or the id of a part of the frame.
    pub name: &'static str,
    /// What stands there, as the page is built.
    #[cfg(feature = "prerender")]
    pub html: fn(State) -> String,
    /// Takes over what stands there by the figure's name, once its part of the program is there.
    #[cfg(feature = "hydrate")]
    pub take_over: fn(&'static str, web_sys::HtmlElement, State) -> Taking,
}

/// The places of the figures that stand in the page since it was built.
pub fn places_of_figures(figures: &'static [Figure], state: State) -> impl Iterator<Item = Place> {
    let after = behind_paint(state.facts);
    figures.iter().filter_map(move |figure| {
        let element = place("data-figure", figure.name)?;
        Some(Place::new(&element.clone(), move |sight| take_over_at(element, figure, state, sight, after)))
    })
}

/// The places of the sentences that stand in the page since it was built: the first module of the program does not know
/// them. One that does not come stays as it was built, which is a whole sentence.
#[cfg(feature = "hydrate")]
pub fn places_of_sentences(take_over: fn(web_sys::HtmlElement) -> Taking) -> impl Iterator<Item = Place> {
    let found = document().query_selector_all("[data-sentence]").ok();
    let elements = found.into_iter().flat_map(|found| (0..found.length()).filter_map(move |at| found.item(at)));
    elements.map(move |element| {
        let element: web_sys::HtmlElement = element.unchecked_into();
        Place::new(&element.clone(), move |_| {
            leptos::task::spawn_local(async move {
                if take_over(element.clone()).await.is_ok() {
                    _ = element.set_attribute("data-mounted", "");
                }
            });
        })
    })
}

/// Takes over a part of the page's frame, at once: it is always in sight.
pub fn take_over_part(part: &'static Figure, state: State) {
    if let Some(place) = place("id", part.name) {
        take_over_at(place, part, state, RwSignal::new(Sight::Near), state.facts);
    }
}

/// The page was built with the configuration that it begins with, and so the figure begins with that; what is asked
/// follows at once. Each figure, and each slice of it, has a task of the browser's own: what the reader does comes between.
#[cfg(feature = "hydrate")]
fn take_over_at(place: Element, figure: &'static Figure, state: State, sight: RwSignal<Sight>, after: Memo<Facts>) {
    let taken = RwSignal::new(false);
    let state = state.for_figure(sight, taken, after);
    let take_over = move || {
        let taking = (figure.take_over)(figure.name, place.clone().unchecked_into(), state);
        leptos::task::spawn_local(async move {
            if taking.await.is_err() {
                return say_that_it_is_missing(&place);
            }
            let whole = move || {
                taken.set(true);
                _ = place.remove_attribute("inert");
                _ = place.set_attribute("data-mounted", "");
                settle(place);
            };
            do_apart(SLICES.take().into_iter(), Box::new(whole));
        });
    };
    set_timeout(take_over, Duration::ZERO);
}

/// Something to be done later.
pub(super) type Doing = Box<dyn FnOnce()>;

thread_local! {
    /// The slices of the figure that is being taken over, in their order. It is not in the figure's state, which every
    /// closure of every figure has a copy of.
    static SLICES: RefCell<Vec<Doing>> = const { RefCell::new(Vec::new()) };
}

/// Takes over a part of a figure behind the rest of it.
pub fn slice(take_over: Doing) {
    SLICES.with_borrow_mut(|slices| slices.push(take_over));
}

/// Does one thing after the other, each in a task of the browser's own, and then the last.
pub(super) fn do_apart(mut rest: std::vec::IntoIter<Doing>, last: Doing) {
    match rest.next() {
        None => last(),
        Some(doing) => set_timeout(
            move || {
                doing();
                do_apart(rest, last);
            },
            Duration::ZERO,
        ),
    }
}

/// Says in front of a figure that its part of the program did not come. The rest of the page goes on, and the figure
/// stands there as it was built.
#[cfg(feature = "hydrate")]
fn say_that_it_is_missing(place: &Element) {
    // A page that waits for another configuration shows this one all the same (style/live.css).
    _ = place.set_attribute("data-missing", "");
    let Ok(note) = document().create_element("p") else { return };
    _ = note.set_attribute("class", "live-note");
    _ = note.set_attribute("role", "alert");
    note.set_text_content(Some(
        "This figure could not be loaded, and shows the configuration that the page begins with. Reload the page to try again; the rest \
         of the page goes on.",
    ));
    _ = place.before_with_node_1(&note);
}

/// A program that does not run in a browser has nothing to take over.
#[cfg(not(feature = "hydrate"))]
fn take_over_at(_: Element, _: &'static Figure, _: State, _: RwSignal<Sight>, _: Memo<Facts>) {}
