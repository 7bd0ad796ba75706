//! Curves, bands and marks between two axes, drawn as elements of an `<svg>` in CSS pixels.
//!
//! A [`Plot`] is a description; where things stand is worked out by pure functions, and [`draw`] makes
//! the elements. Colours, strokes and faces are the style sheet's: every part has a class.

use bmax::number;
use web_sys::Element;

use super::dom::{El, svg};

/// Room around the plotted area, in CSS pixels: for the labels of the axes and half of a mark.
const LEFT: f64 = 48.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;

/// What is drawn.
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

/// An axis: which values it spans, how they are spread, what is written beside it.
pub struct Axis {
    from: f64,
    to: f64,
    spread: Spread,
    label: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Spread {
    Linear,
    /// Equal ratios take equal room, with a tick at every power of this base.
    Log(f64),
}

impl Axis {
    /// Equal differences take equal room. Values are finite; an axis without extent is given some.
    pub fn linear(from: f64, to: f64, label: &'static str) -> Self {
        Self { from, to: if to > from { to } else { from + 1.0 }, spread: Spread::Linear, label }
    }

    /// Equal ratios take equal room, ticks at the powers of ten. Values are positive.
    pub fn log(from: f64, to: f64, label: &'static str) -> Self {
        Self::logarithmic(from, to, 10.0, label)
    }

    /// Equal ratios take equal room, ticks at the powers of two. Values are positive.
    pub fn powers_of_two(from: f64, to: f64, label: &'static str) -> Self {
        Self::logarithmic(from, to, 2.0, label)
    }

    fn logarithmic(from: f64, to: f64, base: f64, label: &'static str) -> Self {
        let from = if from > 0.0 { from } else { f64::MIN_POSITIVE };
        Self { from, to: if to > from { to } else { from * base }, spread: Spread::Log(base), label }
    }

    /// Where a value stands, from 0 to 1; what lies outside stands at the end, NaN nowhere.
    fn position(&self, value: f64) -> f64 {
        let position = match self.spread {
            Spread::Linear => (value - self.from) / (self.to - self.from),
            Spread::Log(_) => (value.max(f64::MIN_POSITIVE) / self.from).ln() / (self.to / self.from).ln(),
        };
        position.clamp(0.0, 1.0)
    }

    /// The marked values, with at most about `most` of them written out.
    fn ticks(&self, most: f64) -> Vec<(f64, String)> {
        match self.spread {
            Spread::Linear => {
                let step = round_step((self.to - self.from) / most);
                let places = (-number::decade(step)).clamp(0, 9) as u32;
                let first = (self.from / step).ceil();
                let count = ((self.to / step) - first + 1e-9).floor().clamp(0.0, 100.0) as u32;
                let value = |index| (first + f64::from(index)) * step;
                (0..=count).map(|index| (value(index), short(value(index), places))).collect()
            }
            Spread::Log(base) => {
                let power = |value: f64| value.ln() / base.ln();
                let (first, last) = ((power(self.from) - 1e-9).ceil(), (power(self.to) + 1e-9).floor());
                let every = ((last - first + 1.0) / most).ceil().max(1.0);
                let count = ((last - first) / every).clamp(0.0, 100.0) as u32;
                let value = |index| number::power(base, (first + f64::from(index) * every) as i32);
                (0..=count).map(|index| (value(index), short_power(value(index), base))).collect()
            }
        }
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let decade = number::power(10.0, number::decade(step.max(1e-12)));
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

/// One curve, or the band between two.
pub struct Series {
    class: &'static str,
    /// Where it is, from where and to where: a line has the same twice.
    points: Vec<(f64, f64, f64)>,
    band: bool,
    dots: bool,
}

impl Series {
    /// A curve through points, interrupted where one is NaN.
    pub fn line(class: &'static str, points: Vec<(f64, f64)>) -> Self {
        Self { class, points: points.into_iter().map(|(x, y)| (x, y, y)).collect(), band: false, dots: false }
    }

    /// The same points, each by itself.
    pub fn dots(class: &'static str, points: Vec<(f64, f64)>) -> Self {
        Self { dots: true, ..Self::line(class, points) }
    }

    /// What lies between a lower and an upper curve: (x, lower, upper).
    pub fn band(class: &'static str, points: Vec<(f64, f64, f64)>) -> Self {
        Self { class, points, band: true, dots: false }
    }
}

/// A vertical line at a value, with a few words at its upper end.
pub struct Mark {
    x: f64,
    class: &'static str,
    label: String,
}

impl Mark {
    /// A line without words.
    pub fn at(x: f64, class: &'static str) -> Self {
        Self::named(x, class, String::new())
    }

    /// A line with words.
    pub fn named(x: f64, class: &'static str, label: String) -> Self {
        Self { x, class, label }
    }
}

/// Which part of the plotted width lies left of a place, in pixels from the left of a drawing of this
/// width: from 0 to 1.
pub fn part(place: f64, width: f64) -> f64 {
    ((place - LEFT) / (width - LEFT - RIGHT).max(1.0)).clamp(0.0, 1.0)
}

/// Notes the size of a drawing: asking the browser for it in the middle of writing would make it lay
/// out the page at once.
pub fn set_size(drawing: &Element, width: f64, height: f64) {
    for (name, length) in [("data-width", width), ("data-height", height)] {
        _ = drawing.set_attribute(name, &number::fixed(length, 0));
    }
}

fn size(drawing: &Element) -> (f64, f64) {
    let length = |name| drawing.get_attribute(name).and_then(|length| number::parse(&length).ok());
    match (length("data-width"), length("data-height")) {
        (Some(width), Some(height)) => (width, height),
        _ => {
            let room = drawing.get_bounding_client_rect();
            set_size(drawing, room.width(), room.height());
            (room.width(), room.height())
        }
    }
}

/// Where the plotted area lies in a drawing.
struct Frame {
    width: f64,
    height: f64,
}

impl Frame {
    fn x(&self, position: f64) -> f64 {
        LEFT + position * (self.width - LEFT - RIGHT)
    }

    fn y(&self, position: f64) -> f64 {
        self.height - BOTTOM - position * (self.height - TOP - BOTTOM)
    }
}

/// Draws a plot, in place of what was drawn before. Nothing happens where there is no room.
pub fn draw(drawing: &Element, plot: &Plot) {
    let (width, height) = size(drawing);
    let frame = Frame { width, height };
    if width < LEFT + RIGHT + 1.0 || height < TOP + BOTTOM + 1.0 {
        return;
    }
    let area = El::at(drawing.clone()).clear();
    let mut parts = Vec::new();
    for (value, label) in plot.y.ticks((height / 48.0).max(2.0)) {
        let y = frame.y(plot.y.position(value));
        parts.push(line("plot-grid", (LEFT, y), (width - RIGHT, y)));
        parts.push(text("plot-tick", "end", (LEFT - 6.0, y + 4.0), &label));
    }
    for (value, label) in plot.x.ticks((width / 72.0).clamp(3.0, 12.0)) {
        let x = frame.x(plot.x.position(value));
        parts.push(line("plot-grid", (x, frame.y(0.0)), (x, frame.y(0.0) + 4.0)));
        parts.push(text("plot-tick", "middle", (x, frame.y(0.0) + 17.0), &label));
    }
    for series in &plot.series {
        parts.extend(shapes(series, plot, &frame));
    }
    parts.push(line("plot-axis", (LEFT, frame.y(0.0)), (width - RIGHT, frame.y(0.0))));
    for mark in &plot.marks {
        let x = frame.x(plot.x.position(mark.x));
        parts.push(line(mark.class, (x, frame.y(0.0)), (x, TOP)));
        if !mark.label.is_empty() {
            // Words stay inside: on the right half they stand left of their line.
            let (anchor, aside) = if x > width / 2.0 { ("end", -5.0) } else { ("start", 5.0) };
            parts.push(text("plot-mark-label", anchor, (x + aside, TOP + 10.0), &mark.label));
        }
    }
    parts.push(text("plot-label", "start", (4.0, 13.0), plot.y.label));
    parts.push(text("plot-label", "end", (width - RIGHT, height - 6.0), plot.x.label));
    _ = area.children(parts);
}

fn shapes(series: &Series, plot: &Plot, frame: &Frame) -> Vec<El> {
    let place = |x: f64, y: f64| (frame.x(plot.x.position(x)), frame.y(plot.y.position(y)));
    if series.dots {
        let dot = |&(x, y, _): &(f64, f64, f64)| {
            let (x, y) = place(x, y);
            svg("circle").attr("class", series.class).attr("cx", &px(x)).attr("cy", &px(y)).attr("r", "4")
        };
        return series.points.iter().filter(|point| !point.1.is_nan()).map(dot).collect();
    }
    let mut path = String::new();
    let mut pen_up = true;
    for &(x, lower, upper) in &series.points {
        if upper.is_nan() || lower.is_nan() {
            pen_up = true;
            continue;
        }
        let (x, y) = place(x, upper);
        path.push_str(if pen_up { "M" } else { "L" });
        pen_up = false;
        path += &(px(x) + " " + &px(y));
    }
    if series.band {
        for &(x, lower, _) in series.points.iter().rev() {
            let (x, y) = place(x, lower);
            path += &("L".to_owned() + &px(x) + " " + &px(y));
        }
        path.push('Z');
    }
    let class = if series.band { "plot-band" } else { "plot-line" };
    vec![svg("path").attr("class", &format!("{class} {}", series.class)).attr("d", &path)]
}

fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> El {
    let ends = [("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)];
    ends.into_iter().fold(svg("line").attr("class", class), |line, (name, value)| line.attr(name, &px(value)))
}

fn text(class: &str, anchor: &str, at: (f64, f64), words: &str) -> El {
    svg("text").attr("class", class).attr("text-anchor", anchor).attr("x", &px(at.0)).attr("y", &px(at.1)).text(words)
}

/// A length to a tenth of a pixel.
fn px(length: f64) -> String {
    number::fixed(length, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks(5.0).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_few() {
        assert_eq!(labels(&Axis::linear(0.0, 80.0, "")), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(&Axis::linear(0.0, 1.3, "")), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(&Axis::linear(0.0, 40_000.0, "")), ["0", "10k", "20k", "30k", "40k"]);
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        assert_eq!(labels(&Axis::log(0.01, 1e3, "")), ["0.01", "1", "100"]);
        assert_eq!(labels(&Axis::log(1.0, 1e4, "")), ["1", "10", "100", "1k", "10k"]);
        assert_eq!(labels(&Axis::powers_of_two(512.0, 8_192.0, "")), ["512", "1k", "2k", "4k", "8k"]);
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
    fn the_pointer_s_part_counts_from_the_plotted_area() {
        assert_eq!(part(LEFT, 400.0), 0.0);
        assert_eq!(part(400.0 - RIGHT, 400.0), 1.0);
        assert_eq!(part(0.0, 400.0), 0.0);
    }
}
