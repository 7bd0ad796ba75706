//! The shared micro-batch on a slider, with a scale that shows which values fit.

use bmax::{Field, number};
use leptos::prelude::*;

use super::super::outlooks::standing;
use crate::site::controls::slider;
use crate::site::dom::{El, el};
use crate::site::{State, format};

/// The end of the declared range.
const LIMIT: u32 = Field::Batch.bound().max as u32;
/// With fewer values than this each has its own number on the scale.
const EVERY: u32 = 16;
/// Numbers nearer to each other than this part of the scale would run together.
const APART: f64 = 0.2;

/// Where the slider ends: room for twice the answer and for the present value, as a power of two, so
/// that the end seldom changes.
fn end_of(b_max: Option<u32>, batch: u32) -> u32 {
    let wanted = b_max.unwrap_or(0).saturating_mul(2).max(batch).clamp(8, LIMIT);
    wanted.next_power_of_two().min(LIMIT)
}

/// A number of the scale.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tick {
    value: u32,
    /// How it stands to the answer; the style sheet's word.
    kind: &'static str,
}

/// The numbers below the slider: each of a few values, otherwise the ends and the answer.
fn ticks(b_max: Option<u32>, end: u32) -> Vec<Tick> {
    let last = b_max.unwrap_or(0);
    let kind = |value: u32| match value {
        _ if value == last => "last",
        _ if value < last => "fits",
        _ => "over",
    };
    if end <= EVERY {
        return (1..=end).map(|value| Tick { value, kind: kind(value) }).collect();
    }
    let clear = |value: u32| value == last || last == 0 || (along(value, end) - along(last, end)).abs() > APART;
    let mut values: Vec<u32> =
        [1, last, end].into_iter().filter(|&value| (1..=end).contains(&value) && clear(value)).collect();
    values.dedup();
    values.into_iter().map(|value| Tick { value, kind: kind(value) }).collect()
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

/// A slider that sets the micro-batch everywhere on the page.
pub fn batch_slider(state: State, id: &'static str) -> El {
    let held = RwSignal::new(false);
    let batch = move || state.read(|facts| facts.scenario.recipe.batch);
    // Zero stands for no answer, because an answer is at least one.
    let last = Memo::new(move |_| state.read(|facts| facts.answer.batch().unwrap_or(0)));
    let b_max = move || Some(last.get()).filter(|last| *last > 0);
    // An end that shrank under the pointer would move the thumb away from it.
    let end = Memo::new(move |earlier: Option<&u32>| {
        let wanted = end_of(b_max(), batch());
        earlier.copied().filter(|_| held.get()).map_or(wanted, |earlier| wanted.max(earlier))
    });
    let on_value = move |batch| state.change(|scenario| scenario.with_batch(batch));
    el("div")
        .class("batch-slider")
        .variable("--fits", move || number::fixed(fitting(b_max(), end.get()), 5))
        .on("pointerdown", move |_| held.set(true))
        .on("pointerup", move |_| held.set(false))
        .on("pointercancel", move |_| held.set(false))
        .on("change", move |_| held.set(false))
        .child(slider(id, "Micro-batch b", batch, move || end.get(), move || batch_text(state), on_value))
        .child(el("div").class("scale").attr("aria-hidden", "true").live(move || scale(b_max(), end.get())))
}

/// The micro-batch and how it stands, short enough to be read out at every step of a slider.
fn batch_text(state: State) -> String {
    state.read(|facts| {
        let (word, _) = standing(facts);
        format!("{}, {word}", format::counted(facts.scenario.recipe.batch, "sequence", "sequences"))
    })
}

/// The numbers below the slider, in their places.
fn scale(b_max: Option<u32>, end: u32) -> Vec<El> {
    let tick = |Tick { value, kind }: Tick| {
        let along = move || number::fixed(along(value, end), 5);
        el("span").class("tick num").attr("data-kind", kind).variable("--along", along).text(&format::count(value))
    };
    ticks(b_max, end).into_iter().map(tick).collect()
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
