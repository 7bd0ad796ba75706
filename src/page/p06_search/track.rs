//! The open interval on an axis of micro-batches, closing in.

use bmax::search::Probe;
use leptos::prelude::*;

use super::player::Player;
use super::words;
use crate::site::format;

/// At most this many marks are written below the axis.
const MARKS: usize = 8;
/// Room at the right end, in doublings.
const BEYOND: f64 = 0.75;

/// The axis: what is known to run, what is open, what is known not to, and the attempt.
#[component]
pub fn Track(player: Player) -> impl IntoView {
    let top = Memo::new(move |_| player.trace.with(|trace| top(trace)));
    let probe = Memo::new(move |_| {
        player.shown().checked_sub(1).and_then(|last| player.trace.with(|trace| trace.get(last).copied()))
    });
    let low = move || probe.get().map_or(0, |probe| probe.low);
    let high = move || probe.get().and_then(|probe| probe.high);
    let at = move |batch: u32| position(batch, top.get()).to_string();
    let label = move || match probe.get() {
        None => format!("Axis of micro-batches from 1 to {}: everything is open.", format::count(top.get())),
        Some(_) => {
            format!("Axis of micro-batches from 1 to {}: {}.", format::count(top.get()), words::known(low(), high()))
        }
    };
    let mark = move |batch: u32| view! { <span style=("--at", at(batch))>{format::count(batch)}</span> };
    view! {
        <div class="oom-track" role="img" aria-label=label>
            <div class="oom-axis" style=("--low", move || at(low())) style=("--high", move || high().map_or_else(|| "1".to_owned(), at))>
                <span class="oom-runs"></span>
                <span class="oom-open"></span>
                <span class="oom-fails"></span>
                <span
                    class="oom-tried"
                    data-fits=move || probe.get().is_some_and(|probe| probe.fits).to_string()
                    hidden=move || probe.get().is_none()
                    style=("--at", move || at(probe.get().map_or(1, |probe| probe.batch)))
                ></span>
            </div>
            <div class="oom-marks num">{move || marks(top.get()).into_iter().map(mark).collect_view()}</div>
        </div>
    }
}

/// The end of the axis: the largest micro-batch that is ever tried, at least 4.
fn top(trace: &[Probe]) -> u32 {
    trace.iter().map(|probe| probe.batch).max().unwrap_or(1).max(4)
}

/// Where a micro-batch lies, from 0 for none at all to a little before 1 for `top`, so that what is
/// beyond it has room too. Every doubling takes the same room, and so does the step from none to one.
fn position(batch: u32, top: u32) -> f64 {
    let doublings = |batch: u32| if batch == 0 { 0.0 } else { f64::from(batch).log2() + 1.0 };
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
