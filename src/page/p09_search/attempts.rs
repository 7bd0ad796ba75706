//! The attempts that have been made, as a list with a bar each.

use bmax::Bytes;
use bmax::search::Probe;
use leptos::prelude::*;

use super::player::Player;
use super::words;
use crate::site::dom::{El, el, keep};
use crate::site::{State, format};

/// A list of fixed height in which the newest attempt is always in view, below what its bars mean.
pub fn attempts(state: State, player: Player) -> Vec<El> {
    let bytes = Memo::new(move |_| state.read(|facts| facts.estimate.usable().get()));
    let usable = move || Bytes::new(bytes.get());
    let scale = el("p")
        .class("oom-scale soft")
        .child(el("span").class("oom-scale-mark").attr("aria-hidden", "true"))
        .bind_text(move || format!("The mark is the usable memory, {}.", format::memory(usable())));
    let none = el("p")
        .class("oom-none soft")
        .toggle("hidden", move || !player.is_at_start())
        .text("No attempt yet. Press Step for one at a time, or Play.");
    let region = el("div")
        .class("oom-attempts")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", "Attempts")
        .child(el("ol").live(move || player.trace.with(|trace| rows(trace, player.shown(), usable()))))
        .child(none);
    keep_newest_in_view(&region, player);
    vec![scale, region]
}

/// Scrolls to the end of the list when an attempt is made.
fn keep_newest_in_view(region: &El, player: Player) {
    let region = region.element().clone();
    keep(Box::new(move || {
        // A search that starts anew has nothing to scroll to, and asking for a height lays out the page.
        if player.shown() == 0 {
            return;
        }
        let region = region.clone();
        // After the frame, because the new row has no place before.
        request_animation_frame(move || region.set_scroll_top(region.scroll_height()));
    }));
}

/// The attempts that have been made.
fn rows(trace: &[Probe], shown: usize, usable: Bytes) -> Vec<El> {
    // The scale is that of the whole search, so that no bar changes its length as others come.
    let longest = longest(trace, usable);
    let row = |(at, probe): (usize, &Probe)| {
        let current = if shown == at + 1 { "step" } else { "false" };
        el("li").class("oom-attempt").attr("aria-current", current).children(attempt(at, *probe, usable, longest))
    };
    trace.iter().take(shown).enumerate().map(row).collect()
}

/// One attempt: what was tried, what it takes against what is there, and what is known since.
fn attempt(at: usize, probe: Probe, usable: Bytes, longest: Bytes) -> Vec<El> {
    let Probe { phase, batch, peak, fits, low, high } = probe;
    let word = if fits { "true" } else { "false" };
    let part = |class: &str, text: &str| el("span").class(class).text(text);
    let bar = |class: &str, bytes: Bytes| {
        let share = format::css_percent(bytes.share_of(longest));
        el("span").class(class).variable("--share", move || share.clone())
    };
    vec![
        part("oom-number num soft", &format!("{}.", at + 1)),
        el("span").class("oom-batch num").child(el("i").text("b")).text(" = ").text(&format::count(batch)),
        part("oom-phase soft", words::phase(phase)),
        part("oom-outcome", if fits { "✓ runs" } else { "✕ out of memory" }).attr("data-fits", word),
        el("span")
            .class("oom-bar")
            .attr("aria-hidden", "true")
            .child(bar("oom-fill", peak).attr("data-fits", word))
            .child(bar("oom-limit", usable)),
        part("oom-peak num", &format::memory(peak)),
        part("oom-known soft num", &words::known(low, high)),
    ]
}

/// What the whole length of a bar stands for.
fn longest(trace: &[Probe], usable: Bytes) -> Bytes {
    trace.iter().map(|probe| probe.peak).fold(usable, |most, peak| if peak > most { peak } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Scenario;
    use bmax::search::by_running_out;

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
