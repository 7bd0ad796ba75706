//! The text of this site, held to what is asked of it.

use std::fs;
use std::path::{Path, PathBuf};

use bmax::course::quoted;

use super::super::markup::tags;
use super::{Page, check, explain, glossary, link, read};

pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn site() -> Vec<Page> {
    let mut pages = read(&here("src/pages")).expect("the text can be read");
    explain(&mut pages);
    link(&mut pages).expect("every link leads somewhere");
    pages
}

/// The names of the figures, which are those of their folders.
fn figures() -> Vec<String> {
    let folders = fs::read_dir(here("src/figures")).expect("the figures").map(|entry| entry.expect("an entry").path());
    let names = folders
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().expect("a name").to_string_lossy().replace('_', "-"));
    names.collect()
}

/// The names of the sentences, as their list in the page's program has them.
fn sentences() -> Vec<String> {
    let list = fs::read_to_string(here("src/sentences/words.rs")).expect("the sentences");
    let names = list.lines().filter_map(|line| line.trim().strip_prefix("name: \"")?.strip_suffix("\","));
    names.map(str::to_owned).collect()
}

#[test]
fn the_site_is_in_order() {
    let figures = figures();
    let names: Vec<&str> = figures.iter().map(String::as_str).collect();
    assert!(names.len() > 25, "{names:?}");
    let sentences = sentences();
    let told: Vec<&str> = sentences.iter().map(String::as_str).collect();
    assert!(told.len() >= 10, "{told:?}");
    let found = check(&site(), &names, &told);
    assert!(found.is_ok(), "{}", found.expect_err("just seen"));
}

#[test]
fn teachers_find_every_figure_by_its_page() {
    let pages = site();
    let teach = pages.iter().find(|page| page.slug == "teach").expect("the page for teachers");
    let text: String = teach.sections.iter().map(|section| section.html.as_str()).collect();
    let lines = crate::figure_lines::filled(&text, &pages);
    let mut rest = lines.as_str();
    for page in &pages {
        let address = crate::pages::address(page);
        for name in page.sections.iter().flat_map(|section| &section.figures) {
            let way = format!("<a href=\"{{{{root}}}}{address}#embed-{name}\" data-way>");
            rest = rest.split_once(&way).unwrap_or_else(|| panic!("{way}")).1;
            let line = format!("&lt;iframe src=&quot;BMAX{address}?embed={name}&amp;amp;v=4");
            assert!(rest.split_once("</li>").is_some_and(|(own, _)| own.contains(&line)), "{line} in {rest:.600}");
        }
    }
}

#[test]
fn every_page_says_what_it_is_and_what_is_in_it() {
    for page in site() {
        let Page { slug, name, title, description, heading, sections, .. } = &page;
        assert!(name.len() <= 16 && title.contains("bmax") && heading.len() <= 60, "/{slug}");
        assert!((80..=200).contains(&description.len()), "/{slug}: {} letters", description.len());
        assert!(sections.len() >= 2, "/{slug}");
        for section in sections {
            assert!(section.label.chars().count() <= 28 || section.id == sections[0].id, "/{slug}#{}", section.id);
            assert!(!section.html.contains("<p></p>") && !section.html.contains("<li></li>"), "/{slug}#{}", section.id);
        }
    }
}

/// Markdown has no words for these: colours of buckets, and three figures that stand in markup of their own.
#[test]
fn markup_stands_in_few_places_of_the_text() {
    let mut places = 0;
    for page in fs::read_dir(here("src/pages")).expect("the pages") {
        for file in fs::read_dir(page.expect("a page").path()).expect("its files") {
            let path = file.expect("a file").path();
            let text = fs::read_to_string(&path).expect("text");
            if text.contains("Written by src/bin/generate") {
                continue;
            }
            // What is between two fences of code is shown and not written.
            let written: String =
                text.split("```").enumerate().filter(|(at, _)| at % 2 == 0).map(|(_, part)| part).collect();
            let found = tags(&written).len();
            let is_figure = text.contains("```figure terms")
                || text.contains("```figure quiz")
                || text.contains("```figure network");
            places += if is_figure { 1 } else { found };
        }
    }
    assert_eq!(places, 10 + 3);
}

#[test]
fn every_term_of_the_glossary_is_linked_from_a_page_that_uses_it() {
    let pages = site();
    let html: String = pages.iter().flat_map(|page| &page.sections).map(|section| section.html.as_str()).collect();
    let terms = glossary::entries(&html);
    assert!(terms.len() > 20, "{terms:?}");
    for term in terms {
        let uses = html.split(&format!("#{}\"", term.id)).count() - 1;
        assert!(uses > 0, "no page uses {:?}", term.words);
    }
}

/// The text of every file with this ending in a folder and the folders in it.
pub fn texts(folder: &Path, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(texts(&path, ending));
        } else if path.extension().is_some_and(|found| found == ending) {
            let text = fs::read_to_string(&path).expect("text");
            found.push((path, text));
        }
    }
    found
}

#[test]
fn every_quoted_number_is_used_and_the_text_knows_no_other() {
    let pages = texts(&here("src/pages"), "md");
    let (mut code, table): (Vec<_>, Vec<_>) =
        texts(&here("src"), "rs").into_iter().partition(|(path, _)| !path.ends_with("course/quoted.rs"));
    assert_eq!(table.len(), 1);
    code.retain(|(path, _)| !path.starts_with(here("src/bin/finish")));
    for row in quoted::ALL {
        let key = format!("{{{{quoted:{}}}}}", row.key());
        let in_text = pages.iter().any(|(_, text)| text.contains(&key));
        let is_name = |text: &str| {
            text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').any(|word| word == row.name)
        };
        assert!(in_text || code.iter().any(|(_, text)| is_name(text)), "{} is used nowhere", row.name);
    }
    for (path, text) in &pages {
        for part in text.split("{{quoted:").skip(1) {
            let key = part.split("}}").next().unwrap_or_default();
            assert!(quoted::Quoted::find(key).is_some(), "{}: no row has the key {key}", path.display());
        }
    }
}

/// Prints what `cargo test -- --nocapture words_by_page` is asked for.
#[test]
fn words_by_page() {
    for page in site() {
        let words: usize = page.sections.iter().map(|section| section.words).sum();
        let each: Vec<String> =
            page.sections.iter().map(|section| format!("{} {}", section.id, section.words)).collect();
        println!("/{}: {words} ({})", page.slug, each.join(", "));
    }
}
