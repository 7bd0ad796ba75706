//! The library without its features knows no browser.

use std::process::Command;

#[test]
fn without_features_the_library_depends_on_nothing_that_draws_or_listens() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--edges",
            "normal",
            "--no-default-features",
            "--prefix",
            "none",
            "--target",
            "all",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let names: Vec<_> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.first(), Some(&"bmax"), "{tree}");
    for foreign in ["leptos", "web-sys", "js-sys", "wasm-bindgen", "plotters", "plotters-canvas", "any_spawner"] {
        assert!(!names.contains(&foreign), "{foreign} is in the library's dependency tree:\n{tree}");
    }
}
