//! The count of parameters that follows from the shape, and whether a typed one agrees with it.

use bmax::catalogue::{Agreement, AgreementKind};
use bmax::format::billions;
use bmax::{Field, Method, Scenario, number};

/// The count that follows from the shape, beside the one that is typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// How the two agree: the style sheet's word.
    pub word: &'static str,
    /// The same in a sentence.
    pub sentence: String,
    /// What the button does.
    pub press: String,
    /// Whether there is nothing to do, and no button for it.
    pub idle: bool,
}

impl Shown {
    /// What is said about a scenario's model.
    pub fn of(scenario: &Scenario) -> Self {
        let agreement = Agreement::of(scenario);
        let derived = billions(agreement.derived);
        if scenario.method == Method::Ledger {
            let sentence = format!(
                "The ledger does not read the number of parameters N. It counts the weights of every matrix: {derived} billion for this architecture."
            );
            return Self { word: "counted", sentence, press: format!("Use {derived} billion"), idle: true };
        }
        let this = format!("This architecture has {derived} billion parameters");
        let (word, sentence) = match agreement.kind {
            AgreementKind::Close => ("close", format!("{this}, which agrees with N.")),
            AgreementKind::Rounded => {
                let count = billions(scenario.model.parameters);
                let vocabulary = number::grouped(scenario.model.vocabulary.into());
                let sentence = format!(
                    "The workshop rounds N to {count} billion and states no vocabulary; with {vocabulary} entries, as \
                     assumed here, the architecture has {derived} billion."
                );
                ("rounded", sentence)
            }
            AgreementKind::Off => ("off", format!("{this}, more than 5 % from N: check the fields, or N.")),
        };
        let press = format!("Use {derived} billion");
        Self { word, sentence, press, idle: agreement.kind == AgreementKind::Close }
    }
}

/// The scenario with the count that follows from its shape.
pub fn with_derived_count(scenario: Scenario) -> Scenario {
    let count = Agreement::of(&scenario).derived as f64 / 1e9;
    scenario.with_number(Field::Parameters, count).unwrap_or(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use proptest::prelude::*;

    #[test]
    fn the_workshop_s_round_count_is_explained_and_a_typed_one_is_questioned() -> Result<(), bmax::InputError> {
        let paper = Scenario { method: Method::Paper, ..Scenario::workshop() };
        let preset = Shown::of(&paper);
        assert!(preset.word == "rounded" && preset.sentence.starts_with("The workshop rounds N to 7 billion"));
        let typed = Shown::of(&paper.with_number(Field::Parameters, 70.0)?);
        assert!(typed.word == "off" && !typed.idle, "{typed:?}");
        Ok(())
    }

    #[test]
    fn the_ledger_says_what_it_counts_in_place_of_a_typed_number() -> Result<(), bmax::InputError> {
        let [usual, typed] = [7.0, 70.0].map(|count| Scenario::workshop().with_number(Field::Parameters, count));
        let (usual, typed) = (Shown::of(&usual?), Shown::of(&typed?));
        assert!(usual.idle && usual.sentence.contains("counts the weights of every matrix"), "{usual:?}");
        assert_eq!(usual, typed);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_count_that_was_taken_from_the_shape_agrees_with_it(scenario in any_scenario()) {
            texts_are_sound(&Shown::of(&scenario));
            let taken = with_derived_count(scenario);
            if taken != scenario && scenario.method != Method::Ledger {
                prop_assert_eq!(Shown::of(&taken).word, "close");
            }
        }
    }
}
