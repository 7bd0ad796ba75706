//! YAML by the events of `saphyr-parser`.
//!
//! Compared on 27 November 2026, each as the only content of a module for wasm32-unknown-unknown built like the page’s
//! (`opt-level = "z"`, one unit, LTO): `saphyr-parser` 0.3.3 has 107 KB, `serde_yaml_ng` 0.10.0 195 KB, without
//! either there are 0.4 KB. Both refuse tabs as indentation and unclosed quotes.
//! PyYAML also takes a closing bracket that stands no further in than the key of its list, inside of an object, which YAML
//! 1.2 and this crate refuse: what they refuse is read once more with such brackets moved in. Events say the line of
//! each key, cost nothing for what an alias repeats until it is followed, and end as soon as nobody asks for the next
//! one, so that the limits here hold before anything is built; `serde_yaml_ng` builds the whole value first, without
//! lines, and is a translation of libyaml from C with unsafe code.

use std::collections::HashSet;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use super::{Document, Fault, LIMITS, Syntax, SyntaxError, Tree, plain};
use crate::bounds::excerpt;
use crate::json::Value;

/// The first document of a text; `None` where it is no mapping, as is every line of words.
pub(crate) fn read(text: &str) -> Result<Option<Document>, SyntaxError> {
    match document(text) {
        Err(fault) if matches!(fault.fault, Fault::Grammar(_)) => {
            document(&with_brackets_moved_in(text)).map_err(|_| fault)
        }
        read => read,
    }
}

/// The text with every closing bracket that begins a line as far in as the line before it.
fn with_brackets_moved_in(text: &str) -> String {
    let mut before = "";
    let mut moved = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let rest = line.trim_start_matches(' ');
        let blanks = &line[..line.len() - rest.len()];
        let closes = rest.starts_with([']', '}']);
        moved += if closes && before.len() > blanks.len() { before } else { blanks };
        moved += rest;
        if !closes && !rest.trim().is_empty() {
            before = blanks;
        }
    }
    moved
}

fn document(text: &str) -> Result<Option<Document>, SyntaxError> {
    let mut reader = Reader { events: Parser::new_from_str(text), values: 0, line: 1, anchors: Vec::new() };
    loop {
        match reader.next()? {
            None | Some((Event::StreamEnd, _)) => return Ok(None),
            Some((event @ Event::MappingStart(..), _)) => {
                return reader.tree(&event, 0).map(|tree| Some(tree.document()));
            }
            Some((Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _)) => {}
            Some(_) => return Ok(None),
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    /// Values so far, those that aliases repeat among them.
    values: usize,
    line: usize,
    /// What anchors stand for, by their numbers.
    anchors: Vec<(usize, Tree, usize)>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, SyntaxError> {
        match self.events.next_event() {
            None => Ok(None),
            Some(Ok((event, span))) => {
                self.line = span.start.line();
                Ok(Some((event, span)))
            }
            Some(Err(error)) => {
                self.line = error.marker().line();
                Err(self.fault(Fault::Grammar(error.info().to_owned())))
            }
        }
    }

    const fn fault(&self, fault: Fault) -> SyntaxError {
        SyntaxError { syntax: Syntax::Yaml, line: self.line, fault }
    }

    fn count(&mut self, more: usize) -> Result<(), SyntaxError> {
        self.values = self.values.saturating_add(more);
        if self.values > LIMITS.values {
            return Err(self.fault(Fault::TooManyValues(LIMITS.values)));
        }
        Ok(())
    }

    /// The tree that begins with an event. Recursion is safe: it goes no deeper than [`LIMITS`].
    fn tree(&mut self, event: &Event<'a>, depth: usize) -> Result<Tree, SyntaxError> {
        if depth == LIMITS.depth {
            return Err(self.fault(Fault::TooDeep(depth)));
        }
        self.count(1)?;
        let before = self.values;
        let (tree, anchor) = match event {
            Event::Scalar(text, ScalarStyle::Plain, anchor, None) => (Tree::Leaf(plain(text)), *anchor),
            Event::Scalar(text, _, anchor, _) => (Tree::Leaf(Value::Text(text.to_string())), *anchor),
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                while let Some(next) = self.following()? {
                    items.push(self.tree(&next, depth + 1)?);
                }
                (Tree::List(items), *anchor)
            }
            Event::MappingStart(anchor, _) => (self.map(depth)?, *anchor),
            Event::Alias(number) => {
                let known = self.anchors.iter().find(|(known, ..)| known == number);
                let (tree, size) = known.map_or((Tree::Leaf(Value::Null), 0), |(_, tree, size)| (tree.clone(), *size));
                self.count(size)?;
                (tree, 0)
            }
            _ => (Tree::Leaf(Value::Null), 0),
        };
        if anchor > 0 {
            // Copies of what has copies in it are counted, too, so that the limit holds.
            let size = self.values - before + 1;
            self.count(size)?;
            self.anchors.push((anchor, tree.clone(), size));
        }
        Ok(tree)
    }

    /// The next event inside a list or an object; none at its end.
    fn following(&mut self) -> Result<Option<Event<'a>>, SyntaxError> {
        Ok(match self.next()? {
            None | Some((Event::SequenceEnd | Event::MappingEnd | Event::StreamEnd | Event::DocumentEnd, _)) => None,
            Some((event, _)) => Some(event),
        })
    }

    fn map(&mut self, depth: usize) -> Result<Tree, SyntaxError> {
        let mut keys: Vec<(String, usize, Tree)> = Vec::new();
        let mut merged: Vec<(String, usize, Tree)> = Vec::new();
        let mut names = HashSet::new();
        while let Some(key) = self.following()? {
            let line = self.line;
            let key = match self.tree(&key, depth + 1)?.value() {
                Value::Text(text) | Value::Number(text) => text,
                Value::Bool(on) => if on { "true" } else { "false" }.to_owned(),
                // Nothing that is read has a list or an object for a key.
                _ => "?".to_owned(),
            };
            let Some(value) = self.following()? else { break };
            let tree = self.tree(&value, depth + 1)?;
            match tree {
                // “<<” takes over the keys of another object that stand here themselves nowhere.
                Tree::Map(other) if key == "<<" => merged.extend(other),
                _ if keys.len() == LIMITS.keys => return Err(self.fault(Fault::TooManyValues(LIMITS.keys))),
                _ if !names.insert(key.clone()) => {
                    self.line = line;
                    return Err(self.fault(Fault::Repeated(crate::read::secrets::shown(&excerpt(&key)))));
                }
                tree => keys.push((key, line, tree)),
            }
        }
        for (key, line, tree) in merged {
            if names.insert(key.clone()) {
                keys.push((key, line, tree));
            }
        }
        Ok(Tree::Map(keys))
    }
}
