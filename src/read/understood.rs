//! What was understood of pasted texts: every key is in exactly one of four lists.

use std::fmt;

use super::format::Format;

/// A key where it stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The name of the text, without the way to it; empty for what was pasted.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// The key, shortened.
    pub key: String,
}

/// A key that an input of the scenario comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// Where it stands.
    pub place: Place,
    /// Its value: a number or a word of the format.
    pub value: String,
    /// The parameters of a link that follow from it, alone or together with others: “zero=3”.
    pub became: Vec<String>,
    /// Whether another text says otherwise, and that is what counts.
    pub overruled: bool,
}

/// What a program takes because nobody says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    /// The program’s text.
    pub format: Format,
    /// The key that is not there; empty for what is so in every text of the format.
    pub key: &'static str,
    /// What the program takes for it; empty for what is so in any case.
    pub value: &'static str,
    /// The parameters of a link that follow from it.
    pub became: Vec<String>,
    /// The program, its version, and the file and class that say so.
    pub source: &'static str,
}

/// A key on which memory depends and that nothing counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCounted {
    /// Where it stands.
    pub place: Place,
    /// Its value, where it is a number or a word of the format.
    pub value: String,
    /// What it could cost.
    pub why: &'static str,
}

/// A key, or its value, that no table has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUnderstood {
    /// Where it stands.
    pub place: Place,
    /// Why.
    pub why: Why,
}

/// Why a key is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The format has no such key; those that it is like, three at most.
    Key(Vec<&'static str>),
    /// The key has no such value here.
    Value,
    /// Only a run would know the value: it is an expression.
    Expression,
    /// An input refuses the value; its message.
    Input(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(nearest) if nearest.is_empty() => f.write_str("no key of its program is called so"),
            Self::Key(nearest) => write!(f, "no key of its program is called so (nearest: {})", nearest.join(", ")),
            Self::Value => f.write_str("its value is none that is known here"),
            Self::Expression => f.write_str("its value is an expression, and nothing is run"),
            Self::Input(message) => f.write_str(message),
        }
    }
}

/// What became of every key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Understood {
    /// Keys that an input comes from.
    pub used: Vec<Used>,
    /// Keys on which memory does not depend.
    pub no_matter: Vec<Place>,
    /// Keys on which it does depend, and that nothing counts.
    pub not_counted: Vec<NotCounted>,
    /// Keys that no table has.
    pub not_understood: Vec<NotUnderstood>,
    /// What programs take because no text says it.
    pub silent: Vec<Silent>,
    /// Files that are named and not there: where, and their names without the way to them.
    pub missing: Vec<(Place, String)>,
}

impl Understood {
    /// How many keys there are.
    pub fn keys(&self) -> usize {
        self.used.len() + self.no_matter.len() + self.not_counted.len() + self.not_understood.len()
    }
}
