//! The pages of the site: each is the template that Trunk has put together, `index.html`, with its own text, contents
//! and ways to the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, iter};

use bmax::link::Beginning;
use serde_json::{Map, Value, json};

use super::address::Address;
use super::desk::Desk;
use super::discovery::{About, structured, tags as crawled};
use super::figure_lines;
use super::figures::Figures;
use super::markup::{escaped, tags};
use super::navigation::{footer, header};
use super::page::{filled, with_policy};
use super::plain::with_figures;
use super::previews::PICTURE;
use super::program::Program;
use super::search::Search;
use super::text::{Page, Places};
use super::{Result, minify, write};

/// The script of a link that asks before it answers, which `index.html` imports.
pub const ASKING: &str = "ask.js";

/// What fills the template beside the text.
pub struct Parts<'a> {
    pub program: &'a Program,
    pub figures: &'a Figures,
    pub places: &'a Places,
    pub desk: &'a Desk,
    /// The digest of [`ASKING`].
    pub asking: &'a str,
    pub search: &'a Search,
    /// Where the site will lie.
    pub address: &'a Address,
}

/// Writes every page into its folder.
pub fn write_all(folder: &Path, template: &str, pages: &[Page], parts: &Parts) -> Result<()> {
    for (at, page) in pages.iter().enumerate() {
        let place = folder.join(page.slug);
        fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let html = assembled(template, pages, at, parts).map_err(|error| format!("{}: {error}", name(page)))?;
        write(&place.join("index.html"), html)?;
    }
    Ok(())
}

/// The address of a page, seen from the first one.
pub fn address(page: &Page) -> String {
    if page.slug.is_empty() { String::new() } else { format!("{}/", page.slug) }
}

fn name(page: &Page) -> String {
    format!("the page /{}", address(page))
}

fn assembled(template: &str, pages: &[Page], at: usize, parts: &Parts) -> Result<String> {
    let page = &pages[at];
    let names: Vec<&str> = page.sections.iter().flat_map(|section| &section.figures).map(String::as_str).collect();
    let sentences: Vec<&str> =
        page.sections.iter().flat_map(|section| &section.sentences).map(String::as_str).collect();
    let main: String = page.sections.iter().map(|section| section.html.as_str()).collect();
    let main = figure_lines::filled(&main, pages);
    let main = parts.places.resolved(&parts.figures.placed(&main, &names, &sentences, page.begins)?, page.slug)?;
    let data =
        [("{{places}}", places(pages, parts.places)), ("{{parts}}", fetched(&names, !sentences.is_empty(), parts)?)];
    let fills = vec![
        ("{{page}}", address(page)),
        ("{{first-figure}}", names.first().copied().unwrap_or_default().to_owned()),
        ("{{contents}}", contents(page)),
        ("{{neighbours}}", neighbours(pages, at)),
        ("{{answer-bar}}", bar(&names, page, parts)?),
        ("{{desk}}", parts.desk.name.clone()),
        ("{{desk-sheet}}", format!("sha256-{}", parts.desk.sheet)),
        ("{{program}}", parts.program.folder.clone()),
    ];
    let frame = Frame {
        title: &page.title,
        description: &page.description,
        crawled: crawlers(page, parts.address),
        styles: format!("<style>{}</style>", parts.figures.styles(&names, &sentences, page.begins)),
        shown: Some(page.slug),
        begins: page.begins,
        main,
        root: root(page),
    };
    let template = rooted(&with_figures(template), root(page), &address(page), parts.address);
    filled_in(&template, &frame, pages, parts, fills, &data)
}

/// What a page brings to the frame that all have.
pub struct Frame<'a> {
    pub title: &'a str,
    pub description: &'a str,
    /// What it says of itself to crawlers.
    pub crawled: String,
    /// The styles that it has beside the sheet of all pages.
    pub styles: String,
    /// Its slug, where it is one of the pages of the header.
    pub shown: Option<&'a str>,
    /// What it begins with.
    pub begins: Beginning,
    pub main: String,
    /// The way to the first page.
    pub root: &'static str,
}

/// The template with its frame and with these fills. The text comes last: what stands for something in it stays. Scripts
/// are made smaller around their `data`, which stays JSON.
pub fn filled_in(
    template: &str,
    frame: &Frame,
    pages: &[Page],
    parts: &Parts,
    fills: Vec<(&'static str, String)>,
    data: &[(&'static str, Value)],
) -> Result<String> {
    let of_all = [
        ("{{title}}", escaped(frame.title)),
        ("{{begins}}", frame.begins.key().to_owned()),
        // Trunk's minifier takes the quotes of a value that needs none as it stands.
        ("content={{description}}", format!("content=\"{}\"", escaped(frame.description))),
        ("{{crawled}}", frame.crawled.clone()),
        ("{{styles}}", frame.styles.clone()),
        ("{{pages}}", header(pages, frame.shown)),
        ("{{about}}", footer(env!("CARGO_PKG_REPOSITORY"))),
        ("{{search}}", parts.search.name.clone()),
        ("{{version}}", env!("CARGO_PKG_VERSION").to_owned()),
        ("{{program-digest}}", parts.program.digest.clone()),
        ("{{modules}}", modules(parts, frame.root).to_string()),
        ("{{main}}", frame.main.clone()),
    ];
    let mut html = template.to_owned();
    for (place, _) in data {
        html = filled(&html, place, &kept(place))?;
    }
    for (place, value) in fills.into_iter().chain(of_all) {
        html = filled(&html, place, &value)?;
    }
    let html = filled(&html, "{{root}}", frame.root)?;
    match html.split_once("{{").map(|(_, rest)| rest) {
        Some(rest) if !rest.starts_with("inline-") => {
            return Err(format!("nothing fills {{{{{}}}}}", rest.split('}').next().unwrap_or_default()));
        }
        _ => {}
    }
    let mut html = minify::inline(&html)?;
    for (place, value) in data {
        html = filled(&html, &kept(place), &value.to_string())?;
    }
    with_policy(&html)
}

/// A string literal that holds the place of data while a script is made smaller. JavaScript takes one wherever it takes data.
fn kept(place: &str) -> String {
    format!("\"{}\"", place.trim_matches(['{', '}']).to_uppercase())
}

/// The figure that answers for a network of layers.
const NETWORK: &str = "network";

/// The bar that stays in view. It answers for a transformer; a page whose figure answers for a network has none, because
/// two answers at once would pass for two opinions.
fn bar(figures: &[&str], page: &Page, parts: &Parts) -> Result<String> {
    if figures.contains(&NETWORK) {
        return Ok(String::new());
    }
    let bar = parts.places.resolved(parts.figures.html("answer-bar", page.begins)?, page.slug)?;
    let attributes = "class=\"answer-bar\" role=\"region\" aria-label=\"Answer for this configuration\" inert";
    Ok(format!("<div id=\"answer-bar\" {attributes}>{bar}</div>"))
}

/// The way from a page to the first one.
fn root(page: &Page) -> &'static str {
    if page.slug.is_empty() { "./" } else { "../" }
}

/// What the page says of itself to crawlers.
fn crawlers(page: &Page, site: &Address) -> String {
    let about = About {
        title: &page.title,
        description: &page.description,
        place: &address(page),
        picture: (PICTURE, "How many sequences one GPU can train on, and what fills its memory"),
        root: root(page),
    };
    crawled(&about, site) + &structured(page.slug, &page.title, &page.description, site)
}

/// The template with the files of the build as they are called from a page from which `root` leads to the first one: Trunk
/// writes `./NAME`. `own` is the address of the page, seen from the first one.
pub fn rooted(template: &str, root: &str, own: &str, site: &Address) -> String {
    let mut html = String::with_capacity(template.len());
    let mut done = 0;
    for tag in tags(template) {
        // A canonical address is the page's own.
        let is_own = tag.attribute("rel").is_some_and(|rel| rel.value == "canonical");
        for attribute in tag.attributes.iter().filter(|attribute| ["href", "src"].contains(&attribute.name)) {
            let Some(file) = attribute.value.strip_prefix("./") else { continue };
            let to = match site.site() {
                Some(site) if is_own => format!("{site}{own}"),
                None if is_own && own.ends_with(".html") => own.to_owned(),
                None if is_own => continue,
                _ => format!("{root}{file}"),
            };
            html.push_str(&template[done..attribute.span.start]);
            html += &format!("{}=\"{to}\"", attribute.name);
            done = attribute.span.end;
        }
    }
    html + &template[done..]
}

/// Every page, and the places that it has: what an address with a fragment or a figure's name is looked up in. Left out
/// are sources and terms of the glossary, places with the name of a figure of their page, and what is called by another
/// place of its page, with more behind a dash: the page finds them by that (index.html). Worked problems are asked for on
/// their own page alone.
fn places(pages: &[Page], places: &Places) -> Value {
    let by_kind = |id: &str| ["source-", "term-", "question-", "problem-"].iter().any(|kind| id.starts_with(kind));
    let is_found = |id: &str| {
        let figure = places.pages_with(&format!("embed-{id}"));
        let mut shorter = iter::successors(id.rsplit_once('-'), |(start, _)| start.rsplit_once('-'));
        figure.or_else(|| shorter.find_map(|(start, _)| places.pages_with(start))) == places.pages_with(id)
    };
    let of = |page: &Page| {
        let ids = places.on(page.slug).filter(|id| !by_kind(id) && !is_found(id));
        ids.collect::<Vec<_>>().join(" ")
    };
    Value::Object(pages.iter().map(|page| (address(page), of(page).into())).collect())
}

/// The part of the program that has the sentences, as `src/sentences/mod.rs` names it.
const SENTENCES: &str = "sentences";

/// The parts of the program that each page needs as it is read.
pub fn parts(pages: &[Page], figures: &Figures) -> Result<Vec<BTreeSet<String>>> {
    let of = |page: &Page| {
        let names = page.sections.iter().flat_map(|section| &section.figures);
        let has_sentences = page.sections.iter().any(|section| !section.sentences.is_empty());
        let told = has_sentences.then_some(SENTENCES);
        names.map(|name| figures.part(name)).chain(told.map(Ok)).map(|part| Ok(part?.to_owned())).collect()
    };
    pages.iter().map(of).collect()
}

/// The part of the program that has each figure of a page, and the files of each part, that of the sentences among them
/// where the page has some.
fn fetched(names: &[&str], has_sentences: bool, parts: &Parts) -> Result<Value> {
    let (mut of, mut files) = (Map::new(), BTreeMap::new());
    for name in names {
        let part = parts.figures.part(name)?;
        of.insert((*name).to_owned(), part.into());
        files.insert(part, parts.program.part(part)?);
    }
    if has_sentences {
        files.insert(SENTENCES, parts.program.part(SENTENCES)?);
    }
    Ok(json!({ "of": of, "files": files }))
}

/// The digests of all scripts that the page imports, as an import map has them.
fn modules(parts: &Parts, root: &str) -> Value {
    let desk = (format!("{}.js", parts.desk.name), parts.desk.script.as_str());
    let search = (parts.search.name.clone(), parts.search.digest.as_str());
    let all = parts.program.scripts().chain([desk, (ASKING.to_owned(), parts.asking), search]);
    let integrity = all.map(|(file, digest)| (format!("{root}{file}"), format!("sha256-{digest}").into()));
    json!({ "integrity": integrity.collect::<Map<String, Value>>() })
}

/// A way to another page, which takes the configuration along.
pub fn way(page: &Page, text: &str, rest: &str) -> String {
    way_to(page, "", text, rest)
}

/// A way to a place of another page, `#id`.
pub fn way_to(page: &Page, place: &str, text: &str, rest: &str) -> String {
    format!("<a href=\"{{{{root}}}}{}{place}\" data-way{rest}>{text}</a>", address(page))
}

fn contents(page: &Page) -> String {
    let entries = page
        .sections
        .iter()
        .map(|section| format!("<li><a href=\"#{}\">{}</a></li>", section.id, escaped(&section.label)));
    format!("<ol>{}</ol>", entries.collect::<String>())
}

/// The pages before and after a page.
fn beside(pages: &[Page], at: usize) -> (Option<&Page>, Option<&Page>) {
    (at.checked_sub(1).map(|before| &pages[before]), pages.get(at + 1))
}

fn neighbours(pages: &[Page], at: usize) -> String {
    let (before, after) = beside(pages, at);
    let ways = [("Before", " rel=\"prev\"", before), ("Next", " rel=\"next\"", after)];
    let ways = ways.into_iter().filter_map(|(word, rel, page)| {
        let page = page?;
        Some(way(page, &format!("<span>{word}</span> {}", escaped(&page.heading)), rel))
    });
    ways.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Section;

    fn page(slug: &'static str, name: &str) -> Page {
        let section = |id: &str, label: &str| Section {
            id: id.to_owned(),
            label: label.to_owned(),
            html: String::new(),
            figures: Vec::new(),
            sentences: Vec::new(),
            ids: vec![id.to_owned()],
            words: 0,
        };
        Page {
            slug,
            name: name.to_owned(),
            title: format!("{name} · bmax"),
            description: String::new(),
            heading: format!("All about {name}"),
            begins: Beginning::Site,
            sections: vec![section("one", "One & two"), section("three", "Three")],
        }
    }

    #[test]
    fn files_of_the_build_are_called_from_where_the_page_is_and_a_canonical_address_is_its_own() {
        let template = "<link href=./a.css rel=stylesheet><link href=./ rel=canonical><a href=\"#x\">y</a>";
        let below = "<link href=\"../a.css\" rel=stylesheet><link href=./ rel=canonical><a href=\"#x\">y</a>";
        let none = Address::read("").expect("none");
        assert_eq!(rooted(template, "../", "memory/", &none), below);
        assert_eq!(rooted(template, "./", "", &none), below.replace("../", "./"));
        assert!(
            rooted(template, "./", "catalogue.html", &none).contains("<link href=\"catalogue.html\" rel=canonical>")
        );
        let known = Address::read("https://example.org/").expect("an address");
        let whole = below.replace("href=./ ", "href=\"https://example.org/memory/\" ");
        assert_eq!(rooted(template, "../", "memory/", &known), whole);
    }

    #[test]
    fn the_contents_lead_to_every_section() {
        let entries = "<li><a href=\"#one\">One &amp; two</a></li><li><a href=\"#three\">Three</a></li>";
        assert_eq!(contents(&page("", "Home")), format!("<ol>{entries}</ol>"));
    }

    #[test]
    fn the_first_page_has_none_before_it_and_the_last_none_after() {
        let pages = [page("", "Home"), page("memory", "Memory"), page("room", "Room")];
        let before = "<a href=\"{{root}}\" data-way rel=\"prev\"><span>Before</span> All about Home</a>";
        let next = "<a href=\"{{root}}room/\" data-way rel=\"next\"><span>Next</span> All about Room</a>";
        assert_eq!(neighbours(&pages, 1), format!("{before}{next}"));
        assert!(!neighbours(&pages, 0).contains("prev") && !neighbours(&pages, 2).contains("next"));
    }

    #[test]
    fn an_address_is_looked_up_among_the_places_of_every_page() {
        let pages = [page("", "Home")];
        assert_eq!(places(&pages, &Places::of(&pages)), json!({ "": "one three" }));
        let grid = "<p id=\"grid\"></p><h2 id=\"grid-title\"></h2><p id=\"a-help\"></p><p id=\"source-x\"></p>\
            <p id=\"term-x\"></p><p id=\"embed-one\"></p>";
        let mut pages = pages;
        pages[0].sections[0].figures.push("grid".to_owned());
        let all = Places::of(&pages).with_figures(&pages, &[("grid", grid)]);
        // What belongs to another place is found by its name.
        assert_eq!(places(&pages, &all), json!({ "": "a-help embed-one grid three" }));
    }
}
