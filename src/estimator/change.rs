//! One input of a scenario set to a value.

use super::bounds::Field;
use super::input::{Input, Value};
use super::scenario::{Device, Scenario};
use super::setting::Word;
use super::units::Bytes;

/// One input of a scenario and the value it is given. Levers, ways out of a conflict and the measures of a
/// plan are changes.
///
/// ```
/// use bmax::{Change, Field, Recomputation, Scenario, setting::Word};
/// let before = Scenario::workshop();
/// let change = Change::Word(Word::Recomputation(Recomputation::Full));
/// let after = change.apply(before);
/// assert!(change.holds_in(&after));
/// assert_eq!(change.undo(&before).apply(after), before);
/// assert_eq!(Change::Number(Field::Gpus, 16.0).key(), "gpus");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// A number, in the unit of its field.
    Number(Field, f64),
    /// An option of a setting.
    Word(Word),
    /// A device of another catalogue row.
    Device {
        /// Its name in the catalogue.
        origin: &'static str,
        /// Its memory.
        memory: Bytes,
        /// The driver's part of it.
        driver: Bytes,
        /// The workspace of its libraries.
        workspace: Bytes,
        /// Ten times its compute capability.
        capability: u32,
        /// Whether it has no units for bf16.
        emulates_bf16: bool,
    },
}

impl Change {
    /// The scenario with this change made; unchanged when a number is out of its range.
    #[must_use]
    pub fn apply(self, mut scenario: Scenario) -> Scenario {
        match self {
            Self::Number(field, value) => scenario.with_number(field, value).unwrap_or(scenario),
            Self::Word(word) => word.apply(scenario),
            Self::Device { origin, memory, driver, workspace, capability, emulates_bf16 } => {
                let before = scenario.device;
                scenario.device = Device { origin, memory, driver, workspace, capability, emulates_bf16, ..before };
                scenario
            }
        }
    }

    /// The change that brings the input back to what it is in `before`.
    #[must_use]
    pub fn undo(self, before: &Scenario) -> Self {
        match self {
            Self::Number(field, _) => Self::Number(field, before.number(field)),
            Self::Word(word) => Self::Word(word.setting().chosen(before)),
            Self::Device { .. } => {
                let Device { origin, memory, driver, workspace, capability, emulates_bf16, .. } = before.device;
                Self::Device { origin, memory, driver, workspace, capability, emulates_bf16 }
            }
        }
    }

    /// Whether `scenario` has this value already.
    pub fn holds_in(self, scenario: &Scenario) -> bool {
        self.undo(scenario) == self
    }

    /// The input.
    pub fn input(self) -> Input {
        match self {
            Self::Number(field, _) => Input::Number(field),
            Self::Word(word) => Input::Word(word.setting()),
            Self::Device { .. } => Input::Gpu,
        }
    }

    /// The value it is given.
    pub fn value(self) -> Value {
        match self {
            Self::Number(_, value) => Value::Number(value),
            Self::Word(word) => Value::Word(word.key()),
            Self::Device { origin, .. } => Value::Word(origin),
        }
    }

    /// The link parameter of the input.
    pub fn key(self) -> &'static str {
        self.input().key()
    }

    /// The name of the input.
    pub fn name(self) -> &'static str {
        self.input().name()
    }
}

impl From<Word> for Change {
    fn from(word: Word) -> Self {
        Self::Word(word)
    }
}
