//! Logarithmic axes and their ticks.

use crate::number;

/// A logarithmic axis. Values are positive; positions run from 0 at `from` to 1 at `to` and beyond
/// for values outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogScale {
    from: f64,
    to: f64,
}

/// A marked value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value.
    pub value: u32,
    /// How it is written beside the axis; a grid line without text has none.
    pub label: String,
}

impl LogScale {
    /// The axis between two values; they are set apart where they would leave no room.
    pub fn new(from: u32, to: u32) -> Self {
        let from = from.max(1);
        Self { from: f64::from(from), to: f64::from(to.max(from.saturating_add(1))) }
    }

    /// Where `value` lies.
    pub fn position(self, value: u32) -> f64 {
        (f64::from(value.max(1)) / self.from).ln() / (self.to / self.from).ln()
    }
}

/// Every power of two from `from` to `to`, written as people say lengths: 128, 512, 1k, 128k.
pub fn powers_of_two(from: u32, to: u32) -> Vec<Tick> {
    let label = |value: u32| if value < 1_024 { value.to_string() } else { format!("{}k", value / 1_024) };
    (0..u32::BITS)
        .map(|power| 1 << power)
        .filter(|value| (from..=to).contains(value))
        .map(|value| Tick { value, label: label(value) })
        .collect()
}

/// 1, 2, 5, 10, 20 … up to `to`. Over more than four decades only the powers of ten are written out,
/// because the labels would touch, and the long ones as powers.
pub fn one_two_five(to: u32) -> Vec<Tick> {
    let crowded = to > 10_000;
    let mut ticks = Vec::new();
    let mut decade: u32 = 1;
    loop {
        for step in [1, 2, 5] {
            let value = decade.saturating_mul(step);
            if value > to || value < decade {
                return ticks;
            }
            ticks.push(Tick { value, label: if crowded && step != 1 { String::new() } else { written(value) } });
        }
        match decade.checked_mul(10) {
            Some(next) => decade = next,
            None => return ticks,
        }
    }
}

/// 1, 2, 5, 10, 20 … between two values.
pub fn one_two_five_from(from: u32, to: u32) -> impl Iterator<Item = u32> {
    one_two_five(to).into_iter().map(|tick| tick.value).filter(move |value| *value >= from)
}

/// A tick of one, two or five times a power of ten; from 100,000 on the power itself.
fn written(value: u32) -> String {
    const POWERS: [(u32, &str); 5] =
        [(100_000, "10⁵"), (1_000_000, "10⁶"), (10_000_000, "10⁷"), (100_000_000, "10⁸"), (1_000_000_000, "10⁹")];
    let power = POWERS.iter().find(|power| power.0 == value);
    power.map_or_else(|| number::grouped(value.into()), |power| power.1.to_owned())
}

/// The end of an axis that starts at 1 and must show `most`: the next of 1, 2, 5, 10 …, at least 10.
pub fn round_end(most: u32) -> u32 {
    let mut decade: u32 = 10;
    loop {
        for step in [1, 2, 5] {
            let end = decade.saturating_mul(step);
            if end >= most {
                return end;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_take_equal_room() {
        let scale = LogScale::new(128, 131_072);
        assert_eq!((scale.position(128), scale.position(131_072)), (0.0, 1.0));
        for power in 7..=17 {
            assert!((scale.position(1 << power) - f64::from(power - 7) / 10.0).abs() < 1e-12);
        }
    }

    #[test]
    fn an_axis_without_extent_still_has_finite_positions() {
        for scale in [LogScale::new(0, 0), LogScale::new(5, 5), LogScale::new(9, 2)] {
            assert!(scale.position(0).is_finite() && scale.position(7).is_finite());
        }
    }

    #[test]
    fn lengths_are_labelled_from_128_to_128k() {
        let labels: Vec<_> = powers_of_two(128, 131_072).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels.join(" "), "128 256 512 1k 2k 4k 8k 16k 32k 64k 128k");
    }

    #[test]
    fn batches_are_ticked_at_one_two_five() {
        let values: Vec<_> = one_two_five(200).into_iter().map(|tick| tick.value).collect();
        assert_eq!(values, [1, 2, 5, 10, 20, 50, 100, 200]);
    }

    #[test]
    fn labels_thin_out_over_many_decades_but_lines_stay() {
        let ticks = one_two_five(2_000_000);
        let labels: Vec<_> = ticks.iter().filter(|tick| !tick.label.is_empty()).map(|tick| tick.value).collect();
        assert_eq!(labels, [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]);
        assert!(ticks.len() > labels.len());
        assert!(ticks.iter().all(|tick| tick.label.chars().count() <= 6), "{ticks:?}");
    }

    #[test]
    fn the_end_of_an_axis_is_round_and_not_too_small() {
        for (most, end) in [(0, 10), (7, 10), (10, 10), (11, 20), (201, 500), (1_048_576, 2_000_000)] {
            assert_eq!(round_end(most), end);
        }
        assert!(round_end(u32::MAX) == u32::MAX && !one_two_five(u32::MAX).is_empty());
    }
}
