//! Finishes the page that Trunk has put together: `finish FOLDER FIGURES` takes the steps below, in this order, in
//! the folder as it will be served, with the folder of the figures that were rendered before. Trunk runs it after
//! each build (Trunk.toml).
//!
//! `finish --again FOLDER` fills in anew what depends on what the files hold: tests make copies of the page in
//! which something is different.

#![forbid(unsafe_code)]

mod desk;
mod digest;
mod figures;
mod markup;
mod page;
mod shrink;
mod worker;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What went wrong, in a sentence for whoever builds the page.
type Result<T> = std::result::Result<T, String>;

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}

/// Every step of a build.
fn finish(folder: &Path, figures: &Path) -> Result<()> {
    let path = folder.join("index.html");
    let mut page = read(&path)?;
    // What the files hold, before anything names their digests.
    for changed in shrink::modules(folder)? {
        page = page::with_digest(&page, &changed.old, &changed.new);
    }
    let desk = desk::name_by_content(folder)?;
    // The page's text. A step that changes its markup belongs here.
    page = page::filled(&page, page::DESK, &desk)?;
    page = page::tidied(&page);
    // Trunk's minifier would take the comments by which the program finds its way through a figure.
    page = page::with_figures(&page, &figures::all(figures)?)?;
    // Nothing may change the inline scripts from here on.
    page = page::with_policy(&page)?;
    write(&path, page)?;
    // The files are what they will be now.
    worker::list(folder, is_kept())
}

/// The steps that follow from what the files of a finished page hold.
fn finish_again(folder: &Path) -> Result<()> {
    let path = folder.join("index.html");
    write(&path, page::with_policy(&read(&path)?)?)?;
    worker::list(folder, is_kept())
}

/// Whether the worker keeps the page. While somebody works on the page (`make serve`) it would show an old one.
fn is_kept() -> bool {
    env::var_os("BMAX_OFFLINE").is_none_or(|word| word != "no")
}

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let outcome = match &arguments[..] {
        [flag, folder] if flag.as_os_str() == "--again" => finish_again(folder),
        [folder, figures] => finish(folder, figures),
        _ => Err("two arguments are wanted: the folder of the page, and that of the figures".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("finish: {fault}");
            ExitCode::FAILURE
        }
    }
}
