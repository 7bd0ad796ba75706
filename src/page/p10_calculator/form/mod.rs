//! The inputs, common ones first; the rest in folded groups that say what is inside.

mod groups;
mod input;
mod model;
mod tells;

use bmax::{Scenario, setting};

use self::groups::GROUPS;
use crate::page::pickers::{device_picker, model_picker};
use crate::site::controls::segmented;
use crate::site::dom::El;
use crate::site::{Live, State, format, keep_drawn};

/// Every input of the scenario, in groups.
pub fn bind(state: State, form: &El) {
    form.place("method", segmented(state.setting(&setting::METHOD), "method"));
    form.place("model", model_picker(state, "model"));
    form.place("gpu", device_picker(state, "gpu"));
    for group in GROUPS {
        _ = form.part(group.key).children(group.inputs.iter().map(|input| input.control(state)).collect());
    }
    _ = form.clone().on("submit", |event| event.prevent_default());
    keep_drawn(state, form, draw, press);
}

fn draw(live: &Live) {
    live.facts(|facts| {
        let scenario = &facts.scenario;
        for group in GROUPS {
            let changed = group.inputs.iter().filter(|input| input.differs(scenario, &facts.base)).count() as u32;
            let text = if changed == 0 { String::new() } else { format::count(changed) + " changed" };
            live.text(&(group.key.to_owned() + "-changed"), &text);
        }
        tells::draw(live, scenario);
        model::draw(live, scenario);
        let as_at_first = *scenario == Scenario::default();
        live.attr("reset", "aria-disabled", if as_at_first { "true" } else { "false" });
    });
}

fn press(live: &Live, word: &str) {
    let state = live.state();
    match word {
        "reset" => state.change(|_| Scenario::default()),
        _ => state.change(|scenario| model::pressed(word, scenario)),
    }
}
