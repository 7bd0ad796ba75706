//! What a chart of b_max shows, before anything is drawn.

use super::axis::ticks;
use super::dashes::Point;
use super::palette::Palette;
use super::scale::{LogScale, Tick, one_two_five, round_end};
use crate::ChartAxis;

/// Free space around the curves, so that a stroke on the edge of an axis is not cut.
pub const PAD: f64 = 8.0;
/// Height of the band below b = 1, where curves go on as rows of crosses.
pub const BAND: f64 = 56.0;

/// Lengths of line and gap for the four curves to compare with; the reader's own is solid.
pub const PATTERNS: [&[f64]; 5] = [&[14.0, 4.0], &[7.0, 4.0], &[14.0, 4.0, 3.0, 4.0], &[3.0, 4.0], &[]];

/// Both axes with their ticks. Labels of the page and lines of the drawing are placed by the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    /// Tokens, millions of parameters or MiB, left to right.
    pub across: LogScale,
    /// Its ticks.
    pub ticks: Vec<Tick>,
    /// Micro-batch in sequences, bottom to top, from 1.
    pub up: LogScale,
    /// Ticks of the micro-batch.
    pub batches: Vec<Tick>,
}

/// One curve: b_max at every place of the spec.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The largest micro-batch at each place; `None` where nothing fits.
    pub batches: Vec<Option<u32>>,
    /// The last place at which something fits, on whichever side it is.
    pub end: Option<End>,
}

/// Where a curve begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The place.
    pub at: u32,
    /// The largest micro-batch there.
    pub batch: u32,
}

/// A place with the micro-batches there; the marks stand where something fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The place on the axis.
    pub at: u32,
    /// Positions of curves and what they are there.
    pub batches: Vec<(usize, Option<u32>)>,
}

/// Everything that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The size of the drawing.
    pub frame: Frame,
    /// Its colours.
    pub palette: Palette,
    /// Its axes.
    pub axes: Axes,
    /// The places at which curves are known, increasing.
    pub places: Vec<u32>,
    /// Up to five curves, the reader's own last.
    pub curves: Vec<Curve>,
    /// The reader's own place.
    pub own: Option<Mark>,
    /// Where the read-out is.
    pub cursor: Option<Mark>,
}

/// The size of a drawing, in CSS pixels, and how fine it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels.
    pub height: f64,
    /// Pixels of the device in a CSS pixel.
    pub density: f64,
    /// Units of the drawing in a pixel of the device. Plotters takes whole numbers for coordinates;
    /// with more than one unit in a pixel a curve is smoother than whole pixels would let it be.
    pub units: f64,
}

impl Axes {
    /// Axes on which every curve is seen, from the first to the last of `places`.
    pub fn of<'a>(axis: ChartAxis, places: &[u32], curves: impl IntoIterator<Item = &'a Curve>) -> Self {
        let (first, last) = (places.first().copied().unwrap_or(1), places.last().copied().unwrap_or(2));
        let most = curves.into_iter().flat_map(|curve| curve.batches.iter().flatten()).copied().max().unwrap_or(1);
        let end = round_end(most);
        Self {
            across: LogScale::new(first, last),
            ticks: ticks(axis, first, last),
            up: LogScale::new(1, end),
            batches: one_two_five(end),
        }
    }
}

impl Frame {
    /// The x of a position on the horizontal axis.
    pub fn x(&self, position: f64) -> f64 {
        PAD + position * (self.width - 2.0 * PAD)
    }

    /// The y of a position on the axis of micro-batches.
    pub fn y(&self, position: f64) -> f64 {
        let bottom = self.band_top() - PAD;
        bottom - position * (bottom - PAD)
    }

    /// Where the band begins.
    pub fn band_top(&self) -> f64 {
        self.height - BAND
    }

    /// The y of the crosses of the curve at this position.
    pub fn row(&self, curve: usize) -> f64 {
        self.band_top() + BAND * (curve as f64 + 0.75) / 5.5
    }

    /// The two edges of a line of `width` CSS pixels around `centre` that fill whole pixels of the
    /// device, so that it is not blurred over two.
    pub fn crisp(&self, centre: f64, width: f64) -> (f64, f64) {
        let pixels = (width * self.density).round().max(1.0);
        let edge = (centre * self.density - pixels / 2.0).round();
        (edge / self.density, (edge + pixels) / self.density)
    }
}

impl Spec {
    /// The line of a curve: its points as far as something fits, and its exact end.
    pub fn line(&self, curve: &Curve) -> Vec<Point> {
        let fits = |(place, batch): (&u32, &Option<u32>)| batch.map(|batch| (*place, batch));
        let mut known: Vec<_> = self.places.iter().zip(&curve.batches).filter_map(fits).collect();
        // Against memory a curve begins with its end.
        if let Some(end) = self.end(curve) {
            known.insert(known.partition_point(|(place, _)| *place <= end.at), (end.at, end.batch));
        }
        known.into_iter().map(|(place, batch)| self.place(place, batch)).collect()
    }

    /// The end of the curve, when that is on the axis.
    pub fn end(&self, curve: &Curve) -> Option<End> {
        curve.end.filter(|end| self.is_on_axis(end.at))
    }

    /// Where a curve has crosses: at places where nothing fits, no closer than `spacing` CSS pixels.
    pub fn crosses(&self, position: usize, curve: &Curve, spacing: f64) -> Vec<Point> {
        let step = (self.frame.width - 2.0 * PAD) / self.places.len().max(2) as f64;
        let every = (spacing / step.max(0.1)).ceil().max(1.0) as usize;
        let known = self.places.iter().zip(&curve.batches).step_by(every);
        let mut crosses: Vec<Point> = Vec::new();
        for (place, _) in known.filter(|(_, batch)| batch.is_none()) {
            let x = self.frame.x(self.axes.across.position(*place));
            // Not every axis has its places spread evenly.
            if crosses.last().is_none_or(|last| x - last.0 >= 0.7 * spacing) {
                crosses.push((x, self.frame.row(position)));
            }
        }
        crosses
    }

    /// Whether a place lies between the first and the last of the axis.
    pub fn is_on_axis(&self, place: u32) -> bool {
        self.places.first().is_some_and(|first| *first <= place)
            && self.places.last().is_some_and(|last| place <= *last)
    }

    /// Where a place of the axis and a micro-batch meet.
    pub fn place(&self, place: u32, batch: u32) -> Point {
        (self.frame.x(self.axes.across.position(place)), self.frame.y(self.axes.up.position(batch)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::curves::{Curves, swept};
    use super::super::palette::Colour;
    use super::*;
    use crate::Scenario;

    /// The chart of the workshop's example with its references on 64 GPUs, in plain colours.
    pub fn example() -> Spec {
        let scenario = Scenario::workshop();
        let Curves { axis, places, all: curves, .. } = Curves::along(swept(&scenario), None);
        let grey = |level| Colour(level, level, level);
        Spec {
            frame: Frame { width: 640.0, height: 360.0, density: 1.0, units: 1.0 },
            palette: Palette {
                ground: grey(255),
                ink: grey(30),
                ink_soft: grey(90),
                line: grey(215),
                bad: Colour(168, 38, 28),
                series: [
                    Colour(173, 127, 47),
                    Colour(131, 90, 23),
                    Colour(92, 59, 13),
                    Colour(46, 26, 5),
                    Colour(27, 94, 140),
                ],
            },
            axes: Axes::of(axis, &places, &curves),
            own: Some(Mark { at: 2_048, batches: vec![(4, Some(3))] }),
            cursor: None,
            places,
            curves,
        }
    }

    #[test]
    fn every_point_of_every_curve_lies_inside_the_frame_and_above_the_band() {
        let spec = example();
        for curve in &spec.curves {
            for (x, y) in spec.line(curve) {
                assert!((PAD..=spec.frame.width - PAD).contains(&x), "{x}");
                assert!((PAD..=spec.frame.band_top() - PAD).contains(&y), "{y}");
            }
        }
    }

    #[test]
    fn a_curve_ends_where_one_sequence_just_fits() {
        let spec = example();
        let own = spec.curves.last().expect("five curves");
        let end = own.end.expect("short sequences fit");
        assert_eq!(spec.line(own).last(), Some(&spec.place(end.at, 1)));
        assert!(spec.is_on_axis(end.at));
    }

    #[test]
    fn crosses_begin_where_the_line_ends_and_each_curve_has_its_row() {
        let spec = example();
        let mut rows = Vec::new();
        for (position, curve) in spec.curves.iter().enumerate() {
            let end = spec.line(curve).last().map_or(0.0, |point| point.0);
            let crosses = spec.crosses(position, curve, 12.0);
            assert!(crosses.iter().all(|cross| cross.0 > end && cross.1 > spec.frame.band_top()));
            assert!(crosses.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 9.0));
            rows.push(spec.frame.row(position));
        }
        assert!(rows.is_sorted_by(|a, b| a < b) && rows.last().is_some_and(|last| *last < spec.frame.height));
    }

    #[test]
    fn a_curve_that_never_fits_has_crosses_and_no_line() {
        let mut spec = example();
        spec.curves = vec![Curve { batches: vec![None; spec.places.len()], end: None }];
        assert!(spec.line(&spec.curves[0]).is_empty());
        assert!(!spec.crosses(0, &spec.curves[0], 12.0).is_empty());
        assert_eq!(
            Axes::of(ChartAxis::Sequence, &spec.places, &spec.curves).batches.last().map(|tick| tick.value),
            Some(10)
        );
    }

    #[test]
    fn a_crisp_line_fills_whole_pixels_of_the_device() {
        for density in [1.0, 1.25, 1.5, 2.0, 3.0] {
            let frame = Frame { density, ..example().frame };
            let (near, far) = frame.crisp(100.3, 1.0);
            for edge in [near, far] {
                assert!(((edge * density) - (edge * density).round()).abs() < 1e-9);
            }
            assert!((far - near) * density >= 1.0 - 1e-9);
        }
    }
}
