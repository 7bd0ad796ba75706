//! Committed texts that follow from the code: what a change of the code moves is read before it is committed.

use std::fs;
use std::path::{Path, PathBuf};

/// A path of the project.
pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Holds a text to the committed one; says which lines moved, and the command that writes them anew.
pub fn unmoved(path: &str, now: &str, command: &str) {
    let committed = fs::read_to_string(here(path)).expect("the text is committed");
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
