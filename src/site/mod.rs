//! What every section shares: the state, the browser's edges, controls and small views.

mod address;
pub mod chart;
mod contents;
pub mod controls;
pub mod dom;
mod host;
mod live;
mod mount;
mod nearby;
mod notices;
pub mod plot;
#[cfg(feature = "prerender")]
pub mod prerender;
mod ranking;
mod sight;
mod state;
mod theme;
pub mod views;

pub use bmax::format;
pub use live::{Live, keep_drawn, mount_live, mount_prepared, mount_pressed, write_text};
pub use mount::{Figure, mount_bound, mount_figure, mount_part, take_over};
#[cfg(test)]
pub use state::facts_of;
pub use state::{Facts, FieldHandle, SettingHandle, State, read};

use any_spawner::Executor;
use leptos::prelude::*;

use mount::mount_frame;
use notices::Notices;
use theme::ThemeSwitch;

/// Starts the page: `mount_all` puts the figures in their places.
///
/// All figures share one root owner, so that the state outlives each of them; it is never dropped,
/// because the page lives as long as its window.
pub fn start(mount_all: impl FnOnce(State)) {
    // A stopped program is reported to the reader by the page itself; here a developer sees why.
    #[cfg(debug_assertions)]
    console_error_panic_hook::set_once();
    // Fails only when an executor is there already, which is as good.
    _ = Executor::init_wasm_bindgen();
    let root = Owner::new();
    root.with(|| {
        let state = State::from_address();
        address::follow(state);
        mount_frame("notices", move || view! { <Notices notices=state.notices/> });
        let theme = theme::follow();
        mount_frame("theme-switch", move || view! { <ThemeSwitch theme/> });
        mount_all(state);
        contents::follow();
        host::listen(state, theme);
        state.turns.begin();
    });
    std::mem::forget(root);
}
