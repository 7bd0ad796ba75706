//! SVG as it is written: elements, texts and grounds, escaped, in one file that refers to nothing else.

use super::paint::Gradient;
use super::{FACES, Look};
use crate::number;
use crate::plot::escape;

/// An attribute: its name is the program's, its value may be anybody's.
pub type Attribute<'a> = (&'static str, &'a str);

/// An SVG in the making. Lengths are in CSS pixels from the upper left corner, x to the right and y
/// down.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    body: String,
    open: Vec<&'static str>,
    definitions: String,
    /// How many definitions have a name.
    named: usize,
    name: String,
}

impl Drawing {
    /// Nothing yet. What the picture refers to inside itself is named after `name`, so that two
    /// pictures may stand in one document.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Begins an element, which holds what follows until [`end`](Self::end).
    #[inline(never)]
    pub fn start(&mut self, element: &'static str, attributes: &[Attribute]) {
        self.tag(element, attributes, ">");
        self.open.push(element);
    }

    /// Ends the element that was begun last.
    #[inline(never)]
    pub fn end(&mut self) {
        if let Some(element) = self.open.pop() {
            self.body += "</";
            self.body += element;
            self.body.push('>');
        }
    }

    /// An element that holds nothing.
    pub fn leaf(&mut self, element: &'static str, attributes: &[Attribute]) {
        self.tag(element, attributes, "/>");
    }

    /// Words inside the element that is open.
    #[inline(never)]
    pub fn words(&mut self, words: &str) {
        escape(words, &mut self.body);
    }

    /// A line of words with its baseline at a place.
    #[inline(never)]
    pub fn text(&mut self, (x, y): (f64, f64), attributes: &[Attribute], words: &str) {
        let (x, y) = (px(x), px(y));
        self.start("text", &[&[("x", &*x), ("y", &*y)], attributes].concat());
        self.words(words);
        self.end();
    }

    /// A rectangle between a corner and a size. Nothing is drawn where it has no extent.
    #[inline(never)]
    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), attributes: &[Attribute]) {
        if width > 0.0 && height > 0.0 {
            let [x, y, width, height] = [x, y, width, height].map(px);
            let place: [Attribute; 4] = [("x", &x), ("y", &y), ("width", &width), ("height", &height)];
            self.leaf("rect", &[&place, attributes].concat());
        }
    }

    /// A straight line.
    #[inline(never)]
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), attributes: &[Attribute]) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(px);
        let place: [Attribute; 4] = [("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)];
        self.leaf("line", &[&place, attributes].concat());
    }

    /// Makes a gradient of the page part of the picture, over a box with this corner and size, and
    /// returns the paint that fills with it.
    #[inline(never)]
    pub fn gradient(&mut self, gradient: &Gradient, (x, y): (f64, f64), (width, height): (f64, f64)) -> String {
        self.named += 1;
        let id = format!("{}-paint-{}", self.name, self.named);
        let (from, to) = gradient.line(width, height);
        let ends = [("x1", x + from.0), ("y1", y + from.1), ("x2", x + to.0), ("y2", y + to.1)];
        let mut written = format!("<linearGradient id=\"{id}\" gradientUnits=\"userSpaceOnUse\"");
        for (name, value) in ends {
            written += &format!(" {name}=\"{}\"", px(value));
        }
        written += if gradient.repeats { " spreadMethod=\"repeat\">" } else { ">" };
        for (part, colour) in gradient.stops(width, height) {
            written += &format!(
                "<stop offset=\"{}\" stop-color=\"{}\" stop-opacity=\"{}\"/>",
                plain(part, 5),
                colour.css(),
                plain(colour.opacity, 3)
            );
        }
        self.definitions += &(written + "</linearGradient>");
        format!("url(#{id})")
    }

    /// Makes a box, with corners so round, part of the picture, and returns what an element says to be
    /// cut off at it.
    pub fn clip(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), radius: f64) -> String {
        self.named += 1;
        let id = format!("{}-clip-{}", self.name, self.named);
        let [x, y, width, height, radius] = [x, y, width.max(0.0), height.max(0.0), radius].map(px);
        self.definitions += &format!(
            "<clipPath id=\"{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/></clipPath>"
        );
        format!("url(#{id})")
    }

    /// A drawing by another hand, in a box with this corner and size, in units of which `units` are a
    /// pixel. It is the program's own: nothing in it is escaped.
    pub(super) fn insert(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), units: f64, markup: &str) {
        let [left, top, wide, high] = [x, y, width, height].map(px);
        let view = format!("0 0 {} {}", px(width * units), px(height * units));
        self.start(
            "svg",
            &[
                ("x", &left),
                ("y", &top),
                ("width", &wide),
                ("height", &high),
                ("viewBox", &view),
                ("overflow", "hidden"),
            ],
        );
        self.body += markup;
        self.end();
    }

    /// The whole file: a picture of this size with a title, and a description for those who do not see
    /// it.
    #[must_use]
    #[inline(never)]
    pub fn finish(mut self, (width, height): (f64, f64), look: Look, title: &str, description: &str) -> String {
        while !self.open.is_empty() {
            self.end();
        }
        let [width, height] = [width, height].map(|length| px(length.max(1.0)));
        let mut file = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FACES}\">\n<title>"
        );
        escape(title, &mut file);
        file += "</title>\n<desc>";
        escape(description, &mut file);
        file += "</desc>\n";
        if !self.definitions.is_empty() {
            file += &format!("<defs>{}</defs>\n", self.definitions);
        }
        if look.ground {
            let ground = look.theme.colour("--panel");
            file += &format!("<rect width=\"{width}\" height=\"{height}\" fill=\"{ground}\"/>\n");
        }
        file += &self.body;
        file += "\n</svg>\n";
        file
    }

    #[inline(never)]
    fn tag(&mut self, element: &'static str, attributes: &[Attribute], end: &str) {
        self.body.push('<');
        self.body += element;
        for (name, value) in attributes {
            self.body.push(' ');
            self.body += name;
            self.body += "=\"";
            escape(value, &mut self.body);
            self.body.push('"');
        }
        self.body += end;
    }
}

/// A length to a hundredth of a pixel; nothing that is no number gets into a file.
#[must_use]
#[inline(never)]
pub fn px(length: f64) -> String {
    plain(length, 2)
}

fn plain(value: f64, places: i32) -> String {
    let scale = number::power(10.0, places);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { number::plain(rounded + 0.0) } else { "0".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::Theme;
    use super::*;

    const PLAIN: Look = Look { theme: Theme::Light, ground: false };

    #[test]
    fn hostile_words_stay_words() {
        let hostile = "</text><script>alert(\"1\")</script>&amp;\u{0}\u{b}\u{ffff}é";
        let mut drawing = Drawing::new("test");
        drawing.text((1.0, 2.0), &[("class", hostile)], hostile);
        let file = drawing.finish((10.0, 10.0), PLAIN, hostile, hostile);
        let tree = roxmltree::Document::parse(&file).expect("well-formed");
        assert!(!tree.descendants().any(|node| node.has_tag_name("script")));
        let text = tree.descendants().find(|node| node.tag_name().name() == "text").expect("the text");
        assert_eq!(text.text(), Some("</text><script>alert(\"1\")</script>&amp;é"));
    }

    #[test]
    fn what_was_left_open_is_closed_and_what_is_no_number_is_left_out() {
        let mut drawing = Drawing::new("test");
        drawing.start("g", &[]);
        drawing.start("g", &[]);
        drawing.line((f64::NAN, f64::INFINITY), (-0.001, 1.239), &[]);
        drawing.rect((0.0, 0.0), (f64::NAN, 5.0), &[]);
        let file = drawing.finish((f64::NAN, -4.0), PLAIN, "", "");
        assert!(roxmltree::Document::parse(&file).is_ok(), "{file}");
        assert!(file.contains("<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"1.24\"/>"), "{file}");
        assert!(!file.contains("<rect"), "{file}");
    }
}
