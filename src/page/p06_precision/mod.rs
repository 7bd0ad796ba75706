//! What each number format keeps, and bytes per parameter by training regime.

mod formats;
mod regimes;

use crate::site::State;

/// Mounts the figures of this section.
pub fn mount(state: State) {
    formats::mount(state);
    regimes::mount(state);
}
