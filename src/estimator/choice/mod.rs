//! The inputs that are picked from a list rather than typed.
//!
//! One declaration yields the enum, the word the link uses, the label the form shows and the
//! sentence that says what the setting changes.

use std::fmt;
use std::str::FromStr;

use super::text::excerpt;

/// One value of a choice, as forms and links know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceOption {
    /// The word for it in a link.
    pub key: &'static str,
    /// Its label in a form.
    pub label: &'static str,
}

/// A text that is none of the words of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WordError {
    /// What was given, shortened.
    pub given: String,
    /// What there is.
    pub options: &'static [ChoiceOption],
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "“{}” is not known; there are {}", self.given, keys(self.options))
    }
}

impl std::error::Error for WordError {}

/// The words of options, for messages.
pub(crate) fn keys(options: &[ChoiceOption]) -> String {
    let keys: Vec<_> = options.iter().map(|option| option.key).collect();
    keys.join(", ")
}

/// A type with a closed list of values. [`FromStr`] and [`Display`](fmt::Display) read and write the word of a link.
///
/// ```
/// use bmax::Recomputation;
/// assert_eq!("full".parse(), Ok(Recomputation::Full));
/// assert_eq!(Recomputation::EveryK.to_string(), "every-k");
/// assert!("total".parse::<Recomputation>().unwrap_err().to_string().contains("none, selective"));
/// ```
pub trait Choice: Copy + PartialEq + Sized + FromStr<Err = WordError> + fmt::Display + 'static {
    /// Every value, in the order a form shows them.
    const ALL: &'static [Self];
    /// The same as words and labels.
    const OPTIONS: &'static [ChoiceOption];

    /// One sentence on what each changes, in the same order. A part of the page that explains nothing need not carry them.
    const EFFECTS: &'static [&'static str];

    /// Word and label of this value.
    fn option(self) -> &'static ChoiceOption;

    /// The word for this value in a link.
    fn key(self) -> &'static str {
        self.option().key
    }

    /// The label of this value in a form.
    fn label(self) -> &'static str {
        self.option().label
    }

    /// One sentence on what this value changes.
    fn effect(self) -> &'static str;

    /// The value behind a word of a link; the case of its letters does not matter.
    fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.key().eq_ignore_ascii_case(key.trim()))
    }
}

/// The value behind a word of a link, or what there is in its place.
fn read<T: Choice>(text: &str) -> Result<T, WordError> {
    T::from_key(text).ok_or_else(|| WordError { given: excerpt(text), options: T::OPTIONS })
}

macro_rules! choices {
    ($(
        $(#[$meta:meta])*
        $name:ident {
            $($(#[$value_meta:meta])* $value:ident = $key:literal, $label:literal, $effect:literal;)+
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        pub enum $name {
            $($(#[$value_meta])* #[serde(rename = $key)] $value,)+
        }

        /// Reads the word that links use.
        impl std::str::FromStr for $name {
            type Err = crate::choice::WordError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                crate::choice::read(text)
            }
        }

        /// Writes the word that links use.
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(crate::Choice::key(*self))
            }
        }

        impl crate::Choice for $name {
            const ALL: &'static [Self] = &[$(Self::$value,)+];
            const OPTIONS: &'static [crate::choice::ChoiceOption] =
                &[$(crate::choice::ChoiceOption { key: $key, label: $label },)+];
            const EFFECTS: &'static [&'static str] = &[$($effect,)+];

            fn option(self) -> &'static crate::choice::ChoiceOption {
                // The values are numbered in the order of the list.
                &Self::OPTIONS[self as usize]
            }

            fn effect(self) -> &'static str {
                Self::EFFECTS[self as usize]
            }
        }
    )+};
}

// Behind the macro, which they use.
mod adapter;
mod lengths;
mod machine;
mod method;
mod model;
mod optimizer;
mod outside;
mod recipe;
mod switch;
mod task;
mod vision;

pub use adapter::*;
pub use lengths::*;
pub use machine::*;
pub use method::*;
pub use model::*;
pub use optimizer::*;
pub use outside::*;
pub use recipe::*;
pub use switch::*;
pub use task::*;
pub use vision::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_whatever_its_case_and_padding() {
        assert_eq!(Recomputation::from_key(" FULL "), Some(Recomputation::Full));
        assert_eq!(Recomputation::from_key("total"), None);
        assert_eq!(ZeroStage::from_key("3"), Some(ZeroStage::Stage3));
    }

    #[test]
    fn every_value_has_the_option_at_its_place() {
        for (value, option) in Recomputation::ALL.iter().zip(Recomputation::OPTIONS) {
            assert_eq!(value.option(), option);
        }
        assert_eq!(Precision::Fp32.key(), "fp32");
    }

    #[test]
    fn a_word_that_is_not_known_is_told_with_those_that_are() {
        let error = "perhaps".parse::<crate::Switch>().expect_err("no word of a switch");
        assert_eq!(error.to_string(), "“perhaps” is not known; there are off, on");
    }
}
