//! Names the files of the desk by what they hold: Trunk gives a second module its plain name, and a browser
//! may keep what has a name of its own for ever.

use std::fs;
use std::path::Path;

use super::digest::short;
use super::program::optimize;
use super::script::tidied;
use super::{Result, read, read_bytes, write};

/// What Trunk calls the module.
const TRUNK: &str = "bmax-desk";

/// Renames the three files, and returns what they are called now, without their endings.
pub fn name_by_content(folder: &Path) -> Result<String> {
    let [script, module, sheet] =
        [format!("{TRUNK}.js"), format!("{TRUNK}_bg.wasm"), "desk.css".to_owned()].map(|name| folder.join(name));
    let style = tidied(&read(&sheet)?);
    optimize(std::slice::from_ref(&module))?;
    let code = tidied(&read(&script)?);
    let name = name(&[code.as_bytes(), &read_bytes(&module)?, style.as_bytes()]);
    let old = format!("{TRUNK}_bg.wasm");
    if !code.contains(&old) {
        return Err(format!("{} does not name {old}", script.display()));
    }
    write(&folder.join(format!("{name}.js")), code.replace(&old, &format!("{name}.wasm")))?;
    write(&folder.join(format!("{name}.css")), style)?;
    fs::rename(&module, folder.join(format!("{name}.wasm")))
        .and_then(|()| fs::remove_file(&script))
        .and_then(|()| fs::remove_file(&sheet))
        .map_err(|error| format!("the files of the desk: {error}"))?;
    Ok(name)
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
        let files = [
            ("bmax-desk.js", "load('bmax-desk_bg.wasm')"),
            ("bmax-desk_bg.wasm", "\0asm\x01\0\0\0"),
            ("desk.css", "a {}"),
        ];
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("a file");
        }
        let name = name_by_content(&folder).expect("all three are there");
        let mut left: Vec<_> = fs::read_dir(&folder).expect("it").flatten().map(|file| file.file_name()).collect();
        left.sort();
        assert_eq!(left, ["css", "js", "wasm"].map(|ending| OsString::from(format!("{name}.{ending}"))));
        let script = fs::read_to_string(folder.join(format!("{name}.js"))).expect("it is there");
        assert_eq!(script, format!("load('{name}.wasm')\n"));
        fs::remove_dir_all(&folder).expect("it can go");
    }
}
