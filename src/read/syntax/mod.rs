//! Texts as one kind of [`Document`]: entries with a path, a value and a line, whatever they were written in.
//!
//! YAML, TOML and JSON are read by crates, flags of a shell and keyword arguments of Python by lexers of our own. Every
//! reader is total: it gives entries or a [`SyntaxError`], within [`LIMITS`].

pub(super) mod flags;
pub(super) mod json;
pub(super) mod python;
pub(super) mod toml;
pub(super) mod yaml;

use std::fmt;

use crate::json::{Limits, Value};
use crate::number;

/// How much of a configuration is read. The longest example of the programs that are read has 20 KB.
pub(super) const LIMITS: Limits = Limits { bytes: 1 << 19, depth: 24, keys: 4_096, values: 32_768 };

/// What a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// YAML 1.2, with the words of YAML 1.1 for true and false, as PyYAML reads them.
    Yaml,
    /// TOML 1.
    Toml,
    /// JSON.
    Json,
    /// Words of a shell with options among them.
    Flags,
    /// Python.
    Python,
}

impl Syntax {
    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
            Self::Json => "JSON",
            Self::Flags => "a command",
            Self::Python => "Python",
        }
    }
}

/// Where a text stops being what it looks like, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What it looks like.
    pub syntax: Syntax,
    /// The line, from 1.
    pub line: usize,
    /// Why.
    pub fault: Fault,
}

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It breaks the grammar; the words are those of the crate that reads it, without anything of the text.
    Grammar(String),
    /// A key stands for the second time in its object.
    Repeated(String),
    /// More than this many lists and objects lie in one another.
    TooDeep(usize),
    /// It has more than this many values, those that its aliases repeat among them.
    TooManyValues(usize),
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it looks like {}, but in line {} ", self.syntax.name(), self.line)?;
        match &self.fault {
            Fault::Grammar(words) => write!(f, "its reader stops: {words}"),
            Fault::Repeated(key) => write!(f, "“{key}” is there for the second time"),
            Fault::TooDeep(most) => write!(f, "more than {most} lists and objects lie in one another"),
            Fault::TooManyValues(most) => {
                write!(f, "it has more than {} values", number::grouped(*most as f64))
            }
        }
    }
}

impl std::error::Error for SyntaxError {}

/// A value with the path that leads to it: “zero_optimization.stage”.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) value: Value,
    /// The line of its key, from 1.
    pub(super) line: usize,
}

/// The entries of a text in its order; no path is there twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Document {
    pub(super) entries: Vec<Entry>,
}

impl Document {
    /// Puts a value at its path, in place of one that was there: the last flag of a name counts. No command has as many
    /// options as are kept (Megatron-LM knows 876), and what would be behind them is passed over.
    pub(super) fn put(&mut self, path: String, value: Value, line: usize) {
        const MOST: usize = 1_024;
        if self.entries.len() < MOST {
            self.entries.retain(|entry| entry.path != path);
            self.entries.push(Entry { path, value, line });
        }
    }

    /// The text at this path, with its line.
    pub(super) fn text(&self, path: &str) -> Option<(String, usize)> {
        let entry = self.entries.iter().find(|entry| entry.path == path)?;
        Some((entry.value.text()?.to_owned(), entry.line))
    }

    /// Whether there is a value at this path or below it.
    pub(super) fn has(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| below(&entry.path, path).is_some())
    }
}

/// What is left of a path below another one; empty where they are the same.
pub(super) fn below<'a>(path: &'a str, outer: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(outer)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

/// A text as a tree, from which the entries are made.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Leaf(Value),
    List(Vec<Tree>),
    /// Keys with their lines.
    Map(Vec<(String, usize, Tree)>),
}

impl Tree {
    /// Every value that is no object, with the path to it. Objects inside lists stay values of their list.
    pub(super) fn document(self) -> Document {
        let mut entries = Vec::new();
        if let Self::Map(keys) = self {
            flatten(String::new(), keys, &mut entries);
        }
        Document { entries }
    }

    /// The same without its lines.
    pub(super) fn value(self) -> Value {
        match self {
            Self::Leaf(value) => value,
            Self::List(items) => Value::List(items.into_iter().map(Self::value).collect()),
            Self::Map(keys) => Value::Object(keys.into_iter().map(|(key, _, tree)| (key, tree.value())).collect()),
        }
    }
}

/// Recursion is safe: no tree is deeper than [`LIMITS`].
fn flatten(path: String, keys: Vec<(String, usize, Tree)>, to: &mut Vec<Entry>) {
    for (key, line, tree) in keys {
        let path = if path.is_empty() { key } else { format!("{path}.{key}") };
        match tree {
            Tree::Map(inner) if !inner.is_empty() => flatten(path, inner, to),
            other => to.push(Entry { path, value: other.value(), line }),
        }
    }
}

/// A word without quotes as the value that it is: PyYAML’s and argparse’s words for true and false, a number, or a text.
pub(super) fn plain(word: &str) -> Value {
    match word {
        "" | "~" | "null" | "Null" | "NULL" | "None" => Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ if is_number(word) => Value::Number(word.replace('_', "")),
        _ => Value::Text(word.to_owned()),
    }
}

/// Whether a word is a number as Python writes it.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && word.len() < 40
        && is_decimal(&word.replace('_', ""))
}

/// Whether a text is a decimal number without spaces or commas. The standard library's parser would bring 13 kB of tables to
/// the page; [`number::parse`] has none.
pub(super) fn is_decimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) && number::parse(text).is_ok()
}
