//! The tags of a page, read as far as finishing it needs: Trunk's minifier has left well-formed HTML.

use std::ops::Range;

use serde_json::Value;

/// An attribute of a start tag. Positions are those in the page's text.
pub struct Attribute<'a> {
    /// As it is written; HTML does not tell capitals from small letters.
    pub name: &'a str,
    /// Without quotes; empty where there is none.
    pub value: &'a str,
    /// All of it.
    pub span: Range<usize>,
}

/// A start tag.
pub struct Tag<'a> {
    pub name: &'a str,
    pub attributes: Vec<Attribute<'a>>,
    /// From `<` to `>`.
    pub span: Range<usize>,
    /// The text up to the end tag, of elements that hold text and no tags: scripts and style sheets.
    pub content: Option<Range<usize>>,
}

impl Tag<'_> {
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    pub fn attribute(&self, name: &str) -> Option<&Attribute<'_>> {
        self.attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }
}

/// A text as it is written between tags and in attributes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A text of markup as it is read: without what stands for signs in it.
pub fn unescaped(text: &str) -> String {
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", "\u{a0}"), ("&amp;", "&")];
    signs.iter().fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
}

/// A value as it is written in a script, which nothing in it can end.
pub fn in_script(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// A page as texts, each with the tag that ends it; the last has none. The name of a tag, and whether it ends an
/// element, is told by [`name`].
pub fn pieces(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = Some(page);
    std::iter::from_fn(move || {
        let (text, markup) = rest.take().map(|page| page.split_at(page.find('<').unwrap_or(page.len())))?;
        let (tag, after) = markup.split_at(markup.find('>').map_or(markup.len(), |end| end + 1));
        rest = (!tag.is_empty()).then_some(after);
        Some((text, tag))
    })
}

/// The name of a tag such as `</p>` or `<p class=x>`.
pub fn name(tag: &str) -> &str {
    let inner = tag.trim_start_matches(['<', '/']);
    &inner[..inner.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(inner.len())]
}

/// The start tags of a page, in order. What is inside comments, scripts and style sheets is none.
pub fn tags(page: &str) -> Vec<Tag<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = page[at..].find('<').map(|offset| at + offset) {
        let rest = &page[start + 1..];
        if rest.starts_with("!--") {
            at = rest.find("-->").map_or(page.len(), |end| start + 1 + end);
        } else if rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
            let mut tag = tag(page, start);
            at = tag.span.end;
            if tag.is("script") || tag.is("style") {
                let end = end_tag(page, at, tag.name);
                tag.content = Some(at..end);
                at = end;
            }
            found.push(tag);
        } else {
            at = start + 1;
        }
    }
    found
}

/// Where the next end tag of this name begins, or the page ends.
fn end_tag(page: &str, from: usize, name: &str) -> usize {
    let is_end = |at: &usize| {
        let rest = &page.as_bytes()[at + 2..];
        rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes())
    };
    page[from..].match_indices("</").map(|(at, _)| from + at).find(is_end).unwrap_or(page.len())
}

/// The tag that begins at this `<`.
fn tag(page: &str, start: usize) -> Tag<'_> {
    let until = |from: usize, is_end: fn(char) -> bool| page[from..].find(is_end).map_or(page.len(), |end| from + end);
    let ends_name = |sign: char| sign.is_ascii_whitespace() || matches!(sign, '/' | '>');
    let mut at = until(start + 1, ends_name);
    let name = &page[start + 1..at];
    let mut attributes = Vec::new();
    loop {
        at = until(at, |sign| !sign.is_ascii_whitespace() && sign != '/');
        if at == page.len() || page[at..].starts_with('>') {
            let span = start..(at + 1).min(page.len());
            return Tag { name, attributes, span, content: None };
        }
        let from = at;
        // A sign of equality in front of a name is part of the name.
        at = until(at + page[at..].chars().next().map_or(0, char::len_utf8), |sign| {
            sign.is_ascii_whitespace() || matches!(sign, '/' | '>' | '=')
        });
        let name = &page[from..at];
        let equals = until(at, |sign| !sign.is_ascii_whitespace());
        let mut value = "";
        if page[equals..].starts_with('=') {
            let open = until(equals + 1, |sign| !sign.is_ascii_whitespace());
            let quote = page[open..].chars().next().filter(|sign| matches!(sign, '"' | '\''));
            if let Some(quote) = quote {
                let end = page[open + 1..].find(quote).map_or(page.len(), |end| open + 1 + end);
                value = &page[open + 1..end];
                at = (end + 1).min(page.len());
            } else {
                at = until(open, |sign| sign.is_ascii_whitespace() || sign == '>');
                value = &page[open..at];
            }
        }
        attributes.push(Attribute { name, value, span: from..at });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_with_and_without_quotes_and_values() {
        let page = "<p>a < b</p><LINK rel=\"a > b\" as=fetch crossorigin href='./x' /><br>";
        let read = tags(page);
        assert_eq!(read.iter().map(|tag| tag.name).collect::<Vec<_>>(), ["p", "LINK", "br"]);
        let link = &read[1];
        let pairs: Vec<_> = link.attributes.iter().map(|attribute| (attribute.name, attribute.value)).collect();
        assert_eq!(pairs, [("rel", "a > b"), ("as", "fetch"), ("crossorigin", ""), ("href", "./x")]);
        assert_eq!(&page[link.attribute("HREF").expect("it has one").span.clone()], "href='./x'");
        assert_eq!(&page[link.span.end..], "<br>");
    }

    #[test]
    fn what_looks_like_a_tag_in_a_script_a_comment_or_a_style_sheet_is_none() {
        let page = "<!-- <a> --><script>if (i<n) write('<b>')</script><style>/* <i> */</style><u>";
        let read = tags(page);
        assert_eq!(read.iter().map(|tag| tag.name).collect::<Vec<_>>(), ["script", "style", "u"]);
        assert_eq!(read[0].content.clone().map(|range| &page[range]), Some("if (i<n) write('<b>')"));
    }

    #[test]
    fn a_page_that_ends_too_early_is_read_to_its_end() {
        for page in ["<", "<a", "<a b", "<a b=", "<a b='", "<a b=\"c", "<script>x", "<!-- x", "<a =", "<é>", "<a é"] {
            for tag in tags(page) {
                assert!(tag.span.end <= page.len() && tag.content.is_none_or(|content| content.end == page.len()));
            }
        }
    }
}
