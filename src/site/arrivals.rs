//! When the figures and sentences of the page are taken over: those near the reader's eyes at once, the others one after
//! another from the reader's first move on, so that a first look fetches what is in sight and no more.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::Element;

use super::document::before_print;
use super::embedded;
use super::sight::observe;

/// How far outside the window a figure counts as near: a figure is there before it is scrolled to.
const AHEAD: &str = "160px 0px";

/// The attribute of what is not near.
const FAR: &str = "data-far";

/// The attribute of what has been laid out as it is.
const SETTLED: &str = "data-settled";

/// The sections that are laid out with the reader's first move (style/layout.css).
const NOT_LAID_OUT: &str = "[data-first-look] main > section:nth-of-type(n + 3):not([data-laid-out])";

/// How long the page is left alone between two figures that nobody waits for.
const PAUSE: Duration = Duration::from_millis(30);

/// What takes a place over, with the signal of where it is.
type TakeOver = Box<dyn FnOnce(RwSignal<Sight>)>;

/// Where a figure is for the reader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sight {
    /// Far from the window.
    Far,
    /// In the window or close to it.
    Near,
    /// The same, while the reader works in another figure.
    Beside,
}

/// A figure or sentence, as the page was built.
pub struct Place {
    element: Element,
    sight: RwSignal<Sight>,
    take_over: RefCell<Option<TakeOver>>,
}

impl Place {
    /// What stands in `element`, and what takes it over.
    pub fn new(element: &Element, take_over: impl FnOnce(RwSignal<Sight>) + 'static) -> Self {
        let take_over = RefCell::new(Some(Box::new(take_over) as TakeOver));
        Self { element: element.clone(), sight: RwSignal::new(Sight::Far), take_over }
    }

    fn take_over(&self) {
        let first = self.take_over.take();
        first.into_iter().for_each(|take_over| take_over(self.sight));
    }

    fn is_near(&self, near: bool) {
        let sight = self.sight.get_untracked();
        if near != (sight != Sight::Far) {
            self.sight.set(if near { Sight::Near } else { Sight::Far });
        }
        // What is far from the window is left out of the browser's work on the page (style/live.css).
        _ = self.element.toggle_attribute_with_force(FAR, !near);
        if near {
            self.take_over();
        }
    }
}

/// Takes each place over, once, when it is near the window or its turn has come, and goes on to tell it whether it is
/// near. Before a print every place is. One observer sees all of them: one with an effect for each held a slow phone up for
/// a tenth of a second.
pub fn take_over_on_arrival(places: Vec<Place>) {
    // What is taken over belongs to the owner of the page, whoever sees it arrive.
    let Some(owner) = Owner::current() else { return };
    let places = Rc::new(places);
    let seen = places.clone();
    observe(
        places.iter().map(|place| place.element.clone()).collect(),
        AHEAD,
        Box::new({
            let owner = owner.clone();
            move |entries| {
                for entry in entries {
                    let target = entry.target();
                    let place = seen.iter().find(|place| place.element == target);
                    owner.with(|| place.into_iter().for_each(|place| place.is_near(entry.is_intersecting())));
                }
            }
        }),
    );
    settle_anew(places.clone());
    follow_the_hand(places.clone());
    let (printed, print_owner) = (places.clone(), owner.clone());
    before_print(move || print_owner.with(|| printed.iter().for_each(|place| place.is_near(true))));
    begin_when_wanted(move || owner.with(|| take_turns(places, 0)));
}

/// Calls `begin` once the reader does something. Where the address asks for another configuration than the page was
/// built with, every figure is out of date, and it is called at once. It is for a figure alone, which its host waits for.
fn begin_when_wanted(begin: impl FnOnce() + 'static) {
    let is_asked = document().document_element().is_some_and(|root| root.has_attribute("data-asked"));
    if is_asked || embedded().is_some() {
        return begin();
    }
    let begin = Rc::new(Cell::new(Some(begin)));
    for kind in ["pointerdown", "keydown", "wheel", "touchstart", "scroll"] {
        let begin = begin.clone();
        _ = window_event_listener_untyped(kind, move |_| begin.take().into_iter().for_each(|begin| begin()));
    }
}

/// Tells every place near the window whether the reader works in it or in another one. What is in the reader's hand has to be
/// quick; the figures beside it follow a frame later.
fn follow_the_hand(places: Rc<Vec<Place>>) {
    let last: Cell<Option<usize>> = Cell::new(None);
    let worked_in = Rc::new(move |event: &web_sys::Event| {
        let target = event.target().and_then(|target| target.dyn_into::<web_sys::Node>().ok());
        let here = places.iter().position(|place| place.element.contains(target.as_ref()));
        if here == last.replace(here) {
            return;
        }
        for (at, place) in places.iter().enumerate().filter(|(_, place)| place.sight.get_untracked() != Sight::Far) {
            place.sight.set(if here.is_none_or(|here| here == at) { Sight::Near } else { Sight::Beside });
        }
    });
    for kind in ["pointerdown", "keydown", "input"] {
        let worked_in = worked_in.clone();
        _ = window_event_listener_untyped(kind, move |event| worked_in(&event));
    }
}

/// Takes one place over after another, from the one with this number on, each after a pause.
fn take_turns(places: Rc<Vec<Place>>, number: usize) {
    let Some(owner) = Owner::current() else { return };
    let next = move || {
        if let Some(place) = places.get(number) {
            owner.with(|| {
                place.take_over();
                take_turns(places.clone(), number + 1);
            });
        }
    };
    set_timeout(next, PAUSE);
}

/// Lets the browser leave a place out of its work while that is far from the window (style/live.css): from the second frame
/// on, when it has been laid out as it is now and its room is known. In a section that the first look leaves out it has
/// no room yet, and stays as it is.
pub fn settle(place: Element) {
    request_animation_frame(move || {
        if matches!(place.closest(NOT_LAID_OUT), Ok(None)) {
            request_animation_frame(move || _ = place.set_attribute(SETTLED, ""));
        }
    });
}

/// In a window of another width every place has another room.
fn settle_anew(places: Rc<Vec<Place>>) {
    let width = || window().inner_width().ok().and_then(|width| width.as_f64());
    let last = Cell::new(width());
    _ = window_event_listener(ev::resize, move |_| {
        if last.replace(width()) != width() {
            for Place { element, .. } in places.iter().filter(|place| place.element.has_attribute(SETTLED)) {
                _ = element.remove_attribute(SETTLED);
                settle(element.clone());
            }
        }
    });
}
