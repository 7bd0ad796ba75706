//! Calls in a Python text and their keyword arguments, by a tolerant lexer: numbers, texts, lists, dictionaries, names that
//! a literal was assigned to before, and arguments that are unpacked from a dictionary. Nothing is run, and an argument
//! that only a run would know is an expression.

use super::{Document, LIMITS, Tree, is_decimal};
use crate::json::Value;

/// A call of one of the names that were asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// The name that was asked for, as in “SFTConfig” of `trl.SFTConfig`.
    pub(crate) name: &'static str,
    /// What stands before it: “trl”.
    pub(crate) owner: String,
    pub(crate) line: usize,
    pub(crate) document: Document,
    /// Arguments that only a run would know, with their lines.
    pub(crate) expressions: Vec<(String, usize)>,
    /// The first argument, where it has no name and is a text: what `from_pretrained` is asked for.
    pub(crate) first: Option<String>,
    /// Where the last argument, or the comma behind it, ends, and where the closing bracket stands, as bytes of the text.
    pub(crate) end: Option<(usize, usize)>,
}

/// How many calls are read. Calls inside of one another are passed over once for each of them.
const MOST_CALLS: usize = 64;

/// How many names with a literal are kept. Each is looked for among all of them.
const MOST_NAMES: usize = 256;

/// How many values the literal of a name has at most: longer ones are data, and no arguments.
const MOST_OF_A_NAME: usize = 1_024;

/// The calls of these names in a text, in its order. A name with a dot is looked for with its last two parts.
pub(crate) fn calls(text: &str, names: &[&'static str]) -> Vec<Call> {
    let tokens = tokens(text);
    let mut reader = Reader { tokens: &tokens, at: 0, literals: Vec::new(), values: 0, of_names: 0 };
    let mut calls = Vec::new();
    while reader.at < tokens.len() && reader.values < LIMITS.values && calls.len() < MOST_CALLS {
        let at = reader.at;
        reader.assignment();
        let Some((name, owner)) = reader.called(names) else {
            reader.at = at + 1;
            continue;
        };
        let line = tokens[at].line;
        reader.at = at + 2;
        calls.push(reader.call(name, owner, line));
        // Calls inside of this one are found as well.
        reader.at = at + 2;
    }
    calls
}

#[derive(Clone, Debug, PartialEq)]
enum Kind<'a> {
    /// A name, with the names before its dots.
    Name(&'a str),
    Number(&'a str),
    Text(String),
    Sign(u8),
}

struct Token<'a> {
    kind: Kind<'a>,
    line: usize,
    /// Its first byte, and the one behind its last.
    place: (usize, usize),
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() && tokens.len() < 16 * LIMITS.values {
        let start = at;
        match bytes[at] {
            b'\n' => {
                line += 1;
                at += 1;
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            b'#' => at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at),
            b'"' | b'\'' => {
                let (content, end) = quoted(text, at);
                tokens.push(Token { kind: Kind::Text(content), line, place: (start, end) });
                line += bytes[at..end].iter().filter(|byte| **byte == b'\n').count();
                at = end;
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                at += bytes[at..]
                    .iter()
                    .position(|b| !(b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.'))
                    .unwrap_or(bytes.len() - at);
                // r"…" and f"…" are texts with a letter before them.
                let name = &text[start..at];
                if !(name.len() <= 2 && bytes.get(at).is_some_and(|b| matches!(b, b'"' | b'\''))) {
                    tokens.push(Token { kind: Kind::Name(name.trim_end_matches('.')), line, place: (start, at) });
                }
            }
            byte if byte.is_ascii_digit() || byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                while at < bytes.len()
                    && (bytes[at].is_ascii_alphanumeric()
                        || matches!(bytes[at], b'.' | b'_')
                        || matches!(bytes[at], b'-' | b'+') && matches!(bytes[at - 1], b'e' | b'E'))
                {
                    at += 1;
                }
                tokens.push(Token { kind: Kind::Number(&text[start..at]), line, place: (start, at) });
            }
            byte => {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                tokens.push(Token { kind: Kind::Sign(byte), line, place: (start, at) });
            }
        }
    }
    tokens
}

/// The content of a text that begins at a quote, and where it ends.
fn quoted(text: &str, start: usize) -> (String, usize) {
    let rest = &text[start..];
    let one = &rest[..1];
    let three = one.repeat(3);
    let quote = if rest.starts_with(&three) { three.as_str() } else { one };
    let mut content = String::new();
    let mut characters = rest[quote.len()..].char_indices();
    while let Some((at, character)) = characters.next() {
        let here = start + quote.len() + at;
        if text[here..].starts_with(quote) {
            return (content, here + quote.len());
        }
        // A text that is not closed ends with its line.
        if character == '\n' && quote.len() == 1 {
            return (content, here);
        }
        if character == '\\' {
            if let Some((_, escaped)) = characters.next() {
                content.push(escaped);
            }
        } else {
            content.push(character);
        }
    }
    (content, text.len())
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    /// Names that a literal was assigned to, the last one first.
    literals: Vec<(&'a str, Tree)>,
    /// Values so far, those of literals that names stand for among them.
    values: usize,
    /// The same of literals that were assigned to names.
    of_names: usize,
}

impl<'a> Reader<'a> {
    fn kind(&self, ahead: usize) -> Option<&'a Kind<'a>> {
        self.tokens.get(self.at + ahead).map(|token| &token.kind)
    }

    fn is(&self, ahead: usize, sign: u8) -> bool {
        self.kind(ahead) == Some(&Kind::Sign(sign))
    }

    /// Takes note of `name = literal` or `name: type = literal`, alone on its lines, and reads nothing further. A name that is
    /// given what only a run would know has no literal from there on.
    fn assignment(&mut self) {
        let Some(Kind::Name(name)) = self.kind(0) else { return };
        let begins = self.at == 0 || self.tokens[self.at - 1].line < self.tokens[self.at].line;
        let is_typed = self.is(1, b':') && matches!(self.kind(2), Some(Kind::Name(_))) && self.is(3, b'=');
        let ahead = if is_typed { 4 } else { 2 };
        let is_assigned = self.is(ahead - 1, b'=') && !self.is(ahead, b'=');
        if !begins || !is_assigned || self.literals.len() == MOST_NAMES || self.of_names > LIMITS.values {
            return;
        }
        let (at, values) = (self.at, self.values);
        self.at += ahead;
        self.values = LIMITS.values - MOST_OF_A_NAME;
        let value = self.literal(0);
        self.of_names += self.values + MOST_OF_A_NAME - LIMITS.values;
        self.values = values;
        let last = self.tokens.get(self.at.saturating_sub(1));
        let ends = self.tokens.get(self.at).is_none_or(|next| last.is_some_and(|last| next.line > last.line));
        self.at = at;
        self.literals.retain(|(known, _)| known != name);
        if let Some(value) = value.filter(|_| ends) {
            self.literals.insert(0, (name, value));
        }
    }

    /// The name that is called here, of those that were asked for.
    fn called(&self, names: &[&'static str]) -> Option<(&'static str, &'a str)> {
        let Some(Kind::Name(name)) = self.kind(0) else { return None };
        if !self.is(1, b'(') {
            return None;
        }
        names.iter().find_map(|asked| {
            let owner = name.strip_suffix(asked)?;
            (owner.is_empty() || owner.ends_with('.')).then_some((*asked, owner.trim_end_matches('.')))
        })
    }

    /// The arguments behind an opening bracket.
    fn call(&mut self, name: &'static str, owner: &str, line: usize) -> Call {
        let owner = owner.to_owned();
        let document = Document::default();
        let mut call = Call { name, owner, line, document, expressions: Vec::new(), first: None, end: None };
        let mut place = 0;
        while self.at < self.tokens.len() && !self.is(0, b')') {
            let line = self.tokens[self.at].line;
            let is_unpacked = self.is(0, b'*') && self.is(1, b'*');
            let key = match self.kind(0) {
                Some(Kind::Name(key)) if self.is(1, b'=') && !self.is(2, b'=') => {
                    self.at += 2;
                    Some(*key)
                }
                _ => None,
            };
            self.at += if is_unpacked { 2 } else { 0 };
            let value = self.literal(0);
            // A literal is the whole of an argument, or it is part of an expression.
            let whole = self.at >= self.tokens.len() || self.is(0, b',') || self.is(0, b')');
            match (key, value.filter(|_| whole)) {
                (None, Some(Tree::Map(inner))) if is_unpacked => {
                    let inner = Tree::Map(inner).document().entries;
                    inner.into_iter().for_each(|entry| call.document.put(entry.path, entry.value, entry.line));
                }
                (Some(key), Some(Tree::Map(inner))) if !inner.is_empty() => {
                    let inner = Tree::Map(vec![(key.to_owned(), line, Tree::Map(inner))]).document();
                    call.document.entries.extend(inner.entries);
                }
                (Some(key), Some(value)) => call.document.put(key.to_owned(), value.value(), line),
                (Some(key), None) => call.expressions.push((key.to_owned(), line)),
                (None, Some(Tree::Leaf(Value::Text(text)))) if place == 0 => call.first = Some(text),
                (None, _) => {}
            }
            self.rest_of_argument();
            place += 1;
        }
        call.end = self.tokens.get(self.at).map(|closing| (self.tokens[self.at - 1].place.1, closing.place.0));
        call
    }

    /// Passes over what is left of an argument and the comma behind it.
    fn rest_of_argument(&mut self) {
        let mut depth = 0_usize;
        while let Some(kind) = self.kind(0) {
            match kind {
                Kind::Sign(b'(' | b'[' | b'{') => depth += 1,
                Kind::Sign(b')') if depth == 0 => return,
                Kind::Sign(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                Kind::Sign(b',') if depth == 0 => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// A literal, or a name that one was assigned to. Recursion is safe: it goes no deeper than [`LIMITS`].
    fn literal(&mut self, depth: usize) -> Option<Tree> {
        self.values += 1;
        if depth == LIMITS.depth || self.values > LIMITS.values {
            return None;
        }
        let kind = self.kind(0)?;
        self.at += 1;
        Some(match kind {
            Kind::Number(text) => Tree::Leaf(number(text, false)?),
            Kind::Sign(b'-') => {
                let Some(Kind::Number(text)) = self.kind(0) else { return None };
                self.at += 1;
                Tree::Leaf(number(text, true)?)
            }
            Kind::Text(text) => {
                let mut text = text.clone();
                // Texts that stand side by side are one.
                while let Some(Kind::Text(more)) = self.kind(0) {
                    text.push_str(more);
                    self.at += 1;
                }
                Tree::Leaf(Value::Text(text))
            }
            Kind::Name("True") => Tree::Leaf(Value::Bool(true)),
            Kind::Name("False") => Tree::Leaf(Value::Bool(false)),
            Kind::Name("None") => Tree::Leaf(Value::Null),
            // Whether the GPU has bf16 is what “auto” asks as well; the other type is the one that it has not.
            Kind::Name(name) if is_asking(name) && self.is(0, b'(') && self.is(1, b')') => {
                self.at += 2;
                Tree::Leaf(Value::Text("auto".to_owned()))
            }
            Kind::Name("not")
                if matches!(self.kind(0), Some(Kind::Name(name)) if is_asking(name))
                    && self.is(1, b'(')
                    && self.is(2, b')') =>
            {
                self.at += 3;
                Tree::Leaf(Value::Bool(false))
            }
            Kind::Name("dict") if self.is(0, b'(') => {
                self.at += 1;
                Tree::Map(self.keywords(depth)?)
            }
            Kind::Name(name) => match self.literals.iter().find(|(known, _)| known == name) {
                Some((_, value)) => {
                    // What names repeat is counted each time, so that no text makes more values than are read.
                    self.values += value.size();
                    if self.values > LIMITS.values || depth + value.depth() > LIMITS.depth {
                        return None;
                    }
                    value.clone()
                }
                // Types of torch and members of enumerations are words: torch.bfloat16, IntervalStrategy.STEPS.
                None if name.starts_with("torch.") && !self.is(0, b'(') => Tree::Leaf(Value::Text((*name).to_owned())),
                None => return None,
            },
            Kind::Sign(b'[' | b'(') => {
                let mut items = Vec::new();
                while !self.is(0, b']') && !self.is(0, b')') {
                    items.push(self.literal(depth + 1)?);
                    self.comma();
                }
                self.at += 1;
                Tree::List(items)
            }
            Kind::Sign(b'{') => {
                let mut keys = Vec::new();
                while !self.is(0, b'}') {
                    if self.unpacked(&mut keys, depth)? {
                        continue;
                    }
                    let line = self.tokens.get(self.at)?.line;
                    let Tree::Leaf(Value::Text(key)) = self.literal(depth + 1)? else { return None };
                    if !self.is(0, b':') {
                        return None;
                    }
                    self.at += 1;
                    let value = self.literal(depth + 1)?;
                    set(&mut keys, (key, line, value));
                    self.comma();
                }
                self.at += 1;
                Tree::Map(keys)
            }
            Kind::Sign(_) => return None,
        })
    }

    /// The keyword arguments of `dict(…)`, behind its opening bracket.
    fn keywords(&mut self, depth: usize) -> Option<Keys> {
        let mut keys = Vec::new();
        while !self.is(0, b')') {
            if self.unpacked(&mut keys, depth)? {
                continue;
            }
            let (Some(Kind::Name(key)), true) = (self.kind(0), self.is(1, b'=')) else { return None };
            let line = self.tokens.get(self.at)?.line;
            self.at += 2;
            let value = self.literal(depth + 1)?;
            set(&mut keys, ((*key).to_owned(), line, value));
            self.comma();
        }
        self.at += 1;
        Some(keys)
    }

    /// Takes over the keys of `**dictionary`, if one stands here; whether it does.
    fn unpacked(&mut self, keys: &mut Keys, depth: usize) -> Option<bool> {
        if !self.is(0, b'*') || !self.is(1, b'*') {
            return Some(false);
        }
        self.at += 2;
        let Tree::Map(inner) = self.literal(depth + 1)? else { return None };
        inner.into_iter().for_each(|key| set(keys, key));
        self.comma();
        Some(true)
    }

    /// Passes over a comma, if one stands here.
    fn comma(&mut self) {
        self.at += usize::from(self.is(0, b','));
    }
}

/// Keys of a dictionary, each with its line and its value.
type Keys = Vec<(String, usize, Tree)>;

/// Gives a key its value. Of several values of a key the last one counts, as in Python.
fn set(keys: &mut Keys, (key, line, value): (String, usize, Tree)) {
    match keys.iter_mut().find(|(other, ..)| *other == key) {
        Some(known) => *known = (key, line, value),
        None => keys.push((key, line, value)),
    }
}

/// Whether a function says that the GPU has bf16.
fn is_asking(name: &str) -> bool {
    name.ends_with("is_bf16_supported") || name.ends_with("is_bfloat16_supported")
}

fn number(text: &str, below_zero: bool) -> Option<Value> {
    let digits = text.replace('_', "");
    if !is_decimal(&digits) {
        return None;
    }
    Some(Value::Number(if below_zero { format!("-{digits}") } else { digits }))
}
