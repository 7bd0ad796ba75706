//! The text of the site: Markdown with TeX in, sections of HTML with MathML out.
//!
//! A page is a folder of `src/pages/`, and a file of it is a section, in the order of the names. The dialect is told
//! in docs/development/text.md. Whoever puts a page together calls [`read()`], [`explain()`], [`link()`] and [`check()`] in this
//! order; the sections then hold `{{figure:NAME}}` where a figure goes, `{{sentence:NAME}}` where a sentence with numbers
//! to drag goes, and `{{root}}` where the way to the root of the site goes.

mod blocks;
mod check;
mod figure;
mod formula;
mod front;
mod glossary;
#[cfg(test)]
mod held;
mod inline;
mod links;
mod problems;
#[cfg(test)]
mod prose;
mod quoted;
mod section;
#[cfg(test)]
mod site;
mod starts;
mod table;
mod tour;
mod tree;
mod words;

pub use check::check;
pub use glossary::explain;
pub use links::{Places, link};
#[cfg(test)]
pub use site::{here, site};
pub use words::plain;

use std::path::Path;

use bmax::link::Beginning;

use super::navigation::folders;
use super::{Result, paths, read as read_file};
use front::Opening;
use section::Read;

/// The folder of the page at the root.
const ROOT: &str = "home";

/// A page with its text.
pub struct Page {
    /// Its folder on the site; empty for the page at the root.
    pub slug: &'static str,
    /// What the list of pages calls it.
    pub name: String,
    /// What a browser's tab and a search engine show.
    pub title: String,
    pub description: String,
    /// Its first heading, which is in the first section, too.
    pub heading: String,
    /// What its figures show where its address names no configuration.
    pub begins: Beginning,
    /// The first is the opening: it holds the heading of the page.
    pub sections: Vec<Section>,
}

impl Page {
    /// The folder of its text in `src/pages/`.
    pub fn folder(&self) -> &'static str {
        if self.slug.is_empty() { ROOT } else { self.slug }
    }
}

/// A section as it goes into the page.
pub struct Section {
    pub id: String,
    /// Its heading in the list of contents: a few words without markup.
    pub label: String,
    /// The whole element.
    pub html: String,
    /// The names of the figures that it has a place for.
    pub figures: Vec<String>,
    /// The names of the sentences that it has a place for.
    pub sentences: Vec<String>,
    /// Every id in it, its own among them.
    pub ids: Vec<String>,
    /// The words of its text; those of figures are not counted.
    pub words: usize,
}

/// Every page in the folder, in the order of the site.
pub fn read(folder: &Path) -> Result<Vec<Page>> {
    for entry in paths(folder)? {
        let name = file_name(&entry);
        if entry.is_dir() && !folders().any(|folder| folder == name) {
            return Err(format!("{}: no group has this page; the groups are in navigation.rs", entry.display()));
        }
    }
    folders().map(|name| page(&folder.join(name), if name == ROOT { "" } else { name })).collect()
}

/// The page in a folder.
fn page(folder: &Path, slug: &'static str) -> Result<Page> {
    let mut opening = None;
    let mut sections = Vec::new();
    for path in paths(folder)?.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let source = read_file(&path)?;
        let in_file = |fault: String| format!("{}: {fault}", path.display());
        let Read { section, opening: found } = section::read(&source, sections.is_empty()).map_err(in_file)?;
        opening = opening.or(found);
        sections.push(section);
    }
    let Opening { name, title, description, heading, begins, .. } =
        opening.ok_or_else(|| format!("{}: a page needs a file", folder.display()))?;
    Ok(Page { slug, name, title, description, heading, begins, sections })
}

/// The name of a file, or nothing where it is not text.
fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
