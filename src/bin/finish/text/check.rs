//! What must hold for the whole site.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Result;
use super::super::markup::tags;
use super::Page;

/// The most words of the page at the root, and of any other.
const MOST_AT_ROOT: usize = 2_500;
const MOST: usize = 4_500;

/// Refuses an id or a sentence that is there twice, a figure that is there twice on a page, a figure or sentence that is missing or unknown, headings
/// out of order and pages that are too long. `figures` and `sentences` are the names of those that are to be placed.
pub fn check(pages: &[Page], figures: &[&str], sentences: &[&str]) -> Result<()> {
    let mut faults = twice(pages);
    faults.extend(misplaced("figure", &places(pages, |section| &section.figures), figures, is_twice_on_a_page));
    faults.extend(misplaced("sentence", &places(pages, |section| &section.sentences), sentences, |at| at.len() > 1));
    faults.extend(pages.iter().flat_map(disordered));
    faults.extend(pages.iter().filter_map(too_long));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// The place of a section, as messages name it.
fn at(page: &Page, section: &str) -> String {
    format!("/{}#{section}", page.slug)
}

/// What each section has by a name, with the sections that have it.
fn places<'a>(pages: &'a [Page], of: impl Fn(&'a super::Section) -> &'a [String]) -> BTreeMap<&'a str, Vec<String>> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for page in pages {
        for section in &page.sections {
            for name in of(section) {
                found.entry(name).or_default().push(at(page, &section.id));
            }
        }
    }
    found
}

/// The ids that are there twice. A figure may stand on several pages, and has its own on each.
fn twice(pages: &[Page]) -> Vec<String> {
    let figures = places(pages, |section| &section.figures);
    let is_of_figure = |id: &str| {
        let name = id.strip_prefix("embed-").unwrap_or(id);
        let name = name.strip_suffix("-title").unwrap_or(name);
        figures.get(name.strip_suffix("-figure").unwrap_or(name)).is_some_and(|at| at.len() > 1)
    };
    let found = places(pages, |section| &section.ids).into_iter();
    let ids = found.filter(|(id, at)| !is_of_figure(id) && at.len() > 1 || is_twice_on_a_page(at));
    ids.map(|(id, at)| format!("the id {id} is there {} times: {}", at.len(), at.join(", "))).collect()
}

/// Whether two of these places are on one page.
fn is_twice_on_a_page(at: &[String]) -> bool {
    let pages: BTreeSet<_> = at.iter().filter_map(|place| place.split('#').next()).collect();
    pages.len() < at.len()
}

/// What of a kind is placed and unknown, and what of those that are known has no place or too many.
fn misplaced(
    kind: &str,
    placed: &BTreeMap<&str, Vec<String>>,
    known: &[&str],
    is_too_often: fn(&[String]) -> bool,
) -> Vec<String> {
    let unknown = placed.keys().filter(|name| !known.contains(name)).map(|name| format!("no {kind} is called {name}"));
    let others = known.iter().filter_map(|name| match placed.get(name).map(Vec::as_slice) {
        None => Some(format!("the {kind} {name} has no place")),
        Some(at) if is_too_often(at) => Some(format!("the {kind} {name} has {} places: {}", at.len(), at.join(", "))),
        Some(_) => None,
    });
    unknown.chain(others).collect()
}

/// A page begins with its one heading of the first level, and no level is left out on the way down.
fn disordered(page: &Page) -> Vec<String> {
    let mut faults = Vec::new();
    let mut before = 0;
    for section in &page.sections {
        for tag in tags(&section.html) {
            let Some(level) = tag.name.strip_prefix(['h', 'H']).and_then(|level| level.parse::<u8>().ok()) else {
                continue;
            };
            if level > before + 1 || (level == 1 && before != 0) {
                let place = at(page, &section.id);
                faults.push(format!("{place}: a heading of level {level} comes after one of level {before}"));
            }
            before = level;
        }
    }
    faults
}

fn too_long(page: &Page) -> Option<String> {
    let words: usize = page.sections.iter().map(|section| section.words).sum();
    let most = if page.slug.is_empty() { MOST_AT_ROOT } else { MOST };
    (words > most).then(|| format!("/{}: {words} words, and {most} are the most", page.slug))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::text::section::read;
    use bmax::link::Beginning;

    /// A site of pages, each with an opening and the section of a source.
    pub fn site(pages: &[(&'static str, &str)]) -> Vec<Page> {
        let page = |(slug, source): &(&'static str, &str)| {
            let front =
                format!("+++\nname=\"n\"\ntitle=\"t\"\ndescription=\"d\"\nheading=\"H\"\nid=\"start-{slug}\"\n+++\n");
            let sections = [read(&front, true), read(source, false)].map(|read| read.expect("it is right").section);
            let text = String::new;
            Page {
                slug,
                name: text(),
                title: text(),
                description: text(),
                heading: text(),
                begins: Beginning::Site,
                sections: sections.into(),
            }
        };
        pages.iter().map(page).collect()
    }

    fn fault(pages: &[(&'static str, &str)], figures: &[&str]) -> String {
        check(&site(pages), figures, &[]).expect_err("something is wrong")
    }

    #[test]
    fn a_site_in_order_passes() {
        let pages = site(&[("", "## A {#a}\n\n### A\n\n```figure x\nc\n```\n"), ("memory", "## B {#b}\n")]);
        assert_eq!(check(&pages, &["x"], &[]), Ok(()));
    }

    #[test]
    fn an_id_that_two_pages_have_is_named_with_both() {
        let found = fault(&[("", "## A {#a}\n"), ("memory", "## A {#a}\n")], &[]);
        assert!(found.contains("the id a is there 2 times: /#a, /memory#a"), "{found}");
    }

    #[test]
    fn a_figure_that_is_missing_unknown_or_twice_is_named() {
        let figure = "## A {#a}\n\n```figure x\nc\n```\n";
        assert_eq!(fault(&[("", figure)], &["x", "y"]), "the figure y has no place");
        assert_eq!(fault(&[("", figure)], &[]), "no figure is called x");
        let found = fault(&[("", &(figure.to_owned() + &figure.replace("## A {#a}", "")))], &["x"]);
        assert!(found.contains("the figure x has 2 places: /#a, /#a"), "{found}");
        // Two pages may show the same.
        let pages = site(&[("", figure), ("memory", &figure.replace("#a", "#b"))]);
        assert_eq!(check(&pages, &["x"], &[]), Ok(()));
    }

    #[test]
    fn a_sentence_that_is_missing_unknown_or_twice_is_named() {
        let found =
            |text: &str, sentences: &[&str]| check(&site(&[("", &format!("## A {{#a}}\n\n{text}\n"))]), &[], sentences);
        assert_eq!(found("{{sentence:x}}", &["x"]), Ok(()));
        assert_eq!(found("{{sentence:x}}", &[]), Err("no sentence is called x".to_owned()));
        assert_eq!(found("words", &["x"]), Err("the sentence x has no place".to_owned()));
        let twice = Err("the sentence x has 2 places: /#a, /#a".to_owned());
        assert_eq!(found("{{sentence:x}} {{sentence:x}}", &["x"]), twice);
    }

    #[test]
    fn a_heading_that_leaves_out_a_level_or_begins_a_page_anew_is_named() {
        let found = fault(&[("", "## A {#a}\n\n<h4>x</h4>\n")], &[]);
        assert_eq!(found, "/#a: a heading of level 4 comes after one of level 2");
        let found = fault(&[("", "## A {#a}\n\n<h1>x</h1>\n")], &[]);
        assert_eq!(found, "/#a: a heading of level 1 comes after one of level 2");
    }

    #[test]
    fn a_page_that_is_too_long_is_named_with_its_words() {
        let words = |most: usize| format!("## A {{#a}}\n\n{}\n", "word ".repeat(most));
        assert_eq!(fault(&[("", &words(MOST_AT_ROOT))], &[]), "/: 2502 words, and 2500 are the most");
        assert_eq!(check(&site(&[("memory", &words(MOST_AT_ROOT))]), &[], &[]), Ok(()));
        assert_eq!(fault(&[("memory", &words(MOST))], &[]), "/memory: 4502 words, and 4500 are the most");
    }
}
