//! The plot of a figure as a picture: drawn as the page draws it, with colours in the place of classes.

use super::frame::{MARGIN, head, width_of};
use super::{Attribute, Drawing, Footer, Look, px};
use crate::Scenario;
use crate::plot::{Colour, Layer, Part, Plot, Shape, written};

/// Width of the picture, in CSS pixels.
const WIDTH: f64 = 960.0;
/// Height of what lies between the title and the legend.
const HEIGHT: f64 = 400.0;
/// From one line of the legend to the next.
const LINE: f64 = 24.0;
/// The size of the legend's letters.
const LETTERS: f64 = 13.0;
/// Room for a sample beside its name.
const SAMPLE: f64 = 26.0;

/// The file of a plot. `title` names it, and `description` says what it shows to those who do not see it.
///
/// `page` is the address of the page without its query; the link at the foot is made of it and of the
/// scenario.
#[must_use]
pub fn plot(plot: &Plot, title: &str, description: &str, scenario: &Scenario, look: Look, page: &str) -> String {
    let mut drawing = Drawing::new("plot");
    let top = head(&mut drawing, look.theme, title, scenario, WIDTH) + 16.0;
    drawing.plot((MARGIN, top), (WIDTH - 2.0 * MARGIN, HEIGHT), plot, look);
    let bottom = legend(&mut drawing, plot, look, (MARGIN, WIDTH - MARGIN), top + HEIGHT + 8.0);
    let footer = Footer::of(scenario, page, WIDTH);
    footer.draw(&mut drawing, look.theme, bottom);
    drawing.finish((WIDTH, bottom + footer.height()), look, title, description)
}

impl Drawing {
    /// A plot in a box with this corner and size, without its legend. Nothing is drawn where there is no room.
    #[inline(never)]
    pub fn plot(&mut self, corner: (f64, f64), size: (f64, f64), plot: &Plot, look: Look) {
        let inner = written(plot, &Layer::ALL, size, &|part| attributes(&dressed(part, look)));
        self.start("g", &[("font-size", "12")]);
        self.insert(corner, size, 1.0, &inner);
        self.end();
    }
}

/// What stands between the name of an element and those of its lengths.
fn attributes(list: &[(&'static str, String)]) -> String {
    list.iter().map(|(name, value)| format!(" {name}=\"{value}\"")).collect()
}

/// How a part looks, as `style/live.css` has it.
fn dressed(part: Part, look: Look) -> Vec<(&'static str, String)> {
    let colour = painted(&part.colour(), look);
    let ground = || look.theme.colour("--panel").to_owned();
    let none = || "none".to_owned();
    // What keeps neighbours apart has the colour of the ground, and where there is none it would be seen.
    let seam = |width: &str| match look.ground {
        true => vec![("stroke", ground()), ("stroke-width", width.to_owned()), ("stroke-linejoin", "round".to_owned())],
        false => Vec::new(),
    };
    let mut list = match part {
        Part::Tick | Part::Label => vec![("fill", colour)],
        Part::MarkLabel => [vec![("fill", colour), ("paint-order", "stroke".to_owned())], seam("4")].concat(),
        Part::Series(Shape::Band, _) => [vec![("fill", colour)], seam("0.75")].concat(),
        Part::Series(Shape::Dots, _) => [vec![("fill", colour)], seam("1.5")].concat(),
        Part::Series(Shape::Rings, _) => {
            vec![("fill", if look.ground { ground() } else { none() }), ("stroke", colour)]
        }
        Part::Series(Shape::Line | Shape::Dashed, _) => vec![
            ("fill", none()),
            ("stroke", colour),
            ("stroke-linejoin", "round".to_owned()),
            ("stroke-linecap", "round".to_owned()),
        ],
        Part::Grid | Part::Axis | Part::Mark(_) => vec![("stroke", colour)],
    };
    let is_line = !matches!(
        part,
        Part::Tick
            | Part::Label
            | Part::MarkLabel
            | Part::Series(Shape::Band | Shape::Dots, _)
            | Part::Grid
            | Part::Axis
    );
    if is_line {
        list.push(("stroke-width", px(part.width())));
    }
    if !part.pattern().is_empty() {
        let pattern: Vec<String> = part.pattern().iter().map(|length| px(*length)).collect();
        list.push(("stroke-dasharray", pattern.join(" ")));
    }
    list
}

/// A colour as `#rrggbb`, mixed with the ground as the style sheet mixes it.
fn painted(colour: &Colour, look: Look) -> String {
    let channels = |token: &str| {
        let digits = look.theme.colour(token).trim_start_matches('#');
        let [_, red, green, blue] = u32::from_str_radix(digits, 16).unwrap_or_default().to_be_bytes();
        [red, green, blue].map(f64::from)
    };
    let (own, ground) = (channels(&colour.token), channels("--panel"));
    let part = f64::from(colour.percent) / 100.0;
    let mixed = own.iter().zip(ground).map(|(own, ground)| (own * part + ground * (1.0 - part)).round() as u8);
    mixed.fold("#".to_owned(), |text, channel| format!("{text}{channel:02x}"))
}

/// A sample and the name of every series that has one, in as many lines between two edges as they need; returns how far
/// down they reach.
pub(super) fn legend(drawing: &mut Drawing, plot: &Plot, look: Look, (edge, end): (f64, f64), top: f64) -> f64 {
    let (mut left, mut line) = (edge, 0.0);
    let named: Vec<(Part, &str)> = plot.names().collect();
    for &(part, name) in &named {
        let width = SAMPLE + width_of(name, LETTERS);
        if left > edge && left + width > end {
            (left, line) = (edge, line + 1.0);
        }
        let middle = top + LINE * (line + 0.5);
        sample(drawing, part, look, (left, middle));
        let style = [("font-size", "13"), ("fill", look.theme.colour("--ink-soft"))];
        drawing.text((left + SAMPLE, middle + 4.5), &style, name);
        left += width + 16.0;
    }
    top + if named.is_empty() { 0.0 } else { LINE * (line + 1.0) }
}

/// A part as the plot has it, so small that it stands beside a word.
fn sample(drawing: &mut Drawing, part: Part, look: Look, (left, middle): (f64, f64)) {
    let list = dressed(part, look);
    let list: Vec<Attribute> = list.iter().map(|(name, value)| (*name, value.as_str())).collect();
    match part {
        Part::Series(Shape::Band, _) => drawing.rect((left + 2.0, middle - 7.0), (14.0, 14.0), &list),
        Part::Series(Shape::Dots | Shape::Rings, _) => {
            let (x, y) = (px(left + 9.0), px(middle));
            drawing.leaf("circle", &[&[("cx", &*x), ("cy", &*y), ("r", "4")], &*list].concat());
        }
        Part::Mark(_) => drawing.line((left + 9.0, middle - 8.0), (left + 9.0, middle + 8.0), &list),
        _ => drawing.line((left, middle), (left + 18.0, middle), &list),
    }
}
