//! The figures and sentences that were rendered for the pages, the styles that they need, and the part of the program
//! that has each figure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bmax::link::Beginning;
use bmax::plot::Plot;

use super::markup::tags;
use super::{Result, paths, read};

/// One figure.
struct Figure {
    /// As a page begins with it.
    html: BTreeMap<Beginning, String>,
    /// The part of the program that has it; the frame's have none.
    part: Option<String>,
    /// Its style sheet; empty where it needs none of its own.
    sheet: String,
    /// What it draws between two axes, for the default configuration; the first where it has several.
    plot: Option<Plot>,
}

/// All figures and sentences, by name.
#[derive(Default)]
pub struct Figures {
    by_name: BTreeMap<String, Figure>,
    /// The sentences with numbers to drag, as HTML.
    sentences: BTreeMap<String, String>,
    /// What stands in the place of style attributes, by the number that elements name it by.
    rules: BTreeMap<String, String>,
}

impl Figures {
    /// Reads the folder into which they were rendered (src/site/prerender.rs), and their style sheets.
    pub fn read(rendered: &Path, sources: &Path) -> Result<Self> {
        let listed = read(&rendered.join("parts.txt"))?;
        let parts: BTreeMap<&str, &str> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
        let mut by_beginning: BTreeMap<String, BTreeMap<Beginning, String>> = BTreeMap::new();
        for beginning in Beginning::ALL {
            for (name, html) in rendered_in(&rendered.join(beginning.key()))? {
                by_beginning.entry(name).or_default().insert(beginning, html);
            }
        }
        let mut by_name = BTreeMap::new();
        for (name, html) in by_beginning {
            let sheet = sources.join(name.replace('-', "_")).join("style.css");
            let sheet = if sheet.is_file() { read(&sheet)? } else { String::new() };
            let part = parts.get(name.as_str()).map(|part| (*part).to_owned());
            let plot = rendered.join(format!("{name}.plot"));
            let plot = if plot.is_file() { Plot::from_text(&read(&plot)?) } else { None };
            by_name.insert(name, Figure { html, part, sheet, plot });
        }
        let rules = read(&rendered.join("rules.css"))?;
        let numbered = |rule: &str| Some((rule.split('"').nth(1)?.to_owned(), rule.to_owned()));
        let sentences = rendered_in(&rendered.join("sentences"))?;
        Ok(Self { by_name, sentences, rules: rules.lines().filter_map(numbered).collect() })
    }

    /// Every figure of the text as HTML, with its name, as most pages begin with it.
    pub fn all(&self) -> Vec<(&str, &str)> {
        let named = self.by_name.iter().filter(|(_, figure)| figure.part.is_some());
        named.filter_map(|(name, figure)| Some((name.as_str(), figure.html.get(&Beginning::Site)?.as_str()))).collect()
    }

    /// The name of every sentence.
    pub fn sentences(&self) -> Vec<&str> {
        self.sentences.keys().map(String::as_str).collect()
    }

    fn get(&self, name: &str) -> Result<&Figure> {
        self.by_name.get(name).ok_or_else(|| format!("no figure is called “{name}”"))
    }

    /// A figure's HTML on a page that begins so.
    pub fn html(&self, name: &str, beginning: Beginning) -> Result<&str> {
        let html = self.get(name)?.html.get(&beginning);
        html.map(String::as_str).ok_or_else(|| format!("“{name}” was not rendered for “{}”", beginning.key()))
    }

    /// What a figure draws between two axes, if it does.
    pub fn plot(&self, name: &str) -> Option<&Plot> {
        self.by_name.get(name)?.plot.as_ref()
    }

    /// The part of the program that has a figure.
    pub fn part(&self, name: &str) -> Result<&str> {
        self.get(name)?.part.as_deref().ok_or_else(|| format!("“{name}” has no part of its own"))
    }

    /// A text with each of these figures in its place, `{{figure:NAME}}`, as a page begins with it, and each of these
    /// sentences in its own, `{{sentence:NAME}}`.
    pub fn placed(&self, text: &str, names: &[&str], sentences: &[&str], beginning: Beginning) -> Result<String> {
        let mut text = text.to_owned();
        for name in names {
            let place = format!("{{{{figure:{name}}}}}");
            if !text.contains(&place) {
                return Err(format!("the figure “{name}” has no place in the text"));
            }
            text = text.replace(&place, self.html(name, beginning)?);
        }
        for name in sentences {
            let html = self.sentences.get(*name).ok_or_else(|| format!("no sentence is called “{name}”"))?;
            let placed = format!("<span data-sentence=\"{name}\">{html}</span>");
            text = text.replace(&format!("{{{{sentence:{name}}}}}"), &placed);
        }
        Ok(text)
    }

    /// What the figures and sentences of a page need of styles beside the sheet of all pages. It stands in the page itself, so that
    /// no page waits for the styles of another's figures.
    pub fn styles(&self, names: &[&str], sentences: &[&str], beginning: Beginning) -> String {
        let mut styles: String =
            names.iter().filter_map(|name| self.by_name.get(*name)).map(|figure| figure.sheet.as_str()).collect();
        let framed = self.by_name.values().filter(|figure| figure.part.is_none());
        let shown = names.iter().filter_map(|name| self.by_name.get(*name)).chain(framed);
        let told = sentences.iter().filter_map(|name| self.sentences.get(*name));
        let html = shown.filter_map(|figure| figure.html.get(&beginning)).chain(told);
        let numbers: BTreeSet<String> = html.flat_map(|html| style_numbers(html)).collect();
        for rule in numbers.iter().filter_map(|number| self.rules.get(number)) {
            styles.push_str(rule);
        }
        styles
    }
}

/// The files of HTML in a folder, by name.
fn rendered_in(folder: &Path) -> Result<BTreeMap<String, String>> {
    let is_html = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "html");
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths(folder)?.into_iter().filter(is_html).map(|path| Ok((name(&path), read(&path)?))).collect()
}

/// The numbers of the rules that the elements of a figure or sentence name.
fn style_numbers(html: &str) -> Vec<String> {
    tags(html).iter().filter_map(|tag| Some(tag.attribute("data-style")?.value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let figure = |html: &str, part: Option<&str>, sheet: &str| Figure {
            html: Beginning::ALL.map(|beginning| (beginning, html.replace('#', beginning.key()))).into(),
            part: part.map(str::to_owned),
            sheet: sheet.to_owned(),
            plot: None,
        };
        Figures {
            by_name: BTreeMap::from([
                ("grow".to_owned(), figure("<p data-style=\"7\">#</p>", Some("first"), ".grow {}\n")),
                ("step".to_owned(), figure("<p data-style=\"8\">4</p>", Some("course"), "")),
                ("answer-bar".to_owned(), figure("<b data-style=\"9\">5</b>", None, "")),
            ]),
            sentences: BTreeMap::from([("logits".to_owned(), "take <b data-style=\"6\">6</b>".to_owned())]),
            rules: ["6", "7", "8", "9"]
                .map(|number| (number.to_owned(), format!("[data-style=\"{number}\"]{{}}")))
                .into(),
        }
    }

    #[test]
    fn every_figure_has_a_place_and_every_place_a_figure() {
        let placed = |text: &str, names: &[&str]| figures().placed(text, names, &[], Beginning::Site);
        let there = "<div><p data-style=\"7\">site</p></div>".to_owned();
        assert_eq!(placed("<div>{{figure:grow}}</div>", &["grow"]), Ok(there));
        assert_eq!(placed("<div></div>", &["grow"]), Err("the figure “grow” has no place in the text".to_owned()));
        assert_eq!(placed("{{figure:stop}}", &["stop"]), Err("no figure is called “stop”".to_owned()));
    }

    #[test]
    fn a_figure_is_placed_as_its_page_begins_with_it() {
        let placed = figures().placed("{{figure:grow}}", &["grow"], &[], Beginning::Workshop);
        assert_eq!(placed, Ok("<p data-style=\"7\">workshop</p>".to_owned()));
    }

    #[test]
    fn a_page_has_the_styles_of_its_own_figures_and_of_the_frame_and_no_others() {
        let styles = |sentences: &[&str]| figures().styles(&["grow"], sentences, Beginning::Site);
        assert_eq!(styles(&[]), ".grow {}\n[data-style=\"7\"]{}[data-style=\"9\"]{}");
        assert!(styles(&["logits"]).contains("[data-style=\"6\"]{}"));
    }

    #[test]
    fn a_sentence_stands_in_its_line_where_the_program_finds_it() {
        let placed = |names: &[&str]| figures().placed("<p>They {{sentence:logits}}.</p>", &[], names, Beginning::Site);
        let there = "<p>They <span data-sentence=\"logits\">take <b data-style=\"6\">6</b></span>.</p>".to_owned();
        assert_eq!(placed(&["logits"]), Ok(there));
        assert_eq!(placed(&["other"]), Err("no sentence is called “other”".to_owned()));
    }

    #[test]
    fn the_figures_of_the_text_are_those_with_a_part_of_the_program() {
        assert_eq!(figures().all().into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["grow", "step"]);
        assert_eq!(figures().part("step"), Ok("course"));
        assert!(figures().part("answer-bar").is_err());
    }
}
