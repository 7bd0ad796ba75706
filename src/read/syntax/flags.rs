//! Commands of a shell, as far as people paste them: words, quotes, lines that go on, variables and lists of words.
//! Nothing is run, and what only a run would know (`$(nproc)`, `$RANDOM`) stays unknown.

use super::{Document, LIMITS, plain};
use crate::json::Value;

/// A word with its line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) line: usize,
    quoted: bool,
}

/// A command: what is assigned before it, and its words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Command {
    pub(crate) assigned: Vec<(String, Word)>,
    pub(crate) words: Vec<Word>,
}

/// The commands of a text. A list of options that no command takes over counts as one.
pub(crate) fn commands(text: &str) -> Vec<Command> {
    let mut reader = Reader { text, at: 0, line: 1, variables: Vec::new(), words: 0 };
    let mut commands = Vec::new();
    while reader.at < text.len() && reader.words < LIMITS.values {
        let command = reader.command();
        if !command.words.is_empty() || !command.assigned.is_empty() {
            commands.push(command);
        }
    }
    for variable in reader.variables.into_iter().filter(|variable| !variable.is_used) {
        if variable.words.first().is_some_and(|word| word.text.starts_with("--")) {
            commands.push(Command { assigned: Vec::new(), words: variable.words });
        }
    }
    commands
}

/// How many variables are kept. Each is looked for among all of them.
const MOST_VARIABLES: usize = 256;

/// What a name stands for.
struct Variable {
    name: String,
    words: Vec<Word>,
    is_used: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    variables: Vec<Variable>,
    /// Words so far, those that variables repeat among them.
    words: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn step(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        self.line += usize::from(character == '\n');
        Some(character)
    }

    /// The words up to the end of a command, and what stands behind it passed over.
    fn command(&mut self) -> Command {
        let mut command = Command::default();
        while let Some(character) = self.peek() {
            match character {
                '\n' | ';' | '|' | '&' => {
                    self.step();
                    break;
                }
                '\\' if self.goes_on() => {}
                '#' => self.rest_of_line(),
                _ if character.is_whitespace() => _ = self.step(),
                '<' | '>' => self.redirection(),
                // Groups say nothing here.
                '(' | ')' | '{' | '}' if !self.text[self.at..].starts_with("{\"") => _ = self.step(),
                _ => self.word(&mut command),
            }
            if self.words >= LIMITS.values {
                break;
            }
        }
        command
    }

    /// Passes over a backslash at the end of a line, and blanks between the two, which shells refuse and people paste.
    fn goes_on(&mut self) -> bool {
        let rest = &self.text[self.at + 1..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
        let ends = rest[blanks..].starts_with('\n') || rest.len() == blanks;
        if ends {
            self.at += 1 + blanks;
            self.step();
        }
        ends
    }

    fn rest_of_line(&mut self) {
        while self.peek().is_some_and(|character| character != '\n') {
            self.step();
        }
    }

    /// Passes over what is read from a file or written to one.
    fn redirection(&mut self) {
        while self.peek().is_some_and(|c| matches!(c, '<' | '>' | '&' | ' ' | '\t')) {
            self.step();
        }
        self.one();
    }

    /// Reads a word, or an assignment, into a command.
    fn word(&mut self, command: &mut Command) {
        let start = self.at;
        let words = self.one();
        self.words += words.len().max(1);
        if self.at == start {
            self.step();
        }
        let [word] = words.as_slice() else {
            command.words.extend(words);
            return;
        };
        // The number of a stream, as in 2>&1.
        if self.peek() == Some('>') && word.text.bytes().all(|byte| byte.is_ascii_digit()) {
            return;
        }
        let first = command.words.is_empty()
            || command.words.iter().all(|word| matches!(word.text.as_str(), "export" | "env" | "set"));
        let name = word.text.split_once('=').filter(|(name, _)| first && is_name(name));
        let Some((name, value)) = name else {
            command.words.extend(words);
            return;
        };
        let name = name.to_owned();
        let value = Word { text: value.to_owned(), line: word.line, quoted: word.quoted };
        let words = if value.text.is_empty() && self.peek() == Some('(') {
            self.step();
            self.list()
        } else if value.text.contains(char::is_whitespace) {
            value.text.split_whitespace().map(|text| Word { text: text.to_owned(), ..value.clone() }).collect()
        } else {
            vec![value.clone()]
        };
        command.words.clear();
        // What is assigned again takes over what was there: `ARGS+=(…)` is read as a name of its own.
        if let Some(before) = self.variables.iter().position(|variable| variable.name == name) {
            self.variables.remove(before);
        }
        if self.variables.len() < MOST_VARIABLES {
            self.variables.push(Variable { name: name.clone(), words, is_used: false });
        }
        command.assigned.push((name, value));
    }

    /// The words up to a closing bracket.
    fn list(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        while let Some(character) = self.peek() {
            match character {
                ')' => {
                    self.step();
                    break;
                }
                '#' => self.rest_of_line(),
                '\\' if self.goes_on() => {}
                _ if character.is_whitespace() => _ = self.step(),
                _ => {
                    let start = self.at;
                    words.extend(self.one());
                    if self.at == start {
                        self.step();
                    }
                }
            }
            if words.len() + self.words >= LIMITS.values {
                break;
            }
        }
        words
    }

    /// One word as it is written, as the words that it becomes.
    fn one(&mut self) -> Vec<Word> {
        let line = self.line;
        let mut text = String::new();
        let (mut quoted, mut quote) = (false, None);
        let mut several: Option<Vec<Word>> = None;
        while let Some(character) = self.peek() {
            match (character, quote) {
                ('\'' | '"', None) => (quoted, quote) = (true, Some(character)),
                (_, Some(open)) if character == open => quote = None,
                ('\\', None) if self.goes_on() => break,
                ('\\', None | Some('"')) => {
                    self.step();
                    if let Some(next) = self.peek() {
                        text.push(next);
                    }
                }
                ('$', None | Some('"')) => {
                    match self.variable() {
                        Some(words) if words.len() == 1 => text.push_str(&words[0].text),
                        // Quotes keep words together, but for the words of a list.
                        Some(words) if text.is_empty() => several = Some(words),
                        Some(words) => words.iter().for_each(|word| text.push_str(&word.text)),
                        None => text.push('$'),
                    }
                    continue;
                }
                (_, None) if character.is_whitespace() => break,
                (';' | '|' | '&' | '(' | ')' | '<' | '>', None) => break,
                _ => text.push(character),
            }
            self.step();
        }
        match several {
            Some(words) if text.is_empty() => words,
            _ => vec![Word { text, line, quoted }],
        }
    }

    /// What a name behind a dollar sign stands for, and passes over it; none where only a run would know.
    fn variable(&mut self) -> Option<Vec<Word>> {
        self.step();
        let rest = &self.text[self.at..];
        if rest.starts_with('(') {
            let mut depth = 0_usize;
            while let Some(character) = self.peek() {
                depth = match character {
                    '(' => depth + 1,
                    ')' => depth - 1,
                    '\n' => return None,
                    _ => depth,
                };
                self.step();
                if depth == 0 {
                    break;
                }
            }
            return None;
        }
        let (name, otherwise, length) = if let Some(inner) = rest.strip_prefix('{') {
            let end = inner.find(['}', '\n'])?;
            let inner = &inner[..end];
            let stop = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
            let otherwise = inner[stop..].strip_prefix(":-").map(str::to_owned);
            (inner[..stop].to_owned(), otherwise, end + 2)
        } else {
            let stop = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            (rest[..stop].to_owned(), None, stop)
        };
        let line = self.line;
        self.at = (self.at + length).min(self.text.len());
        let known = self.variables.iter_mut().find(|variable| variable.name == name);
        match (known, otherwise) {
            (Some(variable), _) => {
                variable.is_used = true;
                self.words += variable.words.len();
                (self.words < LIMITS.values).then(|| variable.words.clone())
            }
            (None, Some(text)) => Some(vec![Word { text, line, quoted: true }]),
            (None, None) => None,
        }
    }
}

fn is_name(name: &str) -> bool {
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The options among words, with hyphens inside names as underscores, as argparse has them, and overrides as Hydra takes
/// them (`actor.lr=1`). The words that belong to no option come beside them.
pub(crate) fn options(words: &[Word]) -> (Document, Vec<&Word>) {
    let mut document = Document::default();
    let mut others = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if let Some(option) = word.text.strip_prefix("--").filter(|option| !option.is_empty()) {
            if let Some((name, value)) = option.split_once('=') {
                document.put(underscored(name), value_of(value), word.line);
                continue;
            }
            let mut values = Vec::new();
            // A number below zero is a value, and so is what was in quotes.
            while let Some(next) = words.get(at).filter(|next| is_value(next)) {
                values.push(value_of(&next.text));
                at += 1;
            }
            let value = match values.len() {
                0 => Value::Bool(true),
                1 => values.remove(0),
                _ => Value::List(values),
            };
            document.put(underscored(option), value, word.line);
        } else if let Some((name, value)) =
            word.text.trim_start_matches('+').split_once('=').filter(|(name, _)| is_path(name))
        {
            document.put(name.to_owned(), value_of(value), word.line);
        } else {
            others.push(word);
        }
    }
    (document, others)
}

/// Whether a word belongs to the option before it.
fn is_value(word: &Word) -> bool {
    let text = word.text.as_str();
    let number = text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'));
    let is_command = text.starts_with("activation-checkpoint:");
    number
        || word.quoted
        || !text.starts_with('-')
            && !is_command
            && !text.split_once('=').is_some_and(|(name, _)| name.contains('.') && is_path(name))
}

fn is_path(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-@/".contains(&byte))
}

fn underscored(name: &str) -> String {
    name.replace('-', "_")
}

fn value_of(text: &str) -> Value {
    let text = text.trim();
    // Lists as Hydra and Python write them.
    match text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
        Some(inner) => {
            let bare = |item: &str| plain(item.trim().trim_matches(['"', '\'']));
            Value::List(inner.split(',').filter(|item| !item.trim().is_empty()).map(bare).collect())
        }
        None => plain(text.trim_matches(['"', '\''])),
    }
}
