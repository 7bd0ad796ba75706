//! A folder for each figure, model and starting point: a light page that says in words and in a picture what is there,
//! for whoever shows a preview of its address, and leads readers to the page itself.

mod list;
mod page;
mod raster;

use std::fs;
use std::path::Path;
use std::thread;

use bmax::picture::preview as drawn;

use super::address::Address;
use super::figures::Figures;
use super::text::Page;
use super::{Result, write};
use list::Preview;
pub use list::caption;
use raster::Rasteriser;

/// The picture of the pages of the site, in the folder of the first.
pub const PICTURE: &str = "picture.png";

/// Whether a file, named as seen from the first page, is for crawlers. Readers see none of these, and so the worker keeps
/// none for a visit without a network.
pub fn is_for_crawlers(place: &str) -> bool {
    let folders = ["figure/", "model/", "start/"];
    folders.iter().any(|folder| place.starts_with(folder)) || [PICTURE, "robots.txt", "sitemap.xml"].contains(&place)
}

/// Writes all of them, and the picture of the site; returns their places, seen from the first page.
pub fn write_all(folder: &Path, pages: &[Page], figures: &Figures, address: &Address) -> Result<Vec<String>> {
    let previews = list::all(pages, figures)?;
    for preview in &previews {
        let place = folder.join(&preview.folder);
        fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        write(&place.join("index.html"), page::written(preview, address)?)?;
        if let Some(oembed) = page::oembed(preview, address) {
            write(&place.join(page::OEMBED), oembed)?;
        }
    }
    let site = list::of_the_site();
    let pictures = previews.iter().chain([&site]).map(|preview| (folder.join(&preview.folder).join(PICTURE), preview));
    draw(&pictures.collect::<Vec<_>>())?;
    Ok(previews.into_iter().map(|preview| preview.folder).collect())
}

/// Draws pictures into files, on every processor there is.
fn draw(pictures: &[(std::path::PathBuf, &Preview)]) -> Result<()> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = pictures.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let works = pictures.chunks(share).map(|part| {
            scope.spawn(move || {
                let rasteriser = Rasteriser::new();
                part.iter().try_for_each(|(path, preview)| {
                    let png = rasteriser.png(&drawn(&preview.picture()));
                    write(path, png.map_err(|fault| format!("{}: {fault}", preview.folder))?)
                })
            })
        });
        let works: Vec<_> = works.collect();
        works
            .into_iter()
            .try_for_each(|work| work.join().unwrap_or_else(|_| Err("a picture could not be drawn".to_owned())))
    })
}

#[cfg(test)]
mod tests;
