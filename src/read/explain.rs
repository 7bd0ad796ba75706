//! One section by the tables of its format: a claim, or one of the other three lists, for every key.

use super::Readers;
use super::combine::Claim;
use super::facts::{Fact, Shards};
use super::format::{ALL, Format, Found, Key, Meaning, Row, Rule, Said, Table};
use super::recognise::Section;
use super::secrets;
use super::syntax::below;
use super::understood::Why;
use crate::input::Input;
use crate::json::Value;
use crate::nearest::nearest;
use crate::{Field, Scenario, number};

/// How many keys that no table has are compared with those that tables have. Every comparison takes time.
const COMPARED: usize = 16;

/// What a key says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Claims(Vec<Claim>),
    /// The name of a model, and what it says beside.
    Model(String, Vec<Claim>),
    /// Claims by the name of a file, and that name, for where the file itself is not there.
    File(Vec<Claim>, Vec<Claim>, String),
    NoMatter,
    NotCounted(&'static str),
    NotUnderstood(Why),
}

/// A key of a section with what it says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Explained {
    pub(super) line: usize,
    pub(super) key: String,
    /// The value where it is a number or a word of a table; empty otherwise.
    pub(super) value: String,
    pub(super) outcome: Outcome,
}

/// What the program takes where the section is silent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unsaid {
    pub(super) key: &'static str,
    pub(super) value: &'static str,
    pub(super) source: &'static str,
    pub(super) claims: Vec<Claim>,
}

/// Every key of a section.
pub(super) fn keys(section: &Section, meaning: &'static Meaning) -> Vec<Explained> {
    let mut compared = 0;
    let mut explained = Vec::new();
    for entry in &section.document.entries {
        let (meaning, path) = within(meaning, &entry.path);
        let (value, outcome) = outcome(meaning, path, &entry.value, &mut compared);
        explained.push(Explained { line: entry.line, key: secrets::key(&entry.path), value, outcome });
    }
    for (key, line) in &section.expressions {
        // What a program works out matters only where the key does.
        let outcome = match meaning.find(key) {
            Some(Found::NoMatter) => Outcome::NoMatter,
            _ => Outcome::NotUnderstood(Why::Expression),
        };
        explained.push(Explained { line: *line, key: secrets::key(key), value: String::new(), outcome });
    }
    explained
}

/// What is so in every text of the section’s format.
pub(super) fn always(section: &Section, meaning: &'static Meaning) -> Vec<Claim> {
    let is_there = |prefix: &str| section.document.entries.iter().any(|entry| is_below(&entry.path, prefix));
    let inner = meaning.within.iter().filter(|(prefix, _)| is_there(prefix)).map(|(_, inner)| *inner);
    inner.chain([meaning]).flat_map(|one| one.always.iter().flat_map(|said| claims(*said))).collect()
}

/// What the program takes for keys that are not there.
pub(super) fn unsaid(section: &Section, meaning: &'static Meaning) -> Vec<Unsaid> {
    // What a file of NeMo-RL leaves out the file says that it changes.
    if section.format == Format::NemoRl && !section.files.is_empty() {
        return Vec::new();
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    let tables = meaning.tables.iter().filter(|table| !(section.is_call && table.is_of_scripts));
    for (table, key) in tables.flat_map(|table| table.keys.iter().map(move |key| (table, key))) {
        let is_seen = key.names.iter().any(|name| seen.contains(name));
        seen.extend(key.names);
        let is_there = |name: &&str| {
            let entries = section.document.entries.iter();
            entries.into_iter().any(|entry| below(&entry.path, name).is_some() && entry.value != Value::Null)
                || section.expressions.iter().any(|(key, _)| key == name)
        };
        let Some(value) = key.default.filter(|_| !is_seen && !key.names.iter().any(is_there)) else {
            continue;
        };
        let claims = match by_rule(key, &default_value(value)).1 {
            Outcome::Claims(claims) | Outcome::File(claims, ..) => claims,
            _ => Vec::new(),
        };
        if !claims.is_empty() {
            all.push(Unsaid { key: key.names[0], value, source: table.source, claims });
        }
    }
    all
}

/// A default as a file would have it.
fn default_value(text: &str) -> Value {
    if text.is_empty() { Value::Text(String::new()) } else { super::syntax::plain(text) }
}

fn is_below(path: &str, prefix: &str) -> bool {
    below(path, prefix).is_some_and(|rest| !rest.is_empty())
}

/// The meaning that has a path, and the path in it.
pub(super) fn within<'a>(meaning: &'static Meaning, path: &'a str) -> (&'static Meaning, &'a str) {
    for (prefix, inner) in meaning.within {
        // What the format itself has of a key goes before what the other one has.
        if let Some(rest) = below(path, prefix).filter(|rest| !rest.is_empty())
            && meaning.find(path).is_none()
        {
            return (inner, rest);
        }
    }
    (meaning, path)
}

fn outcome(meaning: &'static Meaning, path: &str, value: &Value, compared: &mut usize) -> (String, Outcome) {
    let Some(found) = meaning.find(path) else {
        // The opposite of a switch that is on by itself (`_parse_dataclass_field` in transformers/hf_argparser.py).
        if let (Some(switch), Value::Bool(true)) = (path.strip_prefix("no_"), value)
            && meaning.find(switch).is_some()
        {
            return outcome(meaning, switch, &Value::Bool(false), compared);
        }
        *compared += 1;
        let like = if *compared > COMPARED || secrets::is_secret(path) {
            Vec::new()
        } else {
            nearest(path, &mut meaning.known().map(|key| (key, key)))
        };
        return (String::new(), Outcome::NotUnderstood(Why::Key(like)));
    };
    match found {
        _ if *value == Value::Null => (String::new(), Outcome::NoMatter),
        Found::NoMatter => (String::new(), Outcome::NoMatter),
        // What is switched off costs nothing.
        Found::NotCounted(_) if is_off(path, value) => (written(value), Outcome::NoMatter),
        Found::NotCounted(why) => (safe(value), Outcome::NotCounted(why)),
        Found::Key(key) => by_rule(key, value),
    }
}

/// Whether a value switches off what its key names.
fn is_off(path: &str, value: &Value) -> bool {
    // A group of one GPU divides nothing.
    let alone = if ["_size", "_degree", "_instances"].iter().any(|end| path.ends_with(end)) { 1.0 } else { 0.0 };
    match value {
        Value::Bool(on) => !on,
        Value::Number(text) => number::parse(text).is_ok_and(|number| number == 0.0 || number == alone),
        Value::Text(text) => text.is_empty() || text.eq_ignore_ascii_case("none") || text == "auto",
        Value::List(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Null | Value::NotFinite => true,
    }
}

/// A value as a word of a table is written.
fn written(value: &Value) -> String {
    match value {
        Value::Bool(on) => on.to_string(),
        Value::Number(text) => number::parse(text).map_or_else(|_| text.clone(), number::plain),
        Value::Text(text) => text.clone(),
        Value::List(items) => items.iter().take(64).map(written).collect::<Vec<_>>().join(","),
        Value::Null | Value::NotFinite | Value::Object(_) => String::new(),
    }
}

/// The value, where nothing of it can be a secret.
fn safe(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => secrets::shown(&written(value)),
        _ => String::new(),
    }
}

fn by_rule(key: &'static Key, value: &Value) -> (String, Outcome) {
    let text = written(value);
    let number = || number::parse(&text).ok();
    match &key.rule {
        // “auto” leaves the choice to another part of the program, and so does “none” in the place of a number.
        Rule::Number(_) | Rule::Millions(_) | Rule::Count(_) | Rule::Share(_)
            if text == "auto" || text.eq_ignore_ascii_case("none") =>
        {
            (text, Outcome::NoMatter)
        }
        Rule::Number(input) => (safe(value), numeric(input, &text)),
        Rule::Millions(input) => match number() {
            Some(elements) => (safe(value), numeric(input, &number::plain((elements / 1e6).round().max(1.0)))),
            None => (String::new(), Outcome::NotUnderstood(Why::Value)),
        },
        Rule::Share(input) => match number() {
            Some(share) => (safe(value), numeric(input, &number::plain(share * 100.0))),
            None => (String::new(), Outcome::NotUnderstood(Why::Value)),
        },
        Rule::Count(count) => {
            let counted = match (count, value) {
                // A list of GPUs: as many as it has.
                (super::facts::Count::Visible, Value::Text(list)) if list == "all" => None,
                (super::facts::Count::Visible, _) if !text.is_empty() => Some(text.split(',').count() as f64),
                _ => number().filter(|number| *number >= 1.0 && number.fract() == 0.0),
            };
            match counted {
                Some(counted) => (safe(value), Outcome::Claims(vec![Claim::Count(*count, counted)])),
                None if text == "all" || number().is_some_and(|number| number < 1.0) => {
                    (safe(value), Outcome::NoMatter)
                }
                None => (String::new(), Outcome::NotUnderstood(Why::Value)),
            }
        }
        Rule::Words(words) => word(words, &text),
        Rule::Optimizer(own) => match word(own, &text) {
            (_, Outcome::NotUnderstood(_)) => word(super::format::OPTIMIZERS, &text),
            found => found,
        },
        Rule::Above(above, below) => match number() {
            Some(part) => (safe(value), Outcome::Claims(claims(if part > 0.0 { *above } else { *below }))),
            None => (String::new(), Outcome::NotUnderstood(Why::Value)),
        },
        Rule::Model => match value {
            Value::Text(name) if !name.is_empty() => (String::new(), Outcome::Model(name.clone(), Vec::new())),
            _ => (String::new(), Outcome::NotUnderstood(Why::Value)),
        },
        Rule::Component => component(&text),
        Rule::Rank => match number() {
            Some(rank) if rank > 0.0 => {
                let (shown, outcome) = (safe(value), numeric("rank", &text));
                let Outcome::Claims(mut claims) = outcome else { return (shown, outcome) };
                claims.push(Claim::Fact(Fact::Adapters(true)));
                (shown, Outcome::Claims(claims))
            }
            Some(_) => (safe(value), Outcome::Claims(vec![Claim::Fact(Fact::Adapters(false))])),
            None => (String::new(), Outcome::NotUnderstood(Why::Value)),
        },
        Rule::File(words) => file(words, value, &text),
        Rule::Targets => targets(&text),
        Rule::Usual(..) if text == "auto" => (text, Outcome::NoMatter),
        Rule::Usual(usual, why) => match number() {
            Some(number) if number == *usual => (safe(value), Outcome::NoMatter),
            Some(_) => (safe(value), Outcome::NotCounted(why)),
            None => (String::new(), Outcome::NotUnderstood(Why::Value)),
        },
        Rule::Only(word, _) if text == *word => (text, Outcome::NoMatter),
        Rule::Only(_, why) => (String::new(), Outcome::NotCounted(why)),
        Rule::OptimizerArguments => (String::new(), Outcome::Claims(optimizer_arguments(&text))),
    }
}

/// A number by the input’s own reader.
fn numeric(input: &'static str, text: &str) -> Outcome {
    let Some(field) = Field::from_key(input) else { return Outcome::NotUnderstood(Why::Value) };
    match field.read(text) {
        Ok(number) => Outcome::Claims(vec![Claim::Link(input, number::plain(number))]),
        Err(_) if number::parse(text).is_err() => Outcome::NotUnderstood(Why::Value),
        Err(refusal) => Outcome::NotUnderstood(Why::Input(refusal.to_string())),
    }
}

fn word(words: &[(&'static str, Said)], text: &str) -> (String, Outcome) {
    let found = words.iter().find(|(word, _)| *word == text);
    let found = found.or_else(|| words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)));
    match found {
        Some((word, Said::NotCounted(why))) => ((*word).to_owned(), Outcome::NotCounted(why)),
        Some((word, said)) => ((*word).to_owned(), Outcome::Claims(claims(*said))),
        None if text == "auto" || text.is_empty() => (String::new(), Outcome::NoMatter),
        None => (String::new(), Outcome::NotUnderstood(Why::Value)),
    }
}

/// The model that a function of torchtune’s builds: `torchtune.models.llama3_1.qlora_llama3_1_8b`.
fn component(text: &str) -> (String, Outcome) {
    let name = text.rsplit('.').next().unwrap_or_default();
    let (facts, name) = if let Some(name) = name.strip_prefix("qlora_") {
        (vec![Fact::Adapters(true), Fact::Base(super::facts::Base::FourBits)], name)
    } else if let Some(name) = name.strip_prefix("lora_") {
        (vec![Fact::Adapters(true)], name)
    } else {
        (vec![Fact::Adapters(false)], name)
    };
    // A point of a version is written like the space between words.
    let name = name.replace('_', "-");
    (String::new(), Outcome::Model(name, facts.into_iter().map(Claim::Fact).collect()))
}

/// Every word in a text says something; a text that is the name of a file says it only where the file is not there.
fn file(words: &[(&'static str, Said)], value: &Value, text: &str) -> (String, Outcome) {
    let small = text.to_ascii_lowercase();
    let name = small.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_file = matches!(value, Value::Text(_)) && name.contains('.');
    let mut all = Vec::new();
    for (part, said) in words {
        let is_said = if part.is_empty() { name.is_empty() } else { name.contains(part) };
        if is_said {
            all.extend(claims(*said));
        }
    }
    if is_file {
        // Whatever it is called, it is one of DeepSpeed’s.
        let always = vec![Claim::Fact(Fact::Shards(Shards::DeepSpeed))];
        if name.contains("offload") {
            all.push(Claim::Fact(Fact::OffloadsOptimizer(true)));
        }
        return (secrets::file(text), Outcome::File(all, always, secrets::file(text)));
    }
    match all.is_empty() {
        true if text.is_empty() || is_off("", value) => (String::new(), Outcome::NoMatter),
        true => (String::new(), Outcome::NotUnderstood(Why::Value)),
        false => (if secrets::is_secret(text) { String::new() } else { secrets::shown(text) }, Outcome::Claims(all)),
    }
}

/// The matrices of attention, and those of feed-forward blocks, by parts of the names that models have for them.
const ATTENTION: [&str; 11] =
    ["q_proj", "k_proj", "v_proj", "o_proj", "linear_proj", "qkv", "query", "key", "value", "c_attn", "dense"];
const FEED_FORWARD: [&str; 9] = ["gate_proj", "up_proj", "down_proj", "gate_up", "fc1", "fc2", "c_fc", "w1", "mlp"];

fn targets(text: &str) -> (String, Outcome) {
    let is_name = |name: &&str| !name.is_empty();
    let pattern = text.contains('(').then(|| matched(text).unwrap_or_default());
    // NeMo AutoModel has an asterisk for the way to a matrix.
    let names = pattern.as_deref().unwrap_or(text).split([',', ' ', '|']).map(str::trim).filter(is_name);
    let names: Vec<&str> = names.map(|name| name.trim_start_matches(['*', '.'])).collect();
    let link = |word: &str| Outcome::Claims(vec![Claim::Link("targets", word.to_owned())]);
    let has = |parts: &[&str]| names.iter().any(|name| parts.iter().any(|part| name.contains(part)));
    let is_known = |name: &&str| [&ATTENTION[..], &FEED_FORWARD[..]].concat().iter().any(|part| name.contains(part));
    let shown =
        if names.iter().all(is_known) && !secrets::is_secret(text) { secrets::shown(text) } else { String::new() };
    let outcome = match names.as_slice() {
        [] if pattern.is_some() => Outcome::NotCounted(OTHER_MATRICES),
        // peft takes the matrices of the LoRA paper where nobody names any (`TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING`).
        [] => link("qv"),
        ["all-linear" | "all" | "all_linear" | "_proj"] => return (names.concat(), link("all")),
        names
            if names.iter().all(|name| {
                matches!(*name, "q_proj" | "v_proj" | "query" | "value" | "c_attn" | "query_key_value")
            }) =>
        {
            link("qv")
        }
        names if names.iter().all(is_known) && has(&FEED_FORWARD) && has(&ATTENTION) => link("all"),
        names if names.iter().all(is_known) && !has(&FEED_FORWARD) => link("attention"),
        names if names.iter().any(is_known) || text.contains('*') => Outcome::NotCounted(OTHER_MATRICES),
        _ => Outcome::NotUnderstood(Why::Value),
    };
    (shown, outcome)
}

const OTHER_MATRICES: &str = "other matrices than queries and values, all of attention, or all have adapters";

/// The names of matrices that a regular expression of peft's matches in every layer, with commas between them; `None` where
/// it picks layers, or says more than choices in brackets.
fn matched(pattern: &str) -> Option<String> {
    const MOST: usize = 128;
    let mut open = vec![pattern.replace("\\.", ".").replace("(?:", "(")];
    let mut names: Vec<String> = Vec::new();
    // Each round takes one choice out of one text, and every text has fewer brackets than the one that it came from.
    while let Some(text) = open.pop() {
        if open.len() + names.len() > MOST {
            return None;
        }
        let end = text.find(')');
        let start = end.and_then(|end| text[..end].rfind('('));
        let (Some(start), Some(end)) = (start, end) else {
            if text.contains(['(', ')']) {
                return None;
            }
            for one in text.split('|').map(|one| one.trim_end_matches(['.', '*', '?', '$'])) {
                let name = one.rsplit('.').next().unwrap_or_default().trim_start_matches('*').to_owned();
                if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                    return None;
                }
                names.push(name);
            }
            continue;
        };
        let (before, choice, after) = (&text[..start], &text[start + 1..end], &text[end + 1..]);
        // Looking ahead, and numbers of layers.
        if choice.starts_with('?') || choice.split('|').any(|one| one.parse::<u32>().is_ok()) {
            return None;
        }
        let left_out = after.starts_with('?').then_some("");
        let after = after.trim_start_matches('?');
        open.extend(choice.split('|').chain(left_out).map(|one| format!("{before}{one}{after}")));
    }
    Some(names.join(","))
}

/// A rank and a momentum among `name=value` pairs.
fn optimizer_arguments(text: &str) -> Vec<Claim> {
    let mut all = Vec::new();
    for (name, value) in text.split(',').filter_map(|pair| pair.split_once('=')) {
        let value = value.trim();
        match name.trim() {
            "rank" => {
                if let Outcome::Claims(claims) = numeric("opt_rank", value) {
                    all.extend(claims);
                }
            }
            "momentum" => all.push(Claim::Fact(Fact::Momentum(number::parse(value).is_ok_and(|part| part > 0.0)))),
            _ => {}
        }
    }
    all
}

/// What is said as claims. Words of a link go through the inputs’ own readers.
fn claims(said: Said) -> Vec<Claim> {
    match said {
        Said::Nothing | Said::NotCounted(_) => Vec::new(),
        Said::Fact(fact) => vec![Claim::Fact(fact)],
        Said::Link(words) => {
            let pairs = words.split('&').filter_map(|pair| pair.split_once('='));
            pairs.filter_map(|(key, value)| Some(Claim::Link(checked(key, value)?, value.to_owned()))).collect()
        }
    }
}

/// The key of a parameter whose own reader takes this value.
pub(super) fn checked(key: &str, value: &str) -> Option<&'static str> {
    match Input::from_key(key)? {
        Input::Number(field) => field.read(value).ok().map(|_| field.bound().key),
        Input::Word(word) => word.read(value, Scenario::default()).ok().map(|_| word.key),
        Input::Model | Input::Gpu => None,
    }
}

/// Keys in each table, for the documentation and its test: those that mean something, those that do not matter and those
/// that are not counted.
pub fn table_sizes() -> Vec<(Format, usize, usize, usize)> {
    let tables = |row: &Row| Readers::all().meaning(row.format).map_or(&[][..], |meaning| meaning.tables);
    let of = |count: fn(&Table) -> usize| move |row: &Row| tables(row).iter().map(|table| count(table)).sum::<usize>();
    let names = of(|table| table.keys.iter().map(|key| key.names.len()).sum());
    let no_matter = of(|table| table.no_matter.split_whitespace().count());
    let not_counted = of(|table| table.not_counted.len());
    ALL.iter().map(|row| (row.format, names(row), no_matter(row), not_counted(row))).collect()
}
