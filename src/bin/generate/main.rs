//! Writes every committed file that follows from the code: `generate` writes those that have drifted, and its test
//! holds that none has. Their differences are there to be read.

#![forbid(unsafe_code)]

mod catalogue;
mod constants;
mod documents;
mod entries;
mod picture;
mod quoted;
mod sources;
mod works;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bmax::cli::schema;
use bmax::picture::Theme;

/// A file of the repository, by its path, and what it should hold.
type File = (&'static str, String);

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// What `make` makes of the text of a file.
fn of(path: &str, make: impl Fn(&str) -> Result<String, String>) -> io::Result<String> {
    make(&fs::read_to_string(here(path))?).map_err(io::Error::other)
}

fn json(schema: &serde_json::Value) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}

/// Every file.
fn files() -> io::Result<Vec<File>> {
    Ok(vec![
        ("src/pages/sources/02_sources.md", sources::section()),
        ("src/bin/finish/plain/catalogue.html", sources::catalogue_page()),
        ("schema/scenario.schema.json", json(&schema::scenario())?),
        ("schema/report.schema.json", json(&schema::report())?),
        ("schema/comparison.schema.json", json(&schema::comparison())?),
        ("schema/others.schema.json", json(&schema::others())?),
        ("schema/read.schema.json", json(&schema::read())?),
        ("docs/links.md", of("docs/links.md", documents::links)?),
        ("docs/json.md", of("docs/json.md", documents::json)?),
        ("docs/starts.md", of("docs/starts.md", documents::starts)?),
        ("docs/memory-light.svg", of("README.md", |readme| picture::of(readme, Theme::Light))?),
        ("docs/memory-dark.svg", of("README.md", |readme| picture::of(readme, Theme::Dark))?),
    ])
}

fn main() -> io::Result<()> {
    for (path, text) in files()? {
        if fs::read_to_string(here(path)).ok().as_deref() != Some(&text) {
            fs::write(here(path), text)?;
            println!("generate: {path} is new");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_files_are_those_of_the_code() {
        for (path, now) in files().expect("the documents are there") {
            let committed = fs::read_to_string(here(path)).expect("the file is committed");
            // Not assert_eq: a difference of two long texts is better read in the version control.
            assert!(committed == now, "{path} has drifted: make generate writes it anew");
        }
    }
}
