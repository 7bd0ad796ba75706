//! Every figure with the line that puts it into somebody's notes: what a paragraph `{{figure-lines}}` of the text becomes.

use bmax::Scenario;
use bmax::embed::Embed;
use bmax::link::Pinned;
use bmax::snippet::{HEIGHT, Host, Share};

use super::markup::escaped;
use super::pages::{address, way_to};
use super::previews::caption;
use super::text::Page;

/// The paragraph as the text's own translation leaves it.
const PLACE: &str = "<p>{{figure-lines}}</p>";

/// What stands for the address of the site, which nobody knows while the pages are written.
const SITE: &str = "BMAX";

/// A text with the list in its place, if it has one.
pub fn filled(html: &str, pages: &[Page]) -> String {
    if html.contains(PLACE) { html.replace(PLACE, &list(pages)) } else { html.to_owned() }
}

/// The figures of each page in their order, below the name of the page.
fn list(pages: &[Page]) -> String {
    let of = |page: &Page| {
        let figures = page.sections.iter().flat_map(|section| section.figures.iter().map(|name| (&section.html, name)));
        let lines: String = figures.filter_map(|(html, name)| line(page, html, name)).collect();
        if lines.is_empty() {
            lines
        } else {
            format!("<h4>{}</h4>\n<ul class=\"figure-lines\">\n{lines}</ul>\n", escaped(&page.name))
        }
    };
    pages.iter().map(of).collect()
}

/// A figure: what it shows, with the way to it, and its line in a fold. One press chooses the whole line.
fn line(page: &Page, html: &str, name: &str) -> Option<String> {
    let title = caption(html, name)?;
    let share = Share {
        page: &format!("{SITE}{}", address(page)),
        beginning: page.begins,
        site: SITE,
        scenario: &Scenario::default(),
        vs: &Pinned::NONE,
        title: &title,
        anchor: "",
    };
    let code = Host::Html.write(&share, &Embed::of(name), HEIGHT);
    // What comes behind the frame is said once, above the list.
    let code = code.lines().take_while(|line| !line.starts_with("<script")).collect::<Vec<_>>().join(" ");
    let to = way_to(page, &format!("#embed-{name}"), &escaped(&title), "");
    Some(format!(
        "<li>{to} <code>{name}</code><details><summary>The line for “{name}”</summary><pre class=\"code\" tabindex=\"0\"><code>{}</code></pre></details></li>\n",
        escaped(code.trim())
    ))
}
