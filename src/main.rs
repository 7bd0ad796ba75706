//! The page. Built for the browser it takes over the figures that stand in the page and listens; built natively
//! it writes those figures into the page.

#![forbid(unsafe_code)]

mod components;
mod figures;
mod page;
mod site;

#[cfg(not(feature = "prerender"))]
fn main() {
    site::start(page::mount_all);
}

/// `bmax-site FOLDER` writes the figures of the default configuration into a folder, and the rules that they need.
#[cfg(feature = "prerender")]
fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).ok_or_else(|| std::io::Error::other("one argument is wanted: a folder"))?;
    site::prerender::write(figures::FIGURES.iter().chain([&figures::ANSWER_BAR]), folder.as_ref())
}
