//! What a reader is told about a file: why it is not read, and what the numbers alone do not show.

use std::fmt;

use crate::catalogue::AsUsual;
use crate::{
    Field, InputError, Scenario, json, link, number,
    setting::{self, Setting},
};

/// Why a file is not read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is not JSON.
    Json(json::JsonError),
    /// It is JSON, but this kind of value instead of an object.
    NotAnObject(&'static str),
    /// It describes an encoder together with a decoder, in a way that is not counted. Where the file has all sizes of its
    /// decoder, that can be asked in its place.
    TwoStacks(Option<ByHand>),
    /// It describes layers that are not attention with a feed-forward block.
    OtherLayers {
        /// The `model_type`, or the field and value that say so, shortened.
        sign: String,
        /// What the layers are, as the end of a sentence: “keep a state instead of attention”.
        what: &'static str,
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

/// A model that can be asked in place of a file that is not read: it counts the parameters that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct ByHand(pub(super) Box<AsUsual>);

/// The sizes that a model is described by, in the order of the calculator.
pub static SIZES: [Field; 7] =
    [Field::Hidden, Field::Layers, Field::Heads, Field::KvHeads, Field::HeadDim, Field::FeedForward, Field::Vocabulary];

impl ByHand {
    /// The model as the query of a link.
    pub fn query(&self) -> String {
        link::encode(&self.0.apply(Scenario::default()).as_unsaid())
    }

    /// How many weights are counted.
    pub fn weights(&self) -> u64 {
        self.0.model.parameters
    }

    /// Its sizes and kinds as the page calls them: “Hidden size 512, Layers 6”.
    fn in_fields(&self) -> String {
        const WORDS: [&Setting; 5] =
            [&setting::MLP, &setting::NORM, &setting::BIAS, &setting::POSITION, &setting::TIED];
        let scenario = Scenario { model: self.0.model, ..Scenario::default() };
        let sizes = SIZES.map(|field| format!("{} {}", field.bound().name, number::grouped(scenario.number(field))));
        let words = WORDS.map(|word| format!("{} {}", word.name, word.get(&scenario)));
        [sizes.join(", "), words.join(", ")].join(", ")
    }
}

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
    Uncounted {
        /// The field.
        key: String,
        /// Layers, width and feed-forward width of the part, where the field has them.
        sizes: Option<[u32; 3]>,
    },
    /// What may change the count and is not read: shortened names, with commas.
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
        /// What they keep for the backward pass.
        kept: Kept,
    },
    /// What the count leaves out or takes for granted, without a number: a sentence.
    Remark(&'static str),
}

/// What weights that are not counted keep from their forward pass for their backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// So many bytes a token in 16 bits, of all layers where none is computed again.
    Bytes(u64),
    /// What it is cannot be said.
    Unsaid,
}

/// Bytes of the weights of a part that no count has, as words: “1.5 MiB”.
fn size(bytes: f64) -> String {
    const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    for (unit, power) in UNITS {
        let scaled = bytes / f64::from(1_u32 << power);
        if scaled >= 1.0 {
            return format!("{} {unit}", number::grouped((scaled * 10.0).round() / 10.0));
        }
    }
    format!("{} bytes", number::grouped(bytes))
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
                f.write_str(TWO_STACKS)?;
                match by_hand {
                    None => f.write_str(WAY_ON),
                    Some(by_hand) => write!(f, "{}: bmax '{}'.", decoder_of(by_hand), by_hand.query()),
                }
            }
            Self::OtherLayers { sign, what } => {
                write!(f, "{sign}: its layers {what}, which cannot be counted.{WAY_ON}")
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

impl ConfigError {
    /// The same for a reader of the page, who has fields and no command line.
    pub fn on_page(&self) -> String {
        match self {
            Self::TwoStacks(Some(by_hand)) => {
                format!(
                    "{TWO_STACKS}{}, in the fields of the calculator: {}.",
                    decoder_of(by_hand),
                    by_hand.in_fields()
                )
            }
            // Other texts of a run are read as well, elsewhere.
            Self::Json(fault) if !fault.reason.is_limit() => format!("{self}{OTHER_TEXTS}"),
            Self::NotAnObject(_) => format!("{self}{OTHER_TEXTS}"),
            other => other.to_string(),
        }
    }
}

/// Names the field that reads texts other than a `config.json`.
const OTHER_TEXTS: &str =
    " The field at the top of the first page reads configurations of a run, commands and error texts.";

const TWO_STACKS: &str = "This is an encoder with a decoder of a build that is not counted; whole models of the kind of T5, \
                          BART and Whisper are.";

/// What can be asked where nothing of the file's sizes counts about as many weights.
const WAY_ON: &str = " A model of the list with about as many weights has the same weights, gradients and optimizer states; \
                      its activations are others.";

fn decoder_of(by_hand: &ByHand) -> String {
    let weights = number::grouped(by_hand.weights() as f64);
    format!(" Its decoder alone, without what attends to the encoder, has {weights} weights by its sizes")
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
            Self::Uncounted { key, sizes: None } => {
                write!(f, "The part that “{key}” describes is not counted; how much it takes cannot be said.")
            }
            Self::Uncounted { key, sizes: Some(sizes) } => {
                let [layers, width, inner] = sizes.map(f64::from);
                // Four matrices of attention and two around the activation function (Vaswani et al. 2017), and 34 bytes an
                // element of each layer (Korthikanti et al. 2022, arXiv 2205.05198, section 4.1).
                let weights = layers * (4.0 * width * width + 2.0 * width * inner);
                write!(
                    f,
                    "The part that “{key}” describes is not counted: by its sizes about {} in 16 bits of weights, and where \
                     it is trained about {} of activations for each of its own tokens.",
                    size(2.0 * weights),
                    size(34.0 * layers * width)
                )
            }
            Self::Unread(keys) => {
                write!(f, "Not read: {keys}. What it means for weights and activations cannot be said.")
            }
            Self::Differ(used, other) => write!(f, "“{used}” and “{other}” differ; the first is used."),
            Self::Uneven(whole, of, part, by) => {
                write!(f, "{} ({of}) should be a multiple of {} ({by}).", whole.bound().name, part.bound().name)
            }
            Self::Difference { what, weights, kept } => {
                let reason = if *weights < 0 { "Counted, though the model has none of it" } else { "Not counted" };
                let count = weights.unsigned_abs() as f64;
                write!(f, "{reason}: {what}, {} weights ({} in 16 bits)", number::grouped(count), size(2.0 * count))?;
                match kept {
                    Kept::Nothing => f.write_str("."),
                    Kept::Bytes(bytes) => write!(
                        f,
                        ", and up to {} bytes a token that all layers keep where none is computed again.",
                        number::grouped(*bytes as f64)
                    ),
                    Kept::Unsaid => f.write_str("; how much of the activations goes with it cannot be said."),
                }
            }
            Self::Remark(sentence) => f.write_str(sentence),
        }
    }
}
