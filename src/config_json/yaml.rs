//! As much of YAML as configurations of training programs are written in: names with values, objects by indentation, and
//! lists of words. Whatever else a file has is passed over.

use crate::json::Value;

/// How many names are read; a configuration has a hundred.
const MOST_KEYS: usize = 512;

/// The object that a text is; `None` where it is none of this kind.
pub(super) fn read(text: &str) -> Option<Value> {
    let mut lines = text.lines().filter_map(line).take(MOST_KEYS).peekable();
    // A text that begins with anything else is no such file.
    lines.peek()?.pair?;
    let mut root: Vec<(String, Value)> = Vec::new();
    // The indentation of the object that is read at present, and the name of the one before it.
    let mut outer: Option<(usize, String)> = None;
    for Line { indent, pair, item } in lines {
        if indent == 0 && item.is_none() {
            outer = None;
        }
        match (pair, item, &outer) {
            (Some((key, value)), _, None) => {
                if value.is_empty() {
                    outer = Some((indent, key.to_owned()));
                }
                insert(&mut root, key, scalar(value));
            }
            (Some((key, value)), None, Some((_, name))) => {
                if let Some((_, within)) = root.iter_mut().find(|(other, _)| other == name) {
                    if !matches!(within, Value::Object(_)) {
                        *within = Value::Object(Vec::new());
                    }
                    if let Value::Object(entries) = within {
                        insert(entries, key, scalar(value));
                    }
                }
            }
            (None, Some(word), Some((_, name))) => {
                if let Some((_, within)) = root.iter_mut().find(|(other, _)| other == name) {
                    if !matches!(within, Value::List(_) | Value::Object(_)) {
                        *within = Value::List(Vec::new());
                    }
                    if let Value::List(items) = within {
                        items.push(scalar(word));
                    }
                }
            }
            _ => {}
        }
    }
    Some(Value::Object(root))
}

/// A line with something on it.
struct Line<'a> {
    indent: usize,
    /// A name and what stands behind its colon.
    pair: Option<(&'a str, &'a str)>,
    /// What stands behind a hyphen.
    item: Option<&'a str>,
}

fn line(text: &str) -> Option<Line<'_>> {
    let content = text.trim();
    if content.is_empty() || content.starts_with('#') || content == "---" {
        return None;
    }
    let indent = text.len() - text.trim_start().len();
    let item = content.strip_prefix("- ").map(bare);
    let is_name =
        |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let pair =
        content.split_once(':').filter(|(key, value)| is_name(key) && (value.is_empty() || value.starts_with(' ')));
    Some(Line { indent, pair: pair.map(|(key, value)| (key, bare(value))), item })
}

/// A value without the remark behind it and without quotes.
fn bare(value: &str) -> &str {
    let value = value.split(" #").next().unwrap_or_default().trim();
    let quoted = |quote| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value)
}

fn scalar(value: &str) -> Value {
    match value {
        "" | "null" | "~" => Value::Null,
        "true" | "True" | "yes" => Value::Bool(true),
        "false" | "False" => Value::Bool(false),
        _ if crate::number::parse(value).is_ok() => Value::Number(value.to_owned()),
        _ => Value::Text(value.to_owned()),
    }
}

/// The first of two values of one name counts.
fn insert(entries: &mut Vec<(String, Value)>, key: &str, value: Value) {
    if !entries.iter().any(|(name, _)| name == key) {
        entries.push((key.to_owned(), value));
    }
}
