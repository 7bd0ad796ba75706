//! The search of every page: its script (`assets/search.js`), its style (`style/search/`) and what can be found, in one
//! file that the first press fetches.

mod index;

use std::path::Path;

use super::digest::{sha256, short};
use super::text::{Page, Places};
use super::{Result, minify, read, write};

/// The file, as the build has named it by what it holds.
pub struct Search {
    pub name: String,
    /// The digest of it.
    pub digest: String,
}

/// Writes the file into the folder of the site.
pub fn write_it(folder: &Path, pages: &[Page], places: &Places) -> Result<Search> {
    let script = minify::module(&read(Path::new("assets/search.js"))?)?;
    let style = minify::sheet(&read(Path::new("style/search/search.css"))?)?;
    let script = filled(&script, &index::index(pages, places)?.to_string(), &style)?;
    let search = Search { name: format!("search-{}.js", short(&script)), digest: sha256(&script) };
    write(&folder.join(&search.name), script)?;
    Ok(search)
}

/// The script with the index and the style sheet in their places. Both are written as JSON, which is JavaScript.
fn filled(script: &str, index: &str, style: &str) -> Result<String> {
    let style = serde_json::to_string(style).map_err(|error| error.to_string())?;
    let mut script = script.to_owned();
    for (place, value) in [("\"{{index}}\"", index), ("\"{{style}}\"", style.as_str())] {
        script = super::page::filled(&script, place, value)?;
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_and_style_stand_in_their_places_and_a_script_without_them_stops_the_build() {
        let script = "const INDEX = \"{{index}}\";\nconst STYLE = \"{{style}}\";\n";
        let wanted = "const INDEX = {\"a\":1};\nconst STYLE = \".a {}\\n\";\n";
        assert_eq!(filled(script, "{\"a\":1}", ".a {}\n").as_deref(), Ok(wanted));
        assert!(filled("const STYLE = \"{{style}}\";", "{}", "").is_err());
    }
}
