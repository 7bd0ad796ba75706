//! Neither the library nor the command line knows a browser.

use std::process::Command;

/// What draws or listens.
const BROWSER: &[&str] = &["leptos", "web-sys", "js-sys", "wasm-bindgen", "plotters", "plotters-canvas", "any_spawner"];

/// The names of the packages that the library and its programs are built with under `features`.
fn dependencies(features: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--target", "all"])
        .args(features)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let names: Vec<_> = tree.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert_eq!(names.first().map(String::as_str), Some("bmax"), "{tree}");
    names
}

fn assert_none(names: &[String], foreign: &[&str]) {
    for name in foreign {
        assert!(!names.iter().any(|other| other == name), "{name} is among {names:?}");
    }
}

#[test]
fn by_default_the_library_depends_on_nothing_that_draws_or_listens() {
    assert_none(&dependencies(&[]), BROWSER);
}

#[test]
fn the_command_line_depends_on_nothing_that_draws_or_listens() {
    let names = dependencies(&["--features", "cli"]);
    assert_none(&names, BROWSER);
    assert!(names.iter().any(|name| name == "serde_json"), "{names:?}");
}

#[test]
fn pictures_need_nothing_of_the_page() {
    let names = dependencies(&["--features", "picture"]);
    // Plotters itself names web-sys for browsers.
    assert_none(&names, &["leptos", "plotters-canvas", "any_spawner"]);
    assert!(names.iter().any(|name| name == "plotters-svg"), "{names:?}");
}

#[test]
fn the_page_carries_nothing_of_the_command_line() {
    assert_none(&dependencies(&["--features", "hydrate"]), &["schemars"]);
    // Trunk reads from this line with which features the page is built.
    let page = include_str!("../index.html");
    assert!(page.contains(r#"data-cargo-no-default-features data-cargo-features="hydrate""#));
}
