//! What every section shares: the state, the browser's edges, controls and small views.

mod address;
mod arrivals;
mod behind_paint;
mod changed;
mod contents;
mod document;
#[cfg(feature = "hydrate")]
mod given;
mod host;
mod mount;
mod notices;
#[cfg(feature = "prerender")]
pub mod prerender;
mod ranking;
mod remembered;
mod runs;
mod sight;
mod standing;
mod state;
mod steps;
mod theme;

#[cfg(feature = "hydrate")]
pub use address::{fragment, open};
pub use address::{lead_to, network, replace_fragment, tell_network};
pub use arrivals::take_over_on_arrival;
pub use behind_paint::behind_paint;
pub use bmax::format;
pub use changed::{changed, settings};
pub use document::{after_print, before_print, built_with, embedded, prefers_less_motion};
#[cfg(not(feature = "prerender"))]
pub use mount::slice;
pub use mount::{Figure, places_of_figures, take_over_part};
#[cfg(feature = "hydrate")]
pub use mount::{Taking, fetch_once, places_of_sentences};
pub use ranking::Ranking;
pub use runs::{COUNTERS, Runs, Typed};
pub use standing::Standing;
#[cfg(test)]
pub use state::facts_of;
pub use state::{Facts, FieldHandle, SettingHandle, State, derived, read};
pub use steps::Steps;

use std::time::Duration;

use any_spawner::Executor;
use bmax::embed::Theme;
use leptos::prelude::*;

use mount::{Doing, do_apart, mount_frame};
use theme::ThemeSwitch;

/// Starts the page, whose `parts` take their turns.
///
/// All of them share one root owner, so that the state outlives each; it is never dropped, because the page lives as long
/// as its window.
pub fn start(parts: &'static [fn(State)]) {
    // A stopped program is reported to the reader by the page itself; here a developer sees why.
    #[cfg(debug_assertions)]
    console_error_panic_hook::set_once();
    // Fails only when an executor is there already, which is as good.
    _ = Executor::init_wasm_bindgen();
    // A task of its own, because the one before has compiled the program.
    set_timeout(move || begin(parts), Duration::ZERO);
}

fn begin(parts: &'static [fn(State)]) {
    let root = Owner::new();
    let (state, theme) = root.with(|| (State::from_address(), theme::follow()));
    let in_root = |act: Doing| -> Doing {
        let root = root.clone();
        Box::new(move || root.with(act))
    };
    let mut acts = vec![in_root(Box::new(move || follow_frame(state, theme)))];
    acts.extend(parts.iter().map(|part| in_root(Box::new(move || part(state)))));
    acts.push(in_root(Box::new(move || host::listen(state, theme))));
    // Each is a task of the browser, so that none keeps a reader's first move waiting for long.
    do_apart(acts.into_iter(), Box::new(move || std::mem::forget(root)));
}

/// What stands on every page, and hears the address.
fn follow_frame(state: State, theme: RwSignal<Theme>) {
    address::follow(state);
    notices::follow(state);
    mount_frame("theme-switch", move || view! { <ThemeSwitch theme/> });
    contents::follow();
}
