//! One declared range per numeric input.
//!
//! From this one table come the check, the text of its message, the form's `min`, `max` and
//! `step`, the link's parameter names and the generators of the property tests.

use std::fmt;

use crate::number::{self, NotANumber};

/// What a numeric input accepts, and how it is called everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The link's parameter name.
    pub key: &'static str,
    /// The name shown to the reader.
    pub name: &'static str,
    /// The symbol used in formulas.
    pub symbol: &'static str,
    /// The unit of `min`, `max` and of what the reader types; may be empty.
    pub unit: &'static str,
    /// Smallest accepted value.
    pub min: f64,
    /// Largest accepted value.
    pub max: f64,
    /// Whether only whole numbers are accepted.
    pub whole: bool,
    /// One sentence on what the field is.
    pub help: &'static str,
}

macro_rules! fields {
    ($($(#[$meta:meta])* $field:ident {
        $key:literal, $name:literal, $symbol:literal, $unit:literal,
        $kind:ident $min:literal ..= $max:literal, $help:literal
    })+) => {
        /// A numeric input of a [`Scenario`](crate::Scenario).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Field { $($(#[$meta])* $field,)+ }

        impl Field {
            /// Every field, in the order of the form.
            pub const ALL: &'static [Self] = &[$(Self::$field,)+];

            /// The declared range of this field.
            pub const fn bound(self) -> Bound {
                match self {
                    $(Self::$field => Bound {
                        key: $key, name: $name, symbol: $symbol, unit: $unit,
                        min: $min as f64, max: $max as f64, whole: fields!(@whole $kind), help: $help,
                    },)+
                }
            }
        }
    };
    (@whole whole) => { true };
    (@whole real) => { false };
}

fields! {
    /// N, in billions as people say it.
    Parameters { "params", "Parameters", "N", "billion", real 0.0001 ..= 100_000,
        "How many weights the model has; the 16-byte rule multiplies this." }
    /// H.
    Hidden { "hidden", "Hidden size", "H", "", whole 8 ..= 131_072,
        "Width of the residual stream: each token carries H numbers from layer to layer." }
    /// L.
    Layers { "layers", "Layers", "L", "", whole 1 ..= 1_024,
        "Transformer blocks; each keeps its own activations." }
    /// n.
    Heads { "heads", "Attention heads", "n", "", whole 1 ..= 1_024,
        "Each head keeps an S × S score matrix unless attention is recomputed." }
    /// k.
    KvHeads { "kv", "Key/value heads", "k", "", whole 1 ..= 1_024,
        "Fewer than n means grouped-query attention (GQA); used for the derived parameter count." }
    /// Width of one head.
    HeadDim { "head_dim", "Head width", "d", "", whole 1 ..= 4_096,
        "Usually H / n; used for the derived parameter count." }
    /// f.
    FeedForward { "ffn", "Feed-forward width", "f", "", whole 8 ..= 1_048_576,
        "Inner width of the feed-forward block; used for the derived parameter count." }
    /// V.
    Vocabulary { "vocab", "Vocabulary", "V", "", whole 2 ..= 2_000_000,
        "Entries of the embedding table; used for the derived parameter count." }
    /// S.
    Sequence { "s", "Sequence length", "S", "tokens", whole 1 ..= 4_194_304,
        "Tokens in one sequence." }
    /// b.
    Batch { "b", "Micro-batch", "b", "sequences", whole 1 ..= 1_048_576,
        "Sequences one GPU processes at once." }
    /// All devices of the job.
    Gpus { "gpus", "Number of GPUs", "D", "", whole 1 ..= 131_072,
        "Devices that train together." }
    /// T.
    TensorParallel { "tp", "Tensor parallel", "T", "", whole 1 ..= 128,
        "GPUs that share each layer's matrices; read by the paper's method." }
    /// Device memory.
    Memory { "mem", "GPU memory", "M", "GiB", real 0.5 ..= 4_096,
        "Memory of one device as its driver reports it." }
    /// Share of device memory kept free.
    Headroom { "headroom", "Headroom", "r", "%", real 0 ..= 50,
        "Kept free for the CUDA context, communication buffers and fragmentation." }
    /// Target of the accumulation planner.
    GlobalBatch { "target", "Target global batch", "B", "", whole 1 ..= 1_000_000_000,
        "What one optimizer step should see, over all GPUs." }
    /// Devices assumed for the chart's reference curves.
    ComparisonGpus { "chart_gpus", "GPUs of the reference curves", "D", "", whole 1 ..= 131_072,
        "How many GPUs the chart's four reference models are spread over." }
}

impl Field {
    /// The field with this link parameter name.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|field| field.bound().key == key)
    }

    /// Accepts `value` when it lies in the declared range.
    ///
    /// # Errors
    /// [`Problem`], which names the field and the range, for NaN, for a fraction where a whole
    /// number is asked for, and for anything below or above the range.
    pub fn check(self, value: f64) -> Result<f64, Problem> {
        let bound = self.bound();
        let fault = if value.is_nan() {
            Fault::Unreadable(NotANumber::Malformed)
        } else if value < bound.min {
            Fault::TooSmall
        } else if value > bound.max {
            Fault::TooLarge
        } else if bound.whole && value.fract() != 0.0 {
            Fault::NotWhole
        } else {
            return Ok(value);
        };
        Err(Problem { field: self, given: number::grouped(value), fault })
    }

    /// Reads what somebody typed or pasted: separators and the field's own unit are accepted.
    ///
    /// # Errors
    /// [`Problem`] as for [`check`](Self::check), and for text that is no number.
    ///
    /// ```
    /// use bmax::Field;
    /// assert_eq!(Field::Sequence.read("4,096 tokens"), Ok(4096.0));
    /// let problem = Field::Sequence.read("-1").unwrap_err();
    /// assert_eq!(
    ///     problem.to_string(),
    ///     "Sequence length: “-1” is too small; it takes a whole number from 1 to 4,194,304 tokens."
    /// );
    /// ```
    pub fn read(self, text: &str) -> Result<f64, Problem> {
        let bound = self.bound();
        let trimmed = text.trim();
        let bare = match trimmed.len().checked_sub(bound.unit.len()) {
            Some(at) if trimmed.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(bound.unit)) => &trimmed[..at],
            _ => trimmed,
        };
        let with_text = |fault| Problem { field: self, given: excerpt(trimmed), fault };
        let value = number::parse(bare).map_err(|fault| with_text(Fault::Unreadable(fault)))?;
        self.check(value).map_err(|problem| with_text(problem.fault))
    }
}

/// The first characters of a text that may be very long or hold control characters.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 32;
    let mut shown: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// A refused input: which field, what was given, why, and what would be accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The field it was meant for.
    pub field: Field,
    /// What was given, shortened.
    pub given: String,
    /// Why it was refused.
    pub fault: Fault,
}

/// Why a value was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be read as a number.
    Unreadable(NotANumber),
    /// It is below the declared range.
    TooSmall,
    /// It is above the declared range.
    TooLarge,
    /// It has a fraction where whole numbers are asked for.
    NotWhole,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => reason.fmt(f),
            Self::TooSmall => f.write_str("is too small"),
            Self::TooLarge => f.write_str("is too large"),
            Self::NotWhole => f.write_str("is not a whole number"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = self.field.bound();
        write!(f, "{}: ", bound.name)?;
        match self.fault {
            Fault::Unreadable(NotANumber::Empty) => write!(f, "nothing is given")?,
            fault => write!(f, "“{}” {fault}", self.given)?,
        }
        write!(f, "; it takes {bound}.")
    }
}

impl std::error::Error for Problem {}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.whole { "a whole number" } else { "a number" };
        write!(f, "{kind} from {} to {}", number::grouped(self.min), number::grouped(self.max))?;
        match self.unit {
            "" => Ok(()),
            "%" => f.write_str(" %"),
            unit => write!(f, " {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_accepts_its_ends_and_refuses_what_lies_beyond() {
        for &field in Field::ALL {
            let bound = field.bound();
            assert_eq!(field.check(bound.min), Ok(bound.min), "{}", bound.key);
            assert_eq!(field.check(bound.max), Ok(bound.max), "{}", bound.key);
            assert_eq!(field.check(bound.min - 1.0).unwrap_err().fault, Fault::TooSmall, "{}", bound.key);
            assert_eq!(field.check(bound.max * 2.0).unwrap_err().fault, Fault::TooLarge, "{}", bound.key);
            assert!(field.check(f64::NAN).is_err(), "{}", bound.key);
        }
    }

    #[test]
    fn every_message_names_the_field_and_the_range() {
        for &field in Field::ALL {
            let bound = field.bound();
            for text in ["", "abc", "-1", "NaN", "1e400", "7,5"] {
                let message = field.read(text).unwrap_err().to_string();
                assert!(message.contains(bound.name), "{message}");
                assert!(message.contains(&number::grouped(bound.max)), "{message}");
            }
        }
    }

    #[test]
    fn keys_are_unique() {
        for (i, a) in Field::ALL.iter().enumerate() {
            for b in &Field::ALL[i + 1..] {
                assert_ne!(a.bound().key, b.bound().key);
            }
        }
    }

    #[test]
    fn a_hundred_kilobytes_of_text_give_a_short_message() {
        let message = Field::Batch.read(&"9".repeat(100_000)).unwrap_err().to_string();
        assert!(message.len() < 200, "{} bytes", message.len());
    }

    #[test]
    fn a_pasted_unit_is_accepted_in_any_case() {
        assert_eq!(Field::Memory.read("80 gib"), Ok(80.0));
        assert_eq!(Field::Headroom.read("10%"), Ok(10.0));
        assert_eq!(Field::Parameters.read("8.03 billion"), Ok(8.03));
    }
}
