//! What every section shares: the state, the browser's edges, controls and small views.

mod address;
mod contents;
mod document;
mod host;
mod mount;
mod nearby;
mod notices;
#[cfg(feature = "prerender")]
pub mod prerender;
mod ranking;
mod runs;
mod sight;
mod standing;
mod state;
mod theme;

#[cfg(feature = "hydrate")]
pub use address::{fragment, open};
pub use address::{network, replace_fragment, tell_network};
pub use bmax::format;
pub use document::{before_print, embedded, prefers_less_motion};
#[cfg(not(feature = "prerender"))]
pub use mount::slice;
pub use mount::{Figure, take_over, take_over_part};
#[cfg(feature = "hydrate")]
pub use mount::{Taking, take_over_sentences};
pub use ranking::Ranking;
pub use runs::{COUNTERS, Runs, Typed};
pub use standing::Standing;
#[cfg(test)]
pub use state::facts_of;
pub use state::{Facts, FieldHandle, SettingHandle, State, derived, read};

use std::time::Duration;

use any_spawner::Executor;
use leptos::prelude::*;

use mount::mount_frame;
use notices::Notices;
use theme::ThemeSwitch;

/// Starts the page: `mount_all` puts the figures in their places.
///
/// All figures share one root owner, so that the state outlives each of them; it is never dropped,
/// because the page lives as long as its window.
pub fn start(mount_all: impl FnOnce(State) + 'static) {
    // A stopped program is reported to the reader by the page itself; here a developer sees why.
    #[cfg(debug_assertions)]
    console_error_panic_hook::set_once();
    // Fails only when an executor is there already, which is as good.
    _ = Executor::init_wasm_bindgen();
    // A task of its own, because the one before has compiled the program.
    set_timeout(move || begin(mount_all), Duration::ZERO);
}

fn begin(mount_all: impl FnOnce(State) + 'static) {
    let root = Owner::new();
    let (state, theme) = root.with(|| {
        let state = State::from_address();
        address::follow(state);
        mount_frame("notices", move || view! { <Notices notices=state.notices/> });
        let theme = theme::follow();
        mount_frame("theme-switch", move || view! { <ThemeSwitch theme/> });
        (state, theme)
    });
    // A second task of the browser, so that neither keeps a reader's first move waiting for long.
    set_timeout(
        move || {
            root.with(|| {
                mount_all(state);
                contents::follow();
                host::listen(state, theme);
                state.turns.begin_when_wanted();
            });
            std::mem::forget(root);
        },
        Duration::ZERO,
    );
}
