//! Pictures that the library writes by itself: whole, readable everywhere, with everything in them.

use crate::support::golden::as_committed;

use bmax::course::convergence::Roofline;
use bmax::picture::{Look, Theme, chart, memory, plot};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Bucket, Scenario, link, number};
use roxmltree::{Document, Node};

const SVG: &str = "http://www.w3.org/2000/svg";
const PAGE: &str = "https://example.org/bmax/";

fn look(theme: Theme) -> Look {
    Look { theme, ground: true }
}

/// The plot of a figure: a curve on a logarithmic axis with a band and marks.
fn roofline(scenario: &Scenario, look: Look, page: &str) -> String {
    let roofline = Roofline::of(scenario);
    let points = (0..=64).map(|quarter| number::doublings(f64::from(quarter) / 4.0));
    let curve: Vec<_> = points.map(|tokens| (tokens, roofline.throughput(tokens))).collect();
    let own = f64::from(scenario.recipe.batch) * f64::from(scenario.recipe.sequence);
    let shown = Plot {
        x: Axis::powers_of_two(1.0, 65_536.0, "tokens of a micro-batch"),
        y: Axis::linear(0.0, roofline.most * 1.2, "tokens per second on one GPU"),
        series: vec![
            Series::band(Ink::OwnRange, curve.iter().map(|&(tokens, (low, high))| (tokens, low, high)).collect())
                .named("down to where each waits for the other"),
            Series::line(Ink::Own, curve.iter().map(|&(tokens, (_, high))| (tokens, high)).collect())
                .named("computing takes longer than reading"),
        ],
        marks: vec![
            Mark::named(roofline.ridge, Rule::Soft, "ridge".to_owned()),
            Mark::at(own, Rule::Main).meaning("your micro-batch"),
            Mark::at(64.0, Rule::Read).meaning("read-out"),
        ],
    };
    let title = "Throughput of one GPU against the tokens of its micro-batch";
    plot(&shown, title, "Throughput rises up to the ridge, then hardly.", scenario, look, page)
}

/// A plot with everything that a plot can have.
fn every_part(scenario: &Scenario, look: Look, page: &str) -> String {
    let steps = || (0..=20).map(|step| f64::from(step) / 10.0);
    let shown = Plot {
        x: Axis::linear(0.0, 2.0, "training steps"),
        y: Axis::linear(0.0, 100.0, "GiB & <more>"),
        series: vec![
            Series::band(Ink::Bucket(Bucket::Parameters), steps().map(|x| (x, 0.0, 30.0)).collect())
                .named("Parameters"),
            Series::band(Ink::Bucket(Bucket::Activations), steps().map(|x| (x, 30.0, 30.0 + 20.0 * x)).collect())
                .named("Activations, which grow with the micro-batch and the length of its sequences"),
            Series::dashed(Ink::Limit, vec![(0.0, 85.0), (2.0, 85.0)]).named("usable GPU memory"),
            Series::line(Ink::Series1, steps().map(|x| (x, 90.0 - 10.0 * x)).collect()).named("a <curve> & another"),
            Series::dots(Ink::Series2, vec![(0.5, 50.0), (1.5, 20.0)]).named("measured"),
            Series::rings(Ink::Series4, vec![(1.0, 60.0), (1.8, 90.0)]).named("estimated"),
        ],
        marks: vec![Mark::named(1.2, Rule::Main, "loss, backward 71.2 GiB".to_owned())],
    };
    plot(&shown, "Memory of one GPU in two steps", "Memory rises within each step.", scenario, look, page)
}

/// Every picture there is.
const DRAWN: [fn(&Scenario, Look, &str) -> String; 4] = [chart, memory, roofline, every_part];

/// The file as it was when somebody last looked at it and found it right. After a wanted change, run
/// this test with BMAX_BLESS=1 and look at the new files.
#[test]
fn pictures_are_as_they_were_approved() {
    let scenario = Scenario::workshop();
    let pictures = [
        ("chart-light", chart(&scenario, look(Theme::Light), PAGE)),
        ("chart-dark", chart(&scenario, look(Theme::Dark), PAGE)),
        ("memory-light", memory(&scenario, look(Theme::Light), PAGE)),
        ("memory-dark", memory(&scenario, look(Theme::Dark), PAGE)),
        ("plot-light", roofline(&scenario, look(Theme::Light), PAGE)),
        ("plot-dark", roofline(&scenario, look(Theme::Dark), PAGE)),
        ("plot-clear", every_part(&scenario, Look { theme: Theme::Light, ground: false }, PAGE)),
    ];
    for (name, file) in pictures {
        as_committed(&format!("tests/golden/pictures/{name}.svg"), &file);
    }
}

/// What holds for every picture: it can be parsed, says what it is, and needs nothing from elsewhere.
fn assert_stands_alone(file: &str) {
    let tree = Document::parse(file).unwrap_or_else(|error| panic!("{error}\n{file}"));
    let root = tree.root_element();
    assert!(root.has_tag_name((SVG, "svg")));
    let length = |name| root.attribute(name).and_then(|length| length.parse::<f64>().ok()).expect("a size");
    let (width, height) = (length("width"), length("height"));
    assert_eq!(root.attribute("viewBox"), Some(&*format!("0 0 {width} {height}")));
    for name in ["title", "desc"] {
        let found = root.children().find(|node| node.has_tag_name((SVG, name)));
        assert!(found.and_then(|node| node.text()).is_some_and(|text| text.len() > 10), "{name}");
    }
    for node in tree.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        assert!(!["script", "style", "image", "use", "foreignObject", "a"].contains(&name), "{name}");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "href" && name != "style", "{name}");
            assert!(!value.contains("url(") || value.starts_with("url(#"), "{name}={value}");
            assert!(!["NaN", "inf"].iter().any(|odd| value.contains(odd)), "{name}={value}");
        }
        // Whatever has a place in the file itself stands inside it.
        if node.tag_name().name() == "text" {
            let place = |name| node.attribute(name).and_then(|place| place.parse::<f64>().ok()).expect("a place");
            assert!((0.0..=width).contains(&place("x")) && (0.0..=height).contains(&place("y")), "{node:?}");
        }
    }
}

#[test]
fn pictures_stand_alone_in_both_themes() {
    for theme in [Theme::Light, Theme::Dark] {
        for draw in DRAWN {
            assert_stands_alone(&draw(&Scenario::workshop(), look(theme), PAGE));
        }
    }
}

#[test]
fn of_a_model_that_fits_nowhere_no_curve_is_drawn() {
    // 16 bytes for each of 70 billion parameters are 130 GiB on each of eight GPUs.
    let scenario = link::Beginning::Workshop.scenario();
    let file = chart(&scenario, look(Theme::Light), PAGE);
    assert!(file.contains("points=\"") && !file.contains("points=\"\"") && !file.contains("points=\" \""), "{file}");
}

#[test]
fn without_a_ground_nothing_fills_the_picture() {
    for draw in DRAWN {
        let with = draw(&Scenario::workshop(), look(Theme::Light), PAGE);
        let without = draw(&Scenario::workshop(), Look { theme: Theme::Light, ground: false }, PAGE);
        assert_eq!(with.lines().count(), without.lines().count() + 1);
    }
}

#[test]
fn the_link_below_a_picture_leads_back_to_what_it_shows() {
    let scenario = link::decode("v=3&model=llama-3.1-70b&gpu=h200&gpus=64&s=8192&recompute=full").scenario;
    for draw in DRAWN {
        let file = draw(&scenario, look(Theme::Light), PAGE);
        let tree = Document::parse(&file).expect("well-formed");
        let small = tree.descendants().filter(|node| node.attribute("font-size") == Some("11"));
        let address: String = small.filter_map(|node| node.text()).collect();
        let query = address.strip_prefix(PAGE).and_then(|rest| rest.strip_prefix('?')).expect("the page and a query");
        assert_eq!(link::decode(query).scenario, scenario);
    }
}

/// A plot that has come as text, as those of the page do.
fn passed_on(look: Look) -> (usize, String) {
    let axis = Axis::linear(0.0, 1.0, "");
    let rising = |ink, top| Series::line(ink, vec![(0.0, 0.0), (1.0, top)]);
    let series = vec![
        rising(Ink::Own, 0.5),
        rising(Ink::Limit, 1.0),
        Series::band(Ink::Series1, vec![(0.0, 0.0, 0.2), (1.0, 0.0, 0.4)]),
    ];
    let count = series.len();
    let sent = Plot { x: axis.clone(), y: axis.bare(), series, marks: Vec::new() }.to_text();
    let shown = Plot::from_text(&sent).expect("a plot");
    (count, plot(&shown, "Three curves of the page", "They rise.", &Scenario::workshop(), look, PAGE))
}

#[test]
fn the_picture_of_a_plot_that_came_as_text_has_a_path_for_every_series() {
    for theme in [Theme::Light, Theme::Dark] {
        let (count, file) = passed_on(look(theme));
        let tree = Document::parse(&file).expect("well-formed");
        let paths: Vec<_> = tree.descendants().filter(|node| node.has_tag_name((SVG, "path"))).collect();
        assert_eq!(paths.len(), count);
        let colours = paths.iter().map(|path| {
            path.attribute("stroke").filter(|_| path.attribute("fill") == Some("none")).or(path.attribute("fill"))
        });
        let expected = ["--series-own", "--ink", "--series-1"].map(|token| Some(theme.colour(token)));
        assert!(colours.eq(expected), "{file}");
    }
}

mod any_scenario {
    use super::*;
    use bmax::{Field, setting};
    use proptest::prelude::*;

    /// A scenario in which some inputs are anything they may be.
    fn scenarios() -> impl Strategy<Value = Scenario> {
        let number = (proptest::sample::select(Field::ALL), 0.0..=1.0_f64);
        let word = (proptest::sample::select(setting::ALL), any::<prop::sample::Index>());
        (prop::collection::vec(number, 0..12), prop::collection::vec(word, 0..8)).prop_map(|(numbers, words)| {
            let mut query = Vec::new();
            for (field, part) in numbers {
                let bound = field.bound();
                // Small values are as likely as large ones.
                let value = bound.min + (bound.max - bound.min) * part.powi(6);
                let value = if bound.whole { value.round() } else { value };
                query.push(format!("{}={value}", bound.key));
            }
            for (word, index) in words {
                query.push(format!("{}={}", word.key, index.get(word.options).key));
            }
            link::decode(&query.join("&")).scenario
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn has_pictures_that_stand_alone(scenario in scenarios(), dark: bool, ground: bool) {
            let theme = if dark { Theme::Dark } else { Theme::Light };
            for draw in DRAWN {
                assert_stands_alone(&draw(&scenario, Look { theme, ground }, PAGE));
            }
        }
    }
}
