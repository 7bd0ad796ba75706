//! The figures of the default configuration and the sentences as HTML, written into the page while it is built.
//!
//! The content security policy of the page forbids `style` attributes, so that what a figure hands to the style
//! sheet as custom properties becomes rules of a sheet, one for each different set.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

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
    figures: Vec<(&'static str, String)>,
    /// The first plot of each figure that has one, as `bmax::plot::Plot::from_text` reads it.
    plots: Vec<(&'static str, String)>,
    sentences: Vec<(&'static str, String)>,
    rules: String,
}

impl Prerendered {
    /// Renders every figure with the default configuration, and takes the sentences as they were rendered.
    fn of<'a>(figures: impl IntoIterator<Item = &'a Figure>, sentences: &[(&'static str, String)]) -> Self {
        let owner = Owner::new();
        let mut styles = Styles::default();
        let mut plots = Vec::new();
        let figures = owner.with(|| {
            let state = State::new();
            let mut rendered = |figure: &Figure| {
                PLOT.take();
                let html = styles.moved_out((figure.html)(state));
                plots.extend(PLOT.take().map(|plot| (figure.name, plot)));
                (figure.name, html)
            };
            figures.into_iter().map(&mut rendered).collect()
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

/// Writes each figure as a file `NAME.html` and its plot, if it has one, as `NAME.plot`, each sentence as
/// `sentences/NAME.html`, `rules.css`, and `parts.txt` with the part of the program that has each figure, into a folder that
/// holds nothing else.
///
/// # Errors
/// Those of the files.
pub fn write<'a>(
    figures: impl IntoIterator<Item = &'a Figure>,
    parts: &[(&str, &str)],
    sentences: &[(&'static str, String)],
    folder: &Path,
) -> io::Result<()> {
    let prerendered = Prerendered::of(figures, sentences);
    let sentences = folder.join("sentences");
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(&sentences)?;
    fs::write(folder.join("rules.css"), &prerendered.rules)?;
    let listed: String = parts.iter().map(|(figure, part)| format!("{figure} {part}\n")).collect();
    fs::write(folder.join("parts.txt"), listed)?;
    for (folder, ending, written) in [
        (folder, "html", &prerendered.figures),
        (folder, "plot", &prerendered.plots),
        (&sentences, "html", &prerendered.sentences),
    ] {
        for (name, content) in written {
            fs::write(folder.join(format!("{name}.{ending}")), content)?;
        }
    }
    Ok(())
}
