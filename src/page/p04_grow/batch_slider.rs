//! The shared micro-batch on a slider, with a scale that shows which values fit.

use bmax::{Field, number};

use crate::site::dom::{El, el};
use crate::site::{Facts, Live, Standing, format};

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

/// Lets the slider of a figure set the micro-batch everywhere on the page.
pub fn listen(live: &Live) {
    let slider = live.place("slider");
    for event in ["input", "pointerdown", "pointerup", "pointercancel", "change"] {
        let live = live.clone();
        let held = slider.clone();
        _ = slider.clone().on(event, move |_| {
            if event == "input" {
                live.state().change(|scenario| scenario.with_batch(live.number("b") as u32));
            } else {
                _ = held.element().toggle_attribute_with_force("data-held", event == "pointerdown");
                live.draw_again();
            }
        });
    }
}

/// Draws the slider, with a scale that shows which values fit.
pub fn draw(live: &Live, facts: &Facts) {
    let (batch, b_max) = (facts.scenario.recipe.batch, facts.answer.batch());
    let slider = live.place("slider");
    let mut end = end_of(b_max, batch);
    // An end that shrank under the pointer would move the thumb away from it.
    if slider.element().has_attribute("data-held") {
        let earlier = slider.element().get_attribute("data-end").and_then(|end| number::parse(&end).ok());
        end = end.max(earlier.unwrap_or(0.0) as u32);
    }
    live.set_range("b", 1.0, f64::from(end));
    // A browser clips the value to the end, so it is set again after the end has changed.
    live.set_number("b", f64::from(batch));
    let text = batch_text(facts);
    live.text("batch-text", &text);
    live.control_attr("b", "aria-valuetext", &text);
    let fits = number::fixed(fitting(b_max, end), 5);
    let drawn = [("data-end", number::plain(f64::from(end))), ("data-fits", fits.clone())];
    if drawn.iter().all(|(name, value)| slider.element().get_attribute(name).as_deref() == Some(value)) {
        return;
    }
    let slider = drawn.iter().fold(slider, |slider, (name, value)| slider.attr(name, value));
    _ = slider.set_variable("--fits", &fits);
    _ = live.place("scale").clear().children(scale(b_max, end));
}

/// The micro-batch and how it stands, short enough to be read out at every step of a slider.
fn batch_text(facts: &Facts) -> String {
    let word = Standing::of(facts).word();
    format!("{}, {word}", format::counted(facts.scenario.recipe.batch, "sequence", "sequences"))
}

/// The numbers below the slider, in their places.
fn scale(b_max: Option<u32>, end: u32) -> Vec<El> {
    let tick = |Tick { value, kind }: Tick| {
        let tick = el("span").class("tick num").attr("data-kind", kind).text(&format::count(value));
        tick.set_variable("--along", &number::fixed(along(value, end), 5))
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
