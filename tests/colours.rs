//! A colour of memory means one thing, on every page: what `bmax::chart::Tint` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bmax::chart::Tint;

/// The files under a folder whose names end so, each with its text.
fn files(folder: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path, text));
            }
        }
    }
    found
}

/// The rest of a text behind each place where it says `before`, up to the first of these letters.
fn behind<'a>(text: &'a str, before: &str, ends: &[char]) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split(ends).next()).collect()
}

fn tint(key: &str) -> Option<Tint> {
    Tint::ALL.into_iter().find(|tint| tint.key() == key)
}

#[test]
fn no_two_kinds_of_memory_have_one_name_or_one_colour() {
    let base = include_str!("../style/base.css");
    let tokens = include_str!("../style/tokens.css");
    let (mut names, mut colours) = (BTreeMap::new(), BTreeMap::new());
    for tint in Tint::ALL {
        assert_eq!(names.insert(tint.name(), tint), None, "{}", tint.name());
        // Where two colours take turns, the component of the bar draws both.
        if tint == Tint::Turns {
            continue;
        }
        let rules = behind(base, &format!("[data-bucket=\"{}\"] {{\n  --bucket: ", tint.key()), &[';']);
        let [rule] = rules[..] else {
            panic!("style/base.css has one colour for “{}”, not {rules:?}", tint.name())
        };
        let token = format!("var(--bucket-{})", tint.key());
        assert_eq!(rule == token, tint != Tint::Other, "“{}” is {rule}", tint.name());
        // In either scheme: the values stand once for light and twice for dark.
        let values = behind(tokens, &format!("--bucket-{}: ", tint.key()), &[';']);
        let values = if tint == Tint::Other { vec![rule] } else { values };
        assert_eq!(colours.insert(values, tint), None, "“{}” has the colour of another", tint.name());
    }
}

/// Where the look of memory is said once for all.
const SAID_ONCE: [&str; 1] = ["src/components/memory_bar/style.css"];

#[test]
fn figures_take_a_colour_of_memory_only_by_what_it_means() {
    for folder in ["src/figures", "src/components"] {
        for (path, text) in files(folder, ".css") {
            if SAID_ONCE.iter().any(|file| path.ends_with(file)) {
                continue;
            }
            for key in behind(&text, "var(--bucket-", &[')']) {
                // The colour of letters on it, and the ground of every scale.
                assert!(["ink", "free"].contains(&key), "{}: takes the colour of “{key}” by itself", path.display());
            }
        }
        for (path, text) in files(folder, ".rs") {
            let classes = [behind(&text, "\"bucket-", &['"', ' ']), behind(&text, " bucket-", &['"', ' '])].concat();
            for class in classes {
                assert!(tint(class).is_none(), "{}: “bucket-{class}” is not taken from the table", path.display());
            }
            let keys = [behind(&text, "data-bucket=\"", &['"']), behind(&text, "data-bucket=\\\"", &['\\'])].concat();
            for key in keys {
                assert!(tint(key).is_some(), "{}: no memory is called “{key}”", path.display());
            }
        }
    }
}
