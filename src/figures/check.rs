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
    use bmax::{Choice, Engine, Field, Offload, Scenario, ZeroStage, catalogue, estimate};
    use proptest::sample::select;

    use crate::figures::{ANSWER_BAR, FIGURES};
    use crate::site::{Standing, State, facts_of};

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

    prop_compose! {
        /// A micro-batch that the GPU has room for, on a machine with half of the memory that it takes.
        fn too_little_cpu_memory()(
            model in 0..catalogue::MODELS.len(),
            offload in select(Offload::ALL),
            engine in select(&[Engine::Torch, Engine::DeepSpeed][..]),
            batch in 1_u32..4,
        ) -> Option<Scenario> {
            let mut scenario = catalogue::MODELS[model].apply(Scenario::default());
            scenario = catalogue::device("h200").map_or(scenario, |row| row.apply(scenario)).with_batch(batch);
            (scenario.cluster.zero, scenario.cluster.engine) = (ZeroStage::Stage3, engine);
            scenario.recipe.offload = offload;
            let found = estimate(&scenario);
            let half = scenario.with_number(Field::HostMemory, found.host.peak().bytes.gib() / 2.0).ok()?;
            (found.fits() && half.host.ram > bmax::Bytes::ZERO).then_some(half)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn nothing_says_that_a_micro_batch_fits_which_cpu_memory_has_no_room_for(drawn in too_little_cpu_memory()) {
            let Some(scenario) = drawn else { return Ok(()) };
            prop_assert_eq!(Standing::of(&facts_of(scenario)), Standing::DoesNotFit);
            Owner::new().with(|| {
                let state = State::of(scenario);
                for figure in FIGURES.iter().chain([&ANSWER_BAR]) {
                    let html = (figure.html)(state);
                    for said in [">fits<", "likely fits", " left<", "stay free", "stays free", "to spare", "It fits"] {
                        prop_assert!(!html.contains(said), "{} says “{}”, {:?}", figure.name, said, scenario.recipe.offload);
                    }
                }
                Ok(())
            })?;
        }
    }
}
