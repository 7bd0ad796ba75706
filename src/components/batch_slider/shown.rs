//! The numbers of a slider for the micro-batch: where it ends, which values fit, what stands below it.

use bmax::{Answer, Field, number};

use crate::site::{Facts, Standing, format};

/// The end of the declared range.
const LIMIT: u32 = Field::Batch.bound().max as u32;
/// Numbers nearer to each other than this part of the scale would run together.
const APART: f64 = 0.05;
/// The same of numbers with their words.
const WORDS_APART: f64 = 0.2;

/// Where the slider ends: room for twice the answer and for the present value, as a power of two, so
/// that the end seldom changes.
fn end_of(b_max: Option<u32>, batch: u32) -> u32 {
    let wanted = b_max.unwrap_or(0).saturating_mul(2).max(batch).clamp(8, LIMIT);
    wanted.next_power_of_two().min(LIMIT)
}

/// What a number of the scale is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The answer.
    Likely,
    /// The answer where the unknowns turn out badly.
    Safe,
    /// The answer where they turn out well.
    Best,
    /// An end of the slider.
    End,
}

impl Mark {
    /// The style sheet's word.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Likely => "likely",
            Self::Safe => "safe",
            Self::Best => "best",
            Self::End => "end",
        }
    }

    /// What stands behind the number.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Likely => " likely",
            Self::Safe => " safe",
            Self::Best => " at best",
            Self::End => "",
        }
    }
}

/// A number of the scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The number.
    pub value: u32,
    /// What it is.
    pub mark: Mark,
    /// Whether there is room for its word.
    pub has_word: bool,
    /// How far along the slider it stands, as the style sheet takes it.
    pub along: String,
}

/// The numbers below the slider: the answers and the ends, of two that would run together the one that matters more.
fn ticks(answers: [Option<u32>; 3], end: u32) -> Vec<Tick> {
    let [safe, likely, best] = answers;
    let wanted =
        [(likely, Mark::Likely), (safe, Mark::Safe), (best, Mark::Best), (Some(end), Mark::End), (Some(1), Mark::End)];
    let mut ticks: Vec<(u32, Mark)> = Vec::new();
    for (value, mark) in wanted {
        let Some(value) = value.filter(|value| (1..=end).contains(value)) else { continue };
        if ticks.iter().all(|(other, _)| (along(value, end) - along(*other, end)).abs() > APART) {
            ticks.push((value, mark));
        }
    }
    ticks.sort_unstable_by_key(|(value, _)| *value);
    let nearest = |value: u32| {
        let others = ticks.iter().filter(|(other, _)| *other != value);
        others.map(|(other, _)| (along(value, end) - along(*other, end)).abs()).fold(1.0, f64::min)
    };
    let tick = |&(value, mark): &(u32, Mark)| Tick {
        value,
        mark,
        has_word: nearest(value) > WORDS_APART,
        along: number::fixed(along(value, end), 5),
    };
    ticks.iter().map(tick).collect()
}

/// How far along the slider a value lies, from 0 to 1.
fn along(value: u32, end: u32) -> f64 {
    f64::from(value.saturating_sub(1)) / f64::from(end.saturating_sub(1).max(1))
}

/// How far along the slider the values fit up to `last`: to the middle between it and the next, and to before its beginning
/// when none does.
fn fitting(last: Option<u32>, end: u32) -> f64 {
    let Some(last) = last else { return -1.0 };
    ((f64::from(last) - 0.5) / f64::from(end.saturating_sub(1).max(1))).min(1.0)
}

/// What the slider shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The micro-batch.
    pub batch: u32,
    /// The end of the slider.
    pub end: u32,
    /// How far along the slider the values fit safely, likely and at best, as the style sheet takes it.
    pub zones: [String; 3],
    /// The numbers below it.
    pub ticks: Vec<Tick>,
    /// The micro-batch and how it stands, short enough to be read out at every step of the slider.
    pub text: String,
}

impl Shown {
    /// The slider of these facts. It ends no earlier than at `least`: an end that shrank under the pointer
    /// would move the thumb away from it.
    pub fn of(facts: &Facts, least: u32) -> Self {
        let batch = facts.scenario.recipe.batch;
        let answers = [&facts.range.safe, &facts.answer, &facts.range.optimistic].map(Answer::batch);
        let end = end_of(answers[1].max(answers[2]), batch).max(least);
        let word = Standing::of(facts).word();
        Self {
            batch,
            end,
            zones: answers.map(|last| number::fixed(fitting(last, end), 5)),
            ticks: ticks(answers, end),
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
    fn the_answer_always_has_its_number_and_the_ends_and_bounds_where_there_is_room() {
        for last in [1, 2, 17, 250, 511, 512] {
            for (safe, best) in [(last, last), (last / 2, last + 1), (1, 2 * last)] {
                let ticks = ticks([Some(safe), Some(last), Some(best)], 512);
                let likely: Vec<_> = ticks.iter().filter(|tick| tick.mark == Mark::Likely).collect();
                assert!(likely.len() == 1 && likely[0].value == last, "{last}: {ticks:?}");
                assert!(ticks.is_sorted_by(|one, next| one.value < next.value), "{ticks:?}");
            }
        }
        let values = |ticks: Vec<Tick>| ticks.iter().map(|tick| (tick.value, tick.mark)).collect::<Vec<_>>();
        let all = values(ticks([Some(5), Some(6), Some(7)], 16));
        let wanted = [(1, Mark::End), (5, Mark::Safe), (6, Mark::Likely), (7, Mark::Best), (16, Mark::End)];
        assert_eq!(all, wanted);
        assert_eq!(values(ticks([None, None, None], 8)), [(1, Mark::End), (8, Mark::End)]);
    }

    #[test]
    fn a_word_stands_behind_a_number_only_where_it_runs_into_no_other() {
        let words = |answers, end| ticks(answers, end).iter().map(|tick| tick.has_word).collect::<Vec<_>>();
        assert_eq!(words([Some(5), Some(6), Some(7)], 16), [true, false, false, false, true]);
        assert_eq!(words([Some(1), Some(6), Some(6)], 16), [true, true, true]);
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
