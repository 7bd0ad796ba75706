//! The plain text of markup, and how many words it has.

use super::super::markup::{name, pieces};

/// Elements that stand in a line and part no words; those of formulas are told by `is_inline`.
const INLINE: [&str; 11] = ["a", "b", "code", "em", "i", "math", "span", "strong", "sub", "sup", "var"];

fn is_inline(name: &str) -> bool {
    let of_formula =
        ["mfrac", "mi", "mn", "mo", "mrow", "mspace", "msqrt", "msub", "msubsup", "msup", "mtext", "munder"];
    INLINE.contains(&name) || of_formula.contains(&name)
}

/// The text of markup, with a space where an element begins or ends that does not stand in a line.
pub fn plain(html: &str) -> String {
    let mut plain = String::with_capacity(html.len());
    for (text, tag) in pieces(html) {
        plain.push_str(text);
        if !tag.is_empty() && !is_inline(name(tag)) {
            plain.push(' ');
        }
    }
    plain
}

/// How many words markup has beside its figures. A formula without spaces is one.
pub fn count(html: &str) -> usize {
    let mut rest = html;
    let mut words = 0;
    while let Some((before, figure)) = rest.split_once("<figure") {
        words += plain(before).split_whitespace().count();
        rest = figure.split_once("</figure>").map_or("", |(_, after)| after);
    }
    words + plain(rest).split_whitespace().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_text_and_not_of_figures() {
        let html = "<p>One <em>two</em>-<code>three</code></p><ul><li>four</li><li>five</li></ul>\
                    <figure id=\"x\"><p>not these</p></figure><math><mi>a</mi><mo>=</mo><mi>b</mi></math>";
        assert_eq!(count(html), 5);
        assert_eq!(plain("<p>a<sup>2</sup></p><p>b</p>"), " a2  b ");
    }
}
