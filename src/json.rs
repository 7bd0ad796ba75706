//! JSON that nobody vouches for.
//!
//! [`serde_json`] reads it; this module adds what is stricter here. An object that names a key twice
//! is refused, because two readers would then see two different objects. Depth, length and the number
//! of keys are limited: more is read of a file ([`read_file`]) than of a question ([`read`]). A number stays text until
//! somebody asks for its value, so that `1e999` is a number that is too large for its field and no fault of the whole text.
//!
//! ```
//! use bmax::json;
//!
//! let value = json::read(r#"{ "hidden_size": 4096, "rope": null }"#).unwrap();
//! assert_eq!(value.get("hidden_size").and_then(json::Value::number), Some(4096.0));
//!
//! let fault = json::read("{\n  \"hidden_size\": 4096\n  \"rope\": null\n}").unwrap_err();
//! assert_eq!(fault.to_string(), "line 3, column 3: expected `,` or `}`");
//! ```

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::bounds::excerpt;
use crate::number;

/// The longest question that is read, in bytes: 1 MiB.
pub const MAX_JSON_BYTES: usize = 1 << 20;

/// The longest file that is read, in bytes: 8 MiB. Configurations that list every quantized layer by name have 3 MB.
pub const MAX_FILE_BYTES: usize = 8 << 20;

/// How much of a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest text, in bytes.
    pub bytes: usize,
    /// How many lists and objects may lie in one another. What lies inside is passed over once for each of them, and this
    /// bound keeps that affordable.
    pub depth: usize,
    /// The most keys of one object.
    pub keys: usize,
    /// The most values of a text, those in lists and objects included. Each is looked at by itself, and this bound keeps
    /// that affordable.
    pub values: usize,
}

/// How much of a question is read.
pub const QUESTION: Limits = Limits { bytes: MAX_JSON_BYTES, depth: 64, keys: 2_048, values: 32_768 };

/// How much of a file is read. The index of the weights of DeepSeek-V3 has 92,000 keys.
pub const FILE: Limits = Limits { bytes: MAX_FILE_BYTES, depth: 24, keys: 262_144, values: 262_144 };

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written; [`Value::number`] reads it.
    Number(String),
    /// A text, with its escapes resolved.
    Text(String),
    /// Values in square brackets.
    List(Vec<Value>),
    /// Keys and values in the order of the text; no key is there twice.
    Object(Vec<(String, Value)>),
    /// A number of Python’s that JSON has no word for, in a file.
    NotFinite,
}

impl Value {
    /// The value behind `key`; `None` for an unknown key and for anything that is no object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The keys and values of an object; nothing for anything else.
    pub fn entries(&self) -> &[(String, Self)] {
        if let Self::Object(entries) = self { entries } else { &[] }
    }

    /// The values of a list; nothing for anything else.
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    /// The value of a number; numbers beyond doubles become the largest one. `None` for anything
    /// else, and for an exponent of more digits than any number has a use for.
    pub fn number(&self) -> Option<f64> {
        if let Self::Number(text) = self { number::parse(text).ok() } else { None }
    }

    /// The value of a text.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The value of `true` or `false`.
    pub fn bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// What kind of value this is, for a sentence: “a list”.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
            Self::NotFinite => "NaN or Infinity",
        }
    }
}

/// Where a text stops being JSON, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonError {
    /// The line, from 1.
    pub line: usize,
    /// The character of that line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: JsonErrorKind,
}

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// It breaks the grammar; the words are those of `serde_json`.
    Grammar(String),
    /// An object has this key, shortened, already.
    Repeated(String),
    /// More than this many lists and objects lie in one another.
    TooDeep(usize),
    /// An object has more than this many keys.
    TooManyKeys(usize),
    /// It has more than this many values.
    TooManyValues(usize),
    /// The text has so many bytes, which are more than are read.
    TooLong {
        /// How many it has.
        length: usize,
        /// How many are read.
        most: usize,
    },
}

impl JsonErrorKind {
    /// Whether a limit of this reader is why, and no fault of the text.
    pub const fn is_limit(&self) -> bool {
        !matches!(self, Self::Grammar(_) | Self::Repeated(_))
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grammar(what) => f.write_str(what),
            Self::Repeated(key) => write!(f, "“{key}” is here for the second time"),
            Self::TooDeep(most) => write!(f, "more than {most} lists and objects lie in one another"),
            Self::TooManyKeys(most) => write!(f, "an object has more than {most} keys"),
            Self::TooManyValues(most) => write!(f, "the text has more than {most} values"),
            Self::TooLong { length, most } => write!(f, "the text has {length} bytes; at most {most} are read"),
        }
    }
}

impl std::error::Error for JsonError {}

/// Reads one JSON value with nothing but white space, and perhaps a byte order mark, around it.
///
/// # Errors
/// [`JsonError`] at the first character that cannot stand where it does.
pub fn read(text: &str) -> Result<Value, JsonError> {
    let text = checked(text, QUESTION)?;
    Reader { text, limits: QUESTION, not_finite: HashSet::new(), values: Cell::new(0) }.whole()
}

/// Reads the text of a file as [`read`] does, within [`FILE`], and Python's `NaN`, `Infinity` and `-Infinity` among its
/// values, as json.dumps writes them.
///
/// # Errors
/// [`JsonError`] at the first character that cannot stand where it does.
///
/// ```
/// use bmax::json;
///
/// let value = json::read_file(r#"{"time_step_limit": [0.0, Infinity], "note": "NaN"}"#).unwrap();
/// assert_eq!(value.get("time_step_limit").unwrap().items()[1], json::Value::NotFinite);
/// assert_eq!(value.get("note").and_then(json::Value::text), Some("NaN"));
/// ```
pub fn read_file(text: &str) -> Result<Value, JsonError> {
    let text = checked(text, FILE)?;
    let (text, not_finite) = stood_in(text);
    Reader { text: &text, limits: FILE, not_finite, values: Cell::new(0) }.whole()
}

/// The text without a byte order mark, if it is no longer than is read.
fn checked(text: &str, Limits { bytes: most, .. }: Limits) -> Result<&str, JsonError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > most {
        return Err(JsonError { line: 1, column: 1, reason: JsonErrorKind::TooLong { length: text.len(), most } });
    }
    Ok(text)
}

/// The same text with a string of the same length in place of each of Python's three words for numbers, and where these
/// strings begin. Nothing moves, so that faults are placed as in the text itself.
fn stood_in(text: &str) -> (Cow<'_, str>, HashSet<usize>) {
    const WORDS: [(&str, &str); 3] = [("-Infinity", "\"-Infini\""), ("Infinity", "\"Infini\""), ("NaN", "\"N\"")];
    let mut found = HashSet::new();
    if !text.contains("NaN") && !text.contains("Infinity") {
        return (Cow::Borrowed(text), found);
    }
    let mut written = String::with_capacity(text.len());
    let (mut at, mut last, mut is_inside, mut is_escaped) = (0, ' ', false, false);
    while let Some(character) = text[at..].chars().next() {
        let word = WORDS.iter().find(|(word, _)| {
            let behind = || text[at + word.len()..].trim_start();
            // A key is no value, and neither is a part of a longer word.
            !is_inside
                && text[at..].starts_with(word)
                && matches!(last, ':' | '[' | ',')
                && behind().starts_with([',', ']', '}'])
        });
        if let Some((word, stand_in)) = word {
            found.insert(at);
            written.push_str(stand_in);
            at += word.len();
            last = 'N';
            continue;
        }
        if is_inside {
            is_inside = character != '"' || is_escaped;
            is_escaped = character == '\\' && !is_escaped;
        } else if character == '"' {
            is_inside = true;
        }
        if !character.is_whitespace() {
            last = character;
        }
        written.push(character);
        at += character.len_utf8();
    }
    (Cow::Owned(written), found)
}

/// The whole text, of which all other texts here are parts.
struct Reader<'a> {
    text: &'a str,
    limits: Limits,
    /// Where strings begin that stand for a number that is not finite.
    not_finite: HashSet<usize>,
    /// Values that have been read so far.
    values: Cell<usize>,
}

impl<'a> Reader<'a> {
    fn whole(&self) -> Result<Value, JsonError> {
        self.part::<&RawValue>(self.text).and_then(|whole| self.value(whole.get(), 0))
    }

    /// The byte at which a part of the text begins.
    fn start(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// A part of the text as serde reads it. What lies inside stays text, so that numbers are kept as
    /// they are written, and a key knows where it stands.
    fn part<T: Deserialize<'a>>(&self, part: &'a str) -> Result<T, JsonError> {
        serde_json::from_str(part).map_err(|error| {
            // Lines and columns of serde_json count bytes, from 1, to the last byte that was read.
            let start: usize = part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
            let message = error.to_string();
            let words = message.rsplit_once(" at line ").map_or(&*message, |(words, _)| words);
            let words = words.replace("EOF while parsing", "the text ends inside");
            self.fault(part, (start + error.column()).saturating_sub(1), JsonErrorKind::Grammar(words))
        })
    }

    /// A fault at this byte of a part of the text.
    fn fault(&self, part: &str, byte: usize, reason: JsonErrorKind) -> JsonError {
        let at = (0..=self.start(part) + byte).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or_default();
        let before = &self.text[..at];
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        JsonError {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line..].chars().count() + 1,
            reason,
        }
    }

    /// The value that a part of the text is. Recursion is safe: it goes no deeper than [`Limits::depth`].
    fn value(&self, part: &'a str, depth: usize) -> Result<Value, JsonError> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > self.limits.values {
            return Err(self.fault(part, 0, JsonErrorKind::TooManyValues(self.limits.values)));
        }
        let first = part.bytes().next().unwrap_or_default();
        if matches!(first, b'{' | b'[') && depth == self.limits.depth {
            return Err(self.fault(part, 0, JsonErrorKind::TooDeep(depth)));
        }
        match first {
            b'{' => self.object(self.part(part)?, depth + 1),
            b'[' => {
                let items: Vec<&RawValue> = self.part(part)?;
                items
                    .into_iter()
                    .map(|item| self.value(item.get(), depth + 1))
                    .collect::<Result<_, _>>()
                    .map(Value::List)
            }
            b'"' if self.not_finite.contains(&self.start(part)) => Ok(Value::NotFinite),
            b'"' => self.part(part).map(Value::Text),
            b't' | b'f' => self.part(part).map(Value::Bool),
            b'n' => Ok(Value::Null),
            // Its grammar was checked when it was passed over.
            _ => Ok(Value::Number(part.to_owned())),
        }
    }

    fn object(&self, Pairs(pairs): Pairs<'a>, depth: usize) -> Result<Value, JsonError> {
        let mut entries: Vec<(String, Value)> = Vec::new();
        let mut keys = HashSet::with_capacity(pairs.len());
        for (raw, value) in pairs {
            let key: String = self.part(raw.get())?;
            if !keys.insert(key.clone()) {
                return Err(self.fault(raw.get(), 0, JsonErrorKind::Repeated(excerpt(&key))));
            }
            if entries.len() == self.limits.keys {
                return Err(self.fault(raw.get(), 0, JsonErrorKind::TooManyKeys(self.limits.keys)));
            }
            entries.push((key, self.value(value.get(), depth)?));
        }
        Ok(Value::Object(entries))
    }
}

/// The keys and values of an object as they are written, repeated ones among them.
struct Pairs<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collector;

        impl<'de> Visitor<'de> for Collector {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Collector)
    }
}

#[cfg(test)]
mod tests;
