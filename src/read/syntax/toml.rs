//! TOML by the `toml` crate, which knows where each key stands.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Document, Fault, LIMITS, Syntax, SyntaxError, Tree, is_decimal};
use crate::json::Value;

/// The entries of a text.
pub(crate) fn read(text: &str) -> Result<Document, SyntaxError> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line(text, span.start));
        SyntaxError { syntax: Syntax::Toml, line, fault: Fault::Grammar(error.message().to_owned()) }
    })?;
    // Starts of lines, so that every key is found in few steps.
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut reader = Reader { starts, values: 0 };
    reader.table(table.get_ref(), 0).map(Tree::document)
}

/// The line of a byte, from 1.
fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

struct Reader {
    starts: Vec<usize>,
    values: usize,
}

impl Reader {
    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    /// Recursion is safe: it goes no deeper than [`LIMITS`].
    fn table(&mut self, table: &DeTable, depth: usize) -> Result<Tree, SyntaxError> {
        let mut keys = Vec::new();
        for (key, value) in table {
            let line = self.line(key.span().start);
            keys.push((key.get_ref().to_string(), line, self.value(value, line, depth + 1)?));
        }
        // Tables are sorted by name; entries stand in the order of the text.
        keys.sort_by_key(|(_, line, _)| *line);
        Ok(Tree::Map(keys))
    }

    fn value(&mut self, value: &Spanned<DeValue>, line: usize, depth: usize) -> Result<Tree, SyntaxError> {
        let fault = |fault| SyntaxError { syntax: Syntax::Toml, line, fault };
        self.values += 1;
        if self.values > LIMITS.values {
            return Err(fault(Fault::TooManyValues(LIMITS.values)));
        }
        if depth == LIMITS.depth {
            return Err(fault(Fault::TooDeep(depth)));
        }
        Ok(match value.get_ref() {
            DeValue::String(text) => Tree::Leaf(Value::Text(text.to_string())),
            DeValue::Integer(number) => Tree::Leaf(match number.radix() {
                10 => Value::Number(number.as_str().to_owned()),
                radix => i64::from_str_radix(number.as_str(), radix)
                    .map_or(Value::NotFinite, |whole| Value::Number(whole.to_string())),
            }),
            // Infinity and what is no number are words.
            DeValue::Float(number) => Tree::Leaf(match number.as_str().trim_start_matches('+') {
                number if is_decimal(number) => Value::Number(number.to_owned()),
                _ => Value::NotFinite,
            }),
            DeValue::Boolean(on) => Tree::Leaf(Value::Bool(*on)),
            DeValue::Datetime(day) => Tree::Leaf(Value::Text(day.to_string())),
            DeValue::Array(items) => {
                Tree::List(items.iter().map(|item| self.value(item, line, depth + 1)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => self.table(table, depth)?,
        })
    }
}
