//! The numbers of a slider for the micro-batch: where it ends, which values fit, what stands below it.

use bmax::{Field, number};

use crate::site::{Facts, Standing, format};

/// The end of the declared range.
const LIMIT: u32 = Field::Batch.bound().max as u32;
/// With fewer values than this each has its own number on the scale.
const EVERY: u32 = 8;
/// Numbers nearer to each other than this part of the scale would run together.
const APART: f64 = 0.2;

/// Where the slider ends: room for twice the answer and for the present value, as a power of two, so
/// that the end seldom changes.
fn end_of(b_max: Option<u32>, batch: u32) -> u32 {
    let wanted = b_max.unwrap_or(0).saturating_mul(2).max(batch).clamp(8, LIMIT);
    wanted.next_power_of_two().min(LIMIT)
}

/// A number of the scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The number.
    pub value: u32,
    /// How it stands to the answer; the style sheet's word.
    pub kind: &'static str,
    /// How far along the slider it stands, as the style sheet takes it.
    pub along: String,
}

/// The numbers below the slider: each of a few values, otherwise the ends and the answer.
fn ticks(b_max: Option<u32>, end: u32) -> Vec<Tick> {
    let last = b_max.unwrap_or(0);
    let kind = |value: u32| match value {
        _ if value == last => "last",
        _ if value < last => "fits",
        _ => "over",
    };
    let tick = |value: u32| Tick { value, kind: kind(value), along: number::fixed(along(value, end), 5) };
    if end <= EVERY {
        return (1..=end).map(tick).collect();
    }
    let clear = |value: u32| value == last || last == 0 || (along(value, end) - along(last, end)).abs() > APART;
    let mut values: Vec<u32> =
        [1, last, end].into_iter().filter(|&value| (1..=end).contains(&value) && clear(value)).collect();
    values.dedup();
    values.into_iter().map(tick).collect()
}

/// How far along the slider a value lies, from 0 to 1.
fn along(value: u32, end: u32) -> f64 {
    f64::from(value.saturating_sub(1)) / f64::from(end.saturating_sub(1).max(1))
}

/// How far along the slider the values fit: to the middle between the last that does and the next,
/// and to before its beginning when none does.
fn fitting(b_max: Option<u32>, end: u32) -> f64 {
    let Some(last) = b_max else { return -1.0 };
    ((f64::from(last) - 0.5) / f64::from(end.saturating_sub(1).max(1))).min(1.0)
}

/// What the slider shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The micro-batch.
    pub batch: u32,
    /// The end of the slider.
    pub end: u32,
    /// How far along the slider the values fit, as the style sheet takes it.
    pub fits: String,
    /// The numbers below it.
    pub ticks: Vec<Tick>,
    /// The micro-batch and how it stands, short enough to be read out at every step of the slider.
    pub text: String,
}

impl Shown {
    /// The slider of these facts. It ends no earlier than at `least`: an end that shrank under the pointer
    /// would move the thumb away from it.
    pub fn of(facts: &Facts, least: u32) -> Self {
        let (batch, b_max) = (facts.scenario.recipe.batch, facts.answer.batch());
        let end = end_of(b_max, batch).max(least);
        let word = Standing::of(facts).word();
        Self {
            batch,
            end,
            fits: number::fixed(fitting(b_max, end), 5),
            ticks: ticks(b_max, end),
            text: format!("{}, {word}", format::batch(batch, facts.scenario.unit())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slider_always_holds_the_value_the_answer_and_the_first_that_does_not_fit() {
        for b_max in [None, Some(1), Some(3), Some(4), Some(117), Some(524_288), Some(1_048_575), Some(1_048_576)] {
            for batch in [1, 3, 9, 300, 1_048_576] {
                let end = end_of(b_max, batch);
                assert!(end >= batch && (8..=LIMIT).contains(&end), "{b_max:?}, b = {batch}: {end}");
                assert!(end >= b_max.unwrap_or(0).saturating_add(1).min(LIMIT), "{b_max:?}, b = {batch}: {end}");
            }
        }
    }

    #[test]
    fn a_short_scale_names_every_value_and_a_long_one_always_names_the_answer() {
        let short = ticks(Some(3), 8);
        assert_eq!(short.iter().map(|tick| tick.value).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
        assert_eq!(short.iter().filter(|tick| tick.kind == "last").count(), 1);
        for last in [1, 2, 17, 250, 511, 512] {
            let long = ticks(Some(last), 512);
            assert_eq!(
                long.iter().filter(|tick| tick.kind == "last" && tick.value == last).count(),
                1,
                "b_max = {last}"
            );
        }
        assert!(ticks(None, 512).iter().all(|tick| tick.kind == "over"));
    }

    #[test]
    fn the_fitting_part_ends_between_the_last_that_fits_and_the_next() {
        for (last, end) in [(1, 8), (3, 8), (117, 256)] {
            let fits = fitting(Some(last), end);
            assert!(along(last, end) < fits && fits < along(last + 1, end));
        }
        assert!(fitting(None, 8) < along(1, 8));
        assert_eq!(fitting(Some(LIMIT), LIMIT), 1.0);
    }
}
