//! What stands in a line of text.

use pulldown_cmark::{Event, Tag};

use super::super::{Result, markup};
use super::formula;
use super::quoted;
use super::tree::Node;

/// Text as HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A line of text as HTML.
pub fn inline(nodes: &[Node]) -> Result<String> {
    let html: String = nodes.iter().map(one).collect::<Result<_>>()?;
    Ok(whole(&unparted(&html)))
}

/// A line whose formulas keep the bracket before them and the sign after them: a browser would end a line with the one and
/// begin a line with the other. A part of it, such as a link, may have gone through here before.
fn whole(html: &str) -> String {
    const START: &str = "<span class=\"whole\">";
    const END: &str = "</math>";
    let mut parts = html.split("<math");
    let mut joined = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (formula, rest) = part.split_once(END).unwrap_or((part, ""));
        let after = rest.trim_start_matches([',', '.', ';', ':', ')', '’', '?']);
        let signs = &rest[..rest.len() - after.len()];
        let before = joined.strip_suffix('(');
        let is_joined = before.unwrap_or(&joined).ends_with(START);
        joined = match before {
            Some(before) if !is_joined => format!("{before}{START}(<math{formula}{END}{signs}</span>{after}"),
            None if !is_joined && !signs.is_empty() => {
                format!("{joined}{START}<math{formula}{END}{signs}</span>{after}")
            }
            _ => format!("{joined}<math{formula}{END}{rest}"),
        };
    }
    joined
}

/// A line with its numbers and their per cent signs on one line of the screen, wherever the source breaks.
fn unparted(html: &str) -> String {
    let mut parts = html.split('%');
    let mut joined = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number =
            joined.strip_suffix([' ', '\n']).filter(|before| before.ends_with(|sign: char| sign.is_ascii_digit()));
        if let Some(length) = number.map(str::len) {
            joined.truncate(length);
            joined.push('\u{a0}');
        }
        joined.push('%');
        joined.push_str(part);
    }
    joined
}

fn one(node: &Node) -> Result<String> {
    Ok(match node {
        Node::Leaf(Event::Text(text)) if text.contains('$') => {
            return Err(format!("a $ is left over in “{text}”; \\$ writes the sign itself, in code"));
        }
        Node::Leaf(Event::Text(text)) => quoted::filled(text)?,
        Node::Leaf(Event::Code(code)) if code.contains(quoted::OPEN) => {
            return Err(format!("a quoted number stands in the text, not in the code `{code}`"));
        }
        Node::Leaf(Event::Code(code)) => format!("<code>{}</code>", escaped(code)),
        Node::Leaf(Event::InlineMath(tex)) => formula::inline(tex)?,
        Node::Leaf(Event::DisplayMath(tex)) => {
            return Err(format!("$${tex}$$ stands in a line of text; it needs a paragraph of its own"));
        }
        Node::Leaf(Event::InlineHtml(html) | Event::Html(html)) => html.to_string(),
        Node::Leaf(Event::SoftBreak) => " ".to_owned(),
        Node::Leaf(Event::HardBreak) => "<br>".to_owned(),
        Node::Element(Tag::Emphasis, inner) => format!("<em>{}</em>", inline(inner)?),
        Node::Element(Tag::Strong, inner) => format!("<strong>{}</strong>", inline(inner)?),
        Node::Element(Tag::Link { dest_url, .. }, inner) => {
            let inner = inline(inner)?;
            if inner.contains("<a ") {
                return Err(format!("the link to {dest_url} has another inside it; a quoted number is a link, too"));
            }
            format!("<a href=\"{}\">{inner}</a>", markup::escaped(dest_url))
        }
        Node::Element(tag, _) => return Err(format!("{tag:?} is not part of the dialect")),
        Node::Leaf(event) => return Err(format!("{event:?} is not part of the dialect")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    fn line(source: &str) -> Result<String> {
        match &tree(source)[..] {
            [Node::Element(Tag::Paragraph, inner)] => inline(inner),
            _ => panic!("one paragraph is wanted"),
        }
    }

    #[test]
    fn a_line_becomes_html_and_its_signs_stay_text() {
        let html = line("**Bold**, *slant*, `a < b`, 1 < 2 & 3, [a link](#id), $N$").expect("it is right");
        assert_eq!(
            html,
            "<strong>Bold</strong>, <em>slant</em>, <code>a &lt; b</code>, 1 &lt; 2 &amp; 3, \
             <a href=\"#id\">a link</a>, <var>N</var>"
        );
    }

    #[test]
    fn a_number_and_its_per_cent_sign_stay_together() {
        assert_eq!(
            line("from 5 % to 7\n% of it, `%`, a % b"),
            Ok("from 5\u{a0}% to 7\u{a0}% of it, <code>%</code>, a % b".to_owned())
        );
    }

    #[test]
    fn a_formula_keeps_the_sign_after_it_once() {
        assert_eq!(
            line("[$2N + 1$, $b$](#id): $S = 1$, and"),
            Ok("<a href=\"#id\"><span class=\"whole\"><math><mn>2</mn><mi>N</mi><mo>+</mo><mn>1</mn></math>,</span> <var>b</var></a>: \
                <span class=\"whole\"><math><mi>S</mi><mo>=</mo><mn>1</mn></math>,</span> and"
                .to_owned())
        );
    }

    #[test]
    fn a_formula_keeps_the_bracket_before_it_once() {
        assert_eq!(
            line("is large ($S = 1$ of it), [($S = 1$)](#id)"),
            Ok("is large <span class=\"whole\">(<math><mi>S</mi><mo>=</mo><mn>1</mn></math></span> of it), \
                <a href=\"#id\"><span class=\"whole\">(<math><mi>S</mi><mo>=</mo><mn>1</mn></math>)</span></a>"
                .to_owned())
        );
    }

    #[test]
    fn a_dollar_that_opens_no_formula_is_refused() {
        assert!(line("costs $5").expect_err("it is left over").contains("a $ is left over"));
        assert!(line("a $$b$$ c").expect_err("it stands in a line").contains("a paragraph of its own"));
        assert!(line("![a picture](x.png)").is_err());
    }
}
