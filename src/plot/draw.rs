//! Drawing a [`Plot`] on anything plotters can draw on: its coordinates place the values, its meshes the
//! ticks, its elements the series.

use plotters::backend::DrawingBackend;
use plotters::coord::Shift;
use plotters::coord::cartesian::{Cartesian2d, MeshLine};
use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontFamily, RGBAColor, ShapeStyle, TextStyle};
use std::ops::Range;

use super::ink::{Part, Shape};
use super::spec::{Axis, Mark, Plot, Series, Spread};
use crate::chart::dashed;

/// What a backend answers.
type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// Room around the plotted area, in CSS pixels: for the labels of the axes and half of a dot.
pub(super) const LEFT: f64 = 48.0;
pub(super) const RIGHT: f64 = 14.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;
/// The size of letters, in CSS pixels.
const LETTERS: f64 = 12.0;
/// The width of a letter against its size, on average and rather too much: what stands beside a mark is
/// kept from its neighbours without asking anybody for the face.
pub(super) const LETTER: f64 = 0.54;
/// From the words of one mark to those of the next below.
const LINE: f64 = 15.0;
/// The radius of a dot.
const DOT: f64 = 4.0;

/// How the parts of a drawing look on a backend.
pub trait Pens {
    /// Whether the backend breaks lines into dashes by itself. For others they are drawn dash by dash.
    const DASHES: bool;
    /// The colour of a part.
    fn colour(&self, part: Part) -> RGBAColor;
}

/// A part of a drawing that lies over another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Axes and the series that stay while a reader moves along the plot.
    Still,
    /// The series of a point each that may move, and the marks with their words.
    Moving,
}

impl Layer {
    /// All layers, the lowest first.
    pub const ALL: [Self; 2] = [Self::Still, Self::Moving];
}

/// Draws the plot over the whole of a backend of which `units` are a CSS pixel. Nothing is drawn where
/// there is no room.
///
/// # Errors
/// Those of the backend; the drawing is then unfinished.
pub fn draw<B: DrawingBackend, P: Pens>(plot: &Plot, backend: B, units: f64, pens: &P) -> Drawn<B> {
    draw_layers(plot, &Layer::ALL, backend, units, pens)
}

/// Draws some layers of the plot as [`draw`] draws all.
///
/// # Errors
/// Returns the first error of the backend and leaves the drawing unfinished.
pub(super) fn draw_layers<B: DrawingBackend, P: Pens>(
    plot: &Plot,
    layers: &[Layer],
    backend: B,
    units: f64,
    pens: &P,
) -> Drawn<B> {
    let (width, height) = backend.get_size();
    let (width, height) = (f64::from(width) / units, f64::from(height) / units);
    let is_room = width > LEFT + RIGHT + 1.0 && height > TOP + BOTTOM + 1.0;
    // Plotters counts in whole numbers of 32 bits, and takes their differences.
    if !is_room || width.max(height) * units > 1e9 {
        return Ok(());
    }
    let sheet = Sheet { width, height, units, pens };
    let whole = backend.into_drawing_area();
    let area = whole.apply_coord_spec(sheet.coordinates(plot));
    let (still, moving) = plot.still_and_moving();
    for layer in layers {
        match layer {
            Layer::Still => {
                sheet.mesh(plot, &area)?;
                for series in still {
                    sheet.series(series, &area)?;
                }
                let ends = [(plot.x.from, plot.y.from), (plot.x.to, plot.y.from)];
                area.draw(&PathElement::new(ends, sheet.style(Part::Axis)))?;
                let (right, low) = (width - RIGHT, height - 3.0);
                sheet.words(&whole, Part::Label, &plot.y.label, (4.0, 2.0), (HPos::Left, VPos::Top))?;
                sheet.words(&whole, Part::Label, &plot.x.label, (right, low), (HPos::Right, VPos::Bottom))?;
            }
            Layer::Moving => {
                for series in moving {
                    sheet.series(series, &area)?;
                }
                sheet.marks(plot, &area, &whole)?;
            }
        }
    }
    whole.present()
}

/// An axis as plotters' coordinates, which place its values.
struct Scale<'a> {
    axis: &'a Axis,
    by: Coordinate,
    /// About how many ticks there is room for.
    most: f64,
}

enum Coordinate {
    Linear(RangedCoordf64),
    Log(LogCoord<f64>),
}

impl<'a> Scale<'a> {
    fn of(axis: &'a Axis, most: f64) -> Self {
        let range = axis.from..axis.to;
        let by = match axis.spread {
            Spread::Linear => Coordinate::Linear(range.into()),
            Spread::Log(base) => Coordinate::Log(range.log_scale().base(base).into()),
        };
        Self { axis, by, most }
    }
}

impl Ranged for Scale<'_> {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    /// What lies outside stands at the end.
    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let value = value.clamp(self.axis.from, self.axis.to);
        match &self.by {
            Coordinate::Linear(by) => by.map(&value, limit),
            Coordinate::Log(by) => by.map(&value, limit),
        }
    }

    /// The axis' own ticks. Plotters' take the standard library's powers and logarithms, which may differ
    /// between a browser and another machine, and have others between the powers of two. Its hint is a whole
    /// number, so that half a tick's room would be lost.
    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.axis.ticks(self.most)
    }

    fn range(&self) -> Range<f64> {
        self.axis.from..self.axis.to
    }
}

/// The area between the axes.
type Area<'a, B> = DrawingArea<B, Cartesian2d<Scale<'a>, Scale<'a>>>;

/// The size of a drawing in CSS pixels, and what it is drawn with.
struct Sheet<'a, P> {
    width: f64,
    height: f64,
    units: f64,
    pens: &'a P,
}

impl<P: Pens> Sheet<'_, P> {
    fn units(&self, length: f64) -> i32 {
        (length * self.units).round() as i32
    }

    fn pixels(&self, units: i32) -> f64 {
        f64::from(units) / self.units
    }

    /// About how many ticks each axis has room for.
    fn most(&self) -> (f64, f64) {
        ((self.width / 72.0).clamp(3.0, 12.0), (self.height / 48.0).clamp(2.0, 100.0))
    }

    fn coordinates<'a>(&self, plot: &'a Plot) -> Cartesian2d<Scale<'a>, Scale<'a>> {
        let x = self.units(LEFT)..self.units(self.width - RIGHT);
        let y = self.units(self.height - BOTTOM)..self.units(TOP);
        let (across, up) = self.most();
        Cartesian2d::new(Scale::of(&plot.x, across), Scale::of(&plot.y, up), (x, y))
    }

    fn style(&self, part: Part) -> ShapeStyle {
        let stroke_width = self.units(part.width()).max(1).unsigned_abs();
        ShapeStyle { color: self.pens.colour(part), filled: true, stroke_width }
    }

    fn letters(&self, part: Part, (across, down): (HPos, VPos)) -> TextStyle<'static> {
        let style = TextStyle::from((FontFamily::SansSerif, LETTERS * self.units)).pos(Pos::new(across, down));
        TextStyle { color: self.pens.colour(part).to_backend_color(), ..style }
    }

    fn words<B: DrawingBackend>(
        &self,
        whole: &DrawingArea<B, Shift>,
        part: Part,
        words: &str,
        at: (f64, f64),
        anchor: (HPos, VPos),
    ) -> Drawn<B> {
        if words.is_empty() {
            return Ok(());
        }
        whole.draw_text(words, &self.letters(part, anchor), (self.units(at.0), self.units(at.1)))
    }

    /// A line over the width at every tick of y, a short one below every tick of x, and what is written
    /// there.
    fn mesh<B: DrawingBackend>(&self, plot: &Plot, area: &Area<'_, B>) -> Drawn<B> {
        let (across, up) = self.most();
        let style = self.style(Part::Grid);
        let below = self.letters(Part::Tick, (HPos::Center, VPos::Top));
        let beside = self.letters(Part::Tick, (HPos::Right, VPos::Center));
        let (tick, gap) = (self.units(4.0), self.units(6.0));
        area.draw_mesh(
            |backend, line| {
                let (words, letters, place) = match line {
                    MeshLine::XMesh(low, _, value) => {
                        backend.draw_line(low, (low.0, low.1 + tick), &style)?;
                        (plot.x.words(*value, across), &below, (low.0, low.1 + gap))
                    }
                    MeshLine::YMesh(left, right, value) => {
                        backend.draw_line(left, right, &style)?;
                        (plot.y.words(*value, up), &beside, (left.0 - gap, left.1))
                    }
                };
                if words.is_empty() { Ok(()) } else { backend.draw_text(&words, letters, place) }
            },
            up as usize,
            across as usize,
        )
    }

    fn series<B: DrawingBackend>(&self, series: &Series, area: &Area<'_, B>) -> Drawn<B> {
        let style = self.style(series.part());
        for run in series.runs() {
            match series.shape {
                Shape::Dots | Shape::Rings => {
                    for &(x, y, _) in run {
                        area.draw(&Circle::new((x, y), self.units(DOT), style))?;
                    }
                }
                Shape::Band => {
                    let upper = run.iter().map(|&(x, _, upper)| (x, upper));
                    let back = run.iter().rev().map(|&(x, lower, _)| (x, lower));
                    area.draw(&Polygon::new(upper.chain(back).collect::<Vec<_>>(), style))?;
                }
                Shape::Line | Shape::Dashed => {
                    let mut line: Vec<_> = run.iter().map(|&(x, y, _)| (x, y)).collect();
                    if let [alone] = *line {
                        // With both of its ends there a line is a point, and seen.
                        line.push(alone);
                    }
                    self.line(series.part(), &line, area)?;
                }
            }
        }
        Ok(())
    }

    /// A line through values.
    fn line<B: DrawingBackend>(&self, part: Part, values: &[(f64, f64)], area: &Area<'_, B>) -> Drawn<B> {
        let style = self.style(part);
        if P::DASHES || part.pattern().is_empty() {
            return area.draw(&PathElement::new(values, style));
        }
        let place = |value| {
            let (x, y) = area.map_coordinate(value);
            (self.pixels(x), self.pixels(y))
        };
        let path: Vec<_> = values.iter().map(place).collect();
        let whole = area.strip_coord_spec();
        for dash in dashed(&path, part.pattern()) {
            let dash: Vec<_> = dash.into_iter().map(|(x, y)| (self.units(x), self.units(y))).collect();
            whole.draw(&PathElement::new(dash, style))?;
        }
        Ok(())
    }

    fn marks<B: DrawingBackend>(&self, plot: &Plot, area: &Area<'_, B>, whole: &DrawingArea<B, Shift>) -> Drawn<B> {
        let seen = || plot.marks.iter().filter(|mark| !mark.x.is_nan());
        for mark in seen() {
            self.line(Part::Mark(mark.rule), &[(mark.x, plot.y.from), (mark.x, plot.y.to)], area)?;
        }
        // No line runs through words.
        let mut taken = Vec::new();
        for mark in seen().filter(|mark| !mark.label.is_empty()) {
            let (x, _) = area.map_coordinate(&(mark.x, plot.y.from));
            let (at, across) = self.beside(mark, self.pixels(x), &mut taken);
            self.words(whole, Part::MarkLabel, &mark.label, at, (across, VPos::Top))?;
        }
        Ok(())
    }

    /// Where the words of a mark stand: right of its line, or left of it on the right half, and below
    /// those that are in the way.
    fn beside(&self, mark: &Mark, x: f64, taken: &mut Vec<(f64, f64, f64)>) -> ((f64, f64), HPos) {
        let width = mark.label.chars().count() as f64 * LETTERS * LETTER;
        let left = if x > self.width / 2.0 { x - 5.0 - width } else { x + 5.0 };
        // Whole words matter more than the side.
        let left = left.min(self.width - 2.0 - width).max(2.0);
        let is_free =
            |top: f64| taken.iter().all(|&(from, to, other)| other != top || to < left || left + width < from);
        let tops = (0_u8..3).map(|line| TOP - 1.0 + f64::from(line) * LINE);
        let top = tops.clone().find(|top| is_free(*top)).unwrap_or(TOP - 1.0);
        taken.push((left, left + width, top));
        if x > self.width / 2.0 {
            (((left + width).min(self.width), top), HPos::Right)
        } else {
            ((left, top), HPos::Left)
        }
    }
}
