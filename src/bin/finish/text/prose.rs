//! The text as a reader meets it, for the tests that read it: passages, sentences, words and formulas.
//!
//! A passage is a paragraph, an item, a cell, a caption or a heading. Formulas, code and links keep their place in it
//! between signs of Unicode's private use, so that a test can tell them from words.

use std::fs;
use std::path::Path;

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use super::super::markup::{name, pieces};
use super::super::{paths, read as read_file};
use super::front;
use super::tree::{Node, text, tree};

/// Around a formula, in TeX.
pub const FORMULA: [char; 2] = ['\u{e000}', '\u{e001}'];
/// Around code.
pub const CODE: [char; 2] = ['\u{e002}', '\u{e003}'];
/// Around the words of a link; where it leads stands first, up to [`WORDS`].
pub const LINK: [char; 2] = ['\u{e004}', '\u{e005}'];
/// Between the target of a link and its words.
pub const WORDS: char = '\u{e006}';

/// A piece of text that is read in one go.
pub struct Passage {
    /// Its page and file: `memory/03_precision.md`.
    pub file: String,
    /// Whether it is made of sentences: no heading, no cell of a table, no line of front matter.
    pub flows: bool,
    pub text: String,
}

/// Every passage of the text in reading order. The list of sources is left out: its words are those of the code.
pub fn passages() -> Vec<Passage> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pages");
    let mut found = Vec::new();
    for page in super::folders() {
        for path in paths(&folder.join(page)).expect("the files of a page") {
            let source = read_file(&path).expect("text");
            let name = path.file_name().expect("a name").to_string_lossy();
            if source.contains("Written by src/bin/generate") {
                continue;
            }
            let mut gathered = Gathered { file: format!("{page}/{name}"), passages: Vec::new() };
            gathered.blocks(&tree(&source));
            found.extend(gathered.passages);
        }
    }
    found
}

struct Gathered {
    file: String,
    passages: Vec<Passage>,
}

impl Gathered {
    fn add(&mut self, text: &str, flows: bool) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            self.passages.push(Passage { file: self.file.clone(), flows, text });
        }
    }

    fn blocks(&mut self, nodes: &[Node]) {
        // Tight items have their lines beside their lists.
        let mut line = Vec::new();
        for node in nodes {
            match node {
                Node::Element(tag, inner) if !is_inline(tag) => {
                    self.line(&mut line);
                    self.block(tag, inner);
                }
                Node::Leaf(Event::Html(html)) => {
                    self.line(&mut line);
                    self.markup(html);
                }
                other => line.push(other.clone()),
            }
        }
        self.line(&mut line);
    }

    fn line(&mut self, nodes: &mut Vec<Node>) {
        self.add(&flat(nodes), true);
        nodes.clear();
    }

    fn block(&mut self, tag: &Tag, inner: &[Node]) {
        match tag {
            Tag::MetadataBlock(_) => self.front(&text(inner)),
            Tag::Heading { .. } | Tag::TableCell | Tag::DefinitionListTitle => self.add(&flat(inner), false),
            Tag::CodeBlock(CodeBlockKind::Fenced(name)) if **name != *"code" => self.blocks(&tree(&text(inner))),
            Tag::CodeBlock(_) => {}
            Tag::HtmlBlock => self.markup(&text(inner)),
            Tag::Paragraph => self.add(&flat(inner), true),
            _ => self.blocks(inner),
        }
    }

    fn front(&mut self, lines: &str) {
        if let Ok(opening) = front::opening(lines) {
            for line in [opening.title, opening.description, opening.heading] {
                self.add(&line, false);
            }
        }
    }

    /// Markup in the text: what stands between the tags of two blocks is a passage.
    fn markup(&mut self, html: &str) {
        let mut line = String::new();
        for (text, tag) in pieces(html) {
            line += text;
            if !["b", "em", "span", "strong", "code"].contains(&name(tag)) {
                self.add(&line, true);
                line.clear();
            }
        }
    }
}

fn is_inline(tag: &Tag) -> bool {
    matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Link { .. })
}

/// A line with its formulas, code and links marked.
fn flat(nodes: &[Node]) -> String {
    let one = |node: &Node| match node {
        Node::Leaf(Event::Text(text)) => text.to_string(),
        Node::Leaf(Event::InlineMath(tex) | Event::DisplayMath(tex)) => format!("{}{tex}{}", FORMULA[0], FORMULA[1]),
        Node::Leaf(Event::Code(code)) => format!("{}{code}{}", CODE[0], CODE[1]),
        Node::Leaf(Event::SoftBreak | Event::HardBreak) => " ".to_owned(),
        Node::Leaf(_) => String::new(),
        Node::Element(Tag::Link { dest_url, .. }, inner) => {
            format!("{}{dest_url}{WORDS}{}{}", LINK[0], flat(inner), LINK[1])
        }
        Node::Element(_, inner) => flat(inner),
    };
    nodes.iter().map(one).collect()
}

/// The parts of a text between two signs, and the text with `instead` in their places.
pub fn parted(text: &str, [open, close]: [char; 2], instead: &str) -> (Vec<String>, String) {
    let (mut inside, mut outside) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let (part, after) = after.split_once(close).unwrap_or((after, ""));
        inside.push(part.to_owned());
        outside += before;
        outside += instead;
        rest = after;
    }
    (inside, outside + rest)
}

/// Every formula of a text, in TeX.
pub fn formulas(text: &str) -> Vec<String> {
    parted(text, FORMULA, "").0
}

/// A text without code, placeholders and the targets of links, and with a word for each formula: what is read aloud.
pub fn spoken(text: &str) -> String {
    let (_, text) = parted(text, FORMULA, "Formula");
    let (_, text) = parted(&text, CODE, "code");
    let (_, text) = parted(&text, [LINK[0], WORDS], "");
    let text = text.replace(LINK[1], "").replace("}}", &CODE[1].to_string()).replace("{{", &CODE[0].to_string());
    let mut spoken = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once(CODE[0]) {
        let (placeholder, after) = after.split_once(CODE[1]).expect("every placeholder is closed");
        spoken += before;
        // A sentence with numbers to drag stands between two others, a number inside one.
        spoken += if placeholder.starts_with("sentence:") { "" } else { "Number" };
        rest = after;
    }
    spoken + rest
}

/// Names in small letters, with which a sentence may begin all the same.
const SMALL_NAMES: [&str; 3] = ["fp", "bf", "torch"];

/// The sentences of a passage. A sign that ends one is followed by a space and by what can begin one.
pub fn sentences(passage: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, sign) in passage.char_indices() {
        if !['.', '!', '?'].contains(&sign) || passage[..at].ends_with("et al") {
            continue;
        }
        let after = passage[at + 1..].trim_start_matches([')', '”', '’', LINK[1]]);
        let Some(next) = after.strip_prefix(' ') else { continue };
        let begins = !next.starts_with(|letter: char| letter.is_lowercase() || letter == '…')
            || SMALL_NAMES.iter().any(|name| next.starts_with(name));
        if begins {
            let end = passage.len() - after.len();
            found.push(passage[start..end].trim().to_owned());
            start = end;
        }
    }
    found.push(passage[start..].trim().to_owned());
    found.retain(|sentence| sentence.chars().any(char::is_alphabetic));
    found
}

/// The words of a sentence as it is spoken; a sign alone is none.
pub fn words(spoken: &str) -> Vec<&str> {
    spoken.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).collect()
}

/// The syllables of a word, by its groups of vowels: right for most words of English.
fn syllables(word: &str) -> usize {
    let word: String = word.to_lowercase().chars().filter(char::is_ascii_alphabetic).collect();
    let is_vowel = |letter: char| "aeiouy".contains(letter);
    let mut before = false;
    let mut groups = 0;
    for letter in word.chars() {
        groups += usize::from(is_vowel(letter) && !before);
        before = is_vowel(letter);
    }
    let silent = word.ends_with('e') && !word.ends_with("le") && groups > 1;
    (groups - usize::from(silent)).max(1)
}

/// The school years that a text asks for: Kincaid and others 1975, “Derivation of New Readability Formulas”, Research
/// Branch Report 8-75, by whole sentences.
pub fn grade(sentences: &[String]) -> f64 {
    let words: Vec<&str> = sentences.iter().flat_map(|sentence| words(sentence)).collect();
    let spoken: usize = words.iter().map(|word| syllables(word)).sum();
    let (sentences, words, spoken) = (sentences.len() as f64, words.len() as f64, spoken as f64);
    0.39 * words / sentences + 11.8 * spoken / words - 15.59
}

/// Attributes whose values nobody reads.
const NAMES: [&str; 8] = ["class=", "id=", "name=", "test=", "data-testid=", "data-bucket=", "key=", "for="];

/// The string literals of a Rust file outside its tests, with their escapes as they are written.
pub fn literals(path: &Path) -> Vec<String> {
    let source = fs::read_to_string(path).expect("code");
    let code = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let mut found = Vec::new();
    for line in joined(code).lines() {
        let line = line.trim_start();
        if line.starts_with("//") || line.starts_with("#[") {
            continue;
        }
        let mut parts = line.split('"');
        let mut before = parts.next().unwrap_or_default();
        while let (Some(literal), after) = (parts.next(), parts.next()) {
            let is_name = NAMES.iter().any(|name| before.ends_with(name));
            if !is_name {
                found.push(literal.to_owned());
            }
            let Some(after) = after else { break };
            before = after;
        }
    }
    found
}

/// Code whose literals stand on one line each: a `\` at the end of a line joins it with the next.
fn joined(code: &str) -> String {
    let mut whole = String::new();
    for line in code.lines() {
        let continues = whole.ends_with('\\');
        if continues {
            whole.pop();
            whole += line.trim_start();
        } else {
            if !whole.is_empty() {
                whole.push('\n');
            }
            whole += line;
        }
    }
    whole.replace("\\\"", "”")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_where_the_next_begins() {
        let found = sentences("One (Wu et al. 2018). Two, 3.5 % of it? “Three.” and four… go on");
        assert_eq!(found, ["One (Wu et al. 2018).", "Two, 3.5 % of it?", "“Three.” and four… go on"]);
    }

    #[test]
    fn what_is_spoken_has_a_word_for_a_formula_and_no_target() {
        let line = tree("With $b = 1$ in [the figure](#x), `code` and {{quoted:y}}. {{sentence:z}} More.\n");
        let [Node::Element(_, inner)] = &line[..] else { panic!("one paragraph") };
        let spoken = spoken(&flat(inner));
        assert_eq!(spoken, "With Formula in the figure, code and Number.  More.");
        assert_eq!(words(&spoken).len(), 9);
    }

    /// By hand: 12 words in 2 sentences, 14 syllables.
    #[test]
    fn the_grade_is_that_of_kincaid() {
        let text = ["The cat sat on the mat today.", "It was a happy cat."].map(str::to_owned);
        let expected = 0.39 * 6.0 + 11.8 * 14.0 / 12.0 - 15.59;
        assert!((grade(&text) - expected).abs() < 1e-9, "{}", grade(&text));
    }
}
