//! The picture that a chat or a feed shows beside a link: few words, large enough to be read where it is as wide as a
//! hand, over a picture of the memory, a plot or the chart.

use super::frame::{paragraph, width_of};
use super::memory::{Place, fill, parts};
use super::{Attribute, Drawing, Look, Theme, chart, plot, px};
use crate::chart::{MemoryBar, PARTS, Tint, part};
use crate::plot::Plot;
use crate::{Scenario, estimate};

/// Width and height in pixels: the shape that crawlers cut nothing from (Open Graph cards are 1.91 times as wide as
/// high, and 1,200 pixels is what they show on screens of two pixels a pixel).
pub const SIZE: (f64, f64) = (1_200.0, 630.0);

/// Room at both sides.
const EDGE: f64 = 64.0;
/// A preview stands on the ground of whoever shows it, which is not known, so that it has its own.
const LOOK: Look = Look { theme: Theme::Light, ground: true };
/// How large the letters of a title are, with the most lines of them.
const TITLES: [(f64, usize); 3] = [(54.0, 1), (46.0, 2), (36.0, 3)];
/// The most parts that the bar’s legend names, so that each has room for large letters.
const NAMED: usize = 5;
/// A plot is drawn so much larger than on the page, with all its words, and the chart, which has more of them.
const SCALE: f64 = 1.9;
const CHART_SCALE: f64 = 1.6;

/// What a preview says.
#[derive(Clone, Copy, Debug)]
pub struct Preview<'a> {
    /// What it is about.
    pub title: &'a str,
    /// The answer: a number or a few words that are drawn large, and the rest of the sentence.
    pub answer: Option<(&'a str, &'a str)>,
    /// What more is said: below the answer, or above the memory.
    pub note: &'a str,
    /// What it belongs to, in a few words.
    pub line: &'a str,
    /// What is drawn.
    pub scene: Scene<'a>,
}

/// What is drawn below the words.
#[derive(Clone, Copy, Debug)]
pub enum Scene<'a> {
    /// Nothing.
    Words,
    /// What fills the memory of one GPU.
    Memory(&'a Scenario),
    /// The chart.
    Chart(&'a Scenario),
    /// The plot of a figure.
    Plot(&'a Plot),
}

/// The file of a preview, as SVG.
#[must_use]
pub fn preview(preview: &Preview) -> String {
    let mut drawing = Drawing::new("preview");
    let bottom = words(&mut drawing, preview);
    let room = SIZE.0 - 2.0 * EDGE;
    match preview.scene {
        Scene::Words => {}
        Scene::Memory(scenario) => memory(&mut drawing, scenario, 424.0_f64.max(bottom + 60.0)),
        Scene::Chart(scenario) => {
            begin(&mut drawing, bottom + 24.0, CHART_SCALE);
            let size = (room / CHART_SCALE, (SIZE.1 - bottom - 40.0) / CHART_SCALE);
            chart::scene(&mut drawing, LOOK, scenario, (0.0, 0.0), size);
        }
        Scene::Plot(plot) => {
            begin(&mut drawing, bottom + 24.0, SCALE);
            let (width, height) = (room / SCALE, (SIZE.1 - bottom - 44.0) / SCALE);
            // How high the legend is, is known when it is drawn.
            let legend = plot::legend(&mut Drawing::new(""), plot, LOOK, (0.0, width), 0.0);
            drawing.plot((0.0, 0.0), (width, height - legend - 6.0), plot, LOOK);
            plot::legend(&mut drawing, plot, LOOK, (0.0, width), height - legend);
        }
    }
    drawing.finish(SIZE, LOOK, preview.title, preview.line)
}

/// Begins what is drawn so much larger than on the page, so far down.
fn begin(drawing: &mut Drawing, top: f64, scale: f64) {
    let place = format!("translate({} {}) scale({scale})", px(EDGE), px(top));
    drawing.start("g", &[("transform", &place)]);
}

/// Name, title and answer; returns how far down they reach.
fn words(drawing: &mut Drawing, preview: &Preview) -> f64 {
    let theme = LOOK.theme;
    let (ink, soft, accent) = (theme.colour("--ink"), theme.colour("--ink-soft"), theme.colour("--accent"));
    let room = SIZE.0 - 2.0 * EDGE;
    brand(drawing, accent);
    let small = [("text-anchor", "end"), ("font-size", "28"), ("fill", soft)];
    drawing.text((SIZE.0 - EDGE, 78.0), &small, preview.line);
    let lines = |letters: f64| paragraph(preview.title, room, letters).len();
    let is_right = |(letters, most): &(f64, usize)| lines(*letters) <= *most;
    let (letters, _) = TITLES.into_iter().find(is_right).unwrap_or(TITLES[TITLES.len() - 1]);
    let (mut y, size) = (96.0, px(letters));
    for line in paragraph(preview.title, room, letters).iter().take(3) {
        y += letters * 1.16;
        drawing.text((EDGE, y), &[("font-size", &size), ("font-weight", "600"), ("fill", ink)], line);
    }
    let Some((large, rest)) = preview.answer else {
        if !preview.note.is_empty() {
            drawing.text((EDGE, 352.0), &[("font-size", "28"), ("fill", soft)], preview.note);
        }
        return y;
    };
    let fits = large.starts_with(|first: char| first.is_ascii_digit() || first == '≥');
    let (letters, colour) = if fits { (140.0, accent) } else { (84.0, theme.colour("--bad")) };
    // The words stand in the middle between the title and the bar, whatever the title takes.
    y = (y + 410.0) / 2.0 + letters * 0.32;
    let size = px(letters);
    let bold: [Attribute; 3] = [("font-size", &size), ("font-weight", "600"), ("fill", colour)];
    drawing.text((EDGE - letters * 0.04, y), &bold, large);
    // Digits are wider than most letters.
    let left = EDGE + width_of(large, letters) * if fits { 1.2 } else { 1.0 } + 24.0;
    let lines = paragraph(rest, SIZE.0 - EDGE - left, 38.0);
    let first = y - letters * 0.36 + 13.0 - 23.0 * (lines.len() as f64 - 1.0);
    for (number, line) in lines.iter().enumerate() {
        let style = [("font-size", "38"), ("fill", ink)];
        drawing.text((left, first + 46.0 * number as f64), &style, line);
    }
    for (number, line) in paragraph(preview.note, room, 30.0).iter().enumerate() {
        drawing.text((EDGE, y + 90.0 + 42.0 * number as f64), &[("font-size", "30"), ("fill", soft)], line);
    }
    y
}

/// The name of the site, as its header has it.
fn brand(drawing: &mut Drawing, colour: &str) {
    let (x, y) = (px(EDGE), px(78.0));
    drawing.start("text", &[("x", &x), ("y", &y), ("font-size", "40"), ("font-weight", "600"), ("fill", colour)]);
    drawing.words("b");
    drawing.start("tspan", &[("font-size", "27"), ("dy", "8")]);
    drawing.words("max");
    drawing.end();
    drawing.end();
}

/// The bar of the memory with the names and sizes of what takes most of it.
fn memory(drawing: &mut Drawing, scenario: &Scenario, top: f64) {
    let (theme, room) = (LOOK.theme, SIZE.0 - 2.0 * EDGE);
    let bar = MemoryBar::of(&estimate(scenario), None);
    parts(drawing, theme, &bar, Place { corner: (EDGE, top), length: room, height: 64.0, letters: 22.0 });
    let mut named: Vec<usize> = (0..PARTS).filter(|at| bar.names(*at)).collect();
    // What is small goes first, until the others have room; they stay in the order of the bar.
    while named.len() > NAMED {
        let size = |at: &usize| bar.held[*at];
        let Some(least) =
            (0..named.len()).min_by(|one, other| size(&named[*one]).get().total_cmp(&size(&named[*other]).get()))
        else {
            break;
        };
        named.remove(least);
    }
    let column = room / named.len().max(1) as f64;
    for (place, &at) in named.iter().enumerate() {
        let tint = part(at);
        let (left, y) = (EDGE + column * place as f64, top + 132.0);
        fill(drawing, theme, tint, (left, y - 18.0), (22.0, 22.0));
        if tint == Tint::Free {
            let border = [("fill", "none"), ("stroke", theme.colour("--ink-soft"))];
            drawing.rect((left + 0.5, y - 17.5), (21.0, 21.0), &border);
        }
        drawing.text((left + 32.0, y), &[("font-size", "23"), ("fill", theme.colour("--ink-soft"))], tint.name());
        let bold = [("font-size", "28"), ("font-weight", "600"), ("fill", theme.colour("--ink"))];
        drawing.text((left + 32.0, y + 34.0), &bold, &bar.size_text(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Series};

    fn drawn(answer: Option<(&str, &str)>, scene: Scene) -> String {
        let file = preview(&Preview { title: "A <title>", answer, note: "so", line: "Figure & more", scene });
        let tree = roxmltree::Document::parse(&file).expect("well-formed");
        let root = tree.root_element();
        assert_eq!((root.attribute("width"), root.attribute("height")), (Some("1200"), Some("630")));
        assert!(file.contains(">A &lt;title&gt;<") && file.contains(">Figure &amp; more<"), "{file}");
        file
    }

    #[test]
    fn a_preview_says_its_answer_and_names_what_takes_most_of_the_memory() {
        let scenario = Scenario::workshop();
        let file = drawn(Some(("6", "sequences fit")), Scene::Memory(&scenario));
        for words in ["6", "sequences fit", "Parameters", "Activations", "usable"] {
            assert!(file.contains(words), "{words}");
        }
        // As many swatches as there is room for, each with its size.
        assert_eq!(file.matches("font-size=\"28\" font-weight=\"600\"").count(), NAMED);
    }

    #[test]
    fn a_preview_of_a_figure_has_its_plot_or_the_chart() {
        let axis = || Axis::linear(0.0, 1.0, "across");
        let plot = Plot { x: axis(), y: axis(), series: Vec::<Series>::new(), marks: Vec::new() };
        assert!(drawn(None, Scene::Plot(&plot)).contains(">across<"));
        assert!(drawn(None, Scene::Chart(&Scenario::workshop())).contains(">not fit<"));
    }
}
