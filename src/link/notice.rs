//! What a reader is told about a link.

use std::fmt;

use super::{Change, MAX_QUERY_BYTES, VERSION, VS, names};
use crate::nearest::offers;
use crate::{Field, InputError, catalogue, number};

/// What happens to a link of another version; a test holds the number to [`VERSION`].
const READ_AS_NEWEST: &str = "; it is read as version 4, so check the values below";

/// What a reader should know about a link: something that could not be used as it stands, or that the count has changed
/// since.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// A number was refused; the value in its place, in the unit of the field.
    Number(InputError, f64),
    /// A word is not in the list of its parameter.
    Word {
        /// The parameter.
        key: &'static str,
        /// What it is called on the page.
        name: &'static str,
        /// What was given, shortened.
        given: String,
        /// The accepted words that are most like it, three at most.
        nearest: Vec<&'static str>,
        /// What would be accepted.
        accepted: String,
        /// What stands in.
        used: &'static str,
    },
    /// The model that the link names is not in the list, and there is no answer without it.
    UnknownModel {
        /// What was given, shortened.
        given: String,
        /// The models that are most like it, three at most.
        nearest: Vec<&'static str>,
    },
    /// A GPU without a row is read as another one that has as much memory.
    SameMemory {
        /// What was given, shortened.
        given: String,
        /// The row that stands for it.
        used: &'static str,
        /// What that row is called.
        name: &'static str,
    },
    /// A device that is none of those that are counted.
    NotCounted {
        /// What was given, shortened.
        given: String,
        /// Why.
        why: &'static str,
        /// What stands in.
        used: &'static str,
    },
    /// No parameter has this name.
    Unknown {
        /// The name, shortened.
        key: String,
        /// Its value, shortened.
        value: String,
        /// The parameters that are most like it, three at most; one may be given with its value.
        nearest: Vec<&'static str>,
    },
    /// A memory was given in GB and is taken for as many GiB: the field, what was given, and its value.
    Gigabytes(Field, String, f64),
    /// fp8 was given as a training precision: the option of fp8 that was taken beside bf16.
    Fp8(&'static str),
    /// A parameter is given more than once; the first value counts.
    Repeated(String),
    /// A parameter whose percent-encoding is broken is left out.
    Encoding(String),
    /// The link was written by a newer version, or by none that ever was.
    Version(String),
    /// A model of the list is named beside a model of the reader's own, which counts.
    OwnModel,
    /// The query is longer than any link; what lies beyond the limit is left out.
    TooLong(usize),
    /// The link is of a version without a word for this, and is counted as it was then, by this option.
    CountedAsBefore(Change, &'static str),
    /// More scenarios to compare with are named than links of the version have, which is so many; the first ones are read.
    TooManyVs(usize),
    /// Something in a scenario to compare with.
    Vs(Box<Self>),
    /// A part of a scenario to compare with is no parameter with its value, shortened.
    NoPair(String),
}

impl Notice {
    /// What may be meant instead, as parts of a link (`s=4096`), the nearest first; three at most.
    pub fn offers(&self) -> Vec<String> {
        let of = |key: &str, words: &[&str]| words.iter().map(|word| format!("{key}={word}")).collect();
        match self {
            Self::UnknownModel { nearest, .. } => of("model", nearest),
            Self::Word { key, nearest, .. } => of(key, nearest),
            Self::Unknown { value, nearest, .. } => {
                let with_value =
                    |name: &&str| if name.contains('=') { (*name).to_owned() } else { format!("{name}={value}") };
                nearest.iter().map(with_value).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether something was not used as it stands.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::CountedAsBefore(..) => false,
            Self::Vs(notice) => notice.is_fault(),
            _ => true,
        }
    }
}

/// The alternate form (`{:#}`) says only what is wrong and not what stands in, for those who use nothing of it.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedied = !f.alternate();
        let remedy = |text: &'static str| if remedied { text } else { "" };
        match self {
            Self::Number(problem, used) => {
                write!(f, "{problem}")?;
                if remedied {
                    write!(f, " The link’s “{}” is set to {}.", problem.input.key(), number::grouped(*used))?;
                }
                Ok(())
            }
            Self::Word { key, name, given, nearest, accepted, used } => {
                let nearest: Vec<String> = nearest.iter().map(|word| with_memory(key, word)).collect();
                write!(f, "{name}: “{given}” is not known{}; “{key}” takes {accepted}.", like(nearest.join(", ")))?;
                if remedied {
                    write!(f, " It is set to {used}.")?;
                }
                Ok(())
            }
            Self::UnknownModel { given, nearest } => {
                write!(f, "Model: “{given}” is not known{}; ", like(nearest.join(", ")))?;
                f.write_str("“model” takes a model of the list, and a config.json says what any other is.")
            }
            Self::SameMemory { given, used, name } => {
                write!(f, "GPU: “{given}” is read as {used} ({name}), which has as much memory.")
            }
            Self::NotCounted { given, why, used } => {
                write!(f, "GPU: “{given}” is not counted: {why}.")?;
                if remedied {
                    write!(f, " It is set to {used}; “mem” sets another memory.")?;
                }
                Ok(())
            }
            Self::Unknown { key, nearest, .. } => {
                let like = like(explained(nearest));
                write!(f, "“{key}” is not a parameter{like}{}.", remedy("; it is passed over"))
            }
            Self::Fp8(taken) => write!(
                f,
                "Training precision: “fp8” is read as “bf16” with “fp8={taken}”, because what is not multiplied in fp8 \
                 stays in 16 bits."
            ),
            Self::Gigabytes(field, given, read) => {
                let bound = field.bound();
                write!(f, "{}: “{given}” is in GB, and “{}” takes GiB.", bound.name, bound.key)?;
                if remedied {
                    write!(f, " It is read as {} GiB, as GPUs are named; ", number::grouped(*read))?;
                    f.write_str("their drivers report somewhat less.")?;
                }
                Ok(())
            }
            Self::Repeated(key) => {
                write!(f, "“{key}” is in the link more than once{}.", remedy("; the first value is used"))
            }
            Self::Encoding(key) => write!(
                f,
                "“{key}” is damaged in the link (its percent-encoding is broken){}.",
                remedy("; its default is used")
            ),
            Self::Version(given) => write!(
                f,
                "The link’s version “{given}” is not one this page knows (it knows 1 to {VERSION}){}.",
                remedy(READ_AS_NEWEST)
            ),
            Self::OwnModel => f.write_str("“model” is passed over: the model is the one that was given as a file."),
            Self::TooLong(length) => {
                write!(f, "The link is {} characters long; only ", number::grouped(*length as f64))?;
                write!(f, "the first {} are read.", number::grouped(MAX_QUERY_BYTES as f64))
            }
            Self::CountedAsBefore(change, option) => {
                let (now, day, before, key) = (change.now(), change.day(), change.before(), change.setting().key);
                write!(f, "{now} {day}; this link stands for {before} ({key}={option}), as it did.")
            }
            Self::TooManyVs(1) => Self::Repeated(VS.to_owned()).fmt(f),
            Self::TooManyVs(most) => {
                write!(f, "“{VS}” is in the link more than {most} times{}.", remedy("; the first ones are used"))
            }
            Self::Vs(notice) if remedied => write!(f, "In “vs”: {notice}"),
            Self::Vs(notice) => write!(f, "In “vs”: {notice:#}"),
            Self::NoPair(given) => write!(
                f,
                "“{given}” is not a parameter with its value, as in s:512;zero:3{}.",
                remedy("; it is passed over")
            ),
        }
    }
}

/// A word that is offered; of a GPU with its memory, so that none is taken for one of another size.
fn with_memory(key: &str, word: &str) -> String {
    let row = catalogue::device(word).filter(|_| key == "gpu");
    match row.and_then(|row| row.name.split(" GB").next()?.rsplit(' ').next()) {
        Some(gigabytes) => format!("{word} of {gigabytes} GB"),
        None => word.to_owned(),
    }
}

fn like(nearest: String) -> String {
    if nearest.is_empty() { nearest } else { format!(" (nearest: {nearest})") }
}

/// The parameters that a name is like, three at most.
pub(crate) fn nearest_parameters(key: &str) -> Vec<&'static str> {
    offers("", key, &mut names())
}

/// Parameters, some with a value, and what they are called.
pub(crate) fn explained(parameters: &[&str]) -> String {
    let mut told = String::new();
    for parameter in parameters {
        let key = parameter.split('=').next().unwrap_or_default();
        let name = names().find(|(known, _)| *known == key).map_or("", |(_, name)| name);
        told += if told.is_empty() { "" } else { ", " };
        told += &format!("“{parameter}” for {name}");
    }
    told
}
