//! Whether the parameter count in use agrees with the one that follows from the architecture.

use super::{ModelGroup, model_row_of};
use crate::Scenario;

/// More than this between the two, as a part of the derived count, is worth a word.
const MISMATCH: f64 = 0.05;

/// The derived count, and how the one in use stands to it.
///
/// ```
/// use bmax::catalogue::{Agreement, AgreementKind};
/// use bmax::{Field, Scenario};
/// let typed = Scenario::workshop().with_number(Field::Parameters, 70.0)?;
/// assert_eq!(Agreement::of(&typed).kind, AgreementKind::Off);
/// # Ok::<(), bmax::InputError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// How they agree.
    pub kind: AgreementKind,
    /// The count that follows from the architecture.
    pub derived: u64,
}

/// How two counts agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgreementKind {
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
            model_row_of(scenario).is_some_and(|(row, edited)| !edited && row.group == ModelGroup::Workshop);
        let kind = if scenario.model.parameter_mismatch() <= MISMATCH {
            AgreementKind::Close
        } else if unedited_preset {
            AgreementKind::Rounded
        } else {
            AgreementKind::Off
        };
        Self { kind, derived: scenario.model.derived_parameters() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;
    use crate::catalogue::MODELS;

    #[test]
    fn no_unedited_row_of_the_catalogue_is_warned_about() {
        for row in MODELS {
            let agreement = Agreement::of(&row.apply(Scenario::workshop()));
            assert_ne!(agreement.kind, AgreementKind::Off, "{}", row.slug);
        }
    }

    #[test]
    fn an_edited_preset_is_warned_about() {
        let edited = Scenario::workshop().with_number(Field::Layers, 64.0).expect("in range");
        assert_eq!(Agreement::of(&edited).kind, AgreementKind::Off);
    }

    #[test]
    fn taking_the_derived_count_makes_them_agree() {
        let scenario = Scenario::workshop();
        let count = Agreement::of(&scenario).derived as f64 / 1e9;
        let taken = scenario.with_number(Field::Parameters, count).expect("in range");
        assert_eq!(Agreement::of(&taken).kind, AgreementKind::Close);
    }
}
