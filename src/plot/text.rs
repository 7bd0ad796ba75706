//! A plot as text and back: one program of the page draws it, and another asks for it to make a file of it.
//!
//! Every number is its 64 bits in hexadecimal, so that what comes back is the same to the last bit, and a space. The
//! bytes of low order come first: those of round numbers are zero, and what begins with zeros is short.

use std::borrow::Cow;

use super::ink::{Part, Shape};
use super::spec::{Axis, Mark, Plot, Series, Spread};

impl Plot {
    /// The plot as text, for [`from_text`](Self::from_text).
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = Text(String::new());
        for axis in [&self.x, &self.y] {
            text.number(match axis.spread {
                Spread::Linear => 0.0,
                Spread::Log(base) => base,
            });
            text.number(axis.from);
            text.number(axis.to);
            text.number(f64::from(u8::from(axis.is_bare)));
            text.words(&axis.label);
        }
        text.number(self.series.len() as f64);
        for series in &self.series {
            text.part(series.part());
            text.words(&series.name);
            text.number(series.points.len() as f64);
            for &(x, lower, upper) in &series.points {
                text.number(x);
                text.number(lower);
                if series.shape == Shape::Band {
                    text.number(upper);
                }
            }
        }
        text.number(self.marks.len() as f64);
        for mark in &self.marks {
            text.number(mark.x);
            text.part(Part::Mark(mark.rule));
            text.words(&mark.label);
            text.words(&mark.meaning);
        }
        text.0
    }

    /// The plot of a text by [`to_text`](Self::to_text); nothing for texts that end too early or are none.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut rest = Rest(text);
        let (x, y) = (rest.axis()?, rest.axis()?);
        Some(Self { x, y, series: rest.list(Rest::series)?, marks: rest.list(Rest::mark)? })
    }
}

/// A text in the making.
struct Text(String);

impl Text {
    fn number(&mut self, number: f64) {
        self.0 += &format!("{:x} ", number.to_bits().swap_bytes());
    }

    /// How many bytes follow, and those.
    fn words(&mut self, words: &str) {
        self.number(words.len() as f64);
        self.0 += words;
    }

    fn part(&mut self, part: Part) {
        let (_, variant, ink) = part.code();
        self.number(variant.into());
        self.number(ink.into());
    }
}

/// What of a text has not been read. Nothing is made room for before it is there, since anybody may have written it.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn number(&mut self) -> Option<f64> {
        let (digits, rest) = self.0.split_once(' ')?;
        self.0 = rest;
        Some(f64::from_bits(u64::from_str_radix(digits, 16).ok()?.swap_bytes()))
    }

    fn words(&mut self) -> Option<String> {
        let length = self.number()? as usize;
        let words = self.0.get(..length)?.to_owned();
        self.0 = self.0.get(length..)?;
        Some(words)
    }

    /// A part of this kind.
    fn part(&mut self, kind: u8) -> Option<Part> {
        let (variant, ink) = (self.number()?, self.number()?);
        Some(Part::from_code((kind, variant as u8, ink as u8)))
    }

    fn axis(&mut self) -> Option<Axis> {
        let make = match self.number()? {
            2.0 => Axis::powers_of_two,
            10.0 => Axis::log,
            _ => Axis::linear,
        };
        // The ends pass through the same checks as those of every axis.
        let axis = make(self.number()?, self.number()?, "");
        Some(Axis { is_bare: self.number()? == 1.0, label: Cow::Owned(self.words()?), ..axis })
    }

    fn series(&mut self) -> Option<Series> {
        let Part::Series(shape, ink) = self.part(Part::SERIES)? else { return None };
        let name = self.words()?;
        let points = self.list(|rest| {
            let (x, lower) = (rest.number()?, rest.number()?);
            let upper = if shape == Shape::Band { rest.number()? } else { lower };
            Some((x, lower, upper))
        })?;
        Some(Series { shape, ink, points, name })
    }

    fn mark(&mut self) -> Option<Mark> {
        let x = self.number()?;
        let Part::Mark(rule) = self.part(Part::MARK)? else { return None };
        Some(Mark { x, rule, label: self.words()?, meaning: Cow::Owned(self.words()?) })
    }

    /// How many there are, and each: the first that is none ends it.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()? as usize;
        (0..count).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::svg::tests::plots;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_plot_comes_back_to_the_last_bit(plot in plots(), name: String, bare: bool) {
            let mut plot = plot;
            plot.x.is_bare = bare;
            for mark in &mut plot.marks {
                mark.meaning = name.clone().into();
            }
            for series in &mut plot.series {
                series.name.clone_from(&name);
            }
            let text = plot.to_text();
            let back = Plot::from_text(&text).expect("a plot");
            // NaN is not equal to itself, and its name is.
            prop_assert_eq!(format!("{back:?}"), format!("{plot:?}"));
            prop_assert_eq!(back.to_text(), text);
        }

        #[test]
        fn a_text_that_was_cut_off_is_no_plot(plot in plots(), end: prop::sample::Index) {
            let text = plot.to_text();
            let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            prop_assert_eq!(Plot::from_text(&text[..*end.get(&ends)]), None);
        }

        #[test]
        fn any_text_is_a_plot_that_can_be_drawn_or_none(
            text in prop_oneof!["\\PC*", "([0-9a-f]{0,4} ){0,64}", "(0 |f03f |40 |f07f |84 ){0,64}"],
            size in (0.0..900.0_f64, 0.0..400.0_f64),
        ) {
            if let Some(plot) = Plot::from_text(&text) {
                _ = plot.svg(size.0, size.1);
                prop_assert!(Plot::from_text(&plot.to_text()).is_some());
            }
        }
    }
}
