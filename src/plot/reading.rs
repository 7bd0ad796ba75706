//! From a place in the drawing back to values, and from a value to what the series say there.

use super::draw::{LEFT, RIGHT};
use super::ink::Shape;
use super::spec::{Plot, Series};

/// What a series says at a value of x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Its place among the series of the plot.
    pub series: usize,
    /// Where it is; the lower curve of a band.
    pub lower: f64,
    /// The upper curve of a band; of anything else the same again.
    pub upper: f64,
}

impl Plot {
    /// The value below a place, in CSS pixels from the left edge of a drawing of this width. Left of the
    /// axis it is where the axis begins, and right of it where it ends.
    #[must_use]
    pub fn value_at(&self, place: f64, width: f64) -> f64 {
        let part = (place - LEFT) / (width - LEFT - RIGHT).max(1.0);
        self.x.value(if part.is_nan() { 0.0 } else { part })
    }

    /// What the series say at a value, as they are drawn: dots by themselves, everything else on the
    /// straight line between its points. Series that say nothing there are left out.
    #[must_use]
    pub fn reading(&self, x: f64) -> Vec<Reading> {
        let read = |(series, of): (usize, &Series)| {
            let (lower, upper) = self.read(of, x)?;
            Some(Reading { series, lower, upper })
        };
        self.series.iter().enumerate().filter_map(read).collect()
    }

    fn read(&self, series: &Series, x: f64) -> Option<(f64, f64)> {
        let is_joined = !matches!(series.shape, Shape::Dots | Shape::Rings);
        for run in series.runs() {
            if let Some((_, lower, upper)) = run.iter().find(|point| point.0 == x) {
                return Some((*lower, *upper));
            }
            for pair in run.windows(2).filter(|_| is_joined) {
                let [(before, lower, upper), (after, next_lower, next_upper)] = *pair else { continue };
                if before < x && x < after {
                    let place = |value| self.x.place(value);
                    let part = (place(x) - place(before)) / (place(after) - place(before));
                    let between = |from, to| self.y.between(from, to, part);
                    return Some((between(lower, next_lower), between(upper, next_upper)));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Ink, Plot, Series};
    use super::*;

    fn plot(x: Axis, y: Axis, series: Vec<Series>) -> Plot {
        Plot { x, y, series, marks: Vec::new() }
    }

    #[test]
    fn the_pointer_s_value_counts_from_the_plotted_area() {
        for x in [Axis::linear(-3.0, 7.0, ""), Axis::powers_of_two(1.0, 1_024.0, ""), Axis::log(1e-4, 1e4, "")] {
            let (from, to) = (x.from, x.to);
            let plot = plot(x, Axis::linear(0.0, 1.0, ""), Vec::new());
            let near = |found: f64, expected: f64| assert!((found - expected).abs() <= expected.abs() * 1e-12);
            near(plot.value_at(LEFT, 400.0), from);
            near(plot.value_at(400.0 - RIGHT, 400.0), to);
            near(plot.value_at(0.0, 400.0), from);
            near(plot.value_at(f64::NAN, f64::NAN), from);
            near(plot.value_at(1e300, 0.0), to);
        }
    }

    #[test]
    fn a_value_is_read_on_the_line_that_is_drawn() {
        let line = |points: &[(f64, f64)]| Series::line(Ink::Own, points.to_vec());
        let rising = plot(
            Axis::linear(0.0, 10.0, ""),
            Axis::linear(0.0, 10.0, ""),
            vec![
                line(&[(0.0, 0.0), (10.0, 10.0)]),
                Series::band(Ink::Own, vec![(0.0, 0.0, 2.0), (10.0, 10.0, 22.0)]),
                Series::dots(Ink::Own, vec![(0.0, 3.0), (10.0, 3.0)]),
                line(&[(0.0, 1.0), (4.0, f64::NAN), (10.0, 1.0)]),
            ],
        );
        let (first, second) =
            (Reading { series: 0, lower: 2.5, upper: 2.5 }, Reading { series: 1, lower: 2.5, upper: 7.0 });
        assert_eq!(rising.reading(2.5), [first, second]);
        assert_eq!(rising.reading(10.0).len(), 4);
        assert!(rising.reading(11.0).is_empty() && rising.reading(f64::NAN).is_empty());
        // A power is a straight line between two logarithmic axes.
        let power = plot(Axis::log(1.0, 1e4, ""), Axis::log(1.0, 1e8, ""), vec![line(&[(1.0, 1.0), (1e4, 1e8)])]);
        assert!((power.reading(50.0)[0].upper - 2_500.0).abs() < 1e-6);
    }
}
