//! What more GPUs give: room for the model by sharding, speed as far as communication lets it.

mod scaling;
mod sharding;

use crate::site::{State, mount_live};

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_live("sharding", state, sharding::draw);
    mount_live("scaling", state, scaling::draw);
}
