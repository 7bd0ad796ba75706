//! What holds for every figure and any scenario.

use std::fmt::Debug;

use bmax::plot::Plot;

#[path = "../../tests/support/any_scenario.rs"]
mod any_scenario;
#[path = "../../tests/support/matters.rs"]
mod matters;

pub use any_scenario::any_scenario;
pub use matters::matters;

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

/// Nouns that stand behind numbers.
#[cfg(feature = "prerender")]
const COUNTED: [&str; 18] = [
    "sequences",
    "pairs",
    "completions",
    "rows",
    "tokens",
    "GPUs",
    "layers",
    "entries",
    "examples",
    "images",
    "runs",
    "steps",
    "micro-batches",
    "stages",
    "groups",
    "machines",
    "heads",
    "experts",
];

/// The words of markup: tags within a line are nothing, and others end it.
#[cfg(feature = "prerender")]
fn text_of(html: &str) -> String {
    const WITHIN: [&str; 11] = ["span", "strong", "b", "i", "em", "sub", "sup", "code", "output", "var", "a"];
    let mut text = String::with_capacity(html.len() / 4);
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        let Some((tag, after)) = tag.split_once('>') else { break };
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if !tag.starts_with('!') && !WITHIN.contains(&name) {
            text.push('\n');
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

/// The first place where one of something has the word of many: "1 sequences".
#[cfg(feature = "prerender")]
fn one_of_many(text: &str) -> Option<&str> {
    for line in text.lines() {
        for (at, _) in line.match_indices("1 ") {
            let before = line[..at].chars().next_back();
            // A digit, a point or a sign before it makes another number of it.
            let is_one = before.is_none_or(|before| !before.is_alphanumeric() && !".,·−-×/%^".contains(before));
            let word = line[at + 2..].split(|letter: char| !letter.is_alphanumeric() && letter != '-').next();
            // An attempt with one sequence runs: there it is a verb.
            let is_verb = word == Some("runs") && line.contains("Attempt ");
            if is_one && !is_verb && word.is_some_and(|word| COUNTED.contains(&word)) {
                return Some(line);
            }
        }
    }
    None
}

#[cfg(feature = "prerender")]
#[test]
fn one_of_something_with_the_word_of_many_is_found() {
    assert_eq!(one_of_many("at most 1 sequences fit"), Some("at most 1 sequences fit"));
    assert_eq!(one_of_many(&text_of("<p>b is <b class=\"num\">1</b> <!---->layers.</p>")), Some("b is 1 layers."));
    for fine in ["1 sequence", "21 sequences", "3.1 tokens", "1,011 GPUs", "1 of 3 rows", "layers of 1"] {
        assert_eq!(one_of_many(fine), None, "{fine}");
    }
    assert_eq!(one_of_many(&text_of("<td>1</td><td>rows</td>")), None);
}

/// Every figure can be rendered for any scenario, with a text in it and no number that is none.
#[cfg(feature = "prerender")]
mod rendered {
    use leptos::prelude::*;
    use proptest::prelude::*;

    use super::{any_scenario, one_of_many, text_is_sound, text_of};
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
                    let text = text_of(&html);
                    let wrong = one_of_many(&text);
                    prop_assert!(wrong.is_none(), "{} says “{}”", figure.name, wrong.unwrap_or_default());
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
            // What cannot be counted has no answer, but no more of it fits.
            let standing = Standing::of(&facts_of(scenario));
            prop_assert!(matches!(standing, Standing::DoesNotFit | Standing::Unanswered(_)), "{standing:?}");
            Owner::new().with(|| {
                let state = State::of(scenario);
                // The procedure of tuning begins without anything in CPU memory.
                for figure in FIGURES.iter().chain([&ANSWER_BAR]).filter(|figure| figure.name != "tuning") {
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
