//! The two pages without figures and program: the catalogue, and what a host shows for an address of no page. Both are
//! the template of every page, less what figures need.

use std::path::Path;

use super::discovery::{About, tags as crawled};
use super::markup::{escaped, tags};
use super::navigation::CATALOGUE;
use super::pages::{Frame, Parts, filled_in, rooted, way};
use super::previews::PICTURE;
use super::text::Page;
use super::{Result, read, write};

/// What a host shows for an address that names no page.
const MISSING: &str = "404.html";

/// The text of the catalogue, which src/bin/generate writes.
const TEXT: &str = include_str!("catalogue.html");

/// Between these the template has what only a page with figures needs.
const OPEN: &str = "{{figures}}";
const CLOSE: &str = "{{/figures}}";

/// The sheets that the page of no address carries, since it does not know where the site's lies.
const SHEETS: [&str; 5] = ["tokens", "base", "layout", "prose", "header"];

/// The template with what only a page with figures needs.
pub fn with_figures(template: &str) -> String {
    template.replace(OPEN, "").replace(CLOSE, "")
}

/// The template without that.
fn without_figures(template: &str) -> Result<String> {
    let mut rest = template;
    let mut plain = String::with_capacity(template.len());
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (_, after) = after.split_once(CLOSE).ok_or_else(|| format!("the template has {OPEN} without {CLOSE}"))?;
        plain += before;
        rest = after;
    }
    Ok(plain + rest)
}

/// Writes both.
pub fn write_them(folder: &Path, template: &str, pages: &[Page], parts: &Parts) -> Result<()> {
    let template = without_figures(template)?;
    write(&folder.join(CATALOGUE), catalogue(&template, pages, parts)?)?;
    write(&folder.join(MISSING), missing(&template, pages, parts)?)
}

/// The script of a page, whose names are its own.
fn scripted(source: &str) -> String {
    format!("<script>\n{{\n{source}}}\n</script>")
}

const THEME: &str = include_str!("theme.js");

fn styled(sheets: &str) -> String {
    format!("<style>{sheets}{}</style>", include_str!("plain.css"))
}

fn catalogue(template: &str, pages: &[Page], parts: &Parts) -> Result<String> {
    let title = "bmax: models, devices and entries, and where their numbers come from";
    let description = "The models and devices that bmax knows, the entries of its ledger and the numbers that it quotes, \
                       each with its source.";
    let about = About {
        title,
        description,
        place: CATALOGUE,
        picture: (PICTURE, "How many sequences one GPU can train on, and what fills its memory"),
        root: "./",
    };
    let frame = Frame {
        title,
        description,
        crawled: crawled(&about, parts.address),
        styles: styled(""),
        shown: None,
        begins: bmax::link::Beginning::Site,
        main: parts.places.resolved(TEXT, CATALOGUE)? + &scripted(THEME),
        root: "./",
    };
    filled_in(&rooted(template, "./", CATALOGUE, parts.address), &frame, pages, parts, Vec::new(), &[])
}

/// It may stand for any address, so that it carries its styles and finds out by itself where the site lies.
fn missing(template: &str, pages: &[Page], parts: &Parts) -> Result<String> {
    let list: String =
        pages.iter().map(|page| format!("<li>{}</li>", way(page, &escaped(&page.heading), ""))).collect();
    let sheets = SHEETS.iter().map(|name| read(Path::new(&format!("style/{name}.css"))));
    let frame = Frame {
        title: "bmax: no such page",
        description: "There is no page at this address.",
        crawled: "<meta name=\"robots\" content=\"noindex\">".to_owned(),
        styles: styled(&sheets.collect::<Result<String>>()?),
        shown: None,
        begins: bmax::link::Beginning::Site,
        main: include_str!("missing.html").replace("{{list}}", &list)
            + &scripted(THEME)
            + &scripted(include_str!("missing.js")),
        root: "/",
    };
    filled_in(&without_links(template), &frame, pages, parts, Vec::new(), &[])
}

/// A page without the files that its head calls.
fn without_links(template: &str) -> String {
    let mut html = String::with_capacity(template.len());
    let mut done = 0;
    for tag in tags(template).iter().filter(|tag| tag.is("link")) {
        html += &template[done..tag.span.start];
        done = tag.span.end;
    }
    html + &template[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_page_has_all_of_the_template_but_what_figures_need() {
        let template = "a {{figures}}b{{/figures}} c {{figures}}d{{/figures}}";
        assert_eq!(without_figures(template).as_deref(), Ok("a  c "));
        assert_eq!(with_figures(template), "a b c d");
        assert!(without_figures("a {{figures}} b").is_err());
    }

    #[test]
    fn the_page_of_no_address_calls_no_file_of_a_folder_that_it_does_not_know() {
        assert_eq!(
            without_links("<head><link href=./a.css rel=stylesheet><meta name=x></head>"),
            "<head><meta name=x></head>"
        );
    }
}
