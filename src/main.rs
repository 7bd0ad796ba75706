//! The page. Built for the browser it takes over the figures and sentences that stand in the page and listens; built
//! natively it writes those into the page.

#![forbid(unsafe_code)]
// The native program renders; what listens, and what the browser calls, it does not use.
#![cfg_attr(not(feature = "hydrate"), allow(dead_code))]

mod components;
mod figures;
#[cfg(feature = "prerender")]
mod gallery;
mod page;
mod sentences;
mod site;

#[cfg(not(feature = "prerender"))]
fn main() {
    site::start(&[page::take_over, page::follow]);
}

/// `bmax-site FOLDER` writes the figures as each page begins with them and the sentences into a folder, and the rules that
/// they need; `bmax-site --gallery FILE SHEET…` writes the page of components.
#[cfg(feature = "prerender")]
fn main() -> std::io::Result<()> {
    use std::path::Path;

    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [gallery, file, sheets @ ..] if gallery == "--gallery" => {
            gallery::write(file.as_ref(), &sheets.iter().map(Path::new).collect::<Vec<_>>())
        }
        [folder] => {
            let all: Vec<_> = figures::FIGURES.iter().chain([&figures::ANSWER_BAR]).collect();
            site::prerender::write(&all, figures::PARTS, &sentences::rendered(), folder.as_ref())
        }
        _ => Err(std::io::Error::other("wanted: a folder, or --gallery with a file and style sheets")),
    }
}
