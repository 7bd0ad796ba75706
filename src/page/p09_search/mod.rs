//! The empirical finder, attempt by attempt, beside the division that gives the same number.

mod closed_form;
mod player;
mod track;
mod words;

use bmax::search::{Probe, by_running_out};
use bmax::{Bytes, division};

use crate::site::{Live, State, format, mount_pressed};

/// Mounts the figure of this section.
pub fn mount(state: State) {
    mount_pressed("oom-search", state, draw, player::press);
}

/// The search on one side, the closed form on the other, and what both say.
fn draw(live: &Live) {
    let (trace, usable, sizes, is_ledger, shortage) = live.facts(|facts| {
        (
            by_running_out(&facts.scenario),
            facts.estimate.usable(),
            division(&facts.scenario),
            facts.is_ledger(),
            format::shortage(&facts.answer).unwrap_or_default(),
        )
    });
    let (made, is_playing) = player::position(live, &trace);
    let is_over = made >= trace.len();
    let last = made.checked_sub(1).and_then(|last| trace.get(last));
    live.text(
        "play",
        match (is_playing, is_over) {
            (true, _) => "Pause",
            (false, true) => "Play again",
            (false, false) => "Play",
        },
    );
    for (button, idle) in [("step", is_over), ("back", made == 0), ("restart", made == 0)] {
        live.attr(button, "aria-disabled", truth(idle));
    }
    // It is spoken when the reader steps, not while it plays and not when it starts anew because
    // something else on the page has changed.
    live.attr("now", "aria-live", if is_playing || made == 0 { "off" } else { "polite" });
    live.text("shortage", &shortage);
    words::step(live, &trace, made);
    track::draw(live, &trace, last);
    attempts(live, &trace, made, usable);
    closed_form::draw(live, &sizes, is_ledger);
    live.attr("result", "data-over", truth(is_over));
    words::verdict(live, &trace, is_over, closed_form::result(&sizes));
}

/// The attempts that have been made, the newest in view.
fn attempts(live: &Live, trace: &[Probe], made: usize, usable: Bytes) {
    live.text("usable-memory", &format::memory(usable));
    live.show("none", made == 0);
    // The scale is that of the whole search, so that no bar changes its length as others come.
    let longest = longest(trace, usable);
    let share = |bytes: Bytes| format::css_percent(bytes.share_of(longest));
    for ((at, probe), row) in trace.iter().enumerate().zip(live.copies("attempts", made)) {
        let fits = truth(probe.fits);
        row.attr("", "aria-current", if made == at + 1 { "step" } else { "false" });
        row.attr("", "data-fits", fits);
        for (name, text) in [
            ("number", format::count(at as u32 + 1)),
            ("batch", format::count(probe.batch)),
            ("peak", format::memory(probe.peak)),
            ("known", words::known(probe)),
        ] {
            row.text(name, &text);
        }
        row.text("phase", words::phase(probe));
        row.show("runs", probe.fits);
        row.show("fails", !probe.fits);
        row.variable("fill", "--share", &share(probe.peak));
        row.variable("limit", "--share", &share(usable));
    }
    // A search that starts anew has nothing to scroll to, and asking for a place lays out the page.
    if live.attr("none", "data-made", &format::count(made as u32)) && made > 0 {
        live.scroll_to_end("region");
    }
}

/// What the whole length of a bar stands for.
fn longest(trace: &[Probe], usable: Bytes) -> Bytes {
    trace.iter().map(|probe| probe.peak).fold(usable, |most, peak| if peak > most { peak } else { most })
}

fn truth(is: bool) -> &'static str {
    if is { "true" } else { "false" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Scenario;

    #[test]
    fn every_bar_and_the_mark_fit_the_scale() {
        let mut scenario = Scenario::default();
        for gpus in [1, 8, 64] {
            scenario.cluster.gpus = gpus;
            let (trace, usable) = (by_running_out(&scenario), scenario.usable());
            let longest = longest(&trace, usable);
            assert!(usable <= longest && trace.iter().all(|probe| probe.peak <= longest));
        }
    }
}
