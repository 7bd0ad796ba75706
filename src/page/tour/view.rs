//! The card, as it is seen and operated.

use bmax::tour::{CARDS, Part, Seen, WAYS};
use leptos::ev::{self, KeyboardEvent};
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{DomRect, Element, FocusOptions, HtmlElement, ScrollBehavior, ScrollToOptions};

use crate::site::{State, embedded, prefers_less_motion, replace_fragment};

/// The attribute of the root by which the style sheet knows what a card is about (style/tour.css).
const MARK: &str = "data-tour";

/// The link that opens the tour, which has the focus at the end if nothing else opened it.
const LINK: &str = "a[href='#tour-1']";

/// How far from the edge of what can be seen a part is kept, in CSS pixels.
const MARGIN: f64 = 16.0;

/// What buttons and keys do. It is a handful of handles and is passed by value.
#[derive(Clone, Copy)]
struct Steps {
    state: State,
    /// The card that the address names.
    card: RwSignal<Option<usize>>,
}

impl Steps {
    /// Which card is open, if there is one of that number.
    fn open(self) -> Option<usize> {
        self.card.get().filter(|at| *at < CARDS.len())
    }

    /// Goes to a card, in the place of the present one: the history keeps one entry for the whole tour.
    fn go(self, to: Option<usize>) {
        if let Some(to) = to.filter(|to| *to < CARDS.len()) {
            replace_fragment(&format!("tour-{}", to + 1));
            self.card.set(Some(to));
        }
    }

    fn back(self) {
        self.go(self.card.get_untracked().and_then(|at| at.checked_sub(1)));
    }

    /// Goes on, and behind the last card to the end.
    fn next(self) {
        match self.card.get_untracked() {
            Some(at) if at + 1 < CARDS.len() => self.go(Some(at + 1)),
            _ => self.end(),
        }
    }

    fn end(self) {
        replace_fragment("");
        self.card.set(None);
    }

    /// Ends with what is shown as the reader's own configuration.
    fn keep(self) {
        self.state.own.set(None);
        self.end();
    }

    /// Arrows turn the cards while a card has the focus.
    fn turn(self, event: &KeyboardEvent) {
        if event.alt_key() || event.ctrl_key() || event.meta_key() || event.shift_key() {
            return;
        }
        match event.key().as_str() {
            "ArrowLeft" => self.back(),
            "ArrowRight" => self.go(self.card.get_untracked().map(|at| at + 1)),
            _ => return,
        }
        event.prevent_default();
    }
}

/// The tour: while a card is open, the page shows its configuration and marks what it is about. Then the reader's own
/// configuration comes back.
#[component]
pub fn Tour(
    /// The shared state.
    state: State,
    /// The card that the address names, by its place in the list.
    card: RwSignal<Option<usize>>,
) -> impl IntoView {
    let steps = Steps { state, card };
    let place = NodeRef::<html::Div>::new();
    let opener = StoredValue::new_local(None::<HtmlElement>);
    // The address is the edge at which the tour begins and ends, so that Back and Forward of the browser do, too.
    Effect::new(move |before: Option<Option<usize>>| {
        let now = steps.open();
        match now {
            Some(at) => show(state, at),
            None => put_back(state),
        }
        if now.is_some() && before.flatten().is_none() {
            opener.set_value(focused());
        }
        // The figure follows first.
        request_animation_frame(move || match now {
            Some(at) => {
                let Some(card) = place.get_untracked() else { return };
                // A frame that opens with the tour does not take the focus from the page around it.
                if before.flatten().is_none() && !(before.is_none() && embedded().is_some()) {
                    focus(&card);
                }
                reveal(CARDS[at].part, &card);
            }
            None => {
                if let Some(opener) = opener.try_update_value(Option::take).flatten() {
                    focus(&opener);
                }
            }
        });
        now
    });
    // Escape ends the tour wherever the focus is, but for a dialog or a list that is open and takes it.
    let escape = window_event_listener(ev::keydown, move |event| {
        let is_taken = document().query_selector("dialog[open]").is_ok_and(|dialog| dialog.is_some());
        if event.key() == "Escape" && !event.default_prevented() && !is_taken && steps.open().is_some() {
            steps.end();
        }
    });
    on_cleanup(move || escape.remove());
    let is_open = Memo::new(move |_| steps.open().is_some());
    move || is_open.get().then(|| view! { <CardView steps place/> })
}

/// One card. It follows the pattern of a dialog that is not modal: it has a name and the focus when it opens, Escape
/// closes it, and the page behind it can be used, <https://www.w3.org/WAI/ARIA/apg/patterns/dialog-modal/>. What the
/// next card says is told by a live region, so that the focus can stay on the button.
#[component]
fn CardView(steps: Steps, place: NodeRef<html::Div>) -> impl IntoView {
    let at = Memo::new(move |before| steps.open().or(before.copied()).unwrap_or_default());
    let now = Memo::new(move |_| Seen::of(steps.state.scenario.get()));
    let own = Memo::new(move |_| Seen::of(steps.state.own.get().unwrap_or_else(|| steps.state.scenario.get())));
    let text = move || own.with(|own| now.with(|now| (CARDS[at.get()].text)(own, now)));
    let is_own = move || own.with(|own| now.with(|now| own == now));
    view! {
        <div
            class="tour"
            role="dialog"
            aria-labelledby="tour-title"
            aria-describedby="tour-text"
            tabindex="-1"
            node_ref=place
            on:keydown=move |event| steps.turn(&event)
        >
            <div class="tour-line">
                <span class="tour-progress num" data-testid="tour-progress">
                    {move || format!("{} of {}", at.get() + 1, CARDS.len())}
                </span>
                <button type="button" class="button button-quiet button-small" on:click=move |_| steps.end()>
                    "End the tour"
                </button>
            </div>
            <div class="tour-said" aria-live="polite" aria-atomic="true">
                <p class="tour-title" id="tour-title" data-testid="tour-title">{move || CARDS[at.get()].title}</p>
                <p id="tour-text" data-testid="tour-text">{text}</p>
            </div>
            <ul class="tour-ways" hidden=move || at.get() + 1 < CARDS.len()>{WAYS.map(way).collect_view()}</ul>
            <Turning steps at is_own=Signal::derive(is_own)/>
        </div>
    }
}

/// A way on, for one kind of reader.
fn way((who, what, id): (&'static str, &'static str, &'static str)) -> impl IntoView {
    view! {
        <li>
            {who} ": " <a href=format!("#{id}")>{what}</a>
        </li>
    }
}

/// Back, on, and keeping what is shown.
#[component]
fn Turning(steps: Steps, at: Memo<usize>, is_own: Signal<bool>) -> impl IntoView {
    let is_first = move || (at.get() == 0).to_string();
    let next = move || if at.get() + 1 < CARDS.len() { "Next" } else { "Done" };
    view! {
        <div class="tour-line">
            <button
                type="button"
                class="button button-quiet button-small"
                aria-disabled=is_first
                on:click=move |_| steps.back()
            >
                "Back"
            </button>
            <button
                type="button"
                class="button button-quiet button-small"
                hidden=is_own
                title="End the tour with the configuration that is shown"
                on:click=move |_| steps.keep()
            >
                "Keep this"
            </button>
            <button type="button" class="button button-small" on:click=move |_| steps.next()>
                {next}
            </button>
        </div>
    }
}

/// Shows the configuration of a card, made from the reader's own, and marks what the card is about.
fn show(state: State, at: usize) {
    let own = state.own.get_untracked().unwrap_or_else(|| state.scenario.get_untracked());
    state.own.set(Some(own));
    state.scenario.set((CARDS[at].change)(&Seen::of(own)));
    if let Some(root) = document().document_element() {
        _ = root.set_attribute(MARK, CARDS[at].part.key());
    }
}

/// Shows the reader's own configuration again, if the tour holds one.
fn put_back(state: State) {
    if let Some(own) = state.own.get_untracked() {
        state.scenario.set(own);
        state.own.set(None);
    }
    if let Some(root) = document().document_element() {
        _ = root.remove_attribute(MARK);
    }
}

/// What has the focus: what opened the tour, or the link to it where nothing has.
fn focused() -> Option<HtmlElement> {
    let active = document().active_element().filter(|active| active.tag_name() != "BODY");
    let link = || document().query_selector(LINK).ok().flatten();
    active.or_else(link)?.dyn_into().ok()
}

/// Gives an element the focus where it stands. What is scrolled to is decided by [`reveal`].
fn focus(element: &HtmlElement) {
    let still = FocusOptions::new();
    still.set_prevent_scroll(true);
    _ = element.focus_with_options(&still);
}

/// Where a part of the figure is, its most important place first.
const fn places(part: Part) -> &'static str {
    match part {
        Part::Answer => ".opening .headline",
        Part::Parameters => ".opening [data-bucket=parameters]",
        Part::Gradients => ".opening :is([data-bucket=gradients], [data-bucket=turns])",
        Part::Optimizer => ".opening [data-bucket=optimizer]",
        Part::Activations => ".opening :is([data-bucket=activations], [data-bucket=turns])",
        Part::Peak => ".opening-reason",
        Part::Logits => ".opening [data-bucket=logits]",
        Part::Free => ".opening [data-bucket=free]",
        Part::Over => ".opening :is(.slider-value, .opening-chosen, .memory-over)",
        Part::Recomputation => ".opening .headline",
        Part::Gpus => ":is(#line-gpus, .opening .headline)",
        Part::Inputs => ".configuration",
    }
}

/// Scrolls so far that a part of the figure is seen beside the card and below the bar that stays in view, and not at all
/// where it is. In a frame there is nothing to scroll: it is as high as its figure.
fn reveal(part: Part, card: &Element) {
    if embedded().is_some() {
        return;
    }
    let Ok(found) = document().query_selector_all(places(part)) else { return };
    let all = (0..found.length()).filter_map(|at| Some(found.item(at)?.unchecked_into::<Element>()));
    let all: Vec<DomRect> =
        all.map(|one| one.get_bounding_client_rect()).filter(|place| place.width() * place.height() > 0.0).collect();
    let Some(first) = all.first() else { return };
    let bar = document().get_element_by_id("answer-bar").map_or(0.0, |bar| bar.get_bounding_client_rect().height());
    let card = card.get_bounding_client_rect();
    let height = window().inner_height().ok().and_then(|height| height.as_f64()).unwrap_or_default();
    let is_beside = all.iter().all(|place| card.right() <= place.left() || place.right() <= card.left());
    let (from, to) = (bar + MARGIN, if is_beside { height } else { card.top() } - MARGIN);
    let (top, bottom) = all
        .iter()
        .fold((first.top(), first.bottom()), |(top, bottom), place| (top.min(place.top()), bottom.max(place.bottom())));
    // What does not fit all at once is seen from its beginning.
    let by = if top < from || bottom - top > to - from {
        top - from
    } else if bottom > to {
        bottom - to
    } else {
        return;
    };
    let options = ScrollToOptions::new();
    options.set_top(by);
    options.set_behavior(if prefers_less_motion() { ScrollBehavior::Instant } else { ScrollBehavior::Smooth });
    window().scroll_by_with_scroll_to_options(&options);
}

#[cfg(test)]
mod tests {
    use bmax::tour::CARDS;

    #[test]
    fn the_style_sheet_knows_what_every_card_is_about() {
        let sheet = include_str!("../../../style/tour.css");
        for card in &CARDS {
            let mark = format!("[data-tour=\"{}\"]", card.part.key());
            assert!(sheet.contains(&mark), "{mark}");
        }
    }
}
