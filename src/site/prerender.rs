//! The figures of the default configuration and the sentences as HTML, written into the page while it is built.
//!
//! The content security policy of the page forbids `style` attributes, so that what a figure hands to the style
//! sheet as custom properties becomes rules of a sheet, one for each different set.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use leptos::prelude::*;

use super::{Figure, State};

/// The figures and sentences as HTML, by name, and the rules that they need.
struct Prerendered {
    figures: Vec<(&'static str, String)>,
    sentences: Vec<(&'static str, String)>,
    rules: String,
}

impl Prerendered {
    /// Renders every figure with the default configuration, and takes the sentences as they were rendered.
    fn of<'a>(figures: impl IntoIterator<Item = &'a Figure>, sentences: &[(&'static str, String)]) -> Self {
        let owner = Owner::new();
        let mut styles = Styles::default();
        let figures = owner.with(|| {
            let state = State::new();
            figures.into_iter().map(|figure| (figure.name, styles.moved_out((figure.html)(state)))).collect()
        });
        let sentences = sentences.iter().map(|(name, html)| (*name, styles.moved_out(html.clone()))).collect();
        Self { figures, sentences, rules: styles.rules() }
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

/// Writes each figure as a file `NAME.html`, each sentence as `sentences/NAME.html`, `rules.css`, and `parts.txt` with the
/// part of the program that has each figure, into a folder that holds nothing else.
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
    for (folder, written) in [(folder, &prerendered.figures), (&sentences, &prerendered.sentences)] {
        for (name, html) in written {
            fs::write(folder.join(format!("{name}.html")), html)?;
        }
    }
    Ok(())
}
