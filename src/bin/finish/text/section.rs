//! A file: its front matter, its heading, its blocks.

use pulldown_cmark::{HeadingLevel, MetadataBlockKind, Tag};

use super::super::Result;
use super::super::markup::{escaped, tags};
use super::Section;
use super::blocks::{Blocks, blocks};
use super::front::{Opening, former, opening};
use super::inline::inline;
use super::problems;
use super::quoted;
use super::starts;
use super::tour;
use super::tree::{Node, text, tree};
use super::words::{count, plain};

/// A section, with what the first file of a page says of the page.
pub struct Read {
    pub section: Section,
    pub opening: Option<Opening>,
}

/// How a section begins.
struct Head {
    id: String,
    level: u8,
    title: String,
    label: Option<String>,
    former: Vec<String>,
    /// What its heading adds to the class of a numbered list.
    list: String,
}

/// The section of a file, which may be the first of its page.
pub fn read(source: &str, is_first: bool) -> Result<Read> {
    let source = &starts::filled(&tour::filled(&problems::filled(source)?));
    let nodes = tree(source);
    let (lines, body) = match nodes.split_first() {
        Some((Node::Element(Tag::MetadataBlock(MetadataBlockKind::PlusesStyle), lines), body)) => (text(lines), body),
        _ => (String::new(), &nodes[..]),
    };
    if is_first {
        let opening = opening(&lines)?;
        let head = Head {
            id: opening.id.clone(),
            level: 1,
            title: escaped(&opening.heading),
            label: opening.label.clone(),
            former: opening.former.clone(),
            list: String::new(),
        };
        return Ok(Read { section: section(head, body)?, opening: Some(opening) });
    }
    let former = former(&lines)?;
    let Some((Node::Element(Tag::Heading { level: HeadingLevel::H2, id: Some(id), classes, .. }, title), body)) =
        body.split_first()
    else {
        return Err("a section begins with its heading and id: ## Title {#id}".to_owned());
    };
    let head = Head {
        id: id.to_string(),
        level: 2,
        title: inline(title)?,
        label: None,
        former,
        list: classes.iter().map(|class| format!(" {class}")).collect(),
    };
    Ok(Read { section: section(head, body)?, opening: None })
}

fn section(head: Head, body: &[Node]) -> Result<Section> {
    let Head { id, level, title, label, former, list } = head;
    let mut place = Blocks { list, ..Blocks::of(&id) };
    let inner = match body.split_first() {
        // A page begins with a sentence in larger type.
        Some((first @ Node::Element(Tag::Paragraph, _), rest)) if level == 1 => {
            place.paragraph = Some("lead");
            let lead = blocks(std::slice::from_ref(first), &mut place)?;
            place.paragraph = None;
            lead + &blocks(rest, &mut place)?
        }
        _ => blocks(body, &mut place)?,
    };
    let former: String = former.iter().map(|id| format!("<span id=\"{}\"></span>", escaped(id))).collect();
    let html = format!(
        "<section id=\"{id}\" class=\"prose\" aria-labelledby=\"{id}-title\">\n\
         <h{level} id=\"{id}-title\">{former}{title}</h{level}>\n{inner}</section>\n"
    );
    if html.contains(quoted::OPEN) {
        return Err("a quoted number stands in markup, where it is not filled in".to_owned());
    }
    let figures = place.figures;
    let ids = tags(&html).iter().filter_map(|tag| tag.attribute("id")).map(|id| id.value.to_owned()).collect();
    // The contents call a section as its heading does, up to what the heading claims.
    let heading = plain(&title);
    let label = label.unwrap_or_else(|| heading.split(": ").next().unwrap_or(&heading).to_owned());
    Ok(Section { label, figures, sentences: sentences(&html), ids, words: count(&html), html, id })
}

/// The names of the sentences that have a place in markup: `{{sentence:NAME}}`.
fn sentences(html: &str) -> Vec<String> {
    let places = html.split("{{sentence:").skip(1);
    places.filter_map(|rest| Some(rest.split_once("}}")?.0.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_heading_its_label_and_the_ids_of_older_links() {
        let source = "+++\nformer = [\"part-old\"]\n+++\n\n## Search: or **find** it {#search}\n\nWords of it.\n\n\
                      ```figure oom-search\nDoubling\n```\n";
        let section = read(source, false).expect("it is right").section;
        assert_eq!((section.id.as_str(), section.label.as_str(), section.words), ("search", "Search", 7));
        assert!(section.html.contains(">Search: or <strong>find</strong> it</h2>"));
        assert_eq!(section.figures, ["oom-search"]);
        assert_eq!(
            section.ids,
            ["search", "search-title", "part-old", "embed-oom-search", "oom-search-title", "oom-search"]
        );
        assert!(section.html.starts_with(
            "<section id=\"search\" class=\"prose\" aria-labelledby=\"search-title\">\n\
             <h2 id=\"search-title\"><span id=\"part-old\"></span>Search: or <strong>find</strong> it</h2>\n<p>Words of it.</p>\n"
        ));
    }

    #[test]
    fn a_section_knows_the_sentences_in_its_lines_and_leaves_their_places() {
        let source = "## Title {#id}\n\nBefore. {{sentence:one}} After.\n\n- {{sentence:two}}\n";
        let section = read(source, false).expect("it is right").section;
        assert_eq!(section.sentences, ["one", "two"]);
        assert!(section.html.contains("<p>Before. {{sentence:one}} After.</p>"), "{}", section.html);
    }

    #[test]
    fn the_opening_holds_the_heading_of_the_page_and_a_lead() {
        let source = "+++\nname = \"A\"\ntitle = \"B\"\ndescription = \"C\"\nheading = \"One & two\"\nid = \"start\"\n+++\n\nFirst.\n\nSecond.\n";
        let Read { section, opening } = read(source, true).expect("it is right");
        assert_eq!(opening.expect("it is the first").heading, "One & two");
        assert!(
            section
                .html
                .contains("<h1 id=\"start-title\">One &amp; two</h1>\n<p class=\"lead\">First.</p>\n<p>Second.</p>")
        );
        assert_eq!(section.label, "One &amp; two");
    }

    #[test]
    fn a_heading_adds_to_the_class_of_its_numbered_lists() {
        let html = read("## Six {#six .takeaways}\n\n1. one\n", false).expect("it is right").section.html;
        assert!(html.contains("<ol class=\"steps takeaways\">"), "{html}");
    }

    #[test]
    fn a_section_without_heading_or_id_is_refused() {
        for source in ["Words.\n", "## Title\n", "### Title {#id}\n", ""] {
            assert!(read(source, false).err().expect(source).contains("## Title {#id}"));
        }
        assert!(read("## Title {#id}\n", true).err().expect("no front matter").contains("name is missing"));
    }
}
