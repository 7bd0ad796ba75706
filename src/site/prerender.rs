//! The figures as each page begins with them, and the sentences, as HTML that is written into the pages while they are
//! built.
//!
//! The content security policy of the page forbids `style` attributes, so that what a figure hands to the style
//! sheet as custom properties becomes rules of a sheet, one for each different set.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use bmax::link::Beginning;
use leptos::prelude::*;

use super::{Figure, State};

thread_local! {
    /// The first plot of the figure that is being rendered, as text.
    static PLOT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the first plot of a figure that is rendered, for the picture of that figure.
pub fn keep(plot: impl FnOnce() -> String) {
    PLOT.with_borrow_mut(|kept| _ = kept.get_or_insert_with(plot));
}

/// The figures and sentences as HTML, by name, and the rules that they need.
struct Prerendered {
    /// Every figure, with each beginning.
    figures: Vec<(Beginning, &'static str, String)>,
    /// The first plot of each figure that has one, for the default configuration, as `bmax::plot::Plot::from_text` reads
    /// it.
    plots: Vec<(&'static str, String)>,
    sentences: Vec<(&'static str, String)>,
    rules: String,
}

impl Prerendered {
    /// Renders every figure with the configuration of each beginning, and takes the sentences as they were rendered.
    fn of(all: &[&Figure], sentences: &[(&'static str, String)]) -> Self {
        let owner = Owner::new();
        let mut styles = Styles::default();
        let (mut figures, mut plots) = (Vec::new(), Vec::new());
        owner.with(|| {
            for beginning in Beginning::ALL {
                let state = State::on(beginning, beginning.scenario());
                for figure in all {
                    PLOT.take();
                    figures.push((beginning, figure.name, styles.moved_out((figure.html)(state))));
                    if beginning == Beginning::Site {
                        plots.extend(PLOT.take().map(|plot| (figure.name, plot)));
                    }
                }
            }
        });
        let sentences = sentences.iter().map(|(name, html)| (*name, styles.moved_out(html.clone()))).collect();
        Self { figures, plots, sentences, rules: styles.rules() }
    }
}

/// Sets of custom properties, each with the number by which elements name it.
#[derive(Default)]
struct Styles(BTreeMap<String, usize>);

impl Styles {
    /// The same HTML with a `data-style` in the place of each `style`.
    fn moved_out(&mut self, html: String) -> String {
        const ATTRIBUTE: &str = " style=\"";
        let mut moved = String::with_capacity(html.len());
        let mut rest = html.as_str();
        while let Some((before, after)) = rest.split_once(ATTRIBUTE) {
            let Some((style, behind)) = after.split_once('"') else { break };
            let next = self.0.len();
            let number = *self.0.entry(style.to_owned()).or_insert(next);
            moved.push_str(before);
            // A string takes everything.
            _ = write!(moved, " data-style=\"{number}\"");
            rest = behind;
        }
        moved + rest
    }

    fn rules(&self) -> String {
        self.0.iter().map(|(style, number)| format!("[data-style=\"{number}\"]{{{style}}}\n")).collect()
    }
}

/// Writes each figure as a file `BEGINNING/NAME.html` for each beginning, and its plot, if it has one, as `NAME.plot`,
/// each sentence as `sentences/NAME.html`, `rules.css`, and `parts.txt` with the part of the program that has each figure,
/// into a folder that holds nothing else.
///
/// # Errors
/// Those of the files.
pub fn write(
    figures: &[&Figure],
    parts: &[(&str, &str)],
    sentences: &[(&'static str, String)],
    folder: &Path,
) -> io::Result<()> {
    let prerendered = Prerendered::of(figures, sentences);
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let sentences = folder.join("sentences");
    fs::create_dir_all(&sentences)?;
    for beginning in Beginning::ALL {
        fs::create_dir_all(folder.join(beginning.key()))?;
    }
    fs::write(folder.join("rules.css"), &prerendered.rules)?;
    let listed: String = parts.iter().map(|(figure, part)| format!("{figure} {part}\n")).collect();
    fs::write(folder.join("parts.txt"), listed)?;
    for (beginning, name, content) in &prerendered.figures {
        fs::write(folder.join(beginning.key()).join(format!("{name}.html")), content)?;
    }
    for (name, content) in &prerendered.plots {
        fs::write(folder.join(format!("{name}.plot")), content)?;
    }
    for (name, content) in &prerendered.sentences {
        fs::write(sentences.join(format!("{name}.html")), content)?;
    }
    Ok(())
}
