//! Drawing a [`Spec`] on anything plotters can draw on: a canvas in the page, SVG in a test.

use plotters::backend::DrawingBackend;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::style::{RGBAColor, ShapeStyle};

use super::dashes::{Point, dashed};
use super::palette::Colour;
use super::spec::{Curve, Frame, Mark, PATTERNS, Spec};

/// What a backend answers.
type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// What divides a line into what is drawn of it, by a pattern.
type Divide = fn(&[Point], &[f64]) -> Vec<Vec<Point>>;

/// Half the size of a cross.
const CROSS: f64 = 3.0;
/// Crosses are at least this far apart.
const CROSS_SPACING: f64 = 11.0;
/// Half the height of the bar that ends a curve.
const END: f64 = 5.0;

/// Draws the chart, back to front.
///
/// # Errors
/// Those of the backend; the drawing is then unfinished.
pub fn draw<B: DrawingBackend>(spec: &Spec, backend: &mut B) -> Drawn<B> {
    draw_lines(spec, backend, dashed)
}

/// The same with whole lines, for a medium that has dashes of its own: those of [`PATTERNS`].
///
/// # Errors
/// Those of the backend; the drawing is then unfinished.
pub fn draw_whole<B: DrawingBackend>(spec: &Spec, backend: &mut B) -> Drawn<B> {
    draw_lines(spec, backend, |line, _| vec![line.to_vec()])
}

fn draw_lines<B: DrawingBackend>(spec: &Spec, backend: &mut B, divide: Divide) -> Drawn<B> {
    let mut pen = Pen { backend, frame: spec.frame };
    ground(spec, &mut pen)?;
    if let Some(own) = &spec.own {
        upright(spec, own.at, spec.palette.ink_soft, &mut pen)?;
    }
    for (position, curve) in spec.curves.iter().enumerate() {
        curve_and_crosses(spec, position, curve, divide, &mut pen)?;
    }
    if let Some(own) = &spec.own {
        dots(spec, own, true, &mut pen)?;
    }
    if let Some(cursor) = &spec.cursor {
        upright(spec, cursor.at, spec.palette.ink, &mut pen)?;
        dots(spec, cursor, false, &mut pen)?;
    }
    pen.backend.present().map_err(DrawingAreaErrorKind::BackendError)
}

/// The ground, the band where nothing fits, the grid and the axis b = 1.
fn ground<B: DrawingBackend>(spec: &Spec, pen: &mut Pen<'_, B>) -> Drawn<B> {
    let Spec { frame, palette, axes, .. } = spec;
    pen.fill((0.0, 0.0), (frame.width, frame.height), palette.ground, 1.0)?;
    let (top, _) = frame.crisp(frame.band_top(), 1.0);
    pen.fill((0.0, top), (frame.width, frame.height), palette.bad, 0.1)?;
    for tick in &axes.ticks {
        let (left, right) = frame.crisp(frame.x(axes.across.position(tick.value)), 1.0);
        pen.fill((left, 0.0), (right, frame.height), palette.line, 0.8)?;
    }
    for tick in &axes.batches {
        let (upper, lower) = frame.crisp(frame.y(axes.up.position(tick.value)), 1.0);
        pen.fill((0.0, upper), (frame.width, lower), palette.line, if tick.label.is_empty() { 0.4 } else { 0.8 })?;
    }
    Ok(())
}

fn curve_and_crosses<B: DrawingBackend>(
    spec: &Spec,
    position: usize,
    curve: &Curve,
    divide: Divide,
    pen: &mut Pen<'_, B>,
) -> Drawn<B> {
    let Some((&colour, &pattern)) = spec.palette.series.get(position).zip(PATTERNS.get(position)) else {
        return Ok(());
    };
    // The reader's own curve is the solid one, and the widest.
    let width = if pattern.is_empty() { 3.0 } else { 2.0 };
    for dash in divide(&spec.line(curve), pattern) {
        pen.stroke(dash, colour, width)?;
    }
    if let Some(end) = spec.end(curve) {
        let (x, y) = spec.place(end.at, end.batch);
        pen.stroke([(x, y - END), (x, y + END)], colour, width)?;
    }
    for (x, y) in spec.crosses(position, curve, CROSS_SPACING) {
        pen.stroke([(x - CROSS, y - CROSS), (x + CROSS, y + CROSS)], colour, 1.25)?;
        pen.stroke([(x - CROSS, y + CROSS), (x + CROSS, y - CROSS)], colour, 1.25)?;
    }
    Ok(())
}

/// A line from top to bottom at a place.
fn upright<B: DrawingBackend>(spec: &Spec, place: u32, colour: Colour, pen: &mut Pen<'_, B>) -> Drawn<B> {
    if !spec.is_on_axis(place) {
        return Ok(());
    }
    let (left, right) = spec.frame.crisp(spec.frame.x(spec.axes.across.position(place)), 1.0);
    pen.fill((left, 0.0), (right, spec.frame.height), colour, 1.0)
}

/// A dot on each curve of a mark, or around its row of crosses where nothing fits.
fn dots<B: DrawingBackend>(spec: &Spec, mark: &Mark, solid: bool, pen: &mut Pen<'_, B>) -> Drawn<B> {
    if !spec.is_on_axis(mark.at) {
        return Ok(());
    }
    let x = spec.frame.x(spec.axes.across.position(mark.at));
    for &(position, batch) in &mark.batches {
        let Some(&colour) = spec.palette.series.get(position) else { continue };
        let centre = batch.map_or((x, spec.frame.row(position)), |batch| spec.place(mark.at, batch));
        let (outer, inner) = if solid { (6.0, 4.5) } else { (4.5, 2.5) };
        if solid || batch.is_some() {
            pen.dot(centre, outer, spec.palette.ground)?;
            pen.dot(centre, inner, colour)?;
        }
    }
    Ok(())
}

/// A backend that is spoken to in CSS pixels.
struct Pen<'a, B: DrawingBackend> {
    backend: &'a mut B,
    frame: Frame,
}

impl<B: DrawingBackend> Pen<'_, B> {
    fn units(&self, length: f64) -> i32 {
        (length * self.frame.density * self.frame.units).round() as i32
    }

    fn place(&self, (x, y): Point) -> (i32, i32) {
        (self.units(x), self.units(y))
    }

    fn fill(&mut self, from: Point, to: Point, colour: Colour, opacity: f64) -> Drawn<B> {
        let (from, to) = (self.place(from), self.place(to));
        self.backend.draw_rect(from, to, &style(colour, opacity, 1), true).map_err(DrawingAreaErrorKind::BackendError)
    }

    fn stroke(&mut self, path: impl IntoIterator<Item = Point>, colour: Colour, width: f64) -> Drawn<B> {
        let width = self.units(width).max(1).unsigned_abs();
        let path: Vec<_> = path.into_iter().map(|point| self.place(point)).collect();
        // Of a model that fits nowhere there is no curve.
        if path.is_empty() {
            return Ok(());
        }
        self.backend.draw_path(path, &style(colour, 1.0, width)).map_err(DrawingAreaErrorKind::BackendError)
    }

    fn dot(&mut self, centre: Point, radius: f64, colour: Colour) -> Drawn<B> {
        let (centre, radius) = (self.place(centre), self.units(radius).max(1).unsigned_abs());
        self.backend
            .draw_circle(centre, radius, &style(colour, 1.0, 1), true)
            .map_err(DrawingAreaErrorKind::BackendError)
    }
}

fn style(Colour(red, green, blue): Colour, opacity: f64, stroke_width: u32) -> ShapeStyle {
    ShapeStyle { color: RGBAColor(red, green, blue, opacity), filled: true, stroke_width }
}

#[cfg(test)]
mod tests {
    use super::super::spec::tests::example;
    use super::*;
    use plotters::backend::SVGBackend;

    fn drawn(spec: &Spec) -> String {
        let mut svg = String::new();
        let size = (spec.frame.width * spec.frame.density, spec.frame.height * spec.frame.density);
        let mut backend = SVGBackend::with_string(&mut svg, (size.0 as u32, size.1 as u32));
        draw(spec, &mut backend).expect("a string takes everything");
        drop(backend);
        svg
    }

    /// The drawing as it was when somebody last looked at it and found it right. After a wanted
    /// change, run this test with BMAX_BLESS=1 and look at the new file.
    #[test]
    fn the_default_chart_is_drawn_as_it_was_approved() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/chart.svg");
        let svg = drawn(&example());
        if std::env::var_os("BMAX_BLESS").is_some() {
            std::fs::write(path, &svg).expect("the folder of golden files can be written");
        }
        let approved = std::fs::read_to_string(path).expect("the golden file is part of the project");
        assert!(svg == approved, "the drawing differs from {path}");
    }

    #[test]
    fn curves_differ_in_more_than_colour() {
        for (i, pattern) in PATTERNS.iter().enumerate() {
            assert!(PATTERNS[i + 1..].iter().all(|other| other != pattern));
        }
    }

    #[test]
    fn a_denser_screen_gets_more_pixels_and_the_same_picture() {
        let mut spec = example();
        let count = |svg: &str| svg.matches("<polyline").count();
        let at_one = drawn(&spec);
        spec.frame.density = 2.0;
        let at_two = drawn(&spec);
        assert_eq!(count(&at_one), count(&at_two));
        assert!(at_two.contains("stroke-width=\"6\"") && at_one.contains("stroke-width=\"3\""));
    }

    #[test]
    fn a_mark_beyond_the_axis_is_left_out() {
        let mut spec = example();
        spec.own = None;
        let without = drawn(&spec);
        spec.own = Some(Mark { at: 1_000_000, batches: vec![(4, None)] });
        assert_eq!(drawn(&spec), without);
    }
}
