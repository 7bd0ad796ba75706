//! What a plot shows, before anything is drawn: axes with their ticks, series, marks.

use std::borrow::Cow;

use super::ink::{Ink, Part, Rule, Shape};
use crate::number;

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// The first lies lowest.
    pub series: Vec<Series>,
    /// Vertical lines over everything.
    pub marks: Vec<Mark>,
}

impl Plot {
    /// The series that stay while a reader moves along the plot, and those that may move: the last ones of a point each.
    #[must_use]
    pub fn still_and_moving(&self) -> (&[Series], &[Series]) {
        let moving = self.series.iter().rev().take_while(|series| series.points.len() <= 1).count();
        self.series.split_at(self.series.len() - moving)
    }

    /// What a legend has: every part that has a name, series first.
    pub fn names(&self) -> impl Iterator<Item = (Part, &str)> {
        let series = self.series.iter().map(|series| (series.part(), series.name.as_str()));
        let marks = self.marks.iter().map(|mark| (Part::Mark(mark.rule), &*mark.meaning));
        series.chain(marks).filter(|(_, name)| !name.is_empty())
    }
}

/// An axis: which values it spans, how they are spread, what is written beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Below `to`, both finite, and positive where equal ratios take equal room.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) spread: Spread,
    pub(super) label: Cow<'static, str>,
    /// Whether nothing is written at its ticks.
    pub(super) is_bare: bool,
}

/// How values are spread over the length of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spread {
    /// Equal differences take equal room.
    Linear,
    /// Equal ratios take equal room, with a tick at every power of this base.
    Log(f64),
}

/// The largest end of an axis. Differences and ratios of ends stay numbers.
const FAR: f64 = 1e150;

impl Axis {
    /// Equal differences take equal room. An axis without extent is given some.
    #[must_use]
    pub fn linear(from: f64, to: f64, label: &'static str) -> Self {
        let [from, to] = [from, to].map(|end| if end.is_nan() { 0.0 } else { end.clamp(-FAR, FAR) });
        // So little that the doubles between the ends could be counted is no extent either, and what is smaller than
        // the steps between ticks can be written as is none.
        let room = (from.abs().max(to.abs()) * 1e-9).max(1.0 / FAR);
        let to = if to - from > room { to } else { from + (room * 10.0).max(1.0) };
        Self { from, to, spread: Spread::Linear, label: label.into(), is_bare: false }
    }

    /// Equal ratios take equal room, ticks at the powers of ten. Values are positive.
    #[must_use]
    pub fn log(from: f64, to: f64, label: &'static str) -> Self {
        Self::logarithmic(from, to, 10.0, label)
    }

    /// Equal ratios take equal room, ticks at the powers of two. Values are positive.
    #[must_use]
    pub fn powers_of_two(from: f64, to: f64, label: &'static str) -> Self {
        Self::logarithmic(from, to, 2.0, label)
    }

    fn logarithmic(from: f64, to: f64, base: f64, label: &'static str) -> Self {
        // NaN is not above zero.
        let from = if from > 0.0 { from.clamp(1.0 / FAR, FAR) } else { 1.0 / FAR };
        let to = if to > from * (1.0 + 1e-9) { to.min(FAR * base) } else { from * base };
        Self { from, to, spread: Spread::Log(base), label: label.into(), is_bare: false }
    }

    /// The same axis with nothing written at its ticks: what stands there are no numbers.
    #[must_use]
    pub fn bare(self) -> Self {
        Self { is_bare: true, ..self }
    }

    /// Where a value stands, from 0 to 1; what lies outside stands at the end, NaN nowhere.
    #[cfg(test)]
    pub(super) fn position(&self, value: f64) -> f64 {
        let [from, to, at] = [self.from, self.to, value].map(|value| self.place(value));
        ((at - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// How far along a value is as it is drawn, counted from anywhere.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => value,
            // The largest of a number and NaN would be the number.
            Spread::Log(_) if value.is_nan() => value,
            Spread::Log(_) => value.max(f64::MIN_POSITIVE).ln(),
        }
    }

    /// The value that stands at a position from 0 to 1.
    pub(super) fn value(&self, position: f64) -> f64 {
        self.between(self.from, self.to, position.clamp(0.0, 1.0))
    }

    /// The value at a part of the way from one to another as it is drawn.
    pub(super) fn between(&self, from: f64, to: f64, part: f64) -> f64 {
        match self.spread {
            Spread::Log(_) if from > 0.0 && to > 0.0 => from * (part * (to / from).ln()).exp(),
            _ => from + (to - from) * part,
        }
    }

    /// The values with a tick, with at most about `most` of them.
    pub(super) fn ticks(&self, most: f64) -> Vec<f64> {
        match self.spread {
            Spread::Linear => {
                let step = self.step(most);
                let first = (self.from / step).ceil();
                let count = ((self.to / step) - first + 1e-9).floor().clamp(0.0, 100.0) as u32;
                (0..=count).map(|index| (first + f64::from(index)) * step).collect()
            }
            Spread::Log(base) => {
                let power = |value: f64| value.ln() / base.ln();
                let (first, last) = ((power(self.from) - 1e-9).ceil(), (power(self.to) + 1e-9).floor());
                let every = powers_between((last - first).max(0.0), most);
                let count = ((last - first) / every).clamp(-1.0, 100.0) as i32;
                (0..=count).map(|index| number::power(base, (first + f64::from(index) * every) as i32)).collect()
            }
        }
    }

    /// What is written at a tick, one of at most about `most`.
    pub(super) fn words(&self, value: f64, most: f64) -> String {
        match self.spread {
            _ if self.is_bare => String::new(),
            Spread::Linear => short(value, (-number::decade(self.step(most))).clamp(0, 9) as u32),
            Spread::Log(base) => short_power(value, base),
        }
    }

    /// From one tick of a linear axis to the next.
    fn step(&self, most: f64) -> f64 {
        round_step((self.to - self.from) / most)
    }
}

/// How many powers from one tick of a logarithmic axis to the next, where the last power is so many after the
/// first: as few as `most` ticks allow, or up to half as many again where the last power then has a tick. Powers
/// are written in four letters at most, so that a part of a tick's room is room for one.
fn powers_between(span: f64, most: f64) -> f64 {
    let fewest = ((span + 1.0) / most.ceil()).ceil().max(1.0);
    let mut farther = (0..=(fewest / 2.0) as u32).map(|more| fewest + f64::from(more));
    farther.find(|every| span % every == 0.0).unwrap_or(fewest)
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let decade = number::power(10.0, number::decade(step));
    let within = step / decade;
    decade
        * if within <= 1.0 {
            1.0
        } else if within <= 2.0 {
            2.0
        } else if within <= 5.0 {
            5.0
        } else {
            10.0
        }
}

/// A value in few letters: 0.25, 20, 4k, 3M.
fn short(value: f64, places: u32) -> String {
    let (unit, name) = match value.abs() {
        size if size >= 1e12 => (1e12, "T"),
        size if size >= 1e9 => (1e9, "G"),
        size if size >= 1e6 => (1e6, "M"),
        size if size >= 1e4 => (1e3, "k"),
        _ => return number::fixed(value, places),
    };
    // A tick of 1,250,000 needs the digits that one of 1,000,000 does not.
    number::plain((value / unit * 100.0).round() / 100.0) + name
}

/// A power of ten or two in few letters; 1k of a power of two is 1,024.
fn short_power(value: f64, base: f64) -> String {
    if base == 2.0 && value >= 1_024.0 {
        return match value {
            value if value >= 1_048_576.0 => number::fixed(value / 1_048_576.0, 0) + "M",
            value => number::fixed(value / 1_024.0, 0) + "k",
        };
    }
    let places = (-number::decade(value * (1.0 + 1e-9))).clamp(0, 9) as u32;
    let value = if (1e3..1e4).contains(&value) { return number::fixed(value / 1e3, 0) + "k" } else { value };
    short(value, places)
}

/// One curve, the band between two, or dots.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub(super) shape: Shape,
    pub(super) ink: Ink,
    /// Where it is, from where and to where: a line has the same twice.
    pub(super) points: Vec<(f64, f64, f64)>,
    pub(super) name: String,
}

impl Series {
    /// A curve through points, interrupted where one is NaN.
    #[must_use]
    pub fn line(ink: Ink, points: Vec<(f64, f64)>) -> Self {
        Self::through(Shape::Line, ink, points)
    }

    /// A dashed curve: a second one of the same kind, or a reference.
    #[must_use]
    pub fn dashed(ink: Ink, points: Vec<(f64, f64)>) -> Self {
        Self::through(Shape::Dashed, ink, points)
    }

    /// The same points, each by itself.
    #[must_use]
    pub fn dots(ink: Ink, points: Vec<(f64, f64)>) -> Self {
        Self::through(Shape::Dots, ink, points)
    }

    /// Dots that are hollow.
    #[must_use]
    pub fn rings(ink: Ink, points: Vec<(f64, f64)>) -> Self {
        Self::through(Shape::Rings, ink, points)
    }

    /// What lies between a lower and an upper curve: (x, lower, upper).
    #[must_use]
    pub fn band(ink: Ink, points: Vec<(f64, f64, f64)>) -> Self {
        Self { shape: Shape::Band, ink, points, name: String::new() }
    }

    /// The same series with a name, for legends and read-outs.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Its name; empty where it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is of a drawing.
    #[must_use]
    pub fn part(&self) -> Part {
        Part::Series(self.shape, self.ink)
    }

    fn through(shape: Shape, ink: Ink, points: Vec<(f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| (x, y, y)).collect();
        Self { shape, ink, points, name: String::new() }
    }

    /// What it goes through: x, the lower edge and the upper one, which are one but for a band. NaN interrupts.
    pub fn points(&self) -> &[(f64, f64, f64)] {
        &self.points
    }

    /// The points between interruptions.
    pub(super) fn runs(&self) -> impl Iterator<Item = &[(f64, f64, f64)]> {
        self.points
            .split(|(x, lower, upper)| x.is_nan() || lower.is_nan() || upper.is_nan())
            .filter(|run| !run.is_empty())
    }
}

/// A vertical line at a value, with a few words at its upper end.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub(super) x: f64,
    pub(super) rule: Rule,
    pub(super) label: String,
    pub(super) meaning: Cow<'static, str>,
}

impl Mark {
    /// A line without words.
    #[must_use]
    pub fn at(x: f64, rule: Rule) -> Self {
        Self::named(x, rule, String::new())
    }

    /// A line with words.
    #[must_use]
    pub fn named(x: f64, rule: Rule, label: String) -> Self {
        Self { x, rule, label, meaning: "".into() }
    }

    /// The same mark with what it stands for, which legends say.
    #[must_use]
    pub fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning: meaning.into(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks(5.0).into_iter().map(|value| axis.words(value, 5.0)).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_few() {
        assert_eq!(labels(&Axis::linear(0.0, 80.0, "")), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(&Axis::linear(0.0, 1.3, "")), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(&Axis::linear(0.0, 40_000.0, "")), ["0", "10k", "20k", "30k", "40k"]);
    }

    #[test]
    fn an_axis_too_short_for_the_steps_between_ticks_is_given_room() {
        let axis = Axis::linear(-9.9e-309, 2.3e-308, "");
        assert!(axis.to - axis.from > 0.5, "{axis:?}");
        assert!(axis.ticks(8.0).iter().all(|tick| tick.is_finite()));
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        assert_eq!(labels(&Axis::log(0.01, 1e3, "")), ["0.01", "1", "100"]);
        assert_eq!(labels(&Axis::log(1.0, 1e4, "")), ["1", "10", "100", "1k", "10k"]);
        assert_eq!(labels(&Axis::powers_of_two(512.0, 8_192.0, "")), ["512", "1k", "2k", "4k", "8k"]);
    }

    #[test]
    fn the_last_power_has_a_tick_where_a_little_more_room_between_ticks_allows_it() {
        let powers = |last: i32, most| {
            let axis = Axis::powers_of_two(1.0, number::power(2.0, last), "");
            axis.ticks(most).into_iter().map(|value| axis.words(value, most)).collect::<Vec<_>>()
        };
        // On a phone of 360 pixels there is room for this many.
        assert_eq!(powers(16, 294.0 / 72.0), ["1", "16", "256", "4k", "64k"]);
        // By 3 from 1 the last would be 32k.
        assert_eq!(powers(16, 6.0), ["1", "16", "256", "4k", "64k"]);
        assert_eq!(powers(15, 4.0), ["1", "32", "1k", "32k"]);
        // The divisors of 10 and 17 are too far off, so that the ticks are as many as there may be.
        assert_eq!(powers(10, 5.0), ["1", "8", "64", "512"]);
        assert_eq!(powers(17, 6.0), ["1", "8", "64", "512", "4k", "32k"]);
    }

    #[test]
    fn values_outside_stand_at_the_ends() {
        for axis in [Axis::linear(0.0, 10.0, ""), Axis::log(1.0, 10.0, ""), Axis::linear(3.0, 3.0, "")] {
            assert_eq!(axis.position(f64::INFINITY), 1.0);
            assert_eq!(axis.position(-5.0), 0.0);
        }
    }

    #[test]
    fn equal_ratios_take_equal_room_on_a_logarithmic_axis() {
        let axis = Axis::log(1.0, 100.0, "");
        assert!((axis.position(10.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_series_is_interrupted_where_a_point_is_no_number() {
        let points = [f64::NAN, 1.0, 2.0, f64::NAN, f64::NAN, 5.0].map(|y| (1.0, y)).to_vec();
        let lengths: Vec<_> = Series::line(Ink::Own, points).runs().map(<[_]>::len).collect();
        assert_eq!(lengths, [2, 1]);
    }
}
