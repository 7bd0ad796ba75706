//! What turns the sources and what Trunk builds into the site. Trunk runs it twice (Trunk.toml), and `make dist` sees
//! to it that it is there:
//!
//! - `finish styles` joins the style sheets, before each build;
//! - `finish pages FOLDER RENDERED BUILT`, after each build, takes the steps below in the folder as it will be served:
//!   it divides the program, names files by what they hold, and writes every page out of the text (`src/pages/`), the
//!   figures that were rendered before, and the template that Trunk has put together, and a folder with a preview for each
//!   figure, model and starting point;
//! - `finish again FOLDER` fills in anew what depends on what the files hold: tests make copies of the site in which
//!   something is different.

#![forbid(unsafe_code)]

mod address;
mod bill;
mod desk;
mod digest;
mod discovery;
mod figure_lines;
mod figures;
mod imports;
mod markup;
mod merge;
mod minify;
mod navigation;
mod page;
mod pages;
mod plain;
mod previews;
mod program;
mod programs;
mod search;
mod sheets;
mod text;
mod worker;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use address::Address;

/// The script of pages that size bmax's frames (assets/embed.js).
const EMBEDDING: &str = "embed.js";

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

/// What a folder holds, by name.
fn paths(folder: &Path) -> Result<Vec<PathBuf>> {
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries: std::io::Result<Vec<_>> = fs::read_dir(folder).map_err(fault)?.collect();
    let mut paths: Vec<PathBuf> = entries.map_err(fault)?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Every step after a build.
fn pages(folder: &Path, rendered: &Path, built: &Path) -> Result<()> {
    let address = Address::of_the_setting()?;
    let template = folder.join("index.html");
    let page = read(&template)?;
    desk::shrink(folder)?;
    let desk = desk::name_by_content(folder)?;
    let figures = figures::Figures::read(rendered, Path::new("src/figures"))?;
    let mut site = text::read(Path::new("src/pages"))?;
    let names: Vec<&str> = figures.all().iter().map(|(name, _)| *name).collect();
    text::check(&site, &names, &figures.sentences())?;
    let program = program::divide(folder, built, &pages::parts(&site, &figures)?)?;
    text::explain(&mut site);
    text::link(&mut site)?;
    let places = text::Places::of(&site).with_figures(&site, &figures.all());
    let asking = smaller(folder, pages::ASKING, minify::module)?;
    smaller(folder, EMBEDDING, minify::script)?;
    let search = search::write_it(folder, &site, &places)?;
    let parts = pages::Parts {
        program: &program,
        figures: &figures,
        places: &places,
        desk: &desk,
        asking: &asking,
        search: &search,
        address: &address,
    };
    // Trunk's minifier would take the comments by which the program finds its way through a figure, so that figures
    // come after it.
    pages::write_all(folder, &page, &site, &parts)?;
    plain::write_them(folder, &page, &site, &parts)?;
    write_texts(folder)?;
    programs::write_them(folder, &site, &address)?;
    let previews = previews::write_all(folder, &site, &figures, &address)?;
    if let Some(address) = address.site() {
        let pages = site.iter().map(pages::address).chain([navigation::CATALOGUE.to_owned()]).chain(previews);
        write(&folder.join("sitemap.xml"), discovery::sitemap(&pages.collect::<Vec<_>>(), address))?;
        write(&folder.join("robots.txt"), discovery::robots(address))?;
    }
    bill::write_it(folder, &[program.files(folder)?, desk.files()].concat())?;
    // The files are what they will be now.
    worker::list(folder, is_kept())
}

/// Makes a script that Trunk has copied smaller, and returns its digest.
fn smaller(folder: &Path, name: &str, minify: fn(&str) -> Result<String>) -> Result<String> {
    let path = folder.join(name);
    let script = minify(&read(&path)?)?;
    write(&path, &script)?;
    Ok(digest::sha256(script))
}

/// Writes what the footer leads to and what stands elsewhere in the sources, as text.
fn write_texts(folder: &Path) -> Result<()> {
    write(&folder.join(navigation::COMMAND_LINE), include_str!("../../../docs/command-line.md"))?;
    write(&folder.join(navigation::LICENCE), include_str!("../../../LICENSE"))
}

/// The steps that follow from what the files of a finished site hold: in every page the policy, where it has places
/// for digests, and the list of the worker.
fn again(folder: &Path) -> Result<()> {
    for entry in paths(folder)? {
        let path = if entry.is_dir() { entry.join("index.html") } else { entry };
        if path.is_file() && path.extension().is_some_and(|extension| extension == "html") {
            let html = read(&path)?;
            if html.contains("{{inline-") {
                write(&path, page::with_policy(&html)?)?;
            }
        }
    }
    worker::list(folder, is_kept())
}

/// Whether the worker keeps the page. While somebody works on the page (`make serve`) it would show an old one.
fn is_kept() -> bool {
    env::var_os("BMAX_OFFLINE").is_none_or(|word| word != "no")
}

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let words: Vec<&str> = arguments.iter().take(1).filter_map(|word| word.to_str()).collect();
    let outcome = match (&words[..], &arguments[..]) {
        (["styles"], [_]) => sheets::join(Path::new("."), Path::new("target")),
        (["pages"], [_, folder, rendered, built]) => pages(folder, rendered, built),
        (["again"], [_, folder]) => again(folder),
        _ => Err("wanted: styles, pages FOLDER RENDERED BUILT, or again FOLDER".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("finish: {fault}");
            ExitCode::FAILURE
        }
    }
}
