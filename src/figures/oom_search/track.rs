//! The open interval on an axis of micro-batches, closing in.

use std::f64::consts::LN_2;

use bmax::number;
use bmax::search::Probe;

use super::words;
use crate::site::format;

/// At most this many marks are written below the axis.
const MARKS: u32 = 8;
/// Room at the right end, in doublings.
const BEYOND: f64 = 0.75;

/// The axis: what is known to run, what is open, what is known not to, and the attempt. Places are as the style
/// sheet takes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// The axis in words.
    pub label: String,
    /// Up to where it is known to run.
    pub low: String,
    /// From where it is known not to.
    pub high: String,
    /// Where the last attempt was, and whether it ran.
    pub tried: Option<(String, bool)>,
}

impl Track {
    /// The axis of these attempts after the last that was made.
    pub fn of(trace: &[Probe], last: Option<&Probe>) -> Self {
        let top = top(trace);
        let known = last.map_or_else(|| "everything is open".to_owned(), words::known);
        let high = last.and_then(|probe| probe.high);
        Self {
            label: format!("Axis of micro-batches from 1 to {}: {known}.", format::count(top)),
            low: place(last.map_or(0, |probe| probe.low), top),
            high: high.map_or_else(|| "1".to_owned(), |high| place(high, top)),
            tried: last.map(|probe| (place(probe.batch, top), probe.fits)),
        }
    }
}

/// The numbers below the axis: each with its place.
pub fn numbers(trace: &[Probe]) -> Vec<(String, String)> {
    let top = top(trace);
    let (count, every) = marks(top);
    (0..count).map(|index| 1 << (index * every)).map(|batch| (format::count(batch), place(batch, top))).collect()
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

/// How many powers of two up to `top` are written below the axis, few enough not to touch, and how many
/// doublings lie from one to the next.
fn marks(top: u32) -> (u32, u32) {
    let last = top.max(1).ilog2();
    // Longer numbers need more room each.
    let every = last / if top < 10_000 { MARKS } else { MARKS / 2 } + 1;
    (last / every + 1, every)
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
    fn marks_are_few_and_end_before_the_axis() {
        for top in [1, 4, 100, 128, 4_096, 1 << 20] {
            let (count, every) = marks(top);
            assert!((1..=MARKS + 1).contains(&count), "{top}: {count}");
            assert!(1 << (every * (count - 1)) <= top && every >= 1);
        }
    }
}
