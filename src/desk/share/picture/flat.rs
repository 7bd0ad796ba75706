//! A figure of the page as SVG: every box, line and line of words where the browser has put it, in the colours
//! that it has there. The file then needs no style sheet, and looks in every viewer as it does on the page. Plots
//! say what they show, and the library draws them where the page has them.
//!
//! A copy of the figure without its controls is laid out beside it, read, and taken away again before
//! the browser paints: nobody sees it.

use bmax::Scenario;
use bmax::picture::paint::{Colour, Gradient, split};
use bmax::picture::{Attribute, Drawing, Footer, Look, px};
use bmax::plot::Plot;
use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, CssStyleDeclaration, DomRect, Element, HtmlCanvasElement, HtmlElement, Node};

use super::copy::{ANSWER, Copy, Themed};
use crate::page::{all, create};

/// The file of a figure; nothing where it cannot be laid out. `name` is the figure's own.
pub fn picture(figure: &Element, name: &str, look: Look, scenario: &Scenario, page: &str) -> Option<String> {
    let themed = Themed::new(look.theme)?;
    let copy = Copy::of(figure)?;
    let root: &Element = &copy.0;
    let place = root.get_bounding_client_rect();
    let mut reader = Reader::new(name, look, &place)?;
    reader.pseudo(root);
    for part in all(root, "*") {
        reader.pseudo(&part);
    }
    reader.children(root);
    let title = all(root, "figcaption").first().and_then(|title| title.text_content());
    let title = title.unwrap_or_else(|| name.to_owned());
    let labelled = all(root, "[role=img][aria-label]");
    let described: Vec<String> = labelled.iter().filter_map(|part| part.get_attribute("aria-label")).collect();
    // What is written below begins where the title does.
    let margin =
        all(root, "figcaption").first().map_or(16.0, |title| reader.place(&title.get_bounding_client_rect()).x);
    let width = place.width();
    let Reader { mut drawing, bottom, .. } = reader;
    drop((copy, themed));
    let footer = Footer::with_configuration(scenario, page, width, margin);
    footer.draw(&mut drawing, look.theme, bottom + 10.0);
    let description = if described.is_empty() { title.clone() } else { described.join(". ") };
    Some(drawing.finish((width, bottom + 10.0 + footer.height()), look, &tidy(&title), &tidy(&description)))
}

/// Words with every run of white space as one space.
fn tidy(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What goes through the copy and draws it.
struct Reader {
    drawing: Drawing,
    look: Look,
    left: f64,
    top: f64,
    /// How far down the drawing reaches.
    bottom: f64,
    /// The faces of the page, which a picture declares once.
    faces: String,
    /// Asked for the height of letters.
    letters: CanvasRenderingContext2d,
}

/// A box in the picture.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Reader {
    fn new(name: &str, look: Look, place: &DomRect) -> Option<Self> {
        let canvas: HtmlCanvasElement = create("canvas")?;
        let letters = canvas.get_context("2d").ok()??.dyn_into().ok()?;
        let body = document().body()?;
        let faces = style_of(&body)?.get_property_value("font-family").ok()?;
        let (left, top) = (place.left(), place.top());
        Some(Self { drawing: Drawing::new(name), look, left, top, bottom: 0.0, faces, letters })
    }

    fn place(&self, rect: &DomRect) -> Place {
        Place { x: rect.left() - self.left, y: rect.top() - self.top, width: rect.width(), height: rect.height() }
    }

    /// Makes elements of what the style sheet adds before and after an element: only they have a place
    /// that can be asked for. `data-flat` keeps the style sheet of the desk from showing both.
    fn pseudo(&self, element: &Element) {
        for (name, before) in [("::before", true), ("::after", false)] {
            let Ok(Some(style)) = window().get_computed_style_with_pseudo_elt(element, name) else { continue };
            let content = property(&style, "content");
            // A counter has no text that could be asked for; it numbers figures on the page, not here.
            let Some(words) = content.strip_prefix('"').and_then(|rest| rest.split('"').next()) else { continue };
            if content.contains("counter") || property(&style, "display") == "none" {
                continue;
            }
            let Some(made) = create::<HtmlElement>("span") else { continue };
            for position in 0..style.length() {
                let name = style.item(position);
                if name != "content" {
                    _ = made.style().set_property(&name, &property(&style, &name));
                }
            }
            made.set_text_content(Some(words));
            let at = if before { element.first_child() } else { None };
            _ = element.insert_before(&made, at.as_ref());
        }
        _ = element.set_attribute("data-flat", "");
    }

    fn children(&mut self, element: &Element) {
        let mut next = element.first_child();
        while let Some(node) = next {
            next = node.next_sibling();
            match node.node_type() {
                Node::ELEMENT_NODE => self.element(node.unchecked_ref()),
                Node::TEXT_NODE => self.words(element, &node),
                _ => {}
            }
        }
    }

    fn element(&mut self, element: &Element) {
        let Some(style) = style_of(element) else { return };
        let hidden = property(&style, "display") == "none"
            || property(&style, "visibility") != "visible"
            || number(&property(&style, "opacity")) == Some(0.0);
        if hidden {
            return;
        }
        let rect = element.get_bounding_client_rect();
        let place = self.place(&rect);
        if let Some(plot) = element.get_attribute(ANSWER).and_then(|text| Plot::from_text(&text)) {
            self.reach(place);
            return self.drawing.plot((place.x, place.y), (place.width, place.height), &plot, self.look);
        }
        if element.local_name() == "svg" {
            return self.svg(element, place);
        }
        let radius = radius(&style, place);
        self.ground(&style, place, radius);
        let cut = ["hidden", "clip"].contains(&&*property(&style, "overflow-x")) && place.width > 0.0;
        if cut {
            let clip = self.drawing.clip((place.x, place.y), (place.width, place.height), radius);
            self.drawing.start("g", &[("clip-path", &clip)]);
        }
        self.children(element);
        if cut {
            self.drawing.end();
        }
        self.shadows(&style, place, radius);
        self.border(&style, place, radius);
        match &*element.local_name() {
            "mfrac" => self.fraction(element, &style),
            "msqrt" => self.root(element, &style),
            _ => {}
        }
    }

    /// The colour and the gradients behind an element.
    fn ground(&mut self, style: &CssStyleDeclaration, place: Place, radius: f64) {
        let corner = (place.x, place.y);
        let size = (place.width, place.height);
        let radius = px(radius);
        if let Some(colour) = Colour::read(&property(style, "background-color")).filter(Colour::is_seen) {
            self.reach(place);
            let (fill, opacity) = (colour.css(), px(colour.opacity));
            self.drawing.rect(corner, size, &[("fill", &fill), ("fill-opacity", &opacity), ("rx", &radius)]);
        }
        // The first layer lies on top.
        for layer in split(&property(style, "background-image")).into_iter().rev() {
            if let Some(gradient) = Gradient::read(layer) {
                self.reach(place);
                let paint = self.drawing.gradient(&gradient, corner, size);
                self.drawing.rect(corner, size, &[("fill", &paint), ("rx", &radius)]);
            }
        }
    }

    /// Shadows that lie inside a box, without blur: the seams and outlines of bars.
    fn shadows(&mut self, style: &CssStyleDeclaration, place: Place, radius: f64) {
        for shadow in split(&property(style, "box-shadow")) {
            let Some((colour, lengths)) =
                shadow.rsplit_once(") ").map(|(colour, rest)| (colour.to_owned() + ")", rest))
            else {
                continue;
            };
            let Some(colour) = Colour::read(&colour).filter(Colour::is_seen) else { continue };
            let values: Vec<f64> = lengths.split_whitespace().filter_map(number).collect();
            let [across, down, blur, spread] = values[..] else { continue };
            if !lengths.contains("inset") || blur > 0.0 {
                continue;
            }
            let fill = colour.css();
            let Place { x, y, width, height } = place;
            if spread > 0.0 {
                let inner = (width - spread, height - spread);
                let line = px(spread);
                let round = px((radius - spread / 2.0).max(0.0));
                let outline = [("fill", "none"), ("stroke", &*fill), ("stroke-width", &*line), ("rx", &*round)];
                self.drawing.rect((x + spread / 2.0, y + spread / 2.0), inner, &outline);
            }
            let fill = [("fill", &*fill)];
            let wide = across.abs().min(width);
            let left = if across < 0.0 { x + width - wide } else { x };
            self.drawing.rect((left, y), (wide, height), &fill);
            let high = down.abs().min(height);
            let upper = if down < 0.0 { y + height - high } else { y };
            self.drawing.rect((x, upper), (width, high), &fill);
        }
    }

    /// The four edges of a box: one outline where they are alike, and lines otherwise.
    fn border(&mut self, style: &CssStyleDeclaration, place: Place, radius: f64) {
        let edges = ["top", "right", "bottom", "left"].map(|side| {
            let of = |what: &str| property(style, &format!("border-{side}-{what}"));
            let width = number(&of("width")).unwrap_or(0.0);
            let kind = of("style");
            let colour = Colour::read(&of("color")).filter(Colour::is_seen);
            colour.filter(|_| width > 0.0 && kind != "none" && kind != "hidden").map(|colour| (width, kind, colour))
        });
        if edges.iter().any(Option::is_some) {
            self.reach(place);
        }
        let Place { x, y, width, height } = place;
        if let [Some(first), ..] = &edges
            && edges.iter().all(|edge| edge.as_ref() == Some(first))
        {
            let (thick, kind, colour) = first;
            let stroke = Stroke::of(*thick, kind, *colour);
            let inner = (width - thick, height - thick);
            let round = px((radius - thick / 2.0).max(0.0));
            let mut attributes = stroke.attributes();
            attributes.extend([("fill", "none"), ("rx", &*round)]);
            return self.drawing.rect((x + thick / 2.0, y + thick / 2.0), inner, &attributes);
        }
        for (side, edge) in edges.iter().enumerate() {
            let Some((thick, kind, colour)) = edge else { continue };
            let half = thick / 2.0;
            let (from, to) = match side {
                0 => ((x, y + half), (x + width, y + half)),
                1 => ((x + width - half, y), (x + width - half, y + height)),
                2 => ((x, y + height - half), (x + width, y + height - half)),
                _ => ((x + half, y), (x + half, y + height)),
            };
            self.drawing.line(from, to, &Stroke::of(*thick, kind, *colour).attributes());
        }
    }

    /// The line of a fraction, which is drawn by the browser and is no element.
    fn fraction(&mut self, element: &Element, style: &CssStyleDeclaration) {
        let children = element.children();
        let (Some(above), Some(below)) = (children.item(0), children.item(1)) else { return };
        let [above, below] = [above, below].map(|part| self.place(&part.get_bounding_client_rect()));
        let place = self.place(&element.get_bounding_client_rect());
        let y = (above.y + above.height + below.y) / 2.0;
        self.drawing.line((place.x, y), (place.x + place.width, y), &[("stroke", &ink(style))]);
    }

    /// The sign of a square root, from the edge of the root to what stands in it, and its bar.
    fn root(&mut self, element: &Element, style: &CssStyleDeclaration) {
        let place = self.place(&element.get_bounding_client_rect());
        let Some(inside) = element.first_element_child() else { return };
        let sign = self.place(&inside.get_bounding_client_rect()).x - place.x;
        let at = |x: f64, y: f64| format!("{} {}", px(place.x + x * sign), px(place.y + y * place.height));
        let path = format!(
            "M{}L{}L{}L{}H{}",
            at(0.05, 0.62),
            at(0.25, 0.55),
            at(0.5, 0.96),
            at(0.95, 0.04),
            px(place.x + place.width)
        );
        self.drawing.leaf("path", &[("d", &path), ("fill", "none"), ("stroke", &ink(style)), ("stroke-width", "1.1")]);
    }

    /// A text of the page, line by line.
    fn words(&mut self, element: &Element, node: &Node) {
        let text = node.text_content().unwrap_or_default();
        if text.trim().is_empty() {
            return;
        }
        let Some(style) = style_of(element) else { return };
        let Ok(range) = document().create_range() else { return };
        let mut lines: Vec<(String, Place)> = Vec::new();
        let mut at = 0;
        for letter in text.chars() {
            let end = at + letter.len_utf16() as u32;
            let found = range.set_start(node, at).and_then(|()| range.set_end(node, end));
            at = end;
            let rect = found.ok().and_then(|()| range.get_client_rects()).and_then(|rects| rects.item(0));
            let Some(place) = rect.map(|rect| self.place(&rect)) else { continue };
            let letter = if letter.is_whitespace() && letter != '\u{a0}' { ' ' } else { letter };
            match lines.last_mut() {
                Some((line, before)) if (before.y - place.y).abs() < before.height / 2.0 && place.x >= before.x => {
                    line.push(letter);
                    // White space at the end of a line is not shown, and must not stretch it.
                    if letter != ' ' {
                        before.width = place.x + place.width - before.x;
                    }
                }
                _ if letter == ' ' => {}
                _ => lines.push((letter.to_string(), place)),
            }
        }
        for (line, place) in lines {
            self.line_of_words(element, &style, line.trim_end(), place);
        }
    }

    fn line_of_words(&mut self, element: &Element, style: &CssStyleDeclaration, words: &str, place: Place) {
        let Some(colour) = Colour::read(&property(style, "color")).filter(Colour::is_seen) else { return };
        self.reach(place);
        let (fill, opacity, length) = (colour.css(), px(colour.opacity), px(place.width));
        let mut size = property(style, "font-size");
        let mut baseline = place.y + self.ascent(style, place.height);
        // A bracket or sum of a formula grows with what it holds; most faces fill this much of a line with it.
        let whole = self.place(&element.get_bounding_client_rect());
        let letter = number(&size).unwrap_or(16.0);
        let grown = element.local_name() == "mo" && words.chars().count() == 1 && whole.height > 1.5 * letter;
        if grown {
            size = px(whole.height * 1.08) + "px";
            baseline = whole.y + whole.height * 0.84;
        }
        let weight = property(style, "font-weight");
        let faces = property(style, "font-family");
        let mut attributes: Vec<Attribute> = vec![("fill", &fill), ("font-size", &size)];
        if weight != "400" {
            attributes.push(("font-weight", &weight));
        }
        // A browser sets a formula's names of one letter in italics by itself.
        let is_name = element.local_name() == "mi" && words.chars().count() == 1;
        if property(style, "font-style") == "italic" || is_name {
            attributes.push(("font-style", "italic"));
        }
        if faces != self.faces {
            attributes.push(("font-family", &faces));
        }
        if colour.opacity < 1.0 {
            attributes.push(("fill-opacity", &opacity));
        }
        // Another face is a little wider or narrower, and still nothing runs into anything.
        let spacing = property(style, "letter-spacing");
        if spacing != "normal" && number(&spacing).is_some_and(|spacing| spacing.abs() > 1.0) {
            attributes.push(("letter-spacing", &spacing));
        } else if words.chars().count() > 1 || grown {
            attributes.extend([("textLength", &*length), ("lengthAdjust", "spacingAndGlyphs")]);
        }
        let upper = property(style, "text-transform") == "uppercase";
        let words = tidy(if upper { words.to_ascii_uppercase() } else { words.to_owned() }.as_str());
        self.drawing.text((place.x, baseline), &attributes, &words);
    }

    /// How far below the upper edge of a line its letters stand.
    fn ascent(&self, style: &CssStyleDeclaration, height: f64) -> f64 {
        let font =
            ["font-style", "font-weight", "font-size", "font-family"].map(|name| property(style, name)).join(" ");
        self.letters.set_font(&font);
        match self.letters.measure_text("x") {
            Ok(measured) => {
                let (up, down) = (measured.font_bounding_box_ascent(), measured.font_bounding_box_descent());
                if up + down > 0.0 { height * up / (up + down) } else { height * 0.8 }
            }
            Err(_) => height * 0.8,
        }
    }

    /// A drawing of the page that is no plot, part by part, with the look that the style sheet gives it.
    fn svg(&mut self, element: &Element, place: Place) {
        self.reach(place);
        let [x, y, width, height] = [place.x, place.y, place.width, place.height].map(px);
        let view = element.get_attribute("viewBox").unwrap_or_default();
        let place = [("x", &*x), ("y", &y), ("width", &width), ("height", &height), ("viewBox", &view)];
        self.drawing.start("svg", &place);
        for shape in all(element, "*") {
            self.shape(&shape);
        }
        self.drawing.end();
    }

    fn shape(&mut self, shape: &Element) {
        let Some(&tag) = SHAPES.iter().find(|tag| **tag == shape.local_name()) else { return };
        let Some(style) = style_of(shape) else { return };
        let given = GEOMETRY.map(|name| (name, shape.get_attribute(name)));
        let look = LOOK.map(|(name, usual)| (name, usual, property(&style, name)));
        let paints = ["fill", "stroke"].map(|name| {
            let colour = Colour::read(&property(&style, name));
            (name, colour.map_or_else(|| "none".to_owned(), |colour| colour.css()))
        });
        let mut attributes: Vec<Attribute> = Vec::new();
        attributes.extend(given.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
        attributes.extend(paints.iter().map(|(name, value)| (*name, value.as_str())));
        let unusual = look.iter().filter(|(_, usual, value)| !value.is_empty() && value != usual);
        attributes.extend(unusual.map(|(name, _, value)| (*name, value.as_str())));
        let faces = property(&style, "font-family");
        if tag == "text" && faces != self.faces {
            attributes.push(("font-family", &faces));
        }
        self.drawing.start(tag, &attributes);
        if tag == "text" {
            self.drawing.words(&shape.text_content().unwrap_or_default());
        }
        self.drawing.end();
    }

    fn reach(&mut self, place: Place) {
        self.bottom = self.bottom.max(place.y + place.height);
    }
}

/// The shapes of the page's drawings that are no plots.
const SHAPES: [&str; 3] = ["path", "rect", "text"];
/// What says where a shape stands.
const GEOMETRY: [&str; 5] = ["d", "x", "y", "width", "height"];
/// How a shape looks, with what needs not be said.
const LOOK: [(&str, &str); 6] = [
    ("stroke-width", "1px"),
    ("stroke-linejoin", "miter"),
    ("text-anchor", "start"),
    ("font-size", "16px"),
    ("font-weight", "400"),
    ("font-style", "normal"),
];

/// A line as wide, dashed and coloured as an edge.
struct Stroke {
    colour: String,
    opacity: String,
    width: String,
    dashes: Option<String>,
}

impl Stroke {
    fn of(width: f64, kind: &str, colour: Colour) -> Self {
        let dashes = match kind {
            "dashed" => Some(format!("{} {}", px(width * 2.0), px(width * 1.5))),
            "dotted" => Some(format!("{} {}", px(width), px(width))),
            _ => None,
        };
        Self { colour: colour.css(), opacity: px(colour.opacity), width: px(width), dashes }
    }

    fn attributes(&self) -> Vec<Attribute<'_>> {
        let mut attributes: Vec<Attribute> = vec![("stroke", &self.colour), ("stroke-width", &self.width)];
        if self.opacity != "1" {
            attributes.push(("stroke-opacity", &self.opacity));
        }
        attributes.extend(self.dashes.as_deref().map(|dashes| ("stroke-dasharray", dashes)));
        attributes
    }
}

/// How round the corners of a box are.
fn radius(style: &CssStyleDeclaration, place: Place) -> f64 {
    let text = property(style, "border-top-left-radius");
    let first = text.split_whitespace().next().unwrap_or_default();
    let most = place.width.min(place.height) / 2.0;
    match first.strip_suffix('%') {
        Some(percent) => number(percent).unwrap_or(0.0) / 100.0 * place.width.min(place.height),
        None => number(first).unwrap_or(0.0),
    }
    .min(most)
}

/// The colour of the words of an element.
fn ink(style: &CssStyleDeclaration) -> String {
    Colour::read(&property(style, "color")).map_or_else(|| "#808080".to_owned(), |colour| colour.css())
}

/// A length in pixels as a number.
fn number(text: &str) -> Option<f64> {
    bmax::number::parse(text.trim_end_matches("px")).ok()
}

#[inline(never)]
fn style_of(element: &Element) -> Option<CssStyleDeclaration> {
    window().get_computed_style(element).ok().flatten()
}

#[inline(never)]
fn property(style: &CssStyleDeclaration, name: &str) -> String {
    style.get_property_value(name).unwrap_or_default()
}
