//! What times are worked out with, said where they show.

use bmax::{Scenario, catalogue};

use crate::site::Live;

/// Says beside a figure's times that they are assumed, where the scenario's device has no listed speed.
pub fn assumed(live: &Live, scenario: &Scenario) {
    let text = catalogue::assumption(scenario);
    live.show("assumed", text.is_some());
    live.text("assumed", text.as_deref().unwrap_or_default());
}
