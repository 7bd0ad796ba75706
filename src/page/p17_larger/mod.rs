//! Is a larger batch better? What it saves in steps and costs in examples, how fast it may learn, and what
//! it does for the device.

mod convergence;
mod rate;
mod saturation;

use bmax::number;

use crate::site::{State, mount_live};

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_live("convergence", state, convergence::draw);
    mount_live("learning-rate", state, rate::draw);
    mount_live("saturation", state, saturation::draw);
}

/// A number in a range; otherwise what stands in for it, and false.
fn checked(value: f64, from: f64, to: f64, otherwise: f64) -> (f64, bool) {
    let good = value >= from && value <= to;
    (if good { value } else { otherwise }, good)
}

/// A number of examples.
fn examples(count: f64) -> String {
    number::grouped(if count < 10.0 { (count * 10.0).round() / 10.0 } else { count.round() })
}
