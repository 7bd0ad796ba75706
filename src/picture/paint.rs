//! Colours and gradients in the form in which a browser gives them, `getComputedStyle`’s, as SVG has
//! them: <https://www.w3.org/TR/css-color-4/#serializing-sRGB-values>,
//! <https://www.w3.org/TR/css-images-4/#linear-gradients>.

use crate::number;

/// A colour with its opacity, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour {
    /// Red, green and blue, 0 to 255.
    pub channels: [u8; 3],
    /// 0 is not seen, 1 hides what lies below.
    pub opacity: f64,
}

impl Colour {
    /// Reads `rgb(27, 94, 140)`, `rgba(0, 0, 0, 0.5)`, `color(srgb 0.1 0.2 0.3 / 0.5)`, which is how
    /// mixed colours come back, and `transparent`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "transparent" {
            return Some(Self { channels: [0; 3], opacity: 0.0 });
        }
        let (name, rest) = text.split_once('(')?;
        let inner = rest.strip_suffix(')')?;
        let (inner, scale) = match name {
            "rgb" | "rgba" => (inner, 1.0),
            "color" => (inner.trim().strip_prefix("srgb")?, 255.0),
            _ => return None,
        };
        let mut parts = inner.split([',', ' ', '/']).filter(|part| !part.is_empty()).map(part);
        let mut channel = || Some((parts.next()?? * scale).round().clamp(0.0, 255.0) as u8);
        let channels = [channel()?, channel()?, channel()?];
        let opacity = parts.next().unwrap_or(Some(1.0))?.clamp(0.0, 1.0);
        Some(Self { channels, opacity })
    }

    /// Whether it can be seen at all.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        self.opacity > 0.0
    }

    /// The colour without its opacity, `#rrggbb`.
    #[must_use]
    pub fn css(&self) -> String {
        let [red, green, blue] = self.channels;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// A number, or a percentage as a part of one.
fn part(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => number::parse(percent).ok().map(|percent| percent / 100.0),
        None => number::parse(text).ok(),
    }
}

/// A place along a gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// In pixels.
    Length(f64),
    /// As a part of the whole.
    Part(f64),
}

/// A linear gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// Where it runs to, in degrees clockwise from upwards.
    angle: f64,
    /// Whether it begins again where it ends.
    pub repeats: bool,
    stops: Vec<(Colour, Option<Place>)>,
}

impl Gradient {
    /// Reads `linear-gradient(…)` and `repeating-linear-gradient(…)`; nothing for other images.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (repeats, text) = match text.strip_prefix("repeating-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let inner = text.strip_prefix("linear-gradient(")?.strip_suffix(')')?;
        let mut parts = split(inner).into_iter().peekable();
        let angle = match parts.peek().and_then(|first| direction(first)) {
            Some(angle) => {
                parts.next();
                angle
            }
            None => 180.0,
        };
        let mut stops = Vec::new();
        for part in parts {
            // A colour ends with its bracket, except for the one that is a word.
            let end = part.rfind(')').map_or_else(|| part.find(' ').unwrap_or(part.len()), |end| end + 1);
            let colour = Colour::read(part.get(..end)?)?;
            let places: Vec<Place> = part.get(end..)?.split_whitespace().filter_map(place).collect();
            match places[..] {
                [] => stops.push((colour, None)),
                _ => stops.extend(places.into_iter().map(|place| (colour, Some(place)))),
            }
        }
        (stops.len() >= 2).then_some(Self { angle, repeats, stops })
    }

    /// Both ends of the line along which it runs in a box of this size, as SVG needs them: a gradient
    /// that repeats ends with its last stop.
    #[must_use]
    pub fn line(&self, width: f64, height: f64) -> ((f64, f64), (f64, f64)) {
        let (sin, cos) = sin_cos(self.angle);
        let length = self.length(width, height);
        let (middle_x, middle_y) = (width / 2.0, height / 2.0);
        let start = (middle_x - sin * length / 2.0, middle_y + cos * length / 2.0);
        let drawn = if self.repeats { self.last(length) } else { length };
        (start, (start.0 + sin * drawn, start.1 - cos * drawn))
    }

    /// The stops as parts of that line, not decreasing.
    #[must_use]
    pub fn stops(&self, width: f64, height: f64) -> Vec<(f64, Colour)> {
        let length = self.length(width, height);
        let whole = if self.repeats { self.last(length) } else { length };
        let mut least = 0.0_f64;
        let count = self.stops.len();
        let place = |(index, (colour, place)): (usize, &(Colour, Option<Place>))| {
            let at = match place {
                Some(place) => along(*place, length),
                None if index == 0 => 0.0,
                None if index + 1 == count => whole,
                // Between its neighbours, which is near enough for the drawings of the page.
                None => whole * index as f64 / (count - 1) as f64,
            };
            least = least.max((at / whole).clamp(0.0, 1.0));
            (least, *colour)
        };
        self.stops.iter().enumerate().map(place).collect()
    }

    /// CSS makes the line so long that the corners have the colours of its ends.
    fn length(&self, width: f64, height: f64) -> f64 {
        let (sin, cos) = sin_cos(self.angle);
        (width * sin.abs() + height * cos.abs()).max(1e-3)
    }

    fn last(&self, length: f64) -> f64 {
        let last = self.stops.iter().rev().find_map(|stop| stop.1).map_or(length, |place| along(place, length));
        last.max(1e-3)
    }
}

fn along(place: Place, length: f64) -> f64 {
    match place {
        Place::Length(pixels) => pixels,
        Place::Part(part) => part * length,
    }
}

fn place(text: &str) -> Option<Place> {
    match text.strip_suffix("px") {
        Some(pixels) => number::parse(pixels).ok().map(Place::Length),
        None if text == "0" => Some(Place::Part(0.0)),
        None => text.ends_with('%').then(|| part(text)).flatten().map(Place::Part),
    }
}

/// The direction of a gradient in degrees.
fn direction(text: &str) -> Option<f64> {
    match text.trim() {
        "to top" => Some(0.0),
        "to right" => Some(90.0),
        "to bottom" => Some(180.0),
        "to left" => Some(270.0),
        text => number::parse(text.strip_suffix("deg")?).ok(),
    }
}

/// Sine and cosine of an angle in degrees, to ten digits. The standard library's weigh more than all else
/// that reads a gradient.
fn sin_cos(degrees: f64) -> (f64, f64) {
    let sine = |degrees: f64| {
        // From -90 to 90 degrees, where the series is short.
        let turned = (degrees % 360.0 + 540.0) % 360.0 - 180.0;
        let folded = if turned.abs() > 90.0 { turned.signum() * 180.0 - turned } else { turned };
        let x = folded.to_radians();
        let (mut term, mut sum) = (x, x);
        for n in 1..9_u32 {
            term *= -x * x / f64::from(2 * n * (2 * n + 1));
            sum += term;
        }
        sum
    };
    (sine(degrees), sine(degrees + 90.0))
}

/// The parts of a list between commas that stand in no bracket: of arguments, or of the layers of a
/// background.
#[must_use]
pub fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_u32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text.get(from..at).unwrap_or_default().trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(from..).unwrap_or_default().trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_in_every_form_a_browser_gives_them() {
        let solid = |channels| Some(Colour { channels, opacity: 1.0 });
        assert_eq!(Colour::read("rgb(27, 94, 140)"), solid([27, 94, 140]));
        assert_eq!(Colour::read("rgb(27 94 140)"), solid([27, 94, 140]));
        assert_eq!(Colour::read("rgba(0, 0, 0, 0.5)"), Some(Colour { channels: [0; 3], opacity: 0.5 }));
        assert_eq!(Colour::read("color(srgb 1 0.5 0 / 0.88)"), Some(Colour { channels: [255, 128, 0], opacity: 0.88 }));
        assert!(Colour::read("rgba(0, 0, 0, 0)").is_some_and(|colour| !colour.is_seen()));
        assert_eq!(Colour::read("rgb(27, 94, 140)").map(|colour| colour.css()).as_deref(), Some("#1b5e8c"));
        for text in ["", "red", "rgb(1, 2)", "rgb(a, b, c)", "color(display-p3 1 0 0)", "url(x)"] {
            assert_eq!(Colour::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_gradient_to_the_right_runs_from_edge_to_edge() {
        let text = "linear-gradient(to right, rgb(0, 128, 0) 0px, rgb(0, 128, 0) 40%, transparent 40%)";
        let gradient = Gradient::read(text).expect("a gradient");
        let (from, to) = gradient.line(200.0, 20.0);
        for (length, expected) in [(from.0, 0.0), (from.1, 10.0), (to.0, 200.0), (to.1, 10.0)] {
            assert!((length - expected).abs() < 1e-9, "{length}");
        }
        let stops: Vec<_> = gradient.stops(200.0, 20.0).into_iter().map(|(at, colour)| (at, colour.opacity)).collect();
        assert_eq!(stops, [(0.0, 1.0), (0.4, 1.0), (0.4, 0.0)]);
    }

    #[test]
    fn hatching_repeats_after_its_last_stop() {
        let text = "repeating-linear-gradient(135deg, rgb(9, 9, 9) 0px, rgb(9, 9, 9) 2px, rgba(0, 0, 0, 0) 2px, rgba(0, 0, 0, 0) 6px)";
        let gradient = Gradient::read(text).expect("a gradient");
        assert!(gradient.repeats);
        // In a square the line runs from the upper left corner to the lower right one.
        let (from, to) = gradient.line(100.0, 100.0);
        assert!(from.0.abs() < 1e-9 && from.1.abs() < 1e-9);
        assert!(((to.0.powi(2) + to.1.powi(2)).sqrt() - 6.0).abs() < 1e-9);
        let places: Vec<_> = gradient.stops(100.0, 100.0).into_iter().map(|stop| stop.0).collect();
        assert_eq!(places.len(), 4);
        assert!((places[1] - 1.0 / 3.0).abs() < 1e-9 && places[3] == 1.0);
    }

    #[test]
    fn directions_are_those_of_the_circle() {
        for degrees in [-720.5, -180.0, -90.0, 0.0, 30.0, 45.0, 90.0, 135.0, 180.0, 225.0, 270.0, 359.0, 1_000.0] {
            let ((sin, cos), exact) = (sin_cos(degrees), degrees.to_radians().sin_cos());
            assert!((sin - exact.0).abs() < 1e-10 && (cos - exact.1).abs() < 1e-10, "{degrees}");
        }
    }

    #[test]
    fn layers_are_split_outside_of_brackets() {
        assert_eq!(
            split("linear-gradient(90deg, rgb(1, 2, 3), red), none"),
            ["linear-gradient(90deg, rgb(1, 2, 3), red)", "none"]
        );
    }

    #[test]
    fn other_images_and_broken_gradients_are_no_gradients() {
        for text in [
            "none",
            "",
            "linear-gradient()",
            "linear-gradient(to right)",
            "radial-gradient(red, blue)",
            "linear-gradient(é, ü)",
            ")(",
        ] {
            assert_eq!(Gradient::read(text), None, "{text}");
        }
    }
}
