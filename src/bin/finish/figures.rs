//! The figures that were rendered for the page.

use std::fs;
use std::path::Path;

use super::{Result, read};

/// A figure as HTML, and its name.
pub type Figure = (String, String);

/// The figures of a folder.
pub fn all(folder: &Path) -> Result<Vec<Figure>> {
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut figures = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        if path.extension().is_some_and(|extension| extension == "html") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            figures.push((name, read(&path)?));
        }
    }
    figures.sort();
    Ok(figures)
}
