//! What each preview says.

use bmax::catalogue::{self, MODELS, ModelRow};
use bmax::chart::MemoryBar;
use bmax::link::{Beginning, Pinned};
use bmax::picture::{self, Scene};
use bmax::plot::Plot;
use bmax::starts::{STARTS, Start};
use bmax::{Answer, Scenario, b_max, estimate, format, link, preview};

use super::super::Result;
use super::super::figures::Figures;
use super::super::markup::unescaped;
use super::super::pages;
use super::super::text::{Page, plain};

/// A folder of the site, in words.
pub struct Preview {
    /// Seen from the first page.
    pub folder: String,
    pub title: String,
    /// What it belongs to.
    pub line: String,
    /// The answer, or what the figure is, in a sentence.
    pub sentence: String,
    /// What more there is to say.
    pub more: String,
    /// What is pressed by whoever is not led on.
    pub press: &'static str,
    /// Where it leads, seen from the first page.
    pub way: String,
    /// The figure that is put into somebody else’s page, with this configuration.
    pub figure: String,
    pub scenario: Scenario,
    /// The same with as many sequences as fit, which its picture shows.
    filled: Scenario,
    drawn: Drawn,
}

/// What its picture shows.
enum Drawn {
    /// The words of the answer, and the memory where that is counted.
    Answer { large: String, rest: String, is_counted: bool },
    /// A figure, with its plot if it has one.
    Figure { plot: Option<Plot>, is_chart: bool },
}

impl Preview {
    /// What search engines and chats show below the title.
    pub fn description(&self) -> String {
        match &self.drawn {
            Drawn::Answer { .. } => format!("{}: {} {}", self.title, self.sentence, self.more),
            Drawn::Figure { .. } => format!("{} {}", self.sentence, self.more),
        }
    }

    /// What the picture shows, for those who do not see it.
    pub fn shown(&self) -> String {
        match &self.drawn {
            Drawn::Answer { is_counted: true, .. } => {
                format!("{}. {} {}", self.title, self.sentence, bar(&self.filled).sentence())
            }
            Drawn::Answer { .. } => format!("{}. {}", self.title, self.sentence),
            Drawn::Figure { .. } => self.title.clone(),
        }
    }

    pub fn picture(&self) -> picture::Preview<'_> {
        let (answer, note, scene) = match &self.drawn {
            Drawn::Answer { large, rest, is_counted } => {
                let answer = Some((large.as_str(), rest.as_str()));
                if *is_counted {
                    (answer, "", Scene::Memory(&self.filled))
                } else {
                    (answer, &*self.more, Scene::Words)
                }
            }
            Drawn::Figure { plot: Some(plot), .. } => (None, "", Scene::Plot(plot)),
            Drawn::Figure { is_chart: true, .. } => (None, "", Scene::Chart(&self.scenario)),
            Drawn::Figure { .. } => (None, self.more.as_str(), Scene::Memory(&self.filled)),
        };
        picture::Preview { title: &self.title, answer, note, line: &self.line, scene }
    }
}

/// Every preview: figures in the order of the text, models in that of the catalogue, starting points.
pub fn all(pages: &[Page], figures: &Figures) -> Result<Vec<Preview>> {
    let mut previews = Vec::new();
    for page in pages {
        for section in &page.sections {
            for name in &section.figures {
                let preview = figure(page, &section.html, name, figures)?;
                // A figure of several pages is shown on the first.
                if previews.iter().all(|known: &Preview| known.folder != preview.folder) {
                    previews.push(preview);
                }
            }
        }
    }
    previews.extend(MODELS.iter().map(model));
    previews.extend(STARTS.iter().map(start));
    Ok(previews)
}

/// The picture of the site as a whole: its question, and the answer for the configuration that it opens with.
pub fn of_the_site() -> Preview {
    let scenario = Scenario::default();
    let title = "How many sequences can one GPU train on at once?".to_owned();
    let line = format::configuration(&scenario);
    Preview { line, ..answered(String::new(), title, String::new(), String::new(), scenario) }
}

fn figure(page: &Page, html: &str, name: &str, figures: &Figures) -> Result<Preview> {
    let title = caption(html, name).ok_or_else(|| format!("the figure “{name}” has no caption"))?;
    let scenario = Scenario::default();
    Ok(Preview {
        folder: format!("figure/{name}/"),
        line: format!("Figure · {}", page.name),
        sentence: format!("A live figure from “{}”: choose a model and GPUs, and its numbers follow.", page.heading),
        more: format!("It opens with {}.", format::configuration(&scenario)),
        press: "Open the figure",
        way: format!("{}{}#{name}", pages::address(page), query(page, &scenario)),
        figure: name.to_owned(),
        filled: preview::filled(&scenario),
        scenario,
        drawn: Drawn::Figure { plot: figures.plot(name).cloned(), is_chart: name == "chart" },
        title,
    })
}

/// The query by which a page shows the default: none, but where it begins with another configuration.
fn query(page: &Page, default: &Scenario) -> String {
    if page.begins == Beginning::Site {
        String::new()
    } else {
        format!("?{}", page.begins.link(default, &Pinned::NONE))
    }
}

/// The caption of a figure, as text.
pub fn caption(html: &str, name: &str) -> Option<String> {
    let figure = html.split_once(&format!("id=\"embed-{name}\""))?.1;
    let caption = figure.split_once("<figcaption")?.1.split_once('>')?.1.split_once("</figcaption>")?.0;
    Some(unescaped(&plain(caption)).split_whitespace().collect::<Vec<_>>().join(" "))
}

fn model(row: &ModelRow) -> Preview {
    let scenario = preview::of_model(row);
    let gpu = catalogue::device_row_of(&scenario).map_or("GPU", |(row, _)| row.name);
    let title = format!("{} on {} × {gpu}", row.name, scenario.cluster.gpus);
    let way = format!("?{}", link::encode(&scenario));
    // That of the default configuration, which a test holds this to.
    let more = "Full training with AdamW in bf16, sharded over the GPUs.".to_owned();
    answered(preview::of_slug(row.slug), title, more, way, scenario)
}

fn start(start: &Start) -> Preview {
    let (scenario, folder) = (start.scenario(), format!("start/{}/", start.id));
    let title = format!("{}: {}", start.name, start.with);
    if start.network.is_none() {
        return answered(folder, title, start.line.to_owned(), start.address(), scenario);
    }
    let answer = start.answer();
    let (large, unit) = answer.split_once(' ').unwrap_or((&answer, ""));
    Preview {
        folder,
        title,
        line: format!("How many {unit} fit on your GPU"),
        sentence: format!("{answer} fit on the GPU."),
        more: start.line.to_owned(),
        press: "Open it in bmax",
        way: start.address(),
        figure: "network".to_owned(),
        filled: scenario,
        scenario,
        drawn: Drawn::Answer { large: large.to_owned(), rest: format!("{unit} fit on the GPU"), is_counted: false },
    }
}

/// What stands beside the name of the site where it is asked how much fits.
const LINE: &str = "How many sequences fit on your GPU";

fn answered(folder: String, title: String, more: String, way: String, scenario: Scenario) -> Preview {
    let answer = b_max(&scenario);
    let sentence = preview::sentence(&scenario, &answer);
    let (large, rest) = match &answer {
        Answer::Fits(_) => {
            let words = sentence.trim_start_matches("At least ").trim_end_matches('.');
            let rest = words.split_once(' ').map_or(words, |(_, rest)| rest);
            (format::answer(&answer), rest.to_owned())
        }
        Answer::Infeasible(_) => {
            let length = format::length(&scenario);
            ("Does not fit".to_owned(), format!("not even one {} of {length}", scenario.unit().one()))
        }
        Answer::Refused(refusal) => ("No answer".to_owned(), format::refused(refusal.kind).to_owned()),
    };
    let filled = preview::filled(&scenario);
    let short = format::shortage(&answer, scenario.unit());
    let more = short.map_or_else(|| format!("{more} {}", bar(&filled).sentence()), |short| format!("{more} {short}"));
    Preview {
        folder,
        title,
        line: LINE.to_owned(),
        sentence,
        more,
        press: "Open it in bmax",
        way,
        figure: "answer".to_owned(),
        scenario,
        filled,
        drawn: Drawn::Answer { large, rest, is_counted: true },
    }
}

fn bar(scenario: &Scenario) -> MemoryBar {
    MemoryBar::of(&estimate(scenario), None)
}
