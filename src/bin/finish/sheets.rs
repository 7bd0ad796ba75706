//! Joins style sheets, in an order that is written down: one for all pages, and one for the desk, which a first visit
//! does not fetch (a component that only the desk has calls its sheet `desk.css`). The sheet of a figure goes into
//! the pages that have it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Result, paths, read, write};

/// These come first, in this order; the others follow by name.
const FIRST: [&str; 4] = ["tokens", "base", "layout", "prose"];

/// Writes `site.css` and `desk.css` into a folder.
pub fn join(sources: &Path, target: &Path) -> Result<()> {
    fs::create_dir_all(target).map_err(|error| format!("{}: {error}", target.display()))?;
    let style = sources.join("style");
    let mut site: Vec<PathBuf> = FIRST.iter().map(|name| style.join(format!("{name}.css"))).collect();
    let is_first = |path: &PathBuf| path.file_stem().is_some_and(|stem| FIRST.iter().any(|name| stem == *name));
    site.extend(sheets(&style)?.into_iter().filter(|path| !is_first(path)));
    let components = folders(&sources.join("src/components"))?;
    site.extend(components.iter().map(|folder| folder.join("style.css")).filter(|sheet| sheet.is_file()));
    let mut desk = sheets(&style.join("desk"))?;
    desk.extend(components.iter().map(|folder| folder.join("desk.css")).filter(|sheet| sheet.is_file()));
    replace(&target.join("site.css"), &joined(&site)?)?;
    replace(&target.join("desk.css"), &joined(&desk)?)
}

fn joined(sheets: &[PathBuf]) -> Result<String> {
    sheets.iter().map(|sheet| read(sheet)).collect()
}

/// An unchanged file is left alone, so that nothing is built again because of it.
fn replace(path: &Path, content: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == content) { Ok(()) } else { write(path, content) }
}

fn sheets(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_sheet = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "css");
    Ok(paths(folder)?.into_iter().filter(is_sheet).collect())
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(paths(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    #[test]
    fn the_order_is_the_written_one_and_the_desk_has_a_sheet_of_its_own() {
        let root = env::temp_dir().join(format!("bmax-sheets-{}", process::id()));
        let files = ["style/tokens.css", "style/base.css", "style/layout.css", "style/prose.css", "style/a.css"];
        let parts = ["style/desk/d.css", "src/components/bar/style.css", "src/components/bar/desk.css"];
        for name in files.iter().chain(&parts) {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, format!("{name}\n")).expect("a file");
        }
        join(&root, &root.join("target")).expect("every file is there");
        let written = |name: &str| fs::read_to_string(root.join("target").join(name)).expect("it is there");
        assert_eq!(
            written("site.css").lines().collect::<Vec<_>>(),
            [&files[..], &["src/components/bar/style.css"]].concat()
        );
        assert_eq!(written("desk.css"), "style/desk/d.css\nsrc/components/bar/desk.css\n");
        fs::remove_dir_all(root).expect("it can go");
    }
}
