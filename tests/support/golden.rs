//! Committed texts that follow from the code: what a change of the code moves is read before it is committed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A path of the project.
pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Holds a text to the committed one, after `BMAX_BLESS` in the environment has had it written anew. Whoever blesses
/// texts reads what of them moved before they commit it.
pub fn as_committed(path: &str, now: &str) {
    let file = here(path);
    if std::env::var_os("BMAX_BLESS").is_some() {
        fs::create_dir_all(file.parent().expect("it is in a folder")).expect("the folder can be made");
        fs::write(file, now).expect("the file can be written");
    }
    unmoved(path, now, "BMAX_BLESS=1 cargo test --features cli,picture --test native");
}

/// Holds the folders in a folder to have these files, by their paths of the project, and no others.
pub fn nothing_but(folder: &str, paths: &[String]) {
    let folders = fs::read_dir(here(folder)).expect("it is committed").flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).expect("a folder").flatten());
    let files: BTreeSet<_> = files.map(|file| file.path()).collect();
    assert_eq!(files, paths.iter().map(|path| here(path)).collect());
}

/// Holds a text to the committed one; says which lines moved, and the command that writes them anew.
pub fn unmoved(path: &str, now: &str, command: &str) {
    let committed = fs::read_to_string(here(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    if now == committed {
        return;
    }
    let moved: Vec<_> = now.lines().zip(committed.lines()).filter(|(now, committed)| now != committed).collect();
    let first: String = moved.iter().take(5).map(|(now, was)| format!("was {was}\nis  {now}\n")).collect();
    let [now, was] = [now, &committed].map(|text| text.lines().count());
    panic!(
        "{} lines of {path} moved, {now} instead of {was} are there; `{command}` writes them anew.\n{first}",
        moved.len()
    );
}
