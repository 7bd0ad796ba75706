//! Markdown as a tree: what pulldown-cmark tells as a row of events.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TextMergeStream};

/// An element with what is in it, or what has nothing in it.
#[derive(Clone)]
pub enum Node<'a> {
    Element(Tag<'a>, Vec<Node<'a>>),
    Leaf(Event<'a>),
}

/// What the dialect has beside plain Markdown.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
}

/// The tree of a text.
pub fn tree(source: &str) -> Vec<Node<'_>> {
    let mut open: Vec<(Tag, Vec<Node>)> = Vec::new();
    let mut top = Vec::new();
    // The parser cuts text at signs that might have meant something.
    for event in TextMergeStream::new(Parser::new_ext(source, options())) {
        let node = match event {
            Event::Start(tag) => {
                open.push((tag, Vec::new()));
                continue;
            }
            Event::End(_) => match open.pop() {
                Some((tag, children)) => Node::Element(tag, children),
                // The parser closes only what it has opened.
                None => continue,
            },
            leaf => Node::Leaf(leaf),
        };
        open.last_mut().map_or(&mut top, |(_, children)| children).push(node);
    }
    top
}

/// The text of a block that holds nothing but text: code, markup, front matter.
pub fn text(nodes: &[Node]) -> String {
    let each = nodes.iter().map(|node| match node {
        Node::Leaf(Event::Text(text) | Event::Html(text)) => text.as_ref(),
        _ => "",
    });
    each.collect()
}

/// A paragraph that begins with a word and a colon, without them.
pub fn marked<'a>(node: &Node<'a>, mark: &str) -> Option<Vec<Node<'a>>> {
    let Node::Element(Tag::Paragraph, children) = node else { return None };
    let Some(Node::Leaf(Event::Text(first))) = children.first() else { return None };
    let rest = first.strip_prefix(mark)?.strip_prefix(": ")?;
    let mut left = children.clone();
    left[0] = Node::Leaf(Event::Text(CowStr::from(rest.to_owned())));
    Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_paragraph_is_told_from_one_that_only_begins_alike() {
        let paragraphs = tree("Table: bytes of $x$\n\nTables: more\n\n**Table:** bold\n");
        let marked: Vec<_> = paragraphs.iter().map(|node| marked(node, "Table").map(|left| text(&left))).collect();
        assert_eq!(marked, [Some("bytes of ".to_owned()), None, None]);
    }
}
