//! What holds for every figure and any scenario.

use std::fmt::Debug;

use bmax::plot::Plot;

#[path = "../../tests/support/any_scenario.rs"]
mod any_scenario;

pub use any_scenario::any_scenario;

/// Every text of what a figure shows says something, and no number in it is none.
pub fn texts_are_sound(shown: &impl Debug) {
    let written = format!("{shown:?}");
    let mut rest = written.as_str();
    while let Some((_, after)) = rest.split_once('"') {
        let Some((text, behind)) = after.split_once('"') else { break };
        rest = behind;
        assert!(!text.trim().is_empty(), "an empty text in {written}");
        text_is_sound(text);
    }
}

/// A drawing has no coordinate that is no number.
pub fn plot_is_sound(plot: &Plot) {
    text_is_sound(&plot.svg(400.0, 300.0));
}

fn text_is_sound(text: &str) {
    let words =
        |text: &str| text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "NaN" || word == "inf");
    assert!(!words(text), "“{text}”");
}

/// Every figure can be rendered for any scenario, with a text in it and no number that is none.
#[cfg(feature = "prerender")]
mod rendered {
    use leptos::prelude::*;
    use proptest::prelude::*;

    use super::{any_scenario, text_is_sound};
    use crate::figures::FIGURES;
    use crate::site::State;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_scenario_can_be_shown_by_every_figure(scenario in any_scenario()) {
            Owner::new().with(|| {
                let state = State::of(scenario);
                for figure in FIGURES {
                    let html = (figure.html)(state);
                    prop_assert!(html.len() > 100, "{} shows nothing", figure.name);
                    // An element all of whose attributes are literals is written as it stands, with this one, too.
                    prop_assert!(!html.contains("inner_html"), "{} has markup in an attribute", figure.name);
                    text_is_sound(&html);
                }
                Ok(())
            })?;
        }
    }
}
