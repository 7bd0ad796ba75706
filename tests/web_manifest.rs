//! The web manifest: what a browser needs to install the page, and that what it names is there.

use std::fs;

use serde_json::{Value, json};

fn asset(name: &str) -> Vec<u8> {
    let path = format!("{}/assets/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn manifest() -> Value {
    serde_json::from_slice(&asset("manifest.webmanifest")).expect("the manifest is JSON")
}

/// The template of every page; `{{root}}` is the way from a page to the first one.
const PAGE: &str = include_str!("../index.html");

/// Width and height of a PNG in pixels, as its first chunk has them (W3C, "PNG Specification", 11.2.1).
fn png_size(bytes: &[u8]) -> (u32, u32) {
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "a PNG");
    assert_eq!(&bytes[12..16], b"IHDR");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

#[test]
fn the_manifest_has_what_browsers_ask_of_a_page_that_can_be_installed() {
    let manifest = manifest();
    for key in ["name", "short_name", "description"] {
        assert!(manifest[key].as_str().is_some_and(|text| !text.is_empty()), "{key}");
    }
    // A home screen has room for about a dozen letters.
    assert!(manifest["short_name"].as_str().is_some_and(|name| name.len() <= 12));
    assert_eq!(manifest["display"], "standalone");
    assert_eq!(manifest["lang"], "en");
    // Relative to the manifest, so that the page can be installed from any folder. Without an id each
    // installation is known by its address, so that two on one origin are two.
    assert_eq!((&manifest["start_url"], &manifest["scope"]), (&json!("."), &json!(".")));
    assert_eq!(manifest.get("id"), None);
}

#[test]
fn its_colours_are_those_of_the_paper() {
    let tokens = include_str!("../style/tokens.css");
    let paper = tokens.split("--paper: ").nth(1).and_then(|rest| rest.split(';').next()).expect("a colour of paper");
    let manifest = manifest();
    assert_eq!((&manifest["theme_color"], &manifest["background_color"]), (&json!(paper), &json!(paper)));
    assert!(PAGE.contains(&format!("content=\"{paper}\" media=\"(prefers-color-scheme: light)\"")));
    for icon in ["favicon.svg", "icon-square.svg", "icon-maskable.svg"] {
        assert!(String::from_utf8(asset(icon)).expect("text").contains(&format!("fill=\"{paper}\"")), "{icon}");
    }
}

#[test]
fn every_icon_is_there_and_as_large_as_it_says() {
    let manifest = manifest();
    let icons = manifest["icons"].as_array().expect("icons");
    let mut plain = Vec::new();
    for icon in icons {
        let source = icon["src"].as_str().expect("a file");
        let (width, height) = png_size(&asset(source));
        assert_eq!(icon["sizes"], format!("{width}x{height}"), "{source}");
        assert_eq!(icon["type"], "image/png", "{source}");
        if icon.get("purpose").is_none() {
            plain.push(width);
        }
    }
    // The two sizes that Chromium asks for.
    assert!(plain.contains(&192) && plain.contains(&512), "{plain:?}");
    assert!(icons.iter().any(|icon| icon["purpose"] == "maskable"));
    // No icon lies there that nobody names.
    let folder = format!("{}/assets/icons", env!("CARGO_MANIFEST_DIR"));
    for file in fs::read_dir(folder).expect("a folder").flatten() {
        let name = format!("icons/{}", file.file_name().to_string_lossy());
        let in_manifest = icons.iter().any(|icon| icon["src"] == name);
        assert!(in_manifest || PAGE.contains(&format!("href=\"{{{{root}}}}{name}\"")), "{name}");
    }
}

#[test]
fn the_page_names_the_manifest_and_an_icon_for_apple_s_home_screen() {
    assert!(PAGE.contains("<link rel=\"manifest\" href=\"{{root}}manifest.webmanifest\">"));
    assert!(PAGE.contains("<link rel=\"apple-touch-icon\" href=\"{{root}}icons/apple-touch-180.png\">"));
    assert_eq!(png_size(&asset("icons/apple-touch-180.png")), (180, 180));
}
