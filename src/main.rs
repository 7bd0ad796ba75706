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

/// `bmax-site sheet FILE` writes the rules of the figures, `bmax-site page FILE` the figures themselves.
#[cfg(feature = "prerender")]
fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let kind = arguments.next().unwrap_or_default();
    let file = arguments.next().map(std::path::PathBuf::from);
    let (sheet, page) = if kind == "sheet" { (file.as_deref(), None) } else { (None, file.as_deref()) };
    site::prerender::write(figures::FIGURES, sheet, page)
}
