//! Figures: a fenced block `figure NAME`.
//!
//! Its first paragraph is the caption. What comes after goes into a fold, “The formula”, or under the name of the
//! heading in front of it (`####`). A quotation is what a reader without scripts is told. Markup with
//! `{{figure:NAME}}` replaces the usual place of the live figure.

use pulldown_cmark::{Event, HeadingLevel, Tag};

use super::super::Result;
use super::blocks::{Blocks, blocks};
use super::inline::inline;
use super::tree::{Node, text, tree};
use super::words::plain;

/// The fold that needs no heading.
const FORMULA: &str = "The formula";

/// The figures that matter most, which are drawn larger (style/layout.css): the answer, what it is made of as the batch
/// grows and within a step, the whole form, the answer against the length, and what more GPUs change.
const MAIN: [&str; 6] = ["answer", "grow", "calculator", "chart", "step", "sharding"];

pub fn figure(name: &str, source: &str, around: &mut Blocks) -> Result<String> {
    let in_figure = |fault: String| format!("figure {name}: {fault}");
    let nodes = tree(source);
    let Some((Node::Element(Tag::Paragraph, caption), rest)) = nodes.split_first() else {
        return Err(in_figure("the first paragraph has to be its caption".to_owned()));
    };
    // An id is there once, and a section of the same name has it.
    let (title, id) = if around.section == name {
        (format!("{name}-figure-title"), String::new())
    } else {
        (format!("{name}-title"), format!(" id=\"{name}\""))
    };
    let hole = format!("{{{{figure:{name}}}}}");
    let mut place = format!("<div class=\"live\"{id} data-figure=\"{name}\" inert>{hole}</div>");
    let mut note = String::new();
    let mut folds: Vec<(String, Vec<Node>)> = Vec::new();
    for node in rest {
        match node {
            Node::Element(Tag::HtmlBlock, inner) if text(inner).contains(&hole) => {
                place = text(inner).trim().to_owned()
            }
            Node::Element(Tag::BlockQuote(None), inner) => {
                let [Node::Element(Tag::Paragraph, line)] = &inner[..] else {
                    return Err(in_figure("the quotation has to be one paragraph".to_owned()));
                };
                note = format!("<p class=\"figure-note unscripted\">{}</p>\n", inline(line).map_err(in_figure)?);
            }
            Node::Element(Tag::Heading { level: HeadingLevel::H4, .. }, inner) => {
                folds.push((inline(inner).map_err(in_figure)?, Vec::new()));
            }
            Node::Leaf(Event::Rule) => return Err(in_figure("a rule is not part of the dialect".to_owned())),
            other => {
                if folds.is_empty() {
                    folds.push((FORMULA.to_owned(), Vec::new()));
                }
                if let Some((_, inner)) = folds.last_mut() {
                    inner.push(other.clone());
                }
            }
        }
    }
    let caption = inline(caption).map_err(in_figure)?;
    if plain(&caption).trim().is_empty() {
        return Err(in_figure("its caption is empty".to_owned()));
    }
    let weight = if MAIN.contains(&name) { " data-weight=\"main\"" } else { "" };
    let mut html = format!(
        "<figure class=\"figure\" id=\"embed-{name}\"{weight} aria-labelledby=\"{title}\">\n\
         <figcaption class=\"figure-title\" id=\"{title}\">{caption}</figcaption>\n{place}\n{note}"
    );
    for (summary, inner) in folds {
        let class = if summary == FORMULA { "figure-formula" } else { "figure-data" };
        let mut fold = Blocks { paragraph: Some("live-note"), ..Blocks::of(around.section) };
        let inner = blocks(&inner, &mut fold).map_err(in_figure)?;
        html += &format!("<details class=\"{class}\">\n<summary>{summary}</summary>\n{inner}</details>\n");
    }
    around.figures.push(name.to_owned());
    Ok(html + "</figure>")
}

#[cfg(test)]
mod tests {
    use super::super::blocks::tests::html;

    #[test]
    fn a_figure_has_its_caption_its_place_and_its_folds() {
        let source =
            "```figure step\nTwo steps\n\n> Without a program.\n\n$$M(t)$$\n\nMore of it.\n\n#### Words\n\nlast\n```\n";
        assert_eq!(
            html(source).expect("it is right"),
            "<figure class=\"figure\" id=\"embed-step\" data-weight=\"main\" aria-labelledby=\"step-title\">\n\
             <figcaption class=\"figure-title\" id=\"step-title\">Two steps</figcaption>\n\
             <div class=\"live\" id=\"step\" data-figure=\"step\" inert>{{figure:step}}</div>\n\
             <p class=\"figure-note unscripted\">Without a program.</p>\n\
             <details class=\"figure-formula\">\n<summary>The formula</summary>\n\
             <div class=\"formula\"><math display=\"block\"><mi>M</mi><mo stretchy=\"false\">(</mo><mi>t</mi>\
             <mo stretchy=\"false\">)</mo></math></div>\n<p class=\"live-note\">More of it.</p>\n</details>\n\
             <details class=\"figure-data\">\n<summary>Words</summary>\n<p class=\"live-note\">last</p>\n</details>\n\
             </figure>\n"
        );
    }

    #[test]
    fn a_figure_called_like_its_section_leaves_the_id_to_it() {
        let found = html("```figure here\nCaption\n```\n").expect("it is right");
        assert!(found.contains("aria-labelledby=\"here-figure-title\"") && !found.contains(" id=\"here\""), "{found}");
    }

    #[test]
    fn markup_of_its_own_replaces_the_place() {
        let found = html("```figure quiz\nCaption\n\n<form data-figure=\"quiz\">{{figure:quiz}}</form>\n```\n");
        let found = found.expect("it is right");
        assert!(
            found.contains("</figcaption>\n<form data-figure=\"quiz\">{{figure:quiz}}</form>\n</figure>"),
            "{found}"
        );
    }

    #[test]
    fn a_figure_without_a_caption_is_refused_by_its_name() {
        let fault = html("```figure step\n$$M$$\n```\n").expect_err("there is none");
        assert!(fault.contains("figure step"), "{fault}");
    }
}
