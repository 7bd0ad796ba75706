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

    /// Puts values in the place of references to them, as OmegaConf does before a program sees them (omegaconf 2.3.0,
    /// grammar_parser.py and resolvers/oc/__init__.py): `${model.path}`, `${.sibling}`, `${oc.select:path,default}` and
    /// `${oc.env:NAME,default}`. A reference to nothing that is there stays.
    pub(super) fn follow_references(&mut self) {
        // A reference may lead to a reference; the longest way of the programs that are read has two of them.
        const LONGEST: usize = 4;
        for _ in 0..LONGEST {
            let referred = |(own, entry): (usize, &Entry)| match reference(entry)? {
                Reference::To(path, default) => {
                    let found = self.entries.iter().find(|other| other.path == path && other.path != entry.path);
                    let value = found.map(|found| &found.value);
                    // What is long would be as often there as it is referred to.
                    let value = value.filter(|value| match value {
                        Value::Text(text) | Value::Number(text) => text.len() <= 256,
                        Value::List(_) | Value::Object(_) => false,
                        Value::Null | Value::Bool(_) | Value::NotFinite => true,
                    });
                    Some((own, value.cloned().or(default)?))
                }
                Reference::Outside(default) => Some((own, default?)),
            };
            let is_reference =
                |(_, entry): &(usize, &Entry)| entry.value.text().is_some_and(|text| text.starts_with("${"));
            let all = self.entries.iter().enumerate().filter(is_reference).take(FOLLOWED);
            let values: Vec<(usize, Value)> = all.filter_map(referred).collect();
            if values.is_empty() {
                return;
            }
            for (at, value) in values {
                self.entries[at].value = value;
            }
        }
    }

    /// Whether there is a value at this path or below it.
    pub(super) fn has(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| below(&entry.path, path).is_some())
    }
}

/// How many references are followed. Each is looked for among all entries.
const FOLLOWED: usize = 64;

/// What a value stands for.
enum Reference {
    /// The value at a path, and what is taken where there is none.
    To(String, Option<Value>),
    /// What only the machine of the run knows, and what is taken where it does not.
    Outside(Option<Value>),
}

/// The reference that a value is; none for any other.
fn reference(entry: &Entry) -> Option<Reference> {
    let inner = entry.value.text()?.strip_prefix("${")?.strip_suffix('}')?;
    let with_default = |inner: &str| {
        let (name, default) = inner.split_once(',').map_or((inner, None), |(name, rest)| (name, Some(rest.trim())));
        (name.trim().to_owned(), default.map(|word| plain(word.trim_matches(['\'', '"']))))
    };
    if let Some(variable) = inner.strip_prefix("oc.env:") {
        return Some(Reference::Outside(with_default(variable).1));
    }
    if let Some(selected) = inner.strip_prefix("oc.select:") {
        let (path, default) = with_default(selected);
        return Some(Reference::To(path, default));
    }
    // One dot is the object that the key stands in, and each further one the next object around.
    let path = inner.trim_start_matches('.');
    let up = inner.len() - path.len();
    let is_path = !path.is_empty() && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !is_path || up == 0 {
        return is_path.then(|| Reference::To(path.to_owned(), None));
    }
    let around: Vec<&str> = entry.path.split('.').collect();
    let outer = around.get(..around.len().checked_sub(up)?)?;
    Some(Reference::To(outer.iter().copied().chain([path]).collect::<Vec<_>>().join("."), None))
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

    /// How many values there are in it, itself among them. Recursion is safe: no tree is deeper than [`LIMITS`].
    pub(super) fn size(&self) -> usize {
        1 + match self {
            Self::Leaf(_) => 0,
            Self::List(items) => items.iter().map(Self::size).sum(),
            Self::Map(keys) => keys.iter().map(|(.., tree)| tree.size()).sum(),
        }
    }

    /// How many lists and objects lie in one another in it. Recursion is safe: no tree is deeper than [`LIMITS`].
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Leaf(_) => 0,
            Self::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Map(keys) => 1 + keys.iter().map(|(.., tree)| tree.depth()).max().unwrap_or(0),
        }
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
