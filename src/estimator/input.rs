//! The inputs of a scenario, numbers and words alike.

use super::bounds::Field;
use super::setting::{self, Setting};

pub use super::needs::{Need, Readers};

/// An input of a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Input {
    /// The row of a list of models that the model was taken from.
    Model,
    /// The row of a list of GPUs that the device was taken from.
    Gpu,
    /// A number.
    Number(Field),
    /// A word.
    Word(&'static Setting),
}

/// The value of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number in the unit of its field.
    Number(f64),
    /// A word of links.
    Word(&'static str),
}

impl Input {
    /// Every number and every word.
    pub fn each() -> impl Iterator<Item = Self> {
        let numbers = Field::ALL.iter().map(|field| Self::Number(*field));
        numbers.chain(setting::ALL.iter().map(|setting| Self::Word(setting)))
    }

    /// Whether its value follows from the rest where nobody says it ([`Scenario::as_unsaid`](crate::Scenario::as_unsaid)).
    pub fn follows(self) -> bool {
        match self {
            Self::Number(field) => matches!(field, Field::Batch | Field::ComparisonGpus),
            Self::Word(word) => *word == setting::COMPARISON_RECOMPUTATION,
            Self::Model | Self::Gpu => false,
        }
    }

    /// The number or the word of this name in links.
    pub fn from_key(key: &str) -> Option<Self> {
        Field::from_key(key).map(Self::Number).or_else(|| Setting::from_key(key).map(Self::Word))
    }

    /// Its name in links.
    pub fn key(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Gpu => "gpu",
            Self::Number(field) => field.bound().key,
            Self::Word(setting) => setting.key,
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::Gpu => "GPU",
            Self::Number(field) => field.bound().name,
            Self::Word(setting) => setting.name,
        }
    }
}
