use super::*;

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().into_iter().flatten().filter_map(|one| one[key].as_str()).collect()
}

#[test]
fn a_line_of_cargo_is_read_with_its_depth_its_folder_and_its_licence() {
    let read = |line| read_line(line).map(|(depth, one)| (depth, one.purl(), one.license));
    let plain = (2, "pkg:cargo/serde@1.0.229".to_owned(), "MIT OR Apache-2.0".to_owned());
    assert_eq!(read("2|serde v1.0.229|MIT/Apache-2.0 (*)"), Some(plain));
    let here = (4, "pkg:generic/bmax/wasm-streams@0.5.0".to_owned(), "MIT".to_owned());
    assert_eq!(read("4|wasm-streams v0.5.0 (/a/wasm-streams)|MIT"), Some(here));
    let pre = "1|wasi v0.11.1+wasi-snapshot-preview1|MIT";
    assert_eq!(read(pre).map(|(_, purl, _)| purl).as_deref(), Some("pkg:cargo/wasi@0.11.1%2Bwasi-snapshot-preview1"));
    assert_eq!(read("warning: something"), None);
}

#[test]
fn who_depends_on_whom_follows_from_the_depths() {
    let tree = tree("0|a v1.0.0|MIT\n1|b v1.0.0|MIT\n2|c v1.0.0|MIT\n1|c v1.0.0|MIT (*)\n").expect("four lines");
    let needs: Vec<Vec<&str>> =
        tree.values().map(|needs| needs.iter().map(|one| one.name.as_str()).collect()).collect();
    assert_eq!(needs, [vec!["b", "c"], vec!["c"], vec![]]);
}

/// What the schema asks for (CycloneDX 1.6, https://cyclonedx.org/schema/bom-1.6.schema.json), and that every package
/// says where it comes from.
#[test]
fn the_bill_is_one_and_every_package_in_it_has_a_licence_an_address_and_a_digest() {
    let bill = bill(&[]).expect("a bill");
    assert_eq!([&bill["bomFormat"], &bill["specVersion"]], ["CycloneDX", "1.6"]);
    assert_eq!(bill["metadata"]["component"]["type"], "application");
    assert_eq!(bill["metadata"]["component"]["name"], OWN);
    let components = bill["components"].as_array().expect("components");
    for one in components {
        let name = one["name"].as_str().expect("a name");
        assert_eq!(one["type"], "library", "{name}");
        assert!(one["version"].as_str().is_some_and(|version| !version.is_empty()), "{name}");
        assert!(one["purl"].as_str().is_some_and(|purl| purl.starts_with("pkg:")), "{name}");
        assert!(one["licenses"][0]["expression"].as_str().is_some_and(|words| !words.contains('/')), "{name}");
        let hash = &one["hashes"][0];
        let is_digest = |text: &str| text.len() == 64 && text.chars().all(|sign| sign.is_ascii_hexdigit());
        let has_digest = hash["alg"] == "SHA-256" && hash["content"].as_str().is_some_and(is_digest);
        // Nobody publishes a digest of the standard library's source.
        assert_eq!(has_digest, name != "std", "{name}");
    }
    let mut names = texts(&bill["components"], "bom-ref");
    names.extend(bill["metadata"]["component"]["bom-ref"].as_str());
    let all: BTreeSet<_> = names.iter().collect();
    assert_eq!(all.len(), names.len(), "one name, one component");
    for relation in bill["dependencies"].as_array().expect("dependencies") {
        let needs = relation["dependsOn"].as_array().into_iter().flatten().chain([&relation["ref"]]);
        needs.filter_map(Value::as_str).for_each(|name| assert!(all.contains(&name), "{name}"));
    }
}

/// Another question to cargo than the one that the bill is made of: names alone, each as often as it is needed.
#[test]
fn the_bill_has_what_the_programs_are_compiled_from_and_nothing_else() {
    let bill = bill(&[]).expect("a bill");
    let listed: BTreeSet<&str> = texts(&bill["components"], "name").into_iter().collect();
    let ask = |features, edges| {
        let arguments =
            ["tree", "--offline", "--no-default-features", "--prefix", "none", "--format", "{lib}", "--edges", edges];
        let target = ["--target", "wasm32-unknown-unknown", "--features", features];
        said("CARGO", "cargo", &[&arguments[..], &target].concat()).expect("cargo answers")
    };
    let compiled = ask(FEATURES, "normal,no-proc-macro");
    let compiled: BTreeSet<&str> = compiled.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let crates: BTreeSet<String> = listed.iter().map(|name| name.replace('-', "_")).collect();
    for one in compiled.iter().filter(|one| **one != OWN) {
        assert!(crates.contains(&one.to_lowercase()), "{one} is compiled in");
    }
    // The standard library is beside them, as this package is.
    assert_eq!(listed.len(), compiled.len(), "{listed:?}");
    // Of tests, of the build and of the compiler's plug-ins, one each that is surely there.
    for foreign in ["fantoccini", "proptest", "resvg", "wasm_split_cli_support", "leptos_macro", "serde_derive"] {
        assert!(!listed.contains(foreign), "{foreign}");
    }
    assert!(["leptos", "plotters", "serde", "web-sys", "qrcodegen"].iter().all(|one| listed.contains(one)));
}

#[test]
fn it_says_nothing_of_when_and_where_it_was_made() {
    let made = || serde_json::to_string(&bill(&[]).expect("a bill")).expect("JSON");
    let text = made();
    assert_eq!(text, made());
    assert!(!text.contains(env!("CARGO_MANIFEST_DIR")) && !text.contains("timestamp"), "{text}");
}
