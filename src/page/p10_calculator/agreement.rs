//! Whether the parameter count in use agrees with the one that follows from the architecture.

use bmax::catalogue::{self, ModelGroup};
use bmax::{Scenario, number};

/// More than this between the two, as a part of the derived count, is worth a word.
const MISMATCH: f64 = 0.05;

/// The derived count, and how the one in use stands to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    pub kind: Kind,
    /// The count that follows from the architecture.
    pub derived: u64,
}

/// How two counts agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They do.
    Close,
    /// They do not, and need not: the row says a round number and leaves the vocabulary open.
    Rounded,
    /// They do not, and nothing explains it.
    Off,
}

impl Agreement {
    /// Compares the counts of a scenario's model.
    pub fn of(scenario: &Scenario) -> Self {
        let unedited_preset =
            catalogue::model_row_of(scenario).is_some_and(|(row, edited)| !edited && row.group == ModelGroup::Workshop);
        let kind = if scenario.model.parameter_mismatch() <= MISMATCH {
            Kind::Close
        } else if unedited_preset {
            Kind::Rounded
        } else {
            Kind::Off
        };
        Self { kind, derived: scenario.model.derived_parameters() }
    }

    /// The word for it in the page and the style sheet.
    pub const fn word(self) -> &'static str {
        match self.kind {
            Kind::Close => "close",
            Kind::Rounded => "rounded",
            Kind::Off => "off",
        }
    }
}

/// Three digits that matter, as in 0.124 or 8.03.
pub fn billions(count: u64) -> String {
    let billions = count as f64 / 1e9;
    let scale = if billions < 1.0 { 1e3 } else { 1e2 };
    number::grouped((billions * scale).round() / scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Field;
    use bmax::catalogue::MODELS;

    #[test]
    fn no_unedited_row_of_the_catalogue_is_warned_about() {
        for row in MODELS {
            let agreement = Agreement::of(&row.apply(Scenario::default()));
            assert_ne!(agreement.kind, Kind::Off, "{}", row.slug);
        }
    }

    #[test]
    fn an_edited_preset_is_warned_about() {
        let edited = Scenario::default().with_number(Field::Layers, 64.0).expect("in range");
        assert_eq!(Agreement::of(&edited).kind, Kind::Off);
    }

    #[test]
    fn taking_the_derived_count_makes_them_agree() {
        let scenario = Scenario::default();
        let count = Agreement::of(&scenario).derived as f64 / 1e9;
        let taken = scenario.with_number(Field::Parameters, count).expect("in range");
        assert_eq!(Agreement::of(&taken).kind, Kind::Close);
    }

    #[test]
    fn small_models_keep_three_digits() {
        assert_eq!((billions(124_439_808), billions(8_030_261_248)), ("0.124".to_owned(), "8.03".to_owned()));
    }
}
