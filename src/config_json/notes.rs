//! What a reader is told about a file: why it is not read, and what the numbers alone do not show.

use std::fmt;

use crate::{Field, InputError, json, number};

/// Why a file is not read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is not JSON.
    Json(json::JsonError),
    /// It is JSON, but this kind of value instead of an object.
    NotAnObject(&'static str),
    /// It describes an encoder together with a decoder, in a way that is not counted.
    TwoStacks(ByHand),
    /// It describes layers that are not attention with a feed-forward block.
    OtherLayers {
        /// The `model_type`, or the field and value that say so, shortened.
        sign: String,
        /// What the layers are, as the end of a sentence: “keep a state instead of attention”.
        what: &'static str,
        /// What can be asked instead.
        by_hand: ByHand,
    },
    /// It describes something else than a language model: this field says so.
    NotLanguage(&'static str),
    /// No family has this `model_type`, shortened, and there is no vocabulary.
    NoVocabulary(String),
    /// A size without which nothing can be counted is not there.
    Missing {
        /// What it is.
        field: Field,
        /// The fields it may be in.
        keys: &'static [&'static str],
        /// The `model_type`, shortened, when no family has it; empty for a known one.
        unknown_type: String,
    },
    /// A size without which nothing can be counted cannot be used as it is.
    Unusable(Unusable),
    /// A number that follows from several fields lies outside of its declared range.
    Range(InputError),
}

/// The sizes of a file that is not read, as a question that can be asked of the command line or
/// appended to the address of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByHand(pub String);

/// A field whose value cannot be used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unusable {
    /// It has this kind of value where another one belongs.
    Kind {
        /// The field.
        key: &'static str,
        /// What it is.
        found: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// It is a number outside of the declared range.
    Range(&'static str, InputError),
    /// It is a number, shortened, that cannot be a size: no whole number, negative or huge.
    Size(&'static str, String),
}

/// Something about a file that the numbers alone do not show.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConfigNotice {
    /// A field is not there.
    Absent {
        /// The field.
        key: &'static str,
        /// What stands in.
        used: String,
        /// The family whose default that is in transformers; empty when it follows from other fields.
        family: &'static str,
        /// How it follows from other fields.
        why: &'static str,
    },
    /// A field cannot be used; this stands in, or nothing has to.
    Unusable(Unusable, Option<u32>),
    /// No family has this `model_type`, shortened; empty when the file names none.
    UnknownType {
        /// The `model_type`.
        given: String,
        /// How the blocks are read, as the end of a sentence.
        guess: &'static str,
    },
    /// The sizes are those of the language model in this field.
    Nested(&'static str),
    /// This field, shortened, describes a part of the model that is not counted.
    Uncounted(String),
    /// Numbers that may change the count but are not read: shortened names, with commas.
    Unread(String),
    /// Two fields that should agree; the first one is used.
    Differ(&'static str, &'static str),
    /// A size, and another one that should divide it.
    Uneven(Field, u32, Field, u32),
    /// Weights that the model has and the count has not; below zero those that only the count has.
    Difference {
        /// What they are.
        what: &'static str,
        /// How many.
        weights: i64,
    },
    /// What the count leaves out or takes for granted, without a number: a sentence.
    Remark(&'static str),
}

/// How many names of a field a sentence lists.
const SHOWN: usize = 3;

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(fault) if fault.reason.is_limit() => write!(f, "This is more than is read: {}.", fault.reason),
            Self::Json(fault) => write!(f, "This is not JSON: {fault}."),
            Self::NotAnObject(kind) => write!(f, "A config.json is an object in braces; this is {kind}."),
            Self::TwoStacks(by_hand) => {
                write!(
                    f,
                    "This is an encoder with a decoder of a build that is not counted; whole models of the kind of T5, \
                     BART and Whisper are. Its decoder can be given by hand{by_hand}"
                )
            }
            Self::OtherLayers { sign, what, by_hand } => {
                write!(
                    f,
                    "{sign}: its layers {what}, which cannot be counted. A model of its sizes can be given by \
                     hand{by_hand}"
                )
            }
            Self::NotLanguage(key) => write!(
                f,
                "This is no language model: “{key}” belongs to images, sounds or pairs of encoders. What can be read \
                 is the config.json of a model of tokens."
            ),
            Self::NoVocabulary(given) => write!(
                f,
                "The model_type “{given}” is not known, and the file has no “vocab_size”: this is no language model, \
                 or one with names of its own. What can be read is the config.json of a model of tokens."
            ),
            Self::Missing { field, keys, unknown_type } => {
                if !unknown_type.is_empty() {
                    write!(f, "The model_type “{unknown_type}” is not known, and the usual names do not help. ")?;
                }
                write!(f, "{}: the file has ", field.bound().name)?;
                for key in keys.iter().take(SHOWN) {
                    write!(f, "no “{key}”, ")?;
                }
                if keys.len() > SHOWN {
                    f.write_str("none of its other names, ")?;
                }
                f.write_str("and nothing can stand in for it.")
            }
            Self::Unusable(unusable) => unusable.fmt(f),
            Self::Range(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ByHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ", with its weights in billions as “params”: bmax '{}'.", self.0)
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { key, found, wanted } => write!(f, "“{key}” is {found}; {wanted} belongs there."),
            Self::Range(key, problem) => write!(f, "“{key}” cannot be used. {problem}"),
            Self::Size(key, given) => write!(
                f,
                "“{key}” cannot be used: “{given}” is no whole number from 0 to {}.",
                number::grouped(super::LARGEST)
            ),
        }
    }
}

impl fmt::Display for ConfigNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent { key, used, family, why } => {
                write!(f, "“{key}” is not in the file; {used} stands in, {why}")?;
                if !family.is_empty() {
                    write!(f, "the default for {family} in transformers")?;
                }
                f.write_str(".")
            }
            Self::Unusable(unusable, used) => {
                unusable.fmt(f)?;
                used.map_or(Ok(()), |used| write!(f, " {used} stands in."))
            }
            Self::UnknownType { given, guess } => write!(
                f,
                "The model_type “{given}” is not known. The file is read by the names that most share, {guess}: \
                 compare the number of parameters with the published one."
            ),
            Self::Nested(key) => write!(
                f,
                "The sizes are those of the language model, in “{key}”; what else the model has is not counted."
            ),
            Self::Uncounted(key) => write!(f, "The part that “{key}” describes is not counted."),
            Self::Unread(keys) => write!(f, "Not read, though the count of weights may depend on it: {keys}."),
            Self::Differ(used, other) => write!(f, "“{used}” and “{other}” differ; the first is used."),
            Self::Uneven(whole, of, part, by) => {
                write!(f, "{} ({of}) should be a multiple of {} ({by}).", whole.bound().name, part.bound().name)
            }
            Self::Difference { what, weights } => {
                let reason = if *weights < 0 { "Counted, though the model has none of it" } else { "Not counted" };
                write!(f, "{reason}: {what}, {} weights.", number::grouped(weights.unsigned_abs() as f64))
            }
            Self::Remark(sentence) => f.write_str(sentence),
        }
    }
}
