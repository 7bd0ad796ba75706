//! Why an input is refused.

use std::fmt;

use super::input::Input;
use crate::number::NumberError;

/// A refused input: which one, what was given, why, and what would be accepted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InputError {
    /// The input it was meant for.
    pub input: Input,
    /// What was given, shortened.
    pub given: String,
    /// Why it was refused.
    pub fault: InputErrorKind,
}

/// Why a value was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputErrorKind {
    /// It cannot be read as a number.
    Unreadable(NumberError),
    /// It is below the declared range.
    TooSmall,
    /// It is above the declared range.
    TooLarge,
    /// It has a fraction where whole numbers are asked for.
    NotWhole,
    /// It is none of the listed words.
    NotListed,
    /// It names another unit than the one that is given beside it.
    OtherUnit,
}

impl fmt::Display for InputErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => reason.fmt(f),
            Self::TooSmall => f.write_str("is too small"),
            Self::TooLarge => f.write_str("is too large"),
            Self::NotWhole => f.write_str("is not a whole number"),
            Self::NotListed => f.write_str("is not known"),
            Self::OtherUnit => f.write_str("is not in the unit that is given beside it"),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.input.name())?;
        match self.fault {
            InputErrorKind::Unreadable(NumberError::Empty) => write!(f, "nothing is given")?,
            fault => write!(f, "“{}” {fault}", self.given)?,
        }
        match self.input {
            Input::Number(field) => write!(f, "; it takes {}.", field.bound()),
            Input::Word(setting) => write!(f, "; it takes {}.", setting.keys()),
            Input::Model | Input::Gpu => write!(f, "; it takes a row of the list."),
        }
    }
}

impl std::error::Error for InputError {}
