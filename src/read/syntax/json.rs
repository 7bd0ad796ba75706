//! JSON by [`crate::json`], with the line of each key.

use super::{Document, Tree};
use crate::json::Value;

/// The entries of an object that was read from this text.
pub(crate) fn document(text: &str, value: Value) -> Document {
    tree(value, &mut Keys { rest: text.as_bytes(), line: 1 }).document()
}

/// Values and keys come in the order of the text, and so do lines.
fn tree(value: Value, lines: &mut Keys) -> Tree {
    match value {
        Value::Object(entries) => Tree::Map(
            entries
                .into_iter()
                .map(|(key, value)| {
                    let line = lines.next_line();
                    (key, line, tree(value, lines))
                })
                .collect(),
        ),
        Value::List(items) => Tree::List(items.into_iter().map(|item| tree(item, lines)).collect()),
        leaf => Tree::Leaf(leaf),
    }
}

/// The keys of a text that is known to be JSON.
struct Keys<'a> {
    rest: &'a [u8],
    line: usize,
}

impl Keys<'_> {
    /// The line of the next key: the next string behind which a colon stands.
    fn next_line(&mut self) -> usize {
        while let Some(&byte) = self.rest.first() {
            self.rest = &self.rest[1..];
            match byte {
                b'\n' => self.line += 1,
                b'"' => {
                    let mut escaped = false;
                    let end = self.rest.iter().position(|byte| {
                        let ends = *byte == b'"' && !escaped;
                        escaped = *byte == b'\\' && !escaped;
                        ends
                    });
                    self.rest = &self.rest[end.map_or(self.rest.len(), |end| end + 1)..];
                    if self.rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':') {
                        return self.line;
                    }
                }
                _ => {}
            }
        }
        self.line
    }
}
