//! Texts given back with other values in them: comments, order and everything else stay as they are.
//!
//! A line is changed only where the result, read again, says what is wanted and nothing else than before. So the tables of
//! the formats are enough, and a spelling that a reader takes otherwise is never written.

use super::format::{Found, Key, Meaning, OPTIMIZERS, Rule, Said};
use super::recognise::{Recognised, Section, recognise_all};
use super::{Inputs, Needs, Readers, Reading, Text, commands};
use crate::input::Input;
use crate::{Field, Scenario, number, setting};

/// Texts with other values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The texts that are other ones now, by name, as a whole.
    pub texts: Vec<(String, String)>,
    /// The names of the inputs that no line of the texts says, nor any line that could be added.
    pub left: Vec<&'static str>,
}

/// The inputs that differ between two scenarios, each with its value in the second one as links have it. The model, the GPU
/// and the goal are none of them: a file names them otherwise, or not at all.
pub fn changes(before: &Scenario, after: &Scenario) -> Vec<(Input, String)> {
    let differing = Input::each().filter_map(|input| match input {
        Input::Number(field) => {
            let [old, new] = [before, after].map(|scenario| scenario.number(field));
            (old != new).then(|| (input, number::plain(new)))
        }
        Input::Word(setting) => {
            let [old, new] = [before, after].map(|scenario| setting.get(scenario));
            (old != new).then(|| (input, new.to_owned()))
        }
        Input::Model | Input::Gpu => None,
    });
    differing.filter(|(input, _)| !is_goal(input.key())).collect()
}

/// Gives texts back with these values of inputs.
///
/// ```
/// use bmax::read::rewrite;
/// use bmax::{Field, link};
///
/// let file = "base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 1 # as large as fits\n";
/// let batch = bmax::input::Input::Number(Field::Batch);
/// let found = rewrite(&[("run.yaml", file)], &[(batch, "4".to_owned())]);
/// assert_eq!(found.texts[0].1, file.replace("size: 1 #", "size: 4 #"));
/// ```
pub fn rewrite(texts: &[(&str, &str)], wanted: &[(Input, String)]) -> Rewritten {
    with_readers(Readers::all(), texts, wanted).unwrap_or_default()
}

/// Gives texts back with these values of inputs, read by these readers.
pub(super) fn with_readers(
    readers: Readers,
    texts: &[(&str, &str)],
    wanted: &[(Input, String)],
) -> Result<Rewritten, Needs> {
    let mut now: Vec<(&str, String)> = texts.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
    let mut reading = read_all(&now, readers)?;
    let mut left = Vec::new();
    for (input, value) in wanted {
        if reading.inputs.get(input.key()) == Some(value.as_str()) {
            continue;
        }
        match with(&now, &reading, (input.key(), value), readers)? {
            Some(next) => (now, reading) = next,
            None => left.push(input.name()),
        }
    }
    let others = now.into_iter().zip(texts).filter(|((_, now), (_, before))| now != before);
    Ok(Rewritten { texts: others.map(|((name, now), _)| (name.to_owned(), now)).collect(), left })
}

fn read_all(texts: &[(&str, String)], readers: Readers) -> Result<Reading, Needs> {
    let texts: Vec<Text> = texts.iter().map(|(name, text)| Text::file(name, text.as_bytes())).collect();
    readers.read(&texts)
}

/// Texts by name, and what they say.
type Next<'a> = (Vec<(&'a str, String)>, Reading);

/// The texts with one value, by the first line that can be changed or else added, and what they say then.
fn with<'a>(
    texts: &[(&'a str, String)],
    before: &Reading,
    (key, value): (&str, &str),
    readers: Readers,
) -> Result<Option<Next<'a>>, Needs> {
    let mut sections: Vec<(usize, Section)> = Vec::new();
    for (at, (_, text)) in texts.iter().enumerate() {
        for one in recognise_all(text, readers)? {
            if let Recognised::Sections(found) = one {
                sections.extend(found.into_iter().map(|section| (at, section)));
            }
        }
    }
    let mut tried = 0;
    let mut is_it = |at: usize, text: String, rule: &Rule| {
        tried += 1;
        let mut next = texts.to_vec();
        next[at].1 = text;
        let reading = if tried <= TRIED { read_all(&next, readers).ok()? } else { return None };
        says(before, &reading, (key, value), rule).then_some((next, reading))
    };
    for surely in [true, false] {
        for (at, section) in &sections {
            let meaning = readers.meaning(section.format)?;
            for entry in &section.document.entries {
                let Some(Found::Key(found)) = meaning.find(&entry.path) else { continue };
                for spelling in spellings(&found.rule, key, value, surely) {
                    let lines = changed(&texts[*at].1, entry.line, &entry.path, &spelling);
                    if let Some(next) = lines.into_iter().find_map(|text| is_it(*at, text, &found.rule)) {
                        return Ok(Some(next));
                    }
                }
            }
        }
        for (at, section) in &sections {
            let text = &texts[*at].1;
            let calls = if section.is_call { commands::ends_of_calls(text, readers)? } else { Vec::new() };
            for (absent, spelling) in absent(section, readers.meaning(section.format)?, (key, value), surely) {
                let name = absent.names.first().copied().unwrap_or_default();
                let lines = match calls.as_slice() {
                    [] => added(text, name, &spelling),
                    calls => with_argument(text, calls, name, &spelling),
                };
                if let Some(next) = lines.into_iter().find_map(|text| is_it(*at, text, &absent.rule)) {
                    return Ok(Some(next));
                }
            }
        }
    }
    Ok(None)
}

/// Readings that are compared for one input at most: each takes as long as reading the texts.
const TRIED: usize = 96;

/// Whether texts say the same as before but for one input, which they say as it is wanted, and for what the words of the rule
/// say beside it: an optimizer comes with its step.
fn says(before: &Reading, after: &Reading, (key, value): (&str, &str), rule: &Rule) -> bool {
    let beside = |of: &str| {
        let of_words = |words: &[(&str, Said)]| {
            words
                .iter()
                .any(|(_, said)| matches!(said, Said::Link(link) if link.split(['&', '=']).any(|word| word == of)))
        };
        match rule {
            Rule::Optimizer(own) => of_words(own) || of_words(OPTIMIZERS),
            Rule::Words(words) => of_words(words),
            _ => false,
        }
    };
    let same = |one: &Inputs, other: &Inputs| {
        one.iter().all(|(of, said)| of == key || other.get(of) == Some(said) || beside(of) || is_goal(of))
    };
    after.inputs.get(key) == Some(value)
        && same(&before.inputs, &after.inputs)
        && same(&after.inputs, &before.inputs)
        && before.model == after.model
        && after.understood.not_understood.len() <= before.understood.not_understood.len()
        && after.understood.not_counted.len() <= before.understood.not_counted.len()
}

/// Whether an input is part of the goal, which follows from micro-batch, steps and GPUs, and on which no memory depends.
fn is_goal(key: &str) -> bool {
    key == Field::GlobalBatch.bound().key || key == setting::BATCH_UNIT.key
}

/// The words by which a rule says a value of an input: those that are sure to, or those of which it depends on others.
fn spellings(rule: &Rule, key: &str, value: &str, surely: bool) -> Vec<String> {
    let number = number::parse(value).ok();
    let scaled = |factor: f64| number.map(|number| number::plain(number * factor)).into_iter().collect();
    let link = format!("{key}={value}");
    let by_words = |words: &[(&str, Said)]| {
        let says = |said: &Said| match said {
            Said::Link(words) => surely && words.split('&').any(|word| word == link),
            // What is counted is said by numbers.
            Said::Fact(_) | Said::Nothing => !surely && Field::from_key(key).is_none(),
            Said::NotCounted(_) => false,
        };
        let words = words.iter().filter(|(_, said)| says(said)).map(|(word, _)| (*word).to_owned());
        words.filter(|word| !word.is_empty()).collect()
    };
    match rule {
        Rule::Words(words) => by_words(words),
        Rule::Optimizer(own) if key == "optimizer" || key == "step" => {
            let mut all: Vec<String> = by_words(own);
            all.extend(by_words(OPTIMIZERS));
            all
        }
        Rule::Count(_) if number.is_some() && !surely => vec![value.to_owned()],
        _ if !surely => Vec::new(),
        Rule::Number(input) if *input == key => vec![value.to_owned()],
        Rule::Millions(input) if *input == key => scaled(1e6),
        Rule::Share(input) if *input == key => scaled(0.01),
        Rule::Rank if key == "rank" => vec![value.to_owned()],
        Rule::Targets if link == "targets=all" => vec!["all-linear".to_owned()],
        _ => Vec::new(),
    }
}

/// Keys of a section's format that it has not, each with a word that says a value.
fn absent(
    section: &Section,
    meaning: &'static Meaning,
    (key, value): (&str, &str),
    surely: bool,
) -> Vec<(&'static Key, String)> {
    let is_there = |key: &Key| key.names.iter().any(|name| section.document.has(name));
    let of =
        |one: &'static Key| spellings(&one.rule, key, value, surely).into_iter().map(move |spelling| (one, spelling));
    let keys = meaning.tables.iter().flat_map(|table| table.keys);
    keys.filter(|one| !is_there(one)).flat_map(of).collect()
}

/// The ways in which a word may stand in a text: as it is, as Python writes it, and in quotes.
fn written(spelling: &str) -> Vec<String> {
    let python = match spelling {
        "true" => Some("True"),
        "false" => Some("False"),
        _ => None,
    };
    let plain = [spelling].into_iter().chain(python).map(str::to_owned);
    plain.chain([format!("\"{spelling}\"")]).collect()
}

/// The text with another value behind a key of a line, in every way in which it may be written.
fn changed(text: &str, line: usize, path: &str, spelling: &str) -> Vec<String> {
    let name = path.rsplit('.').next().unwrap_or(path);
    let start = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    let row = &text[start..end];
    let places = [name.to_owned(), name.replace('_', "-")].into_iter().filter_map(|name| value_of(row, &name));
    let mut all: Vec<String> = Vec::new();
    for (from, to) in places {
        for word in written(spelling) {
            let next = format!("{}{word}{}", &text[..start + from], &text[start + to..]);
            if !all.contains(&next) {
                all.push(next);
            }
        }
    }
    all
}

/// Where the value behind a key stands in a line: its first and its last byte. A quoted one with its quotes.
fn value_of(row: &str, name: &str) -> Option<(usize, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let (at, _) = row.match_indices(name).find(|(at, _)| {
        let before = row[..*at].chars().next_back();
        let behind = row[at + name.len()..].chars().next();
        !behind.is_some_and(is_word) && !before.is_some_and(|c| is_word(c) && c != '-')
    })?;
    let behind = at + name.len();
    let rest = &row[behind..];
    // A flag without a value has none to put another in the place of.
    let from = behind + rest.find(|c: char| !matches!(c, '"' | '\'' | ' ' | '\t' | ':' | '='))?;
    let quote = row[..from].chars().next_back().filter(|c| matches!(c, '"' | '\''));
    // The quote behind the key is its own.
    let quote = quote.filter(|_| row[behind..from].trim_end_matches(['"', '\'']).ends_with([' ', '\t', ':', '=']));
    let ends = |c: char| match quote {
        Some(quote) => c == quote,
        None => c.is_whitespace() || matches!(c, ',' | '#' | '}' | ')' | ']'),
    };
    let to = row[from..].find(ends).map_or(row.len(), |length| from + length);
    let around = usize::from(quote.is_some());
    Some((from - around, (to + around).min(row.len())))
}

/// The text with a key more, in every way in which it may be written: as an option of the command at its end, in the table of
/// its path, before the last bracket, or as a line of its own.
fn added(text: &str, path: &str, spelling: &str) -> Vec<String> {
    let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut all = Vec::new();
    let body = text.trim_end();
    for word in written(spelling) {
        if let Some(at) = body.rfind('}').filter(|_| text.trim_start().starts_with('{')) {
            let inner = body[..at].trim_end();
            let comma = if inner.ends_with(['{', ',']) { "" } else { "," };
            all.push(format!("{inner}{comma}\n  \"{name}\": {word}\n{}", &text[at..]));
            continue;
        }
        let header = format!("[{table}]");
        if let Some(at) = text.find(&header).filter(|_| !table.is_empty()) {
            let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
            all.push(format!("{}\n{name} = {word}{}", &text[..end], &text[end..]));
            continue;
        }
        all.push(format!("{body} --{path} {word}{}", &text[body.len()..]));
        if table.is_empty() {
            all.push(format!("{body}\n{name}: {word}\n"));
        }
    }
    all
}

/// A text of Python with one argument more at the end of one of its calls, in every way in which its value may be written.
/// A call of several lines gets a line more, with the indentation of the last one.
fn with_argument(text: &str, calls: &[(usize, usize)], name: &str, spelling: &str) -> Vec<String> {
    let mut all = Vec::new();
    for word in written(spelling) {
        for (last, close) in calls {
            let (before, between, behind) = (&text[..*last], &text[*last..*close], &text[*close..]);
            let comma = if before.ends_with([',', '(']) { "" } else { "," };
            all.push(match between.split_once('\n') {
                Some((comment, rest)) => {
                    let line = before.rsplit('\n').next().unwrap_or_default();
                    let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
                    format!("{before}{comma}{comment}\n{indent}{name}={word},\n{rest}{behind}")
                }
                None if before.ends_with('(') => format!("{before}{name}={word}{between}{behind}"),
                None => format!("{before}{comma} {name}={word}{between}{behind}"),
            });
        }
    }
    all
}
