//! Links between the pages. An author writes `#id`, wherever the id is, `/memory/` for a page and `/catalogue.html`
//! for a file. `?v=3&gpus=4#id` opens a configuration at a place.

use std::collections::BTreeMap;

use bmax::tour;

use super::super::Result;
use super::super::markup::tags;
use super::Page;

/// The files beside the pages that text may lead to.
const FILES: [&str; 1] = ["catalogue.html"];

/// The figure that the tour leads over. A card of the tour is a place of its page, though nothing there has such an id:
/// the program opens it.
const OF_THE_TOUR: &str = "answer";

/// Stands in links for the way from a page to the root of the site.
pub const ROOT: &str = "{{root}}";

/// Which pages have which id. A figure that stands on several pages has its places on each of them; links from elsewhere
/// lead to the first.
pub struct Places {
    pages: Vec<&'static str>,
    ids: BTreeMap<String, Vec<&'static str>>,
}

impl Places {
    pub fn of(pages: &[Page]) -> Self {
        let ids = pages.iter().flat_map(|page| page.sections.iter().map(move |section| (page.slug, &section.ids)));
        let ids = ids.flat_map(|(slug, ids)| ids.iter().map(move |id| (id.clone(), slug)));
        let has_tour = |page: &&Page| {
            page.sections.iter().any(|section| section.figures.iter().any(|figure| figure == OF_THE_TOUR))
        };
        let tour = pages.iter().find(has_tour).map(|page| tour::places().map(|place| (place, page.slug)));
        let mut places = Self { pages: pages.iter().map(|page| page.slug).collect(), ids: BTreeMap::new() };
        places.extend(ids.chain(tour.into_iter().flatten()));
        places
    }

    fn extend(&mut self, ids: impl Iterator<Item = (String, &'static str)>) {
        for (id, page) in ids {
            let pages = self.ids.entry(id).or_default();
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
    }

    /// The places inside the figures as well, which are on the pages that have the figures.
    pub fn with_figures(mut self, pages: &[Page], figures: &[(&str, &str)]) -> Self {
        for page in pages {
            let of_page = page.sections.iter().flat_map(|section| &section.figures);
            let html = of_page.filter_map(|name| Some(figures.iter().find(|(known, _)| known == name)?.1));
            let ids = html.flat_map(tags).filter_map(|tag| Some((tag.attribute("id")?.value.to_owned(), page.slug)));
            self.extend(ids.collect::<Vec<_>>().into_iter());
        }
        self
    }

    /// The pages that have an id, in the order of the site.
    pub fn pages_with(&self, id: &str) -> Option<&[&'static str]> {
        self.ids.get(id).map(Vec::as_slice)
    }

    /// The ids of a page, of its figures too where these are known.
    pub fn on(&self, page: &str) -> impl Iterator<Item = &str> {
        self.ids.iter().filter(move |(_, pages)| pages.contains(&page)).map(|(id, _)| id.as_str())
    }

    /// The page that has an id.
    pub fn page_of(&self, id: &str) -> Option<&'static str> {
        self.ids.get(id).map(|pages| pages[0])
    }

    /// Markup as it stands on a page, with the way to each place that its links name. What is rendered for a figure
    /// goes through here, too.
    pub fn resolved(&self, html: &str, page: &str) -> Result<String> {
        let mut resolved = String::with_capacity(html.len());
        let mut done = 0;
        for tag in tags(html) {
            let Some(href) = tag.attribute("href") else { continue };
            resolved.push_str(&html[done..href.span.start]);
            let way = self.way(href.value, page)?;
            // The configuration travels along the ways to other pages (index.html).
            let is_within = way.starts_with(ROOT) && !FILES.iter().any(|file| way.ends_with(file));
            // One that brings its own takes no other along.
            let mark = if way.contains('?') { "data-opens" } else { "data-way" };
            let is_new = is_within && tag.attribute(mark).is_none();
            resolved.push_str(&format!("href=\"{way}\""));
            if is_new {
                resolved.push_str(&format!(" {mark}"));
            }
            done = href.span.end;
        }
        resolved.push_str(&html[done..]);
        Ok(resolved)
    }

    fn way(&self, link: &str, page: &str) -> Result<String> {
        if let Some(id) = link.strip_prefix('#') {
            let there = self.pages_with(id).ok_or_else(|| format!("no page has the id {link}"))?;
            return Ok(match there[0] {
                _ if there.contains(&page) => link.to_owned(),
                "" => format!("{ROOT}{link}"),
                there => format!("{ROOT}{there}/{link}"),
            });
        }
        if let Some(configured) = link.strip_prefix('?') {
            return self.configured(configured);
        }
        if let Some(path) = link.strip_prefix('/') {
            let is_page =
                self.pages.iter().any(|slug| path == format!("{slug}/") || (slug.is_empty() && path.is_empty()));
            if is_page || FILES.contains(&path) {
                return Ok(format!("{ROOT}{path}"));
            }
            return Err(format!("the link {link} leads nowhere: a page is written /memory/, a file /catalogue.html"));
        }
        if link.starts_with("https://") || link.starts_with(ROOT) {
            return Ok(link.to_owned());
        }
        Err(format!("the link {link} is none of #id, ?configuration#id, /page/ and https://…"))
    }

    /// The way to a configuration at a place. It names the page even where it is the present one: the address of a
    /// page that is open has another query.
    fn configured(&self, link: &str) -> Result<String> {
        let Some((query, id)) = link.split_once('#') else {
            return Err(format!("the link ?{link} names no place: ?configuration#id"));
        };
        let there = self.pages_with(id).ok_or_else(|| format!("no page has the id #{id}"))?[0];
        if let Some(fault) = misread(query) {
            return Err(format!("the link ?{link}: {fault}"));
        }
        let page = if there.is_empty() { String::new() } else { format!("{there}/") };
        Ok(format!("{ROOT}{page}?{query}#{id}"))
    }
}

/// What is wrong with the query of a link, as it stands in an attribute.
fn misread(query: &str) -> Option<String> {
    let read = bmax::link::decode(&query.replace("&amp;", "&"));
    let notices = read.notices.iter().map(ToString::to_string).collect::<Vec<_>>();
    (!notices.is_empty()).then(|| notices.join(" "))
}

/// Gives every link of the site its way. Each fault is named with its section.
pub fn link(pages: &mut [Page]) -> Result<()> {
    let places = Places::of(pages);
    let mut faults = Vec::new();
    for page in pages {
        for section in &mut page.sections {
            match places.resolved(&section.html, page.slug) {
                Ok(html) => section.html = html,
                Err(fault) => faults.push(format!("/{}#{}: {fault}", page.slug, section.id)),
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::super::check::tests::site;
    use super::*;

    fn way(link: &str, page: &str) -> Result<String> {
        let pages = site(&[("", "## A {#a}\n"), ("memory", "## B {#b}\n")]);
        Places::of(&pages).resolved(&format!("<a class=\"x\" href=\"{link}\">y</a>"), page)
    }

    #[test]
    fn a_link_leads_to_the_page_that_has_the_id() {
        for (link, page, found) in [
            ("#a", "", "#a"),
            ("#b", "memory", "#b"),
            ("#a", "memory", "{{root}}#a"),
            ("#b", "", "{{root}}memory/#b"),
            ("/", "memory", "{{root}}"),
            ("/memory/", "", "{{root}}memory/"),
            ("/catalogue.html", "memory", "{{root}}catalogue.html"),
            ("https://example.org/#a", "memory", "https://example.org/#a"),
        ] {
            let mark = if found.starts_with(ROOT) && !found.ends_with(".html") { " data-way" } else { "" };
            assert_eq!(way(link, page), Ok(format!("<a class=\"x\" href=\"{found}\"{mark}>y</a>")));
        }
    }

    #[test]
    fn a_link_with_a_configuration_opens_it_at_its_place_and_takes_no_other_along() {
        for (link, page, found) in [
            ("?v=3&amp;gpus=4#b", "", "{{root}}memory/?v=3&amp;gpus=4#b"),
            ("?v=3&amp;gpus=4#b", "memory", "{{root}}memory/?v=3&amp;gpus=4#b"),
            ("?v=3#a", "memory", "{{root}}?v=3#a"),
        ] {
            let written = format!("<a class=\"x\" href=\"{found}\" data-opens>y</a>");
            assert_eq!(way(link, page), Ok(written.clone()));
            let pages = site(&[("", "## A {#a}\n"), ("memory", "## B {#b}\n")]);
            assert_eq!(Places::of(&pages).resolved(&written, page), Ok(written), "the second time");
        }
        for (link, what) in [("?v=3", "names no place"), ("?v=3#c", "#c"), ("?v=3&amp;gpus=none#a", "none")] {
            assert!(way(link, "").expect_err(link).contains(what), "{link}");
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_refused() {
        for link in ["#c", "/memory", "/nowhere/", "/other.html", "memory/", "http://example.org", ""] {
            assert!(way(link, "").is_err(), "{link}");
        }
        let mut pages = site(&[("", "## A {#a}\n\n[x](#nowhere)\n")]);
        assert_eq!(link(&mut pages), Err("/#a: no page has the id #nowhere".to_owned()));
    }

    #[test]
    fn a_place_inside_a_figure_is_on_the_page_of_the_figure() {
        let pages = site(&[("", "## A {#a}\n"), ("memory", "## B {#b}\n\n```figure x\nc\n```\n")]);
        let figures = [("x", "<p id=\"inside\"><a href=\"#a\">y</a></p>")];
        let places = Places::of(&pages).with_figures(&pages, &figures);
        assert_eq!(
            places.resolved("<a href=\"#inside\">y</a>", ""),
            Ok("<a href=\"{{root}}memory/#inside\" data-way>y</a>".into())
        );
        assert!(places.resolved(figures[0].1, "memory").expect("it is there").contains("href=\"{{root}}#a\""));
    }

    #[test]
    fn a_figure_of_two_pages_is_found_on_the_page_itself_and_from_elsewhere_on_the_first() {
        let figure = |id: &str| format!("## A {{#{id}}}\n\n```figure x\nc\n```\n");
        let pages = site(&[("", &figure("a")), ("memory", &figure("b")), ("room", "## C {#c}\n")]);
        let places = Places::of(&pages).with_figures(&pages, &[("x", "<p id=\"inside\"></p>")]);
        for link in ["#x", "#inside"] {
            let way = |page: &str| places.resolved(&format!("<a href=\"{link}\">y</a>"), page);
            for page in ["", "memory"] {
                assert_eq!(way(page), Ok(format!("<a href=\"{link}\">y</a>")));
            }
            assert_eq!(way("room"), Ok(format!("<a href=\"{{{{root}}}}{link}\" data-way>y</a>")));
        }
    }

    #[test]
    fn a_card_of_the_tour_is_a_place_of_the_page_with_its_figure() {
        let pages = site(&[("", "## A {#a}\n\n```figure answer\nc\n```\n"), ("teach", "## B {#b}\n")]);
        let way = |page: &str| Places::of(&pages).resolved("<a href=\"#tour-12\">y</a>", page);
        assert_eq!(way(""), Ok("<a href=\"#tour-12\">y</a>".into()));
        assert_eq!(way("teach"), Ok("<a href=\"{{root}}#tour-12\" data-way>y</a>".into()));
        assert!(Places::of(&pages).resolved("<a href=\"#tour-13\">y</a>", "").is_err());
    }

    #[test]
    fn linking_twice_changes_nothing() {
        let mut pages = site(&[("", "## A {#a}\n\n[x](#b)\n"), ("memory", "## B {#b}\n")]);
        link(&mut pages).expect("every link leads somewhere");
        let once = pages[0].sections[1].html.clone();
        assert!(once.contains("href=\"{{root}}memory/#b\""), "{once}");
        link(&mut pages).expect("every link leads somewhere");
        assert_eq!(pages[0].sections[1].html, once);
    }
}
