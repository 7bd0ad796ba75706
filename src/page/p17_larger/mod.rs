//! Is a larger batch better? What it saves in steps and costs in examples, how fast it may learn, and what
//! it does for the device.

mod convergence;
mod rate;

use crate::site::{Live, State, format, mount_live};

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_live("convergence", state, convergence::draw);
    mount_live("learning-rate", state, rate::draw);
}

/// The number of a field of the figure; outside its range a message is shown and `otherwise` stands in.
#[inline(never)]
fn checked(live: &Live, field: &str, message: &str, (from, to): (f64, f64), otherwise: f64) -> f64 {
    let value = live.number(field);
    let good = value >= from && value <= to;
    live.show(message, !good);
    live.control_attr(field, "aria-invalid", if good { "false" } else { "true" });
    if good { value } else { otherwise }
}

/// A number of examples.
fn examples(count: f64) -> String {
    format::examples(count)
}
