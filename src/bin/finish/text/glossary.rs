//! The terms of the glossary, each linked where a page uses it first.

use std::collections::BTreeSet;

use super::super::markup::{name, pieces};
use super::Page;

/// The section with the glossary, in which nothing is linked to itself.
const GLOSSARY: &str = "symbols";
/// Sections whose words are those of others.
const QUOTED: [&str; 1] = ["sources"];

/// Elements whose words are no sentences, or are led elsewhere already.
const SILENT: [&str; 18] = [
    "a", "button", "caption", "code", "dt", "figure", "h1", "h2", "h3", "h4", "math", "pre", "script", "style",
    "summary", "svg", "table", "th",
];

/// A term of the glossary.
#[derive(Debug, PartialEq)]
pub struct Term {
    /// The id of its entry.
    pub id: String,
    /// The words that it goes by, in small letters.
    pub words: Vec<String>,
}

impl Term {
    /// The term of an entry, whose title names it by one word or several: “Micro-batch, local batch”.
    pub fn of(title: &str) -> Self {
        let words: Vec<String> = title.to_lowercase().split(", ").map(str::to_owned).collect();
        let id = words.first().map_or("", |word| word.strip_prefix("the ").unwrap_or(word));
        Self { id: format!("term-{}", id.replace(' ', "-")), words }
    }

    /// Where a text uses it first, in the singular or the plural.
    pub fn found(&self, text: &str) -> Option<(usize, usize)> {
        let small = text.to_lowercase();
        // Letters that are longer when they are small would move what comes after them.
        let small = if small.len() == text.len() { small } else { text.to_owned() };
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '-';
        // The colon is that of a place that is filled later: {{sentence:logits}}.
        let is_led = |letter: char| is_part(letter) || letter == ':';
        let place = |word: &String| {
            small.match_indices(word.as_str()).find_map(|(start, _)| {
                let rest = &small[start + word.len()..];
                let plural = usize::from(rest.starts_with('s'));
                let is_whole = !small[..start].ends_with(is_led) && !rest[plural..].starts_with(is_part);
                is_whole.then_some((start, start + word.len() + plural))
            })
        };
        self.words.iter().filter_map(place).min()
    }
}

/// Links every term where each page uses it first.
pub fn explain(pages: &mut [Page]) {
    let sections = pages.iter().flat_map(|page| &page.sections).filter(|section| section.id == GLOSSARY);
    let terms: Vec<Term> = sections.flat_map(|section| entries(&section.html)).collect();
    for page in pages {
        let mut seen = BTreeSet::new();
        for section in
            page.sections.iter_mut().filter(|section| section.id != GLOSSARY && !QUOTED.contains(&section.id.as_str()))
        {
            section.html = explained(&section.html, &terms, &mut seen);
        }
    }
}

/// The terms of the entries in this markup.
pub fn entries(html: &str) -> Vec<Term> {
    let entry = |part: &str| part.split_once("\">")?.1.split_once("</dt>").map(|(title, _)| Term::of(title));
    html.split("<dt id=\"term-").skip(1).filter_map(entry).collect()
}

/// Markup in which the terms that are not `seen` yet are linked. A term that is in a link of a sentence already is seen
/// with it.
fn explained(html: &str, terms: &[Term], seen: &mut BTreeSet<usize>) -> String {
    let mut explained = String::with_capacity(html.len());
    let mut silent: Vec<&str> = Vec::new();
    for (text, tag) in pieces(html) {
        match silent[..] {
            [] => linked(text, terms, seen, &mut explained),
            ["a"] => {
                seen.extend((0..terms.len()).filter(|at| terms[*at].found(text).is_some()));
                explained += text;
            }
            _ => explained += text,
        }
        let name = name(tag);
        if tag.starts_with("</") {
            if silent.last() == Some(&name) {
                silent.pop();
            }
        } else if SILENT.contains(&name) {
            silent.push(name);
        }
        explained += tag;
    }
    explained
}

/// Adds a text with its terms linked.
fn linked(text: &str, terms: &[Term], seen: &mut BTreeSet<usize>, to: &mut String) {
    let mut rest = text;
    loop {
        let next = (0..terms.len()).filter(|at| !seen.contains(at)).filter_map(|at| Some((terms[at].found(rest)?, at)));
        let Some(((start, end), at)) = next.min() else { break };
        let (word, id) = (&rest[start..end], &terms[at].id);
        *to += &format!("{}<a class=\"term\" href=\"#{id}\">{word}</a>", &rest[..start]);
        seen.insert(at);
        rest = &rest[end..];
    }
    *to += rest;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(html: &str) -> String {
        explained(html, &[Term::of("Micro-batch, local batch"), Term::of("The workshop")], &mut BTreeSet::new())
    }

    #[test]
    fn a_term_is_linked_where_it_is_used_first_by_any_of_its_words() {
        assert_eq!(
            told("<p>Two local batches, one Micro-batch; micro-batches.</p>"),
            "<p>Two local batches, one <a class=\"term\" href=\"#term-micro-batch\">Micro-batch</a>; micro-batches.</p>"
        );
        assert_eq!(
            told("<p>Of local <em>x</em></p><ul><li>Local batch.</li></ul>"),
            "<p>Of local <em>x</em></p><ul><li><a class=\"term\" href=\"#term-micro-batch\">Local batch</a>.</li></ul>"
        );
    }

    #[test]
    fn a_part_of_a_word_a_heading_and_a_figure_are_left_alone() {
        let html = "<h2>The workshop</h2><p>The workshops’ micro-batching</p><figure><p>the workshop</p></figure>";
        assert_eq!(
            told(html),
            html.replace("The workshops’", "<a class=\"term\" href=\"#term-workshop\">The workshops</a>’")
        );
    }

    #[test]
    fn a_place_that_is_filled_later_keeps_its_name() {
        let html = "<p>{{sentence:workshop}}</p>";
        assert_eq!(explained(html, &[Term::of("Workshop")], &mut BTreeSet::new()), html);
    }

    #[test]
    fn a_term_that_is_in_a_link_is_explained_there() {
        let html = "<p><a href=\"#source\">the workshop</a> and the workshop</p>";
        assert_eq!(told(html), html);
        let cell = "<table><tr><td><a href=\"#why\">the workshop</a></td></tr></table><p>the workshop</p>";
        assert!(told(cell).ends_with("<p><a class=\"term\" href=\"#term-workshop\">the workshop</a></p>"));
    }

    #[test]
    fn entries_are_read_from_the_titles_of_a_list() {
        let html = "<dl><dt id=\"term-workshop\">The workshop</dt><dd>It.</dd></dl>";
        assert_eq!(entries(html), [Term { id: "term-workshop".to_owned(), words: vec!["the workshop".to_owned()] }]);
    }
}
