//! A drawing as SVG: elements with classes, which a style sheet colours.

use plotters::backend::DrawingBackend;
use plotters::style::RGBAColor;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind};
use std::convert::Infallible;

use super::draw::{LETTER, Layer, Pens, draw_layers};
use super::ink::Part;
use super::spec::Plot;

/// Units of the drawing in a CSS pixel: plotters takes whole numbers.
const UNITS: i32 = 10;
/// A drawing is no wider and no higher than this, in CSS pixels.
const LONGEST: f64 = 100_000.0;
/// From the upper edge, the middle and the lower edge of a line of words down to its baseline, in CSS
/// pixels.
const BASELINES: [i32; 3] = [11, 4, -3];

impl Plot {
    /// What stands inside an `<svg>` of this size in CSS pixels; nothing where there is no room. Every
    /// element has the classes of its [`Part`], and the same plot has the same text on every machine.
    #[must_use]
    pub fn svg(&self, width: f64, height: f64) -> String {
        Layer::ALL.map(|layer| self.layer(layer, width, height)).concat()
    }

    /// What one layer brings to [`Plot::svg`].
    #[must_use]
    pub fn layer(&self, layer: Layer, width: f64, height: f64) -> String {
        written(self, &[layer], (width, height), &|part| format!(" class=\"{}\"", part.class()))
    }
}

/// Layers of the drawing with the attributes that `dress` gives each part.
pub(crate) fn written(
    plot: &Plot,
    layers: &[Layer],
    (width, height): (f64, f64),
    dress: &dyn Fn(Part) -> String,
) -> String {
    // No number is no length.
    let [width, height] = [width, height].map(|length| (length.clamp(0.0, LONGEST) * f64::from(UNITS)).round() as u32);
    let mut text = String::new();
    let Ok(()) =
        draw_layers(plot, layers, Markup { text: &mut text, size: (width, height), dress }, UNITS.into(), &Codes)
    else {
        // A string takes everything.
        return String::new();
    };
    text
}

/// In place of colours, which the style sheet has, the codes of the parts.
struct Codes;

impl Pens for Codes {
    const DASHES: bool = true;

    fn colour(&self, part: Part) -> RGBAColor {
        let (kind, variant, ink) = part.code();
        RGBAColor(kind, variant, ink, 1.0)
    }
}

/// A backend that writes elements.
struct Markup<'a> {
    text: &'a mut String,
    size: (u32, u32),
    dress: &'a dyn Fn(Part) -> String,
}

/// What it answers: a string takes everything.
type Written = Result<(), DrawingErrorKind<Infallible>>;

impl Markup<'_> {
    fn element(&mut self, name: &str, colour: BackendColor, attributes: &[(&str, &str)], words: &str) -> Written {
        *self.text += "<";
        *self.text += name;
        *self.text += &(self.dress)(Part::from_code(colour.rgb));
        for (name, value) in attributes {
            for piece in [" ", name, "=\"", value, "\""] {
                *self.text += piece;
            }
        }
        if words.is_empty() {
            *self.text += "/>";
        } else {
            *self.text += ">";
            escape(words, self.text);
            *self.text += "</";
            *self.text += name;
            *self.text += ">";
        }
        Ok(())
    }

    fn shape(&mut self, points: impl IntoIterator<Item = BackendCoord>, colour: BackendColor, end: &str) -> Written {
        let mut path = String::new();
        for (x, y) in points {
            path += if path.is_empty() { "M" } else { "L" };
            path += &(px(x) + " " + &px(y));
        }
        path += end;
        self.element("path", colour, &[("d", &path)], "")
    }
}

impl DrawingBackend for Markup<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Written {
        Ok(())
    }

    fn present(&mut self) -> Written {
        Ok(())
    }

    /// No shape is made of pixels here.
    fn draw_pixel(&mut self, _: BackendCoord, _: BackendColor) -> Written {
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Written {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(px);
        self.element("line", style.color(), &[("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)], "")
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Written {
        let path: Vec<_> = path.into_iter().collect();
        match (path.as_slice(), Part::from_code(style.color().rgb)) {
            (&[from, to], Part::Axis | Part::Mark(_)) => self.draw_line(from, to, style),
            _ => self.shape(path, style.color(), ""),
        }
    }

    fn draw_circle<S: BackendStyle>(&mut self, centre: BackendCoord, radius: u32, style: &S, _: bool) -> Written {
        let [x, y, radius] = [centre.0, centre.1, radius as i32].map(px);
        self.element("circle", style.color(), &[("cx", &x), ("cy", &y), ("r", &radius)], "")
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, points: I, style: &S) -> Written {
        self.shape(points, style.color(), "Z")
    }

    fn draw_text<S: BackendTextStyle>(&mut self, words: &str, style: &S, (x, y): BackendCoord) -> Written {
        let anchor = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        let down = match style.anchor().v_pos {
            VPos::Top => BASELINES[0],
            VPos::Center => BASELINES[1],
            VPos::Bottom => BASELINES[2],
        };
        let (x, y) = (px(x), px(y + down * UNITS));
        self.element("text", style.color(), &[("text-anchor", anchor), ("x", &x), ("y", &y)], words)
    }

    /// Nobody is asked: plotters would put words into the page to measure them.
    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        words: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok(((words.chars().count() as f64 * style.size() * LETTER) as u32, style.size() as u32))
    }
}

/// A length in CSS pixels.
fn px(units: i32) -> String {
    let (sign, size) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    let whole = (size / UNITS.unsigned_abs()).to_string();
    match size % UNITS.unsigned_abs() {
        0 => sign.to_owned() + &whole,
        rest => sign.to_owned() + &whole + "." + &rest.to_string(),
    }
}

/// Adds words to a file so that they stay words. Characters that XML 1.0 cannot hold are left out.
pub(crate) fn escape(words: &str, file: &mut String) {
    for letter in words.chars() {
        match letter {
            '&' => *file += "&amp;",
            '<' => *file += "&lt;",
            '>' => *file += "&gt;",
            '"' => *file += "&quot;",
            '\t' | '\n' | '\r' => file.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            letter => file.push(letter),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::draw::{LEFT, RIGHT};
    use super::super::{Axis, Ink, Mark, Rule, Series, Shape};
    use super::*;
    use crate::Bucket;
    use proptest::prelude::*;
    use roxmltree::{Document, Node};

    /// The inner markup as a document.
    fn file(inner: &str) -> String {
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\">{inner}</svg>")
    }

    /// A plot with everything that a plot can have.
    fn example() -> Plot {
        let doublings = |of: fn(f64) -> f64| {
            (0..=28).map(move |at| (crate::number::doublings(f64::from(at) / 4.0), of(f64::from(at) / 28.0)))
        };
        Plot {
            x: Axis::powers_of_two(1.0, 128.0, "GPUs that see different data, D"),
            y: Axis::linear(0.0, 100.0, "GiB & more"),
            series: vec![
                Series::band(Ink::Bucket(Bucket::Parameters), doublings(|_| 30.0).map(|(x, y)| (x, 0.0, y)).collect()),
                Series::band(
                    Ink::Bucket(Bucket::Activations),
                    doublings(|at| 30.0 + 40.0 * at).map(|(x, y)| (x, 30.0, y)).collect(),
                ),
                Series::band(Ink::OwnRange, doublings(|at| 95.0 - 20.0 * at).map(|(x, y)| (x, y - 8.0, y)).collect()),
                Series::line(
                    Ink::Own,
                    doublings(|at| if (0.4..0.6).contains(&at) { f64::NAN } else { 90.0 - 20.0 * at }).collect(),
                ),
                Series::dashed(Ink::Limit, vec![(1.0, 85.0), (128.0, 85.0)]),
                Series::dots(Ink::Series2, vec![(4.0, 20.0), (32.0, 20.0)]),
                Series::rings(Ink::Series4, vec![(8.0, 20.0), (1e9, 1e9)]),
            ],
            marks: vec![
                Mark::named(8.0, Rule::Soft, "yours".to_owned()),
                Mark::named(10.0, Rule::Main, "b < 3".to_owned()),
                Mark::at(32.0, Rule::Read),
                Mark::named(100.0, Rule::Main, "the most that fits".to_owned()),
            ],
        }
    }

    /// The drawing as it was when somebody last looked at it and found it right. After a wanted change,
    /// run this test with BMAX_BLESS=1 and look at the new file.
    #[test]
    fn a_plot_is_written_as_it_was_approved() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/plot.svg");
        let written = example().svg(560.0, 320.0).replace("><", ">\n<") + "\n";
        if std::env::var_os("BMAX_BLESS").is_some() {
            std::fs::write(path, &written).expect("the folder of golden files can be written");
        }
        let approved = std::fs::read_to_string(path).expect("the golden file is part of the project");
        assert!(written == approved, "the drawing differs from {path}");
    }

    #[test]
    fn every_part_has_its_classes_and_none_has_a_style_of_its_own() {
        let text = file(&example().svg(560.0, 320.0));
        let tree = Document::parse(&text).expect("well-formed");
        let elements = tree.root_element().descendants().skip(1).filter(Node::is_element);
        for element in elements {
            assert!(element.has_attribute("class"), "{element:?}");
            for name in ["style", "fill", "stroke", "id"] {
                assert!(!element.has_attribute(name), "{element:?}");
            }
        }
        for (class, count) in [
            ("plot-band bucket-activations", 1),
            ("plot-line series-own", 2),
            ("plot-line step-usable is-dashed", 1),
            ("plot-dot series-2", 2),
            ("plot-dot series-4 is-hollow", 2),
            ("mark", 2),
            ("mark-soft", 1),
            ("mark-read", 1),
            ("plot-mark-label", 3),
            ("plot-label", 2),
            ("plot-axis", 1),
        ] {
            assert_eq!(text.matches(&format!("class=\"{class}\"")).count(), count, "{class}");
        }
    }

    #[test]
    fn words_stay_words() {
        let hostile = "</text><script>alert(1)</script>&\"\u{0}";
        let mut plot = example();
        plot.marks = vec![Mark::named(8.0, Rule::Main, hostile.to_owned())];
        plot.x = Axis::linear(0.0, 1.0, "<b>&");
        let text = file(&plot.svg(560.0, 320.0));
        let tree = Document::parse(&text).expect("well-formed");
        assert!(!tree.descendants().any(|node| node.has_tag_name("script") || node.has_tag_name("b")));
        assert!(tree.descendants().any(|node| node.text() == Some("</text><script>alert(1)</script>&\"")));
        assert!(tree.descendants().any(|node| node.text() == Some("<b>&")));
    }

    #[test]
    fn words_of_marks_that_are_near_stand_below_each_other() {
        let text = file(&example().svg(560.0, 320.0));
        let tree = Document::parse(&text).expect("well-formed");
        let place = |words: &str| {
            let node = tree.descendants().find(|node| node.text() == Some(words)).expect("the words");
            node.attribute("y").expect("a place").to_owned()
        };
        assert_ne!(place("yours"), place("b < 3"));
        assert_eq!(place("yours"), place("the most that fits"));
    }

    #[test]
    fn a_part_of_a_tick_s_room_is_not_lost() {
        // 352 pixels are room for seven ticks and a third.
        let plot = Plot { y: Axis::linear(0.0, 733.0, ""), series: Vec::new(), marks: Vec::new(), ..example() };
        let text = file(&plot.svg(560.0, 352.0));
        let tree = Document::parse(&text).expect("well-formed");
        let beside = tree.descendants().filter(|node| node.attribute("text-anchor") == Some("end"));
        let ticks: Vec<_> = beside.filter(|node| node.attribute("class") == Some("plot-tick")).collect();
        let words: Vec<_> = ticks.iter().filter_map(Node::text).collect();
        assert_eq!(words, ["0", "100", "200", "300", "400", "500", "600", "700"]);
    }

    #[test]
    fn without_room_nothing_is_drawn() {
        for (width, height) in [(0.0, 0.0), (62.0, 300.0), (300.0, 64.0), (f64::NAN, 300.0), (-5.0, f64::INFINITY)] {
            assert_eq!(example().svg(width, height), "", "{width} × {height}");
        }
    }

    /// Any number, those that are not finite among them; values as figures have them are as likely.
    fn numbers() -> impl Strategy<Value = f64> {
        let odd = prop::sample::select(vec![
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -0.0,
            f64::MAX,
            f64::MIN_POSITIVE,
        ]);
        prop_oneof![3 => -10.0..1_000.0_f64, 1 => any::<f64>(), 1 => odd]
    }

    fn axes() -> impl Strategy<Value = Axis> {
        (0..3, numbers(), numbers(), any::<String>()).prop_map(|(kind, from, to, label)| {
            // Labels are the program's own words, so they live as long as the program.
            let label: &'static str = label.leak();
            match kind {
                0 => Axis::linear(from, to, label),
                1 => Axis::log(from, to, label),
                _ => Axis::powers_of_two(from, to, label),
            }
        })
    }

    fn series() -> impl Strategy<Value = Series> {
        let points = prop::collection::vec((numbers(), numbers(), numbers()), 0..12);
        let shape = prop::sample::select(vec![Shape::Line, Shape::Dashed, Shape::Dots, Shape::Rings, Shape::Band]);
        (shape, prop::sample::select(Ink::ALL.to_vec()), points).prop_map(|(shape, ink, points)| {
            let pairs = || points.iter().map(|&(x, y, _)| (x, y)).collect();
            match shape {
                Shape::Line => Series::line(ink, pairs()),
                Shape::Dashed => Series::dashed(ink, pairs()),
                Shape::Dots => Series::dots(ink, pairs()),
                Shape::Rings => Series::rings(ink, pairs()),
                Shape::Band => Series::band(ink, points),
            }
        })
    }

    pub(in super::super) fn plots() -> impl Strategy<Value = Plot> {
        let rules = prop::sample::select(vec![Rule::Main, Rule::Soft, Rule::Read]);
        let marks = (numbers(), rules, any::<String>()).prop_map(|(x, rule, label)| Mark::named(x, rule, label));
        (axes(), axes(), prop::collection::vec(series(), 0..5), prop::collection::vec(marks, 0..4))
            .prop_map(|(x, y, series, marks)| Plot { x, y, series, marks })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn any_plot_stays_inside_its_box(
            plot in plots(),
            width in prop_oneof![0.0..2_000.0_f64, numbers()],
            height in prop_oneof![0.0..1_000.0_f64, numbers()],
        ) {
            let inner = plot.svg(width, height);
            prop_assert_eq!(&inner, &plot.clone().svg(width, height));
            let text = file(&inner);
            let tree = Document::parse(&text).expect("well-formed");
            let (width, height) = (width.clamp(0.0, LONGEST), height.clamp(0.0, LONGEST));
            let is_inside = |place: &str, end: f64| place.parse::<f64>().is_ok_and(|place| (0.0..=end + 0.1).contains(&place));
            for node in tree.root_element().descendants().skip(1).filter(Node::is_element) {
                for attribute in node.attributes() {
                    let (name, value) = (attribute.name(), attribute.value());
                    match name {
                        "x" | "x1" | "x2" | "cx" => prop_assert!(is_inside(value, width), "{name}={value}"),
                        "y" | "y1" | "y2" | "cy" => prop_assert!(is_inside(value, height), "{name}={value}"),
                        "r" => prop_assert_eq!(value, "4"),
                        "d" => for point in value.trim_end_matches('Z').split(['M', 'L']).skip(1) {
                            let (x, y) = point.split_once(' ').expect("two lengths");
                            prop_assert!(is_inside(x, width) && is_inside(y, height), "{}", value);
                        },
                        "class" | "text-anchor" => {}
                        _ => prop_assert!(false, "{name}"),
                    }
                }
            }
            let ticks = |class: &str| inner.matches(class).count();
            prop_assert!(ticks("plot-tick") <= 32 + height as usize / 24, "{}", inner);
        }

        #[test]
        fn a_value_is_drawn_where_the_pointer_finds_it(part in 0.0..=1.0_f64, width in 100.0..2_000.0_f64, kind in 0..3) {
            let x = match kind {
                0 => Axis::linear(-50.0, 1_000.0, ""),
                1 => Axis::log(1e-6, 1e3, ""),
                _ => Axis::powers_of_two(1.0, 65_536.0, ""),
            };
            let value = x.value(part);
            let plot = Plot { x, y: Axis::linear(0.0, 1.0, ""), series: Vec::new(), marks: vec![Mark::at(value, Rule::Main)] };
            let text = file(&plot.svg(width, 100.0));
            let tree = Document::parse(&text).expect("well-formed");
            let mark = tree.descendants().find(|node| node.attribute("class") == Some("mark")).expect("the mark");
            let place: f64 = mark.attribute("x1").and_then(|place| place.parse().ok()).expect("a place");
            let found = plot.x.position(plot.value_at(place, width));
            // Half a unit at either end, and one that plotters rounds down, of the length of the axis.
            prop_assert!((found - part).abs() * (width - LEFT - RIGHT) <= 0.25, "{found} for {part}");
        }
    }
}
