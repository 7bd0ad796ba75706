//! What a reader is told about a link.

use std::fmt;

use super::parameters::ROWS;
use super::{Change, MAX_QUERY_BYTES, VERSION, VS, names};
use crate::bounds::excerpt;
use crate::nearest::offers;
use crate::setting::Setting;
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
        /// The list.
        of: Words,
        /// What was given.
        given: String,
        /// What stands in.
        used: &'static str,
    },
    /// The model that the link names, as it was given, is not in the list, and there is no answer without it.
    UnknownModel(String),
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
        /// The name.
        key: String,
        /// Its value, shortened.
        value: String,
        /// Whether it is compared with the parameters that there are. Every comparison takes time, and a link in which
        /// many names are unknown is no slip of the hand.
        compared: bool,
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

/// A list of words that a parameter takes one of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Words {
    /// The options of a setting.
    Setting(&'static Setting),
    /// The devices of the catalogue, by their slugs.
    Gpu,
    /// Those of a parameter that is no part of the scenario.
    Other {
        /// The parameter.
        key: &'static str,
        /// What it is called on the page.
        name: &'static str,
        /// The words and what each is called; empty where there are too many to list.
        known: &'static [(&'static str, &'static str)],
        /// What is accepted, in words; where there are none, the words themselves.
        accepted: &'static str,
    },
}

impl Words {
    /// The parameter, and what it is called on the page.
    const fn parameter(self) -> (&'static str, &'static str) {
        match self {
            Self::Setting(setting) => (setting.key, setting.name),
            Self::Gpu => ROWS[2],
            Self::Other { key, name, .. } => (key, name),
        }
    }

    /// The words that are most like `given`, three at most.
    fn nearest(self, given: &str) -> Vec<&'static str> {
        let key = self.parameter().0;
        match self {
            Self::Setting(setting) => {
                offers(key, given, &mut setting.options.iter().map(|option| (option.key, option.label)))
            }
            Self::Gpu => offers(key, given, &mut catalogue::DEVICES.iter().map(|row| (row.slug, row.name))),
            Self::Other { known, .. } => offers(key, given, &mut known.iter().copied()),
        }
    }

    /// What would be accepted.
    fn accepted(self) -> String {
        match self {
            Self::Setting(setting) => setting.keys(),
            Self::Gpu => "a GPU of the list".to_owned(),
            Self::Other { known, accepted: "", .. } => known.iter().map(|word| word.0).collect::<Vec<_>>().join(", "),
            Self::Other { accepted, .. } => accepted.to_owned(),
        }
    }
}

impl Notice {
    /// The words of the list that are most like what was given, three at most: models, options or parameters, of which one
    /// may stand with its value. It is looked up when it is said, because most links are read without a fault.
    pub fn nearest(&self) -> Vec<&'static str> {
        match self {
            Self::UnknownModel(given) => {
                offers(ROWS[1].0, given, &mut catalogue::MODELS.iter().map(|row| (row.slug, row.name)))
            }
            Self::Word { of, given, .. } => of.nearest(given),
            Self::Unknown { key, compared: true, .. } => nearest_parameters(key),
            _ => Vec::new(),
        }
    }

    /// What may be meant instead, as parts of a link (`s=4096`), the nearest first; three at most.
    pub fn offers(&self) -> Vec<String> {
        let nearest = self.nearest();
        let of = |key: &str| nearest.iter().map(|word| format!("{key}={word}")).collect();
        match self {
            Self::UnknownModel(_) => of(ROWS[1].0),
            Self::Word { of: words, .. } => of(words.parameter().0),
            Self::Unknown { value, .. } => {
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
            Self::Word { of, given, used } => {
                let (key, name) = of.parameter();
                let nearest: Vec<String> = self.nearest().into_iter().map(|word| with_memory(key, word)).collect();
                let (given, like, accepted) = (excerpt(given), like(nearest.join(", ")), of.accepted());
                write!(f, "{name}: “{given}” is not known{like}; “{key}” takes {accepted}.")?;
                if remedied {
                    write!(f, " It is set to {used}.")?;
                }
                Ok(())
            }
            Self::UnknownModel(given) => {
                write!(f, "Model: “{}” is not known{}; ", excerpt(given), like(self.nearest().join(", ")))?;
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
            Self::Unknown { key, .. } => {
                let (key, like) = (excerpt(key), like(explained(&self.nearest())));
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
