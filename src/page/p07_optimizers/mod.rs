//! What each optimizer remembers.

use crate::site::State;

/// Mounts the figures of this section.
pub fn mount(_state: State) {}
