//! The edge between the state and the address of the page.
//!
//! A change is written to the query string once it has settled, as an entry of the history of its own: Back and Forward go
//! through what was changed, and a slider that moves leaves one entry and not a hundred. In a frame of another page the
//! entry is replaced, because Back belongs to that page.

#[cfg(feature = "hydrate")]
use bmax::Scenario;
use bmax::{embed, format, link};
use leptos::ev;
use leptos::prelude::*;
use leptos_use_fn_debounce_throttle::use_debounce_fn_with_arg;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlAnchorElement, KeyboardEvent};

use super::document::beginning;
use super::remembered::remember;
use super::steps::Told;
use super::{State, embedded};

/// Browsers refuse more than about a hundred entries in thirty seconds (Safari: 100 per 30 s), and a dragged slider makes
/// more; the address follows so many milliseconds after the last change.
const SETTLE: f64 = 250.0;

/// A change of the same input that settles so many milliseconds after another one is the same step: digits are typed one by
/// one.
const STEP: f64 = 600.0;

/// The same as the query of the page's address, with a question mark where there is any. What is shown, where it is one
/// figure alone, stays as it is in the query `now`.
fn written(now: &str, (scenario, pinned): &Told) -> String {
    let query = embed::kept(now) + &beginning().address(scenario, pinned);
    // A page at its own beginning has nothing to say behind what is kept.
    with_mark(query.trim_end_matches('&'))
}

/// A query with its question mark; nothing where it is empty.
fn with_mark(query: &str) -> String {
    if query.is_empty() { String::new() } else { "?".to_owned() + query }
}

/// The query string of the page, with its question mark.
pub fn query() -> String {
    window().location().search().unwrap_or_default()
}

/// The network that the address names.
pub fn network() -> Option<String> {
    let query = query();
    let pair = |pair: &str| pair.strip_prefix(link::NETWORK)?.strip_prefix('=').map(str::to_owned);
    query.trim_start_matches('?').split('&').find_map(pair)
}

/// Lets the address name a network, or none. Its words need no escape.
pub fn tell_network(word: Option<&str>) {
    let now = query();
    let is_other = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some(link::NETWORK);
    let mut pairs: Vec<String> = now.trim_start_matches('?').split('&').filter(is_other).map(str::to_owned).collect();
    if let Some(word) = word {
        pairs.insert(0, [link::NETWORK, "=", word].concat());
    }
    let wanted = with_mark(&pairs.join("&"));
    if now != wanted {
        let location = window().location();
        replace(&(location.pathname().unwrap_or_default() + &wanted + &location.hash().unwrap_or_default()));
    }
}

/// Keeps address and state in step: the address follows the scenario, and Back or Forward set it.
pub fn follow(state: State) {
    let last = StoredValue::new(f64::NEG_INFINITY);
    let settled = use_debounce_fn_with_arg(
        move |told: Told| {
            let now = js_sys::Date::now();
            let continues = now - last.get_value() < STEP && state.steps.continues(&told);
            // What was taken back or done again is a step that has ended.
            let is_change = state.steps.settle(told, continues);
            last.set_value(if is_change { now } else { f64::NEG_INFINITY });
            write(&told, !continues && !is_framed());
        },
        SETTLE,
    );
    let later = move |told: &Told, before: Option<&Told>, _: Option<()>| {
        // The tour holds what is told already.
        if before != Some(told) {
            if let Some((before, _)) = before {
                remember(before, &told.0);
            }
            _ = settled(*told);
        }
    };
    // The address that the page was opened by is the reader's; only a change rewrites it.
    let told = move || state.told();
    Effect::watch(told, later, false);
    // Between a change and its address the reader may take a way to another page already.
    for kind in ["pointerdown", "focusin"] {
        _ = window_event_listener_untyped(kind, move |_| carry(&untrack(told)));
    }
    let place = StoredValue::new(fragment());
    // The listeners live as long as the page.
    _ = window_event_listener(ev::popstate, move |_| {
        let read = beginning().read(&query());
        // A way to another place of the page is told like Back. It changes no configuration, and a change that has not settled
        // holds.
        let is_elsewhere = place.get_value() != fragment();
        place.set_value(fragment());
        if state.steps.settle((read.scenario, read.vs), false) || !is_elsewhere {
            state.scenario.set(read.scenario);
            state.pinned.set(read.vs);
            state.notices.set(read.notices);
        }
    });
    _ = window_event_listener(ev::keydown, move |event| {
        if let Some(step) = step_of(&event) {
            event.prevent_default();
            step(state);
        }
    });
    name_the_page(state);
}

/// What the usual keys do: Ctrl Z undoes, and Ctrl Shift Z or Ctrl Y does it again; on a Mac it is the command key. In a
/// field for text they are the browser's own.
fn step_of(event: &KeyboardEvent) -> Option<fn(State) -> &'static str> {
    const TYPED: &str = "textarea, [contenteditable], dialog *, input:not([type=range], [type=radio], [type=checkbox])";
    let is_typed = |target: Element| target.matches(TYPED) == Ok(true);
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    if !(event.ctrl_key() || event.meta_key()) || event.alt_key() || target.is_some_and(is_typed) {
        return None;
    }
    match (event.key().to_ascii_lowercase().as_str(), event.shift_key()) {
        ("z", false) => Some(State::undo),
        ("z", true) | ("y", false) => Some(State::redo),
        _ => None,
    }
}

/// Lets the title of the page, which tabs and bookmarks show, begin with the configuration and its answer where that is not
/// the one that the page was built with.
fn name_the_page(state: State) {
    if embedded().is_some() {
        return;
    }
    let (built, first) = (document().title(), beginning().scenario());
    let title = Memo::new(move |_| {
        state.read(|facts| {
            if facts.scenario == first {
                return built.clone();
            }
            let answer = facts.answer.batch().map(|most| format::batch(most, facts.scenario.unit()));
            let answer = answer.unwrap_or_else(|| format::answer(&facts.answer));
            format!("{}: {answer} · {built}", format::configuration(&facts.scenario))
        })
    });
    Effect::new(move |_| {
        // A tour shows other configurations than the reader's.
        if state.own.with(Option::is_none) {
            document().set_title(&title.get());
        }
    });
}

/// Whether the page stands in a frame of another one, whose Back it shares.
pub fn is_framed() -> bool {
    let window = window();
    !window.parent().is_ok_and(|parent| parent.as_ref() == Some(&window))
}

/// Opens another configuration of this page, as a link to it would, without loading it: Back leads to the one before.
/// What is pinned stays, and so does what the chart is drawn against. A tour that is open goes on from it.
#[cfg(feature = "hydrate")]
pub fn open(state: State, wanted: Scenario) {
    let (now, pinned) = (state.scenario.get_untracked(), state.pinned.get_untracked());
    let wanted = Scenario { comparison: now.comparison, ..wanted };
    let wanted = if now.compared_alike() == now { wanted.compared_alike() } else { wanted };
    // The entry that is left keeps what its address does not tell yet.
    let left = (state.own.get_untracked().unwrap_or(now), pinned);
    write(&left, false);
    // What has not settled yet is a step of its own.
    state.steps.settle(left, false);
    let told = (wanted, pinned);
    push(&(window().location().pathname().unwrap_or_default() + &written(&query(), &told)));
    state.steps.settle(told, false);
    state.notices.set(Vec::new());
    state.own.set(None);
    state.scenario.set(wanted);
}

/// What the address says behind its `#`.
pub fn fragment() -> String {
    let hash = window().location().hash().unwrap_or_default();
    hash.strip_prefix('#').unwrap_or_default().to_owned()
}

/// Leads the reader to a place of the page, or of the page that has it, as a link there does. What is folded away is
/// unfolded by the first script of the page, which hears where the address leads.
pub fn lead_to(place: &str) {
    if fragment() != place {
        _ = window().location().set_hash(place);
    } else if let Ok(event) = web_sys::Event::new("hashchange") {
        // The address stays as it is, of which nobody would hear.
        _ = window().dispatch_event(&event);
    }
}

/// Puts a fragment in the place of the address's own, without an entry in the history; an empty one takes it away.
pub fn replace_fragment(fragment: &str) {
    let location = window().location();
    let place = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
    replace(&(location.pathname().unwrap_or_default() + &query() + &place));
}

/// In a sandboxed frame the browser may refuse; the page works without an address.
fn replace(address: &str) {
    _ = window().history().and_then(|history| history.replace_state_with_url(&JsValue::NULL, "", Some(address)));
}

/// The same as an entry of its own.
fn push(address: &str) {
    _ = window().history().and_then(|history| history.push_state_with_url(&JsValue::NULL, "", Some(address)));
}

/// Lets every way to another page take what the address tells along. Links that the build has written are marked `data-way`.
fn carry((scenario, pinned): &Told) {
    let wanted = with_mark(&beginning().onward(scenario, pinned));
    let Ok(ways) = document().query_selector_all("a[data-way]") else { return };
    for way in (0..ways.length()).filter_map(|at| ways.item(at)?.dyn_into::<HtmlAnchorElement>().ok()) {
        if way.search() != wanted {
            way.set_search(&wanted);
        }
    }
}

/// Writes the address, as an entry of the history of its own or in the place of the present one.
fn write(told: &Told, is_entry: bool) {
    let location = window().location();
    let now = query();
    let wanted = written(&now, told);
    carry(told);
    if now == wanted {
        return;
    }
    let address = location.pathname().unwrap_or_default() + &wanted + &location.hash().unwrap_or_default();
    if is_entry { push(&address) } else { replace(&address) }
}
