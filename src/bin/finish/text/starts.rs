//! The starting points: a line `{{starts}}` is the list of them (`bmax::starts`) as links, each with the answer that
//! the estimator gives for its configuration. They stand in the page as it is built, so that readers without scripts have
//! them, too; the program takes presses on them over (`src/page/starts.rs`).

use bmax::starts::{STARTS, Start};

use super::super::markup::escaped;
use super::links::ROOT;

const PLACE: &str = "{{starts}}";

/// The source of a section with the starting points in their place.
pub fn filled(source: &str) -> String {
    if source.contains(PLACE) { source.replace(PLACE, &list()) } else { source.to_owned() }
}

/// A list without marks is one for a screen reader only where it says so.
fn list() -> String {
    let cards: String = STARTS.iter().map(card).collect();
    format!("<ul class=\"starts\" role=\"list\" aria-label=\"Starting points\">\n{cards}</ul>")
}

fn card(start: &Start) -> String {
    let way = escaped(&format!("{ROOT}{}", start.address()));
    let [name, with, answer] = [start.name, start.with, &start.answer()].map(escaped);
    let id = start.id;
    format!("<li><a href=\"{way}\" data-start=\"{id}\"><b>{name}</b> {with}: <strong>{answer}</strong></a></li>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tags;

    #[test]
    fn every_start_is_a_link_with_its_name_and_its_answer() {
        let filled = filled("before\n\n{{starts}}\n\nafter\n");
        let links: Vec<String> = tags(&filled)
            .iter()
            .filter(|tag| tag.is("a"))
            .map(|tag| tag.attribute("href").expect("a link").value.to_owned())
            .collect();
        assert_eq!(links.len(), STARTS.len());
        for (start, link) in STARTS.iter().zip(links) {
            assert_eq!(link.replace("&amp;", "&"), format!("{ROOT}{}", start.address()));
            let card = format!("<b>{}</b> {}: <strong>{}</strong>", start.name, start.with, start.answer());
            assert!(filled.contains(&card), "{card}");
        }
        // A blank line would end the markup.
        assert!(filled.contains("before\n\n<ul") && !list().contains("\n\n"));
    }
}
