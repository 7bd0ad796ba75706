//! What a text is, by what is in it and never by its name alone.

use std::borrow::Cow;
use std::fmt;

use super::format::{Format, Row, TOLD, nemo_rl};
use super::out_of_memory::{self, OutOfMemory};
use super::readers::Json;
use super::syntax::{self, Document, LIMITS, SyntaxError};
use super::{Needs, Readers, commands, hub, secrets};
use crate::config_json::{self, ConfigError};
use crate::json::{self, Value};
use crate::number;

/// A part of a text that one format explains.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    pub(super) format: Format,
    pub(super) document: Document,
    /// Keys with a value that only a run would know, and their lines.
    pub(super) expressions: Vec<(String, usize)>,
    /// Files that a command names, and their lines.
    pub(super) files: Vec<(String, usize)>,
    /// Whether it is a call of Python, of one class alone.
    pub(super) is_call: bool,
}

impl Section {
    pub(super) fn new(format: Format, mut document: Document) -> Self {
        document.follow_references();
        let mut files = Vec::new();
        if format == Format::NemoRl {
            nemo_rl::settle(&mut document);
            // The file that this one changes.
            files.extend(document.text("defaults"));
        }
        Self { format, document, expressions: Vec::new(), files, is_call: false }
    }
}

/// What a text is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Recognised {
    /// Configurations of programs, several of them where a command or a program of Python has several.
    Sections(Vec<Section>),
    /// A model’s own `config.json`, and what it says.
    Model(Box<Result<config_json::Reading, ConfigError>>),
    /// The name of a model on a hub.
    Name(String),
    /// What a program or a tool says about memory.
    Memory(Box<OutOfMemory>),
    /// Nothing that is read.
    Unread(Unread),
}

/// Why nothing is read of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// There is nothing in it.
    Empty,
    /// It has more bytes than are read: how many it has, and how many are read.
    TooLong {
        /// How many it has.
        length: usize,
        /// How many are read.
        most: usize,
    },
    /// Its bytes are no text.
    Binary,
    /// It breaks the grammar of what it looks like.
    Syntax(SyntaxError),
    /// It looks like JSON, and its reader stops.
    Json(json::JsonError),
    /// It is a program of Python that has its configuration from elsewhere.
    Program,
    /// It is a text of none of the formats; its syntax, where it has one, and the first keys that no format has.
    Unknown(Option<syntax::Syntax>),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is nothing in it"),
            Self::TooLong { length, most } => {
                let (length, most) = (number::grouped(*length as f64), number::grouped(*most as f64));
                write!(f, "it has {length} bytes; at most {most} of a configuration are read")
            }
            Self::Binary => f.write_str("it is no text"),
            Self::Syntax(fault) => fault.fmt(f),
            Self::Json(fault) if fault.reason.is_limit() => write!(f, "it is more than is read: {}", fault.reason),
            Self::Json(fault) => write!(f, "it looks like JSON, but: {fault}"),
            Self::Program => f.write_str(
                "it is a program of Python, and no settings stand in it; paste the command that starts it, or the file that \
                 it reads",
            ),
            Self::Unknown(Some(syntax)) => {
                write!(f, "it is {}, and of none of the formats that are read", syntax.name())
            }
            Self::Unknown(None) => f.write_str("it is of none of the formats that are read"),
        }
    }
}

/// Fields that only a model’s own configuration has. Some of them name tokenizers and processors as well.
const OF_A_MODEL: [&str; 6] = ["model_type", "hidden_size", "n_embd", "d_model", "text_config", "vocab_size"];

/// What a text is, or all that it is: people paste an error together with their command, and blocks between fences.
pub(super) fn recognise_all(text: &str, readers: Readers) -> Result<Vec<Recognised>, Needs> {
    // Every part may be as long as the whole.
    let is_long = text.len() > LIMITS.bytes;
    let parts = if is_long { vec![Cow::Borrowed(text)] } else { parts(text) };
    let mut all = Vec::new();
    for part in parts {
        all.extend(with_what_stands_around(&part, readers)?);
    }
    let is_read = |one: &Recognised| !matches!(one, Recognised::Unread(_));
    if all.iter().any(is_read) {
        all.retain(is_read);
        return Ok(all);
    }
    // The documentation of a program has blocks between fences as well.
    let program = Recognised::Unread(Unread::Program);
    let why = if all.contains(&program) { Some(program) } else { all.into_iter().next() };
    Ok(vec![why.unwrap_or(Recognised::Unread(Unread::Empty))])
}

/// A text, and of an error what stands around it, as far as that is read: what is not understood there is a log.
fn with_what_stands_around(text: &str, readers: Readers) -> Result<Vec<Recognised>, Needs> {
    let whole = recognise(text, readers)?;
    let mut all = Vec::new();
    if matches!(whole, Recognised::Memory(_)) && text.len() <= LIMITS.bytes {
        for part in out_of_memory::around_error(text) {
            let beside = recognise(&part, readers)?;
            all.extend(Some(beside).filter(|part| matches!(part, Recognised::Sections(_))));
        }
    }
    all.push(whole);
    Ok(all)
}

/// What begins and ends a block of Markdown (<https://spec.commonmark.org/0.31.2/#fenced-code-blocks>).
const FENCE: &str = "```";

/// The blocks between fences and, at the end, all that stands around them; the text itself where it has none. Lines keep
/// their numbers: empty ones stand for those of other parts.
fn parts(text: &str) -> Vec<Cow<'_, str>> {
    if !text.lines().any(|line| line.trim_start().starts_with(FENCE)) {
        return vec![Cow::Borrowed(text)];
    }
    let mut blocks: Vec<String> = Vec::new();
    let (mut around, mut is_inside) = (String::new(), false);
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with(FENCE) {
            is_inside = !is_inside;
            if is_inside {
                blocks.push("\n".repeat(at + 1));
            }
            around.push('\n');
        } else if let (true, Some(block)) = (is_inside, blocks.last_mut()) {
            *block += line;
            block.push('\n');
            around.push('\n');
        } else {
            around += line;
            around.push('\n');
        }
    }
    let all = blocks.into_iter().chain([around]).filter(|part| !part.trim().is_empty());
    all.take(PARTS).map(Cow::Owned).collect()
}

/// More blocks than these are not looked at, since each begins with as many empty lines as stand before it.
const PARTS: usize = 16;

/// What a text is.
pub(super) fn recognise(text: &str, readers: Readers) -> Result<Recognised, Needs> {
    let unread = |why| Ok(Recognised::Unread(why));
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return unread(Unread::Empty);
    }
    // A model’s file may be longer than others: lists of quantized layers.
    if trimmed.starts_with('{') {
        return of_json(text, readers);
    }
    // Logs are long, and looking for a few words in them takes no time.
    if text.len() <= json::MAX_FILE_BYTES
        && let Some(found) = out_of_memory::read(text)
    {
        return Ok(Recognised::Memory(Box::new(found)));
    }
    if text.len() > LIMITS.bytes {
        return unread(Unread::TooLong { length: text.len(), most: LIMITS.bytes });
    }
    if text.bytes().any(|byte| byte == 0) {
        return unread(Unread::Binary);
    }
    if hub::is_id(trimmed) {
        return Ok(Recognised::Name(trimmed.to_owned()));
    }
    if let Some(sections) = commands::of_python(text, readers)? {
        return Ok(Recognised::Sections(sections));
    }
    if looks_like_toml(text) {
        let read = readers.toml.ok_or(Needs::Toml)?;
        return match read(text).map(of_document) {
            Ok(Some(section)) => Ok(Recognised::Sections(vec![section])),
            Ok(None) => unread(Unread::Unknown(Some(syntax::Syntax::Toml))),
            Err(fault) => unread(Unread::Syntax(fault)),
        };
    }
    let commands = commands::sections(text);
    if let Some(sections) = commands.as_ref().filter(|sections| !sections.is_empty()) {
        return Ok(Recognised::Sections(sections.clone()));
    }
    // Python has names in front of colons as well.
    if is_program(text) {
        return unread(Unread::Program);
    }
    match of_yaml(text, readers)? {
        Ok(Some(section)) => Ok(Recognised::Sections(vec![section])),
        Ok(None) => unread(Unread::Unknown(commands.map(|_| syntax::Syntax::Flags))),
        Err(fault) => unread(Unread::Syntax(fault)),
    }
}

/// Whether a text imports something, or defines a function or a class, as Python does.
fn is_program(text: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("import"), Some(name), None | Some("as")) => is_name(name),
            (Some("from"), Some(name), Some("import")) => is_name(name),
            (Some("def" | "class"), Some(name), _) => name.contains('(') || name.ends_with(':'),
            _ => false,
        }
    })
}

fn of_json(text: &str, readers: Readers) -> Result<Recognised, Needs> {
    let read = readers.json.ok_or(Needs::Json)?;
    match (read.value)(text) {
        Ok(value) => of_value(text, &value, read, readers),
        Err(fault) => Ok(Recognised::Unread(Unread::Json(hidden(fault)))),
    }
}

/// What a text in JSON is, of which this is the value.
fn of_value(text: &str, value: &Value, json: Json, readers: Readers) -> Result<Recognised, Needs> {
    let told = told(&|key: &str| value.get(key).is_some());
    if OF_A_MODEL.iter().any(|key| value.get(key).is_some()) && told.is_none_or(|row| row.format.is_beside()) {
        let read = readers.models.ok_or(Needs::Models)?;
        return Ok(Recognised::Model(Box::new(read(text))));
    }
    Ok(match told {
        Some(row) if row.format == Format::WeightIndex => {
            Recognised::Sections(vec![Section::new(row.format, (json.index)(value))])
        }
        Some(row) => Recognised::Sections(vec![Section::new(row.format, syntax::json::document(text, value.clone()))]),
        None if matches!(value, Value::Object(_)) => match (json.header)(value) {
            Some(header) => Recognised::Sections(vec![Section::new(Format::WeightHeader, header)]),
            None => Recognised::Unread(Unread::Unknown(Some(syntax::Syntax::Json))),
        },
        None => Recognised::Unread(Unread::Unknown(None)),
    })
}

/// A fault of JSON, which may name a key, without what may be a secret.
fn hidden(mut fault: json::JsonError) -> json::JsonError {
    if let json::JsonErrorKind::Repeated(key) = &mut fault.reason {
        *key = secrets::shown(key);
    }
    fault
}

/// Whether a text has a table of TOML and a pair in it.
fn looks_like_toml(text: &str) -> bool {
    let is_table = |line: &str| {
        let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-[]".contains(&byte))
        })
    };
    let is_pair = |line: &str| {
        line.split_once('=').is_some_and(|(key, _)| !key.trim().is_empty() && !key.contains(['"', '(', ':']))
    };
    let mut lines = text.lines().map(str::trim);
    lines.any(is_table) && lines.any(is_pair)
}

/// The section that a text in YAML is; none where it is none of these formats.
pub(super) fn of_yaml(text: &str, readers: Readers) -> Result<Result<Option<Section>, SyntaxError>, Needs> {
    // A text without a name in front of a colon is no configuration, whatever else is wrong with it.
    let is_name = |key: &str| {
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.\"'".contains(&byte))
    };
    let names = text.lines().filter(|line| line.split_once(':').is_some_and(|(key, _)| is_name(key.trim()))).count();
    if names == 0 {
        return Ok(Ok(None));
    }
    let read = readers.yaml.ok_or(Needs::Yaml)?;
    Ok(match read(text) {
        Ok(document) => Ok(document.and_then(of_document)),
        // Prose has colons as well.
        Err(_) if names < 2 => Ok(None),
        Err(fault) => Err(fault),
    })
}

/// The section that entries without a name of their program are.
pub(super) fn of_document(document: Document) -> Option<Section> {
    let row = told(&|key: &str| document.has(key))?;
    let mut section = Section::new(row.format, document);
    if section.format == Format::Torchtitan {
        name_flavor(&mut section.document);
    }
    Some(section)
}

/// Puts the name and the flavour of a model of torchtitan’s together, which only both say; of 0.3 those of its registry.
fn name_flavor(document: &mut Document) {
    let text = |path: &str| document.text(path);
    let named = match (text("model.name"), text("model.flavor"), text("module"), text("config")) {
        (Some((name, _)), Some((flavor, line)), ..) => Some((name, flavor, line)),
        (_, _, Some((name, _)), Some((config, line))) => {
            let flavor = config.strip_prefix(name.as_str()).map(|rest| rest.trim_start_matches('_').replace('_', "."));
            flavor.map(|flavor| (name, flavor, line))
        }
        _ => None,
    };
    if let Some((name, flavor, line)) = named {
        let value = Value::Text(super::format::torchtitan::model(&name, &flavor));
        match document.entries.iter_mut().find(|entry| entry.path == "model.flavor") {
            Some(entry) => entry.value = value,
            None => document.put("model.flavor".to_owned(), value, line),
        }
    }
}

/// The first format one of whose signs is there.
fn told(has: &dyn Fn(&str) -> bool) -> Option<&'static Row> {
    TOLD.iter().copied().find(|row| row.signs.iter().any(|group| group.iter().all(|key| has(key))))
}
