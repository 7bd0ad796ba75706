//! A strict reader of JSON (RFC 8259) for text that nobody vouches for.
//!
//! It never panics, never nests deeper than [`DEEPEST`] and never takes more than [`LONGEST`] bytes,
//! and it says at which line and column it stopped. Stricter than most readers: an object that names
//! a key twice is refused, because two readers would then see two different objects.
//!
//! This is code of our own because of its weight: it adds under 3 kB of Brotli to the page, and the
//! tree of values of `serde_json`, with its maps and its exact number parser, nearly 9 kB. Numbers
//! stay text until somebody asks for their value, so that the fields nobody reads, and the
//! exponents in them, cost nothing.
//!
//! ```
//! use bmax::json;
//!
//! let value = json::read(r#"{ "hidden_size": 4096, "rope": null }"#).unwrap();
//! assert_eq!(value.get("hidden_size").and_then(json::Value::number), Some(4096.0));
//!
//! let fault = json::read("{\n  \"hidden_size\": 4096\n  \"rope\": null\n}").unwrap_err();
//! assert_eq!(fault.to_string(), "line 3, column 3: expected a comma or a closing brace, found “\"”");
//! ```

use std::fmt;

use crate::bounds::excerpt;
use crate::number;

/// The longest text that is read, in bytes: 1 MiB.
pub const LONGEST: usize = 1 << 20;

/// How many lists and objects may lie in one another.
pub const DEEPEST: usize = 64;

/// The most keys of one object. Every new key is compared with those before it, and this bound keeps
/// that affordable for any text of [`LONGEST`] bytes.
pub const MOST_KEYS: usize = 2_048;

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
        }
    }
}

/// Where a text stops being JSON, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The character of that line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// What had to stand there, and what does; `None` when the text ends there.
    Expected(&'static str, Option<char>),
    /// An object has this key, shortened, already.
    Repeated(String),
    /// More than [`DEEPEST`] lists and objects lie in one another.
    TooDeep,
    /// An object has more than [`MOST_KEYS`] keys.
    TooManyKeys,
    /// The text has this many bytes, more than [`LONGEST`].
    TooLong(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected(what, None) => write!(f, "expected {what}, but the text ends"),
            Self::Expected(what, Some('\n' | '\r')) => write!(f, "expected {what}, but the line ends"),
            Self::Expected(what, Some(found)) if found.is_control() => {
                write!(f, "expected {what}, found a control character")
            }
            Self::Expected(what, Some(found)) => write!(f, "expected {what}, found “{found}”"),
            Self::Repeated(key) => write!(f, "“{key}” is here for the second time"),
            Self::TooDeep => write!(f, "more than {DEEPEST} lists and objects lie in one another"),
            Self::TooManyKeys => write!(f, "an object has more than {MOST_KEYS} keys"),
            Self::TooLong(length) => write!(f, "the text has {length} bytes; at most {LONGEST} are read"),
        }
    }
}

impl std::error::Error for Fault {}

/// Reads one JSON value with nothing but white space, and perhaps a byte order mark, around it.
///
/// # Errors
/// [`Fault`] at the first character that cannot stand where it does.
pub fn read(text: &str) -> Result<Value, Fault> {
    let mut reader = Reader { text: text.strip_prefix('\u{feff}').unwrap_or(text), at: 0 };
    reader.whole().map_err(|reason| {
        // Counting starts only now: text without a fault needs no lines.
        let before = &reader.text[..reader.at];
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        Fault {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line..].chars().count() + 1,
            reason,
        }
    })
}

/// The text and how many of its bytes are read; `at` is always between two characters.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn whole(&mut self) -> Result<Value, Reason> {
        if self.text.len() > LONGEST {
            return Err(Reason::TooLong(self.text.len()));
        }
        let value = self.value(0)?;
        self.peek();
        if self.at < self.text.len() { Err(self.expected("nothing after the value")) } else { Ok(value) }
    }

    /// Passes over white space and looks at the next byte.
    fn peek(&mut self) -> u8 {
        while let b' ' | b'\t' | b'\n' | b'\r' = self.next() {
            self.at += 1;
        }
        self.next()
    }

    /// The next byte; 0 at the end, which no JSON has outside of it, so that both are unexpected.
    fn next(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Takes the next byte when it is `byte`.
    fn takes(&mut self, byte: u8) -> bool {
        let found = self.next() == byte;
        self.at += usize::from(found);
        found
    }

    fn expected(&self, what: &'static str) -> Reason {
        Reason::Expected(what, self.text[self.at..].chars().next())
    }

    /// Recursion is safe here: it goes no deeper than [`DEEPEST`].
    fn value(&mut self, depth: usize) -> Result<Value, Reason> {
        let first = self.peek();
        if matches!(first, b'{' | b'[') && depth == DEEPEST {
            return Err(Reason::TooDeep);
        }
        match first {
            b'{' => self.object(depth + 1),
            b'[' => self.list(depth + 1),
            b'"' => self.string("a text").map(Value::Text),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, Reason> {
        for (word, value) in [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.expected("a value"))
    }

    fn list(&mut self, depth: usize) -> Result<Value, Reason> {
        let mut items = Vec::new();
        self.at += 1;
        if self.peek() == b']' {
            self.at += 1;
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.peek();
            if self.takes(b']') {
                return Ok(Value::List(items));
            }
            if !self.takes(b',') {
                return Err(self.expected("a comma or a closing bracket"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Reason> {
        let mut entries: Vec<(String, Value)> = Vec::new();
        self.at += 1;
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(Value::Object(entries));
        }
        loop {
            self.peek();
            let start = self.at;
            let key = self.string("a key in double quotes")?;
            if entries.iter().any(|(name, _)| *name == key) {
                self.at = start;
                return Err(Reason::Repeated(excerpt(&key)));
            }
            if entries.len() == MOST_KEYS {
                self.at = start;
                return Err(Reason::TooManyKeys);
            }
            self.peek();
            if !self.takes(b':') {
                return Err(self.expected("a colon"));
            }
            entries.push((key, self.value(depth)?));
            self.peek();
            if self.takes(b'}') {
                return Ok(Value::Object(entries));
            }
            if !self.takes(b',') {
                return Err(self.expected("a comma or a closing brace"));
            }
        }
    }

    /// Takes at least one digit.
    fn digits(&mut self) -> Result<(), Reason> {
        if !self.next().is_ascii_digit() {
            return Err(self.expected("a digit"));
        }
        while self.next().is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Reason> {
        let start = self.at;
        self.takes(b'-');
        // Nothing but a point or an exponent may follow a leading zero.
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            if !self.takes(b'+') {
                self.takes(b'-');
            }
            self.digits()?;
        }
        Ok(Value::Number(self.text[start..self.at].to_owned()))
    }

    fn string(&mut self, what: &'static str) -> Result<String, Reason> {
        if !self.takes(b'"') {
            return Err(self.expected(what));
        }
        let mut text = String::new();
        loop {
            let start = self.at;
            // Bytes of longer characters are all above 127, so this stops between characters.
            while !matches!(self.next(), b'"' | b'\\' | 0..0x20) {
                self.at += 1;
            }
            text.push_str(&self.text[start..self.at]);
            if self.takes(b'"') {
                return Ok(text);
            }
            if !self.takes(b'\\') {
                return Err(self.expected("the closing quotation mark of a text"));
            }
            text.push(self.escape()?);
        }
    }

    /// The character that an escape stands for, from behind its backslash.
    fn escape(&mut self) -> Result<char, Reason> {
        let character = match self.next() {
            byte @ (b'"' | b'\\' | b'/') => byte.into(),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.expected("one of the escapes of JSON")),
        };
        self.at += 1;
        Ok(character)
    }

    /// A character by its number in hexadecimal; beyond four digits it is written as a pair.
    fn unicode(&mut self) -> Result<char, Reason> {
        let mut code = self.four_digits()?;
        if (0xd800..0xdc00).contains(&code) {
            let low = if self.takes(b'\\') && self.takes(b'u') { self.four_digits()? } else { 0 };
            // What is no second half leaves the first one alone, which is no character.
            if (0xdc00..0xe000).contains(&low) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            }
        }
        char::from_u32(code).ok_or_else(|| self.expected("both halves of a surrogate pair"))
    }

    fn four_digits(&mut self) -> Result<u32, Reason> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = char::from(self.next()).to_digit(16) else {
                return Err(self.expected("four hexadecimal digits"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
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
    fn escapes_are_resolved_and_surrogates_paired() {
        let read_text = |text: &str| read(text).expect(text).text().map(str::to_owned);
        assert_eq!(read_text(r#""\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00""#).as_deref(), Some("\"\\/\u{8}\u{c}\n\r\té😀"));
        assert_eq!(read_text(r#""\u0000""#).as_deref(), Some("\0"));
        for broken in [
            r#""\ud83d""#,
            r#""\ude00""#,
            r#""\ud83d\n""#,
            r#""\ud83d\u0041""#,
            r#""\ud83d\ue000""#,
            r#""\ud83d\ud83d""#,
        ] {
            assert!(fault(broken).contains("both halves of a surrogate pair"), "{broken}: {}", fault(broken));
        }
        for broken in [r#""\u12""#, r#""\u+123""#, r#""\u12é4""#] {
            assert!(fault(broken).contains("four hexadecimal digits"), "{broken}");
        }
        assert_eq!(fault(r#""\x41""#), "line 1, column 3: expected one of the escapes of JSON, found “x”");
    }

    #[test]
    fn a_fault_is_placed_and_said() {
        for (text, message) in [
            ("", "line 1, column 1: expected a value, but the text ends"),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: expected a comma or a closing brace, found “\"”"),
            ("{\"a\": 1,}", "line 1, column 9: expected a key in double quotes, found “}”"),
            ("{'a': 1}", "line 1, column 2: expected a key in double quotes, found “'”"),
            ("{\"a\" 1}", "line 1, column 6: expected a colon, found “1”"),
            ("{\"é\": NaN}", "line 1, column 7: expected a value, found “N”"),
            ("[1, Infinity]", "line 1, column 5: expected a value, found “I”"),
            ("[1 2]", "line 1, column 4: expected a comma or a closing bracket, found “2”"),
            ("[1,]", "line 1, column 4: expected a value, found “]”"),
            ("[1, // one", "line 1, column 5: expected a value, found “/”"),
            ("\"ab\ncd\"", "line 1, column 4: expected the closing quotation mark of a text, but the line ends"),
            (
                "\"ab\u{7}\"",
                "line 1, column 4: expected the closing quotation mark of a text, found a control character",
            ),
            ("{\"a\": \"b", "line 1, column 9: expected the closing quotation mark of a text, but the text ends"),
            ("{} {}", "line 1, column 4: expected nothing after the value, found “{”"),
            ("{}\0", "line 1, column 3: expected nothing after the value, found a control character"),
            ("{\"a\":1,\n \"a\":2}", "line 2, column 2: “a” is here for the second time"),
            ("{\"a\":1,\"\\u0061\":2}", "line 1, column 8: “a” is here for the second time"),
            ("012", "line 1, column 2: expected nothing after the value, found “1”"),
            ("-", "line 1, column 2: expected a digit, but the text ends"),
            ("1.", "line 1, column 3: expected a digit, but the text ends"),
            ("1e+", "line 1, column 4: expected a digit, but the text ends"),
            (".5", "line 1, column 1: expected a value, found “.”"),
            ("+5", "line 1, column 1: expected a value, found “+”"),
        ] {
            assert_eq!(fault(text), message, "{text}");
        }
    }

    #[test]
    fn depth_keys_and_length_have_limits() {
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(read(&nested(DEEPEST)).is_ok());
        assert!(fault(&nested(DEEPEST + 1)).contains("line 1, column 65: more than 64"), "{}", fault(&nested(65)));
        assert!(fault(&"[{\"a\":".repeat(100_000)).contains("more than 64"));
        let keys = |count: usize| {
            format!("{{{}}}", (0..count).map(|key| format!("\"{key}\":0")).collect::<Vec<_>>().join(","))
        };
        assert!(read(&keys(MOST_KEYS)).is_ok());
        assert!(fault(&keys(MOST_KEYS + 1)).contains("more than 2048 keys"));
        let padded = |length: usize| "0".to_owned() + &" ".repeat(length - 1);
        assert_eq!(read(&padded(LONGEST)), Ok(Value::Number("0".to_owned())));
        assert_eq!(
            fault(&padded(LONGEST + 1)),
            "line 1, column 1: the text has 1048577 bytes; at most 1048576 are read"
        );
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
            (Err(ours), Ok(_)) => prop_assert!(!matches!(ours.reason, Reason::Expected(..)), "{text}: {ours}"),
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
        fn text_of_json_characters_is_read_as_serde_reads_it(
            text in r#"[\[\]{}:,"\\/a-fu0-9.eE+\- \n\u{e9}\u{1}]{0,40}|(\[|\{"a":|"a",|-?[0-9.e]{1,5}|\]|\}|,|null|true|"\\u[0-9d][8-9a-f]..")*"#
        ) {
            agrees_with_serde(&text)?;
        }
    }
}
