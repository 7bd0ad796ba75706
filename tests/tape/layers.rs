//! The parts of the step as a program import one way, and nothing in them hangs on a text or on a pointer.

use std::path::{Path, PathBuf};

/// From the part that knows nobody to the one that nobody knows. `scenario` stands for everything that says what is asked.
const LAYERS: &[&str] = &["units", "scenario", "operators", "models", "engines", "step", "counters"];

/// Modules of the estimator that say what is asked.
const QUESTION: &[&str] = &["choice", "scenario", "bounds"];

fn folder(layer: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/estimator").join(layer)
}

/// The sources of a layer that are no tests.
fn sources(layer: &str) -> Vec<(PathBuf, String)> {
    let mut found = vec![];
    let mut folders = vec![folder(layer)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                // Tests of a file stand at its end, and may look at everything.
                let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
                found.push((path, text));
            }
        }
    }
    found
}

/// The modules of the crate that a source imports: those of the estimator by their names, others with their path.
fn imported(text: &str) -> Vec<String> {
    let uses = text.split("crate::").skip(1).map(|rest| {
        let path: String =
            rest.chars().take_while(|letter| letter.is_alphanumeric() || "_:".contains(*letter)).collect();
        match path.strip_prefix("estimator::") {
            Some(inner) => inner.split("::").next().unwrap_or_default().to_owned(),
            None => path,
        }
    });
    uses.collect()
}

#[test]
fn each_part_of_the_step_imports_only_parts_below_it() {
    for (rank, layer) in LAYERS.iter().enumerate().filter(|(_, layer)| **layer != "scenario") {
        let sources = sources(layer);
        assert!(!sources.is_empty(), "{layer}");
        for (path, text) in sources {
            for module in imported(&text) {
                let name = if QUESTION.contains(&module.as_str()) { "scenario" } else { module.as_str() };
                let of = LAYERS.iter().position(|layer| *layer == name);
                assert!(of.is_some_and(|of| of <= rank), "{} imports {module}", path.display());
            }
        }
    }
}

#[test]
fn identity_in_the_step_is_no_text_and_no_pointer() {
    for layer in LAYERS {
        for (path, text) in sources(layer) {
            for forbidden in ["ptr::eq", ".name() ==", ".name().starts_with", ".name().contains", ".name().ends_with"] {
                assert!(!text.contains(forbidden), "{} has {forbidden}", path.display());
            }
        }
    }
}
