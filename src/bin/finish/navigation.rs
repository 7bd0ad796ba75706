//! What the header of every page leads to: its groups, as one table, in the order of the site.

use super::markup::escaped;
use super::pages::way;
use super::text::Page;

/// What the header names: a page, or several behind one name.
pub enum Group {
    /// The page in this folder of `src/pages/`.
    Page(&'static str),
    /// Pages behind a name.
    Pages {
        name: &'static str,
        /// What is read one after another, each with its number and the minutes that reading it takes.
        chapters: &'static [&'static str],
        /// What belongs to them and has no place in the row.
        beside: &'static [&'static str],
    },
}

use Group::{Page as One, Pages as Several};

/// The groups. A page stands in one of them, and its line here is all that puts it into the header, between its
/// neighbours and into every list of pages. The first is the page at the root.
pub const GROUPS: [Group; 6] = [
    One("home"),
    One("workshop"),
    Several {
        name: "Course",
        chapters: &["memory", "room", "batch", "gpus", "networks"],
        beside: &["out-of-memory", "check", "questions", "sources"],
    },
    One("plan"),
    One("trust"),
    One("teach"),
];

impl Group {
    /// The folders of its pages.
    fn folders(&self) -> impl Iterator<Item = &'static str> + use<> {
        let (first, chapters, beside): (Option<&'static str>, &'static [_], &'static [_]) = match self {
            One(folder) => (Some(*folder), &[], &[]),
            Several { chapters, beside, .. } => (None, chapters, beside),
        };
        first.into_iter().chain(chapters.iter().copied()).chain(beside.iter().copied())
    }
}

/// The folder of every page, in the order of the site.
pub fn folders() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(Group::folders)
}

/// Words that a reader of such text reads in a minute, as a round figure below the 238 of silent reading (Brysbaert 2019,
/// doi.org/10.1016/j.jml.2019.104047), because numbers and formulas take longer.
const WORDS_A_MINUTE: usize = 230;

/// The minutes that reading a page takes, at least one.
fn minutes(page: &Page) -> usize {
    let words: usize = page.sections.iter().map(|section| section.words).sum();
    words.div_ceil(WORDS_A_MINUTE).max(1)
}

/// The pages of the header. `shown` is the slug of the page that they stand on, where it is one of them.
pub fn header(pages: &[Page], shown: Option<&str>) -> String {
    let find = |folder: &str| pages.iter().find(|page| page.folder() == folder);
    let link = |page: &Page, more: &str| {
        let current = if shown == Some(page.slug) { " aria-current=\"page\"" } else { "" };
        format!("<li>{}</li>", way(page, &format!("{}{more}", escaped(&page.name)), current))
    };
    let group = |group: &Group| match group {
        One(folder) => find(folder).map(|page| link(page, "")).unwrap_or_default(),
        Several { name, chapters, beside } => {
            let timed = |page: &Page| link(page, &format!(" <small>{} min</small>", minutes(page)));
            let chapters: String = chapters.iter().filter_map(|folder| find(folder)).map(timed).collect();
            let beside: String = beside.iter().filter_map(|folder| find(folder)).map(|page| link(page, "")).collect();
            let is_here = group.folders().filter_map(find).any(|page| shown == Some(page.slug));
            let current = if is_here { " aria-current=\"true\"" } else { "" };
            let name = escaped(name);
            format!(
                "<li><details><summary{current}>{name}</summary><div><ol>{chapters}</ol><ul>{beside}</ul></div></details></li>"
            )
        }
    };
    format!("<ul>{}</ul>", GROUPS.iter().map(group).collect::<String>())
}

/// The ways of the footer to what the build wrote beside the pages, and to the sources. `repository` is their address,
/// where the package declares one.
pub fn footer(repository: &str) -> String {
    let file = |(name, file): (&str, &str)| format!("<a href=\"{{{{root}}}}{file}\">{name}</a>");
    let files = [
        ("Models and GPUs", CATALOGUE),
        ("Command line", COMMAND_LINE),
        ("For programs", PROGRAMS),
        ("Licence", LICENCE),
    ];
    let sources = [("Source", ""), ("Issues", "/issues")];
    let elsewhere = |(name, place): (&str, &str)| format!("<a href=\"{}{place}\">{name}</a>", escaped(repository));
    let elsewhere = sources.map(elsewhere).into_iter().filter(|_| !repository.is_empty());
    format!("<p>{}</p>", files.map(file).into_iter().chain(elsewhere).collect::<Vec<_>>().join(" · "))
}

/// The page of the catalogue.
pub const CATALOGUE: &str = "catalogue.html";
/// The documentation of the command line, as text.
pub const COMMAND_LINE: &str = "command-line.txt";
/// The file that tells programs which answer for people how to ask, what comes back and how accurate it is.
pub const PROGRAMS: &str = "programs.txt";
/// The file that tells such programs where everything is, by the name that <https://llmstxt.org/> gives it.
pub const LLMS: &str = "llms.txt";
/// The licence, as text.
pub const LICENCE: &str = "licence.txt";

#[cfg(test)]
mod tests {
    use super::super::markup::tags;
    use super::super::text;
    use super::*;

    /// What is marked as the present one: how, and what it is called.
    fn current(html: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for tag in tags(html) {
            if let Some(kind) = tag.attribute("aria-current") {
                let name = html[tag.span.end..].split('<').next().unwrap_or_default().trim();
                found.push((kind.value.to_owned(), name.to_owned()));
            }
        }
        found
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned())).collect()
    }

    #[test]
    fn every_page_is_in_the_header_once_and_in_the_order_of_the_site() {
        let pages = text::site();
        let html = header(&pages, None);
        let found = tags(&html);
        let ways: Vec<&str> = found.iter().filter_map(|tag| Some(tag.attribute("href")?.value)).collect();
        let all: Vec<String> =
            pages.iter().map(|page| format!("{{{{root}}}}{}", super::super::pages::address(page))).collect();
        assert_eq!(ways, all);
        assert!(GROUPS.len() <= 6, "a row has room for six names");
    }

    #[test]
    fn the_page_that_is_shown_is_marked_and_so_is_its_group() {
        let pages = text::site();
        assert_eq!(current(&header(&pages, Some(""))), pairs(&[("page", "Calculator")]));
        assert_eq!(current(&header(&pages, Some("memory"))), pairs(&[("true", "Course"), ("page", "Memory")]));
        assert_eq!(current(&header(&pages, Some("sources"))), pairs(&[("true", "Course"), ("page", "Sources")]));
        assert_eq!(current(&header(&pages, None)), pairs(&[]));
    }

    #[test]
    fn a_chapter_says_how_many_minutes_its_words_take() {
        let mut pages = text::site();
        let page = pages.iter_mut().find(|page| page.slug == "memory").expect("the first chapter");
        page.sections.truncate(1);
        for (words, minutes) in [(0, 1), (230, 1), (231, 2), (2_300, 10)] {
            pages.iter_mut().find(|page| page.slug == "memory").expect("it").sections[0].words = words;
            let wanted = format!(">Memory <small>{minutes} min</small></a>");
            assert!(header(&pages, None).contains(&wanted), "{words}");
        }
    }

    #[test]
    fn the_footer_leads_to_the_sources_where_their_address_is_declared() {
        let none = footer("");
        assert!(none.contains("{{root}}licence.txt") && !none.contains("Source") && !none.contains("Issues"), "{none}");
        let some = footer("https://example.org/bmax");
        assert!(some.contains("<a href=\"https://example.org/bmax\">Source</a>"), "{some}");
        assert!(some.contains("<a href=\"https://example.org/bmax/issues\">Issues</a>"), "{some}");
    }
}
