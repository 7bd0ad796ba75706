//! Pictures that the library writes by itself: whole, readable everywhere, with everything in them.

use bmax::picture::{Look, Theme, chart, memory};
use bmax::{Scenario, link};
use roxmltree::{Document, Node};

const SVG: &str = "http://www.w3.org/2000/svg";
const PAGE: &str = "https://example.org/bmax/";

fn look(theme: Theme) -> Look {
    Look { theme, ground: true }
}

/// The file as it was when somebody last looked at it and found it right. After a wanted change, run
/// this test with BMAX_UPDATE_GOLDEN=1 and look at the new files.
#[test]
fn pictures_are_as_they_were_approved() {
    let scenario = Scenario::default();
    let pictures = [
        ("chart-light", chart(&scenario, look(Theme::Light), PAGE)),
        ("chart-dark", chart(&scenario, look(Theme::Dark), PAGE)),
        ("memory-light", memory(&scenario, look(Theme::Light), PAGE)),
        ("memory-dark", memory(&scenario, look(Theme::Dark), PAGE)),
    ];
    for (name, file) in pictures {
        let path = format!("{}/tests/golden/pictures/{name}.svg", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("BMAX_UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &file).expect("the folder of golden files can be written");
        }
        let approved = std::fs::read_to_string(&path).expect("the golden file is part of the project");
        assert!(file == approved, "the picture differs from {path}");
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
        for draw in [chart, memory] {
            assert_stands_alone(&draw(&Scenario::default(), look(theme), PAGE));
        }
    }
}

#[test]
fn without_a_ground_nothing_fills_the_picture() {
    for draw in [chart, memory] {
        let with = draw(&Scenario::default(), look(Theme::Light), PAGE);
        let without = draw(&Scenario::default(), Look { theme: Theme::Light, ground: false }, PAGE);
        assert_eq!(with.lines().count(), without.lines().count() + 1);
    }
}

#[test]
fn the_link_below_a_picture_leads_back_to_what_it_shows() {
    let scenario = link::decode("model=llama-3.1-70b&gpu=h200&gpus=64&s=8192&recompute=full").scenario;
    for draw in [chart, memory] {
        let file = draw(&scenario, look(Theme::Light), PAGE);
        let tree = Document::parse(&file).expect("well-formed");
        let small = tree.descendants().filter(|node| node.attribute("font-size") == Some("11"));
        let address: String = small.filter_map(|node| node.text()).collect();
        let query = address.strip_prefix(PAGE).and_then(|rest| rest.strip_prefix('?')).expect("the page and a query");
        assert_eq!(link::decode(query).scenario, scenario);
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
            for draw in [chart, memory] {
                assert_stands_alone(&draw(&scenario, Look { theme, ground }, PAGE));
            }
        }
    }
}
