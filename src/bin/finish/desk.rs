//! Names the files of the desk by what they hold: Trunk gives a second module its plain name, and a browser
//! may keep what has a name of its own for ever.

use std::fs;
use std::path::Path;

use super::digest::{sha256, short};
use super::program::{checking, optimize, shorten_imports};
use super::{Result, minify, read, read_bytes, write};

/// What Trunk calls the module.
const TRUNK: &str = "bmax-desk";
/// The name that `finish styles` gives the sheet of the desk.
const SHEET: &str = "desk.css";

/// The files of the desk.
pub struct Desk {
    /// What they are called, without their endings.
    pub name: String,
    /// The digest of the script.
    pub script: String,
    /// The digest of the sheet.
    pub sheet: String,
}

impl Desk {
    /// What is a program of these.
    pub fn files(&self) -> Vec<String> {
        ["js", "wasm"].map(|ending| format!("{}.{ending}", self.name)).to_vec()
    }
}

/// Makes the three files smaller. The script fetches the module by its digest.
pub fn shrink(folder: &Path) -> Result<()> {
    let module = folder.join(format!("{TRUNK}_bg.wasm"));
    let [script, sheet] = [format!("{TRUNK}.js"), SHEET.to_owned()].map(|name| folder.join(name));
    shorten_imports(&module, &script)?;
    optimize(&[module])?;
    write(&script, minify::module(&checking(&read(&script)?, folder)?)?)?;
    write(&sheet, minify::sheet(&read(&sheet)?)?)
}

/// Renames the three files, and returns what they are called now.
pub fn name_by_content(folder: &Path) -> Result<Desk> {
    let [script, module, sheet] =
        [format!("{TRUNK}.js"), format!("{TRUNK}_bg.wasm"), SHEET.to_owned()].map(|name| folder.join(name));
    let [code, style] = [read(&script)?, read(&sheet)?];
    let name = name(&[code.as_bytes(), &read_bytes(&module)?, style.as_bytes()]);
    let old = format!("{TRUNK}_bg.wasm");
    if !code.contains(&old) {
        return Err(format!("{} does not name {old}", script.display()));
    }
    let code = code.replace(&old, &format!("{name}.wasm"));
    let digests = [&code, &style].map(sha256);
    write(&folder.join(format!("{name}.js")), code)?;
    write(&folder.join(format!("{name}.css")), style)?;
    fs::rename(&module, folder.join(format!("{name}.wasm")))
        .and_then(|()| fs::remove_file(&script))
        .and_then(|()| fs::remove_file(&sheet))
        .map_err(|error| format!("the files of the desk: {error}"))?;
    let [script, sheet] = digests;
    Ok(Desk { name, script, sheet })
}

/// One name for all files, so that they change together or not at all.
fn name(files: &[&[u8]]) -> String {
    format!("desk-{}", short(files.concat()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::{env, process};

    use super::*;

    const LOAD: &str =
        "module_or_path = new URL('bmax-desk_bg.wasm', import.meta.url);\nmodule_or_path = fetch(module_or_path);";

    #[test]
    fn the_name_follows_from_what_all_files_hold() {
        let all = name(&[b"a", b"b", b"c"]);
        assert_eq!(all, name(&[b"abc"]));
        assert_eq!(all, "desk-ungWv48BzpBQUDeX");
        assert_ne!(all, name(&[b"a", b"b", b"d"]));
    }

    #[test]
    fn the_files_are_renamed_together_and_the_script_finds_its_module() {
        let folder = env::temp_dir().join(format!("bmax-desk-{}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        // The smallest module there is: it has nothing in it.
        let files = [("bmax-desk.js", LOAD), ("bmax-desk_bg.wasm", "\0asm\x01\0\0\0"), ("desk.css", "a {}")];
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("a file");
        }
        let script = folder.join("bmax-desk.js");
        fs::write(&script, checking(LOAD, &folder).expect("it fetches in a known way")).expect("a file");
        let Desk { name, .. } = name_by_content(&folder).expect("all three are there");
        let mut left: Vec<_> = fs::read_dir(&folder).expect("it").flatten().map(|file| file.file_name()).collect();
        left.sort();
        assert_eq!(left, ["css", "js", "wasm"].map(|ending| OsString::from(format!("{name}.{ending}"))));
        let script = fs::read_to_string(folder.join(format!("{name}.js"))).expect("it is there");
        assert!(
            script.starts_with(&format!("module_or_path = new URL('{name}.wasm', import.meta.url);\n")),
            "{script}"
        );
        assert!(script.contains("fetch(module_or_path, { integrity: \"sha256-"), "{script}");
        fs::remove_dir_all(&folder).expect("it can go");
    }
}
