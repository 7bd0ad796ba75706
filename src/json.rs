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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(text: &str) -> String {
        read(text).expect_err(text).to_string()
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let value =
            read("\u{feff} {\"a\":[null,true,false,-0.5e+3,0],\"b\":{},\"c\":[ ],\"d\":\"é\"}\r\n").expect("JSON");
        let a = value.get("a").expect("a list").items();
        assert_eq!(a[..3], [Value::Null, Value::Bool(true), Value::Bool(false)]);
        assert_eq!((a[3].number(), a[4].number()), (Some(-500.0), Some(0.0)));
        assert_eq!(value.get("b"), Some(&Value::Object(vec![])));
        assert_eq!(value.get("c"), Some(&Value::List(vec![])));
        assert_eq!(value.get("d").and_then(Value::text), Some("é"));
        assert_eq!((value.get("e"), value.number(), value.get("b").and_then(Value::bool)), (None, None, None));
    }

    #[test]
    fn as_many_values_are_read_as_are_allowed_and_one_more_is_refused() {
        // The list itself is one.
        let list = |items: usize| format!("[{}]", vec!["0"; items].join(","));
        assert_eq!(read(&list(QUESTION.values - 1)).expect("JSON").items().len(), QUESTION.values - 1);
        assert_eq!(fault(&list(QUESTION.values)), "line 1, column 65536: the text has more than 32768 values");
        assert_eq!(read_file(&list(FILE.values - 1)).expect("JSON").items().len(), FILE.values - 1);
        assert!(read_file(&list(FILE.values)).is_err_and(|fault| fault.reason.is_limit()));
    }

    #[test]
    fn escapes_are_resolved_and_surrogates_paired() {
        let read_text = |text: &str| read(text).expect(text).text().map(str::to_owned);
        assert_eq!(read_text(r#""\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00""#).as_deref(), Some("\"\\/\u{8}\u{c}\n\r\té😀"));
        assert_eq!(read_text(r#""\u0000""#).as_deref(), Some("\0"));
        for broken in [r#""\ud83d\n""#, r#""\ud83d\u0041""#, r#""\ude00""#, r#""\ud83d\ud83d""#, r#""\ud83d""#] {
            assert!(fault(broken).contains("hex escape"), "{broken}: {}", fault(broken));
        }
        for broken in [r#""\u12zz""#, r#""\u+123""#, r#""\u12é4""#, r#""\x41""#] {
            assert!(fault(broken).contains("invalid escape"), "{broken}: {}", fault(broken));
        }
    }

    #[test]
    fn a_fault_is_placed_and_said() {
        for (text, message) in [
            ("", "line 1, column 1: the text ends inside a value"),
            ("{", "line 1, column 1: the text ends inside an object"),
            ("{\"a\": \"b", "line 1, column 8: the text ends inside a string"),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: expected `,` or `}`"),
            ("{\"a\": 1,}", "line 1, column 9: key must be a string"),
            ("{'a': 1}", "line 1, column 2: key must be a string"),
            ("{\"a\" 1}", "line 1, column 6: expected `:`"),
            ("{\"é\": NaN}", "line 1, column 7: expected value"),
            ("[1, Infinity]", "line 1, column 5: expected value"),
            ("[1 2]", "line 1, column 4: expected `,` or `]`"),
            ("[1,]", "line 1, column 4: expected value"),
            ("[1, // one", "line 1, column 5: expected value"),
            ("{} {}", "line 1, column 4: trailing characters"),
            ("012", "line 1, column 2: invalid number"),
            // What lies inside is placed in the whole text.
            ("[\n\n\"é\", [\"\\ud83d\"]]", "line 3, column 14: unexpected end of hex escape"),
            ("{\"a\":1,\n \"a\":2}", "line 2, column 2: “a” is here for the second time"),
            ("{\"a\":1,\"\\u0061\":2}", "line 1, column 8: “a” is here for the second time"),
            ("[{\"é\":{\n\"a\":1, \"a\":2}}]", "line 2, column 8: “a” is here for the second time"),
        ] {
            assert_eq!(fault(text), message, "{text}");
        }
        for text in ["{}\0", "\"ab\ncd\"", "\"ab\u{7}\"", "-", "1.", "1e+", ".5", "+5"] {
            assert!(fault(text).starts_with("line 1, column "), "{text}: {}", fault(text));
        }
    }

    #[test]
    fn depth_keys_and_length_have_limits() {
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(read(&nested(QUESTION.depth)).is_ok() && read_file(&nested(FILE.depth)).is_ok());
        assert!(read_file(&nested(FILE.depth + 1)).is_err());
        assert!(
            fault(&nested(QUESTION.depth + 1)).contains("line 1, column 65: more than 64"),
            "{}",
            fault(&nested(65))
        );
        let objects = "[{\"a\":".repeat(90_000) + "0" + &"}]".repeat(90_000);
        assert!(fault(&objects).contains("more than 64"));
        let keys = |count: usize| {
            format!("{{{}}}", (0..count).map(|key| format!("\"{key}\":0")).collect::<Vec<_>>().join(","))
        };
        assert!(read(&keys(QUESTION.keys)).is_ok());
        assert!(fault(&keys(QUESTION.keys + 1)).contains("more than 2048 keys"));
        assert!(read_file(&keys(100_000)).is_ok());
        let padded = |length: usize| "0".to_owned() + &" ".repeat(length - 1);
        assert_eq!(read(&padded(MAX_JSON_BYTES)), Ok(Value::Number("0".to_owned())));
        assert_eq!(
            fault(&padded(MAX_JSON_BYTES + 1)),
            "line 1, column 1: the text has 1048577 bytes; at most 1048576 are read"
        );
        assert!(read_file(&padded(8_000_000)).is_ok());
        let fault = read_file(&padded(9_000_000)).expect_err("too long");
        assert_eq!(fault.to_string(), "line 1, column 1: the text has 9000000 bytes; at most 8388608 are read");
        assert!(fault.reason.is_limit());
    }

    #[test]
    fn python_s_numbers_that_are_not_finite_are_values_of_a_file_and_of_nothing_else() {
        let text = "{\"é\": [0.0, Infinity , -Infinity,NaN], \"a\":NaN\n, \"b\": \"NaN, \\\"Infinity\"}";
        let value = read_file(text).expect("a file");
        let list = value.get("é").expect("a list").items();
        assert_eq!(list[1..], [Value::NotFinite, Value::NotFinite, Value::NotFinite]);
        assert_eq!((value.get("a"), value.get("a").and_then(Value::number)), (Some(&Value::NotFinite), None));
        assert_eq!(value.get("b").and_then(Value::text), Some("NaN, \"Infinity"));
        assert!(read(text).is_err());
        // Neither keys nor parts of words, and what is wrong behind them is placed in the text as it is.
        for (text, place) in [
            ("{NaN: 1}", "line 1, column 2"),
            ("{\"a\": 1, NaN: 1}", "line 1, column 10"),
            ("[NaNs]", "line 1, column 2"),
            ("[+Infinity]", "line 1, column 2"),
            ("[1 NaN]", "line 1, column 4"),
            ("[NaN, Infinity,\n \"é\", nul]", "line 2, column 10"),
            ("{\"a\": Infinity, \"a\": 1}", "line 1, column 17"),
        ] {
            let fault = read_file(text).expect_err(text).to_string();
            assert!(fault.starts_with(place), "{text}: {fault}");
        }
    }

    #[test]
    fn numbers_of_any_length_and_size_are_numbers() {
        let long = read(&"9".repeat(100_000)).expect("digits");
        assert_eq!(long.number(), Some(f64::MAX));
        assert_eq!(read("4.5e22").expect("a number").number(), Some(4.5e22));
        assert_eq!(read("-1e999").expect("a number").number(), Some(f64::MIN));
        assert_eq!(read("1e-999").expect("a number").number(), Some(0.0));
        assert_eq!(read("1e99999999999").expect("a number").number(), None);
    }

    /// `serde_json` is the other reader: whoever disagrees with it has a stated reason.
    fn agrees_with_serde(text: &str) -> Result<(), TestCaseError> {
        let theirs = serde_json::from_str::<serde_json::Value>(text.strip_prefix('\u{feff}').unwrap_or(text));
        match (read(text), theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert!(same(&ours, &theirs), "{text}"),
            (Err(_), Err(_)) => {}
            (Ok(_), Err(theirs)) => prop_assert!(theirs.to_string().contains("out of range"), "{text}: {theirs}"),
            (Err(ours), Ok(_)) => prop_assert!(!matches!(ours.reason, JsonErrorKind::Grammar(_)), "{text}: {ours}"),
        }
        Ok(())
    }

    fn same(ours: &Value, theirs: &serde_json::Value) -> bool {
        use serde_json::Value as Other;
        match (ours, theirs) {
            (Value::Null, Other::Null) => true,
            (Value::Bool(a), Other::Bool(b)) => a == b,
            (Value::Text(a), Other::String(b)) => a == b,
            (Value::Number(_), Other::Number(b)) => {
                let (a, b) = (ours.number().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
                (a - b).abs() <= 1e-14 * b.abs()
            }
            (Value::List(a), Other::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
            (Value::Object(a), Other::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
            }
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn any_text_is_read_as_serde_reads_it(text in any::<String>()) {
            agrees_with_serde(&text)?;
        }

        #[test]
        fn a_file_is_read_as_a_question_is_but_for_python_s_words(
            text in r#"(\[|\{"a":|"a",|-?[0-9.e]{1,5}|\]|\}|,|null|NaN|-?Infinity|"\\"NaN"| )*"#
        ) {
            let read_file = read_file(&text);
            if !text.contains("NaN") && !text.contains("Infinity") {
                prop_assert_eq!(&read_file, &read(&text));
            }
            // What is read is what serde_json reads where null stands in their place.
            let theirs = text.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null");
            if read_file.is_ok() && !text.contains('"') {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&theirs).is_ok(), "{text}");
            }
        }

        #[test]
        fn text_of_json_characters_is_read_as_serde_reads_it(
            text in r#"[\[\]{}:,"\\/a-fu0-9.eE+\- \n\u{e9}\u{1}]{0,40}|(\[|\{"a":|"a",|-?[0-9.e]{1,5}|\]|\}|,|null|true|"\\u[0-9d][8-9a-f]..")*"#
        ) {
            agrees_with_serde(&text)?;
        }
    }
}
