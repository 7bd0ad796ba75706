//! The edge between the state and the address of the page.
//!
//! The scenario is written to the query string with `replaceState`, so that moving a slider leaves
//! one entry in the history and not a hundred; Back and Forward are read again.

use bmax::{Scenario, embed, link};
use leptos::ev;
use leptos::prelude::*;
use leptos_use_fn_debounce_throttle::use_debounce_fn_with_arg;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::HtmlAnchorElement;

use super::State;

/// Browsers refuse more than about a hundred `replaceState` calls in thirty seconds (Safari: 100 per
/// 30 s), and a dragged slider makes more; the address follows so many milliseconds after the last change.
const SETTLE: f64 = 250.0;

/// What the address tells: the configuration, and the one that is pinned.
type Told = (Scenario, Option<Scenario>);

/// The same as a query, without its question mark.
fn encoded((scenario, pinned): &Told) -> String {
    link::encode_with(scenario, pinned.as_ref())
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
    let wanted = if pairs.is_empty() { String::new() } else { "?".to_owned() + &pairs.join("&") };
    if now != wanted {
        let location = window().location();
        replace(&(location.pathname().unwrap_or_default() + &wanted + &location.hash().unwrap_or_default()));
    }
}

/// Keeps address and state in step: the address follows the scenario, and Back or Forward set it.
pub fn follow(state: State) {
    let settled = use_debounce_fn_with_arg(|told: Told| write(&told), SETTLE);
    let later = move |told: &Told, before: Option<&Told>, _: Option<()>| {
        // The tour holds what is told already.
        if before != Some(told) {
            _ = settled(*told);
        }
    };
    // The address that the page was opened by is the reader's; only a change rewrites it.
    let told = move || (state.own.get().unwrap_or_else(|| state.scenario.get()), state.pinned.get());
    Effect::watch(told, later, false);
    // Between a change and its address the reader may take a way to another page already.
    for kind in ["pointerdown", "focusin"] {
        _ = window_event_listener_untyped(kind, move |_| carry(&untrack(told)));
    }
    // The listeners live as long as the page.
    _ = window_event_listener(ev::popstate, move |_| {
        let read = link::decode(&query());
        if (read.scenario, read.vs) != (state.scenario.get_untracked(), state.pinned.get_untracked()) {
            state.scenario.set(read.scenario);
            state.pinned.set(read.vs);
            state.notices.set(read.notices);
        }
    });
}

/// Opens another configuration of this page, as a link to it would, without loading it: Back leads to the one before.
/// What is pinned stays, and so does what the chart is drawn against. A tour that is open goes on from it.
#[cfg(feature = "hydrate")]
pub fn open(state: State, wanted: Scenario) {
    let (now, pinned) = (state.scenario.get_untracked(), state.pinned.get_untracked());
    let wanted = Scenario { comparison: now.comparison, ..wanted };
    // The entry that is left keeps what its address does not tell yet.
    write(&(state.own.get_untracked().unwrap_or(now), pinned));
    let address = "?".to_owned() + &embed::kept(&query()) + &encoded(&(wanted, pinned));
    // In a sandboxed frame the browser may refuse; the address then follows as after any change.
    _ = window().history().and_then(|history| history.push_state_with_url(&JsValue::NULL, "", Some(&address)));
    state.notices.set(Vec::new());
    state.own.set(None);
    state.scenario.set(wanted);
}

/// What the address says behind its `#`.
pub fn fragment() -> String {
    let hash = window().location().hash().unwrap_or_default();
    hash.strip_prefix('#').unwrap_or_default().to_owned()
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

/// Lets every way to another page take what the address tells along. Links that the build has written are marked `data-way`.
fn carry(told: &Told) {
    let wanted = "?".to_owned() + &encoded(told);
    let Ok(ways) = document().query_selector_all("a[data-way]") else { return };
    for way in (0..ways.length()).filter_map(|at| ways.item(at)?.dyn_into::<HtmlAnchorElement>().ok()) {
        if way.search() != wanted {
            way.set_search(&wanted);
        }
    }
}

fn write(told: &Told) {
    let location = window().location();
    let now = query();
    // What is shown, where it is one figure alone, stays as it is.
    let wanted = "?".to_owned() + &embed::kept(&now) + &encoded(told);
    carry(told);
    if now == wanted {
        return;
    }
    replace(&(location.pathname().unwrap_or_default() + &wanted + &location.hash().unwrap_or_default()));
}
