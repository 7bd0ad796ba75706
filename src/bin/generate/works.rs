//! Works that are cited, as HTML.

use std::fmt::Write;

use bmax::course::sources::{self, CourseSource};
use bmax::source::{self, Source};

/// Text as HTML writes it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "’")
}

/// The row of the course's table that is this source of the estimator.
pub fn row_of(source: &Source) -> &'static CourseSource {
    sources::ALL.iter().find(|row| row.url == source.url).expect(source.short)
}

/// A link to a source of the list.
pub fn link(row: &CourseSource, text: &str) -> String {
    format!("<a href=\"#source-{}\">{}</a>", row.id, escaped(text))
}

pub fn cited(source: &Source) -> String {
    link(row_of(source), source.short)
}

/// One work of the list.
pub fn item(row: &CourseSource) -> String {
    let CourseSource { id, authors, year, title, url, used_for, .. } = row;
    let mut html =
        format!("<li id=\"source-{id}\">{} ({year}), <a href=\"{url}\">{}</a>", escaped(authors), escaped(title));
    if let Some(number) = row.arxiv() {
        _ = write!(html, ", arXiv {number}");
    }
    _ = write!(html, ". {}", escaped(used_for));
    // One repository may have been read for several things.
    let read: Vec<String> = source::ALL
        .iter()
        .filter(|source| source.url == *url)
        .map(|source| source.details())
        .map(|details| format!("{}; {}", escaped(details.locus), details.date))
        .collect();
    if !read.is_empty() {
        _ = write!(html, " <span class=\"soft\">Read for the estimator: {}.</span>", read.join(". "));
    }
    html + "</li>\n"
}
