//! Writes every committed file that follows from the code: `generate` writes those that have drifted, and its test
//! holds that none has. Their differences are there to be read.

#![forbid(unsafe_code)]

mod catalogue;
mod constants;
mod entries;
mod readme;
mod sources;
mod works;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bmax::cli::schema;

/// A file of the repository, by its path, and what it should hold.
type File = (&'static str, String);

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// What is in the README now, but for the blocks that follow from the code.
fn readme() -> io::Result<String> {
    readme::filled(&fs::read_to_string(here("README.md"))?).map_err(io::Error::other)
}

fn json(schema: &serde_json::Value) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}

/// Every file.
fn files() -> io::Result<Vec<File>> {
    Ok(vec![
        ("src/page/p25_sources/prose.html", sources::fragment()),
        ("src/page/p25_sources/catalogue.html", sources::catalogue_page()),
        ("schema/scenario.schema.json", json(&schema::scenario())?),
        ("schema/report.schema.json", json(&schema::report())?),
        ("schema/comparison.schema.json", json(&schema::comparison())?),
        ("README.md", readme()?),
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
        for (path, now) in files().expect("the README is there") {
            let committed = fs::read_to_string(here(path)).expect("the file is committed");
            // Not assert_eq: a difference of two long texts is better read in the version control.
            assert!(committed == now, "{path} has drifted: make generate writes it anew");
        }
    }
}
