//! Paragraphs, lists, notes, folds: what a section is made of.

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Tag};

use super::super::Result;
use super::figure::figure;
use super::formula;
use super::glossary::Term;
use super::inline::{escaped, inline};
use super::table::table;
use super::tree::{Node, marked, text, tree};
use super::words::plain;

/// The fold that has the answer to a problem.
const ANSWER: &str = "Answer";

/// What is known of the place of a block, and what was found in it.
pub struct Blocks<'a> {
    /// The id of the section.
    pub section: &'a str,
    /// The class of a paragraph.
    pub paragraph: Option<&'static str>,
    /// What the section's heading adds to the class of a numbered list.
    pub list: String,
    /// The figures, in order.
    pub figures: Vec<String>,
}

impl<'a> Blocks<'a> {
    pub fn of(section: &'a str) -> Self {
        Self { section, paragraph: None, list: String::new(), figures: Vec::new() }
    }
}

/// Blocks as HTML, each on a line of its own.
pub fn blocks(nodes: &[Node], place: &mut Blocks) -> Result<String> {
    let mut html = String::new();
    let mut rest = nodes;
    while let Some((node, after)) = rest.split_first() {
        rest = after;
        let written = match node {
            Node::Element(Tag::Heading { level: HeadingLevel::H4, .. }, title) => {
                let is_heading = |node: &Node| matches!(node, Node::Element(Tag::Heading { .. }, _));
                let end = after.iter().position(is_heading).unwrap_or(after.len());
                rest = &after[end..];
                let inner = blocks(&after[..end], place)?;
                let title = inline(title)?;
                let class = if title == ANSWER { "answer" } else { "faq" };
                let id = question(&plain(&title)).map(|id| format!(" id=\"{id}\"")).unwrap_or_default();
                format!("<details class=\"{class}\"{id}>\n<summary>{title}</summary>\n{inner}</details>")
            }
            _ => match (marked(node, "Table"), after.first()) {
                (Some(caption), Some(Node::Element(Tag::Table(columns), rows))) => {
                    rest = &after[1..];
                    table(columns, rows, &caption)?
                }
                (Some(caption), _) => return Err(format!("no table comes after “Table: {}”", text(&caption))),
                (None, _) => block(node, place)?,
            },
        };
        html += &written;
        html.push('\n');
    }
    Ok(html)
}

/// The place of a fold whose title asks something: `question-`, and its words in small letters.
fn question(title: &str) -> Option<String> {
    let title = title.strip_suffix('?')?.to_lowercase();
    let words: Vec<&str> =
        title.split(|sign: char| !sign.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    Some(format!("question-{}", words.join("-")))
}

fn block(node: &Node, place: &mut Blocks) -> Result<String> {
    let Node::Element(tag, inner) = node else {
        // A tight list has its lines without paragraphs.
        return inline(std::slice::from_ref(node));
    };
    match tag {
        Tag::Paragraph => paragraph(node, inner, place),
        Tag::Heading { level: HeadingLevel::H3, id, .. } => {
            let id = id.as_ref().map(|id| format!(" id=\"{id}\"")).unwrap_or_default();
            Ok(format!("<h3{id}>{}</h3>", inline(inner)?))
        }
        Tag::Heading { level, .. } => {
            Err(format!("a heading {level} inside a section: ### parts it, and #### is a fold"))
        }
        Tag::List(None) => Ok(format!("<ul>\n{}</ul>", items(inner, place)?)),
        Tag::List(Some(_)) => {
            let items = items(inner, place)?;
            Ok(format!("<ol class=\"steps{}\">\n{items}</ol>", place.list))
        }
        Tag::DefinitionList => list("symbols", inner, |name, meaning| format!("<dt>{name}</dt><dd>{meaning}</dd>\n")),
        Tag::BlockQuote(Some(kind)) => note(*kind, inner, place),
        Tag::HtmlBlock => Ok(text(inner).trim_end().to_owned()),
        Tag::CodeBlock(CodeBlockKind::Fenced(words)) => match words.split_once(' ').unwrap_or((words, "")) {
            ("figure", name) if !name.is_empty() => figure(name.trim(), &text(inner), place),
            ("facts", "") => facts(&text(inner)),
            ("terms", "") => terms(&text(inner)),
            // A long line is scrolled, by key too.
            ("code", "") => {
                Ok(format!("<pre class=\"code\" tabindex=\"0\"><code>{}</code></pre>", escaped(text(inner).trim_end())))
            }
            _ => Err(format!("a fenced block is “figure NAME”, “facts”, “terms” or “code”, not “{words}”")),
        },
        Tag::Table(_) => Err("a table needs a caption: a paragraph “Table: …” in front of it".to_owned()),
        other => Err(format!("{other:?} is not part of the dialect")),
    }
}

/// A paragraph, or the formulas that are all of it.
fn paragraph(node: &Node, inner: &[Node], place: &Blocks) -> Result<String> {
    let is_break = |node: &&Node| matches!(node, Node::Leaf(Event::SoftBreak));
    let parts: Vec<&Node> = inner.iter().filter(|node| !is_break(node)).collect();
    if parts.iter().all(|node| matches!(node, Node::Leaf(Event::DisplayMath(_)))) {
        let tex = parts.iter().filter_map(|node| match node {
            Node::Leaf(Event::DisplayMath(tex)) => Some(formula::display(tex.trim())),
            _ => None,
        });
        return Ok(tex.collect::<Result<Vec<String>>>()?.join("\n"));
    }
    if let Some(remark) = marked(node, "Remark") {
        return Ok(format!("<p class=\"small soft\">{}</p>", inline(&remark)?));
    }
    let class = place.paragraph.map(|class| format!(" class=\"{class}\"")).unwrap_or_default();
    Ok(format!("<p{class}>{}</p>", inline(inner)?))
}

fn items(nodes: &[Node], place: &mut Blocks) -> Result<String> {
    let mut html = String::new();
    for node in nodes {
        let Node::Element(Tag::Item, inner) = node else { continue };
        // The first words need no paragraph, whether Markdown has one for them or not.
        let (words, after) = match inner.split_first() {
            Some((Node::Element(Tag::Paragraph, words), after)) => (&words[..], after),
            _ => inner.split_at(inner.iter().position(is_block).unwrap_or(inner.len())),
        };
        let after = blocks(after, place)?;
        html += &format!("<li>{}{}</li>\n", inline(words)?, after.trim_end());
    }
    Ok(html)
}

fn is_block(node: &Node) -> bool {
    let Node::Element(tag, _) = node else { return false };
    !matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Link { .. })
}

/// A list of names with what they mean, each pair as `written`.
fn list(class: &str, nodes: &[Node], written: impl Fn(&str, &str) -> String) -> Result<String> {
    let mut html = format!("<dl class=\"{class}\">\n");
    let mut name = String::new();
    for node in nodes {
        match node {
            Node::Element(Tag::DefinitionListTitle, inner) => name = inline(inner)?,
            Node::Element(Tag::DefinitionListDefinition, inner) => {
                let inner = match &inner[..] {
                    [Node::Element(Tag::Paragraph, line)] => line,
                    _ => inner,
                };
                html += &written(&name, &inline(inner)?);
            }
            _ => {}
        }
    }
    Ok(html + "</dl>")
}

/// Entries of the glossary, each with a place of its own.
fn terms(source: &str) -> Result<String> {
    match &tree(source)[..] {
        [Node::Element(Tag::DefinitionList, inner)] => list("symbols", inner, |name, meaning| {
            format!("<dt id=\"{}\">{name}</dt><dd>{meaning}</dd>\n", Term::of(name).id)
        }),
        _ => Err("terms are one list of terms, each with “: ” and what it means".to_owned()),
    }
}

/// A row of large numbers, each with what it counts: a list of terms in a fenced block.
fn facts(source: &str) -> Result<String> {
    match &tree(source)[..] {
        [Node::Element(Tag::DefinitionList, inner)] => list("facts", inner, |name, meaning| {
            format!("<div class=\"fact\"><dt>{name}</dt><dd>{meaning}</dd></div>\n")
        }),
        _ => Err("facts are one list of terms, each with “: ” and what it counts".to_owned()),
    }
}

/// An alert of GitHub's Markdown. A first paragraph that is all bold is its title.
fn note(kind: BlockQuoteKind, inner: &[Node], place: &mut Blocks) -> Result<String> {
    let class = match kind {
        BlockQuoteKind::Note => "note",
        BlockQuoteKind::Caution => "note note-caution",
        other => return Err(format!("an alert is NOTE or CAUTION, not {other:?}")),
    };
    let (title, rest) = match inner.split_first() {
        Some((Node::Element(Tag::Paragraph, line), rest)) => match &line[..] {
            [Node::Element(Tag::Strong, title)] => (format!("<p class=\"note-title\">{}</p>\n", inline(title)?), rest),
            _ => (String::new(), inner),
        },
        _ => (String::new(), inner),
    };
    Ok(format!("<div class=\"{class}\">\n{title}{}</div>", blocks(rest, place)?))
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
pub mod tests;
