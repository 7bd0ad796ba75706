//! Text as the formats want it.

use crate::{Bytes, Precision, Scenario, Segments, number, snippet};

/// A size in GiB, 2³⁰ bytes, with two digits after the point and no separators.
pub(super) fn gib(bytes: Bytes) -> String {
    number::fixed(bytes.gib(), 2)
}

/// Columns of a comment.
const WIDTH: usize = 100;

/// Words in lines of at most [`WIDTH`] characters; one that is longer has a line of its own.
pub(super) fn wrap(text: &str, first: &str, others: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut line, others.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

/// Lines as comments behind a sign such as `#`.
pub(super) fn commented(lines: &[String], sign: &str) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(sign);
        if !line.is_empty() {
            text.push(' ');
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

/// An address that can stand in a comment: what could end a line, or be taken for the end of anything,
/// is percent-encoded, and what is absurdly long is cut.
pub(super) fn address(page: &str) -> String {
    const MAX_ADDRESS_CHARACTERS: usize = 2_000;
    snippet::address(&page.chars().take(MAX_ADDRESS_CHARACTERS).collect::<String>())
}

/// What makes segments of PyTorch's allocator grow, as an assignment of a shell, under the name that it
/// has since PyTorch 2.9.
pub(super) const EXPANDABLE: &str = "PYTORCH_ALLOC_CONF=expandable_segments:True";

/// Whether what is computed in 16 bits is in fp16: where it is asked for, and on a GPU that only emulates bf16. Both take
/// the same memory.
pub(super) const fn computes_in_fp16(scenario: &Scenario) -> bool {
    scenario.device.emulates_bf16 || matches!(scenario.recipe.precision, Precision::Fp16)
}

/// The 16-bit type of a run, as flags call it.
pub(super) const fn half_flag(scenario: &Scenario) -> &'static str {
    if computes_in_fp16(scenario) { "fp16" } else { "bf16" }
}

/// The same, as PyTorch calls it.
pub(super) const fn half_type(scenario: &Scenario) -> &'static str {
    if computes_in_fp16(scenario) { "float16" } else { "bfloat16" }
}

/// Weights in 16 bits with a master copy, on the GPU of a scenario.
pub(super) const fn with_master(scenario: &Scenario) -> Precision {
    if computes_in_fp16(scenario) { Precision::Fp16 } else { Precision::Bf16 }
}

/// Whether segments grow.
pub(super) fn expandable(scenario: &Scenario) -> bool {
    scenario.device.segments == Segments::Expandable
}

/// The lines of a Python file that make segments grow, where they do.
pub(super) fn allocator_in_python(scenario: &Scenario) -> String {
    if !expandable(scenario) {
        return String::new();
    }
    let (name, value) = EXPANDABLE.split_once('=').unwrap_or((EXPANDABLE, ""));
    format!(
        "import os\n\n# PyTorch’s allocator reads this when it starts: it has to stand before the first import of torch.\n\
         os.environ[{}] = {}\n\n",
        quoted(name),
        quoted(value)
    )
}

/// A value of JSON, of which Python literals are a spelling.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Whole(u64),
    /// A finite number. Bytes of a shard are rarely whole.
    Number(f64),
    Text(String),
    List(Vec<Value>),
    /// Keys in the order in which they are written.
    Map(Vec<(&'static str, Value)>),
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<Bytes> for Value {
    fn from(value: Bytes) -> Self {
        Self::Number(value.get())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<&str>> for Value {
    fn from(words: Vec<&str>) -> Self {
        Self::List(words.into_iter().map(Self::from).collect())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// How a format spells what JSON and Python spell differently.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Spelling {
    Json,
    Python,
}

impl Value {
    /// The value over several lines, indented by two spaces in JSON and four in Python.
    pub(super) fn pretty(&self, spelling: Spelling, depth: usize) -> String {
        let mut text = String::new();
        self.write(&mut text, spelling, depth);
        text
    }

    /// Pairs of keys and values as a block of YAML, and those of maps within them as blocks of their own.
    pub(super) fn yaml(pairs: &[(&'static str, Self)], depth: usize) -> String {
        let mut text = String::new();
        for (key, value) in pairs {
            let value = match value {
                Self::Map(inner) if !inner.is_empty() => format!("\n{}", Self::yaml(inner, depth + 1)),
                other => format!(" {}\n", other.on_one_line()),
            };
            text.push_str(&format!("{}{key}:{value}", "  ".repeat(depth)));
        }
        text
    }

    /// The value as JSON, which is YAML as well, on one line.
    fn on_one_line(&self) -> String {
        match self {
            Self::List(values) => {
                format!("[{}]", values.iter().map(Self::on_one_line).collect::<Vec<_>>().join(", "))
            }
            Self::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| format!("{}: {}", quoted(key), value.on_one_line()));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
            other => other.pretty(Spelling::Json, 0),
        }
    }

    fn write(&self, to: &mut String, spelling: Spelling, depth: usize) {
        let words = match spelling {
            Spelling::Json => ["null", "true", "false"],
            Spelling::Python => ["None", "True", "False"],
        };
        match self {
            Self::Null => to.push_str(words[0]),
            Self::Bool(true) => to.push_str(words[1]),
            Self::Bool(false) => to.push_str(words[2]),
            Self::Whole(number) => to.push_str(&number.to_string()),
            Self::Number(number) => to.push_str(&decimal(*number)),
            Self::Text(text) => to.push_str(&quoted(text)),
            Self::List(values) => {
                let simple = values.iter().all(|value| !matches!(value, Self::List(_) | Self::Map(_)));
                let short = values.iter().map(|value| value.pretty(spelling, 0).len() + 2).sum::<usize>() < 80;
                if simple && short {
                    let parts: Vec<String> = values.iter().map(|value| value.pretty(spelling, 0)).collect();
                    to.push_str(&format!("[{}]", parts.join(", ")));
                } else {
                    let each = values.iter().map(|value| value.pretty(spelling, depth + 1));
                    block(to, ['[', ']'], each, spelling, depth);
                }
            }
            Self::Map(pairs) if pairs.is_empty() => to.push_str("{}"),
            Self::Map(pairs) => {
                let each =
                    pairs.iter().map(|(key, value)| format!("{}: {}", quoted(key), value.pretty(spelling, depth + 1)));
                block(to, ['{', '}'], each, spelling, depth);
            }
        }
    }
}

fn block(to: &mut String, ends: [char; 2], each: impl Iterator<Item = String>, spelling: Spelling, depth: usize) {
    let indent = match spelling {
        Spelling::Json => "  ",
        Spelling::Python => "    ",
    };
    to.push(ends[0]);
    let parts: Vec<String> = each.map(|part| format!("\n{}{part}", indent.repeat(depth + 1))).collect();
    to.push_str(&parts.join(","));
    if spelling == Spelling::Python && !parts.is_empty() {
        to.push(',');
    }
    to.push('\n');
    to.push_str(&indent.repeat(depth));
    to.push(ends[1]);
}

/// A finite number so that it reads back as itself; a number that is none becomes 0.
fn decimal(number: f64) -> String {
    if !number.is_finite() {
        return "0".to_owned();
    }
    // The shortest text that reads back as the same double is the standard library's: these files are none
    // of the first visit's. The page is built without the formatting of `{:?}`, which writes nothing there.
    number.to_string()
}

/// A string in double quotes as JSON, TOML, YAML and Python all read it: everything beyond printable
/// ASCII is escaped as UTF-16 where it must be, and kept where it may be.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Line ends of Unicode, which some readers take for ends of lines.
            control if control.is_control() || matches!(control, '\u{2028}' | '\u{2029}') => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_cannot_be_left_through_the_address() {
        let hostile = "https://a.b/\nimport os\r\u{2028}\u{85}'\"`<script>{}|\\ ü";
        let clean = address(hostile);
        assert_eq!(clean, "https://a.b/%0Aimport%20os%0D%E2%80%A8%C2%85%27%22%60%3Cscript%3E%7B%7D%7C%5C%20%C3%BC");
        assert!(address(&"x".repeat(100_000)).len() <= 2_000);
    }

    #[test]
    fn words_are_wrapped_at_a_hundred_characters() {
        let lines = wrap(&"word ".repeat(60), "- ", "  ");
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|line| line.chars().count() <= 100));
        assert!(lines[0].starts_with("- word") && lines[1].starts_with("  word"));
        assert_eq!(wrap("", "", ""), [""]);
    }

    #[test]
    fn json_and_python_differ_in_three_words_and_a_comma() {
        let value = Value::Map(vec![
            ("a", Value::Null),
            ("b", true.into()),
            ("c", 1.5.into()),
            ("d", Value::List(vec![1_u32.into(), "x\"y\n".into()])),
        ]);
        assert_eq!(
            value.pretty(Spelling::Json, 0),
            "{\n  \"a\": null,\n  \"b\": true,\n  \"c\": 1.5,\n  \"d\": [1, \"x\\\"y\\n\"]\n}"
        );
        assert_eq!(
            value.pretty(Spelling::Python, 0),
            "{\n    \"a\": None,\n    \"b\": True,\n    \"c\": 1.5,\n    \"d\": [1, \"x\\\"y\\n\"],\n}"
        );
    }

    #[test]
    fn maps_are_blocks_of_yaml_and_lists_stand_on_a_line() {
        let inner = Value::Map(vec![("on", true.into()), ("none", Value::Map(Vec::new()))]);
        let rows = Value::List(vec![Value::Map(vec![("path", "a: b".into()), ("share", 0.5.into())])]);
        let pairs = [("size", 2_u32.into()), ("parts", inner), ("rows", rows), ("names", vec!["q", "v"].into())];
        assert_eq!(
            Value::yaml(&pairs, 0),
            "size: 2\nparts:\n  on: true\n  none: {}\nrows: [{\"path\": \"a: b\", \"share\": 0.5}]\nnames: [\"q\", \"v\"]\n"
        );
    }

    #[test]
    fn numbers_read_back_as_themselves() {
        for number in [0.0, 1.5, -2.0, 1e300, 9_007_199_254_740_993.0, 0.1, 1e-9] {
            assert_eq!(decimal(number).parse::<f64>().ok(), Some(number));
        }
        assert_eq!(decimal(f64::NAN), "0");
    }
}
