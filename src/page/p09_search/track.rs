//! The open interval on an axis of micro-batches, closing in.

use std::f64::consts::LN_2;

use bmax::number;
use bmax::search::Probe;
use leptos::prelude::*;

use super::player::Player;
use super::words;
use crate::site::dom::{El, el};
use crate::site::format;

/// At most this many marks are written below the axis.
const MARKS: usize = 8;
/// Room at the right end, in doublings.
const BEYOND: f64 = 0.75;

/// The axis: what is known to run, what is open, what is known not to, and the attempt.
pub fn track(player: Player) -> El {
    let top = Memo::new(move |_| player.trace.with(|trace| top(trace)));
    let label = move || {
        let known =
            last(player).map_or_else(|| "everything is open".to_owned(), |probe| words::known(probe.low, probe.high));
        format!("Axis of micro-batches from 1 to {}: {known}.", format::count(top.get()))
    };
    let mark =
        move |batch: u32| el("span").variable("--at", move || place(batch, top.get())).text(&format::count(batch));
    el("div")
        .class("oom-track")
        .attr("role", "img")
        .bind("aria-label", label)
        .child(axis(player, top))
        .child(el("div").class("oom-marks num").live(move || marks(top.get()).into_iter().map(mark).collect()))
}

/// The line with its three parts and the attempt on it.
fn axis(player: Player, top: Memo<u32>) -> El {
    let low = move || place(last(player).map_or(0, |probe| probe.low), top.get());
    let high =
        move || last(player).and_then(|probe| probe.high).map_or_else(|| "1".to_owned(), |high| place(high, top.get()));
    let tried = el("span")
        .class("oom-tried")
        .bind("data-fits", move || last(player).is_some_and(|probe| probe.fits).to_string())
        .toggle("hidden", move || player.is_at_start())
        .variable("--at", move || place(last(player).map_or(1, |probe| probe.batch), top.get()));
    el("div")
        .class("oom-axis")
        .variable("--low", low)
        .variable("--high", high)
        .child(el("span").class("oom-runs"))
        .child(el("span").class("oom-open"))
        .child(el("span").class("oom-fails"))
        .child(tried)
}

/// The attempt that was made last.
fn last(player: Player) -> Option<Probe> {
    let last = player.shown().checked_sub(1)?;
    player.trace.with(|trace| trace.get(last).copied())
}

/// [`position`] for the style sheet.
fn place(batch: u32, top: u32) -> String {
    number::fixed(position(batch, top), 5)
}

/// The end of the axis: the largest micro-batch that is ever tried, at least 4.
fn top(trace: &[Probe]) -> u32 {
    trace.iter().map(|probe| probe.batch).max().unwrap_or(1).max(4)
}

/// Where a micro-batch lies, from 0 for none at all to a little before 1 for `top`, so that what is
/// beyond it has room too. Every doubling takes the same room, and so does the step from none to one.
fn position(batch: u32, top: u32) -> f64 {
    let doublings = |batch: u32| if batch == 0 { 0.0 } else { f64::from(batch).ln() / LN_2 + 1.0 };
    (doublings(batch) / (doublings(top.max(1)) + BEYOND)).min(1.0)
}

/// Powers of two up to `top` that are written below the axis, few enough not to touch.
fn marks(top: u32) -> Vec<u32> {
    let last = top.max(1).ilog2();
    // Longer numbers need more room each.
    let every = last as usize / if top < 10_000 { MARKS } else { MARKS / 2 } + 1;
    (0..=last).step_by(every).map(|power| 1 << power).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_doubling_takes_the_same_room() {
        assert_eq!(position(0, 128), 0.0);
        assert!(position(128, 128) < 1.0);
        let step = position(1, 128);
        for power in 0..7 {
            assert!((position(2 << power, 128) - position(1 << power, 128) - step).abs() < 1e-12);
        }
        assert!(position(1, 0).is_finite());
    }

    #[test]
    fn marks_are_few_and_begin_at_one() {
        for top in [1, 4, 100, 128, 4_096, 1 << 20] {
            let marks = marks(top);
            assert!(marks.len() <= MARKS + 1 && marks.first() == Some(&1), "{top}: {marks:?}");
            assert!(marks.last().is_some_and(|last| *last <= top));
        }
    }
}
