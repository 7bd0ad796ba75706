//! The ready files for hosts: that all of them send the same headers, and that what a browser may keep for ever is what
//! is named by its content.

use std::collections::BTreeMap;
use std::fs;

fn file(name: &str) -> String {
    let path = format!("{}/assets/hosting/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What every answer has.
const ALWAYS: [(&str, &str); 6] = [
    // A figure in a sandboxed frame has no origin of its own.
    ("Access-Control-Allow-Origin", "*"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    ("Content-Security-Policy", "frame-ancestors *"),
    ("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("Referrer-Policy", "strict-origin-when-cross-origin"),
    ("X-Content-Type-Options", "nosniff"),
];

const ASKED_AGAIN: &str = "no-cache";
const KEPT: &str = "public, max-age=31536000, immutable";
/// How the names begin of what is named by its content (`src/bin/finish/`, and Trunk for the sheet).
const NAMED: [&str; 4] = ["program-", "desk-", "search-", "site-"];

/// The headers of each pattern of `_headers`.
fn rules(text: &str) -> BTreeMap<&str, Vec<(&str, &str)>> {
    let mut rules: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    let mut pattern = None;
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match (line.strip_prefix("  "), pattern) {
            (Some(header), Some(pattern)) => {
                if !header.starts_with("! ") {
                    let header = header.split_once(": ").unwrap_or_else(|| panic!("{line}"));
                    rules.entry(pattern).or_default().push(header);
                }
            }
            _ => pattern = Some(line),
        }
    }
    rules
}

#[test]
fn the_file_of_headers_sends_all_of_them_and_keeps_what_is_named_by_its_content() {
    let text = file("_headers");
    let rules = rules(&text);
    let mut all = ALWAYS.to_vec();
    all.push(("Cache-Control", ASKED_AGAIN));
    assert_eq!(rules["/*"], all);
    for name in NAMED {
        assert_eq!(rules[format!("/{name}*").as_str()], [("Cache-Control", KEPT)], "{name}");
    }
    assert_eq!(rules.len(), 1 + NAMED.len());
}

#[test]
fn nginx_and_caddy_send_the_same() {
    let (nginx, caddy) = (file("nginx.conf"), file("Caddyfile"));
    for (name, value) in ALWAYS {
        assert!(nginx.contains(&format!("add_header {name} \"{value}\" always;")), "nginx: {name}");
        assert!(caddy.contains(&format!("{name} \"{value}\"\n")), "Caddy: {name}");
    }
    let sent = nginx.matches("add_header ").count();
    assert_eq!(sent, ALWAYS.len() + 1, "the others and how long to keep them");
    assert!(nginx.contains(&format!("default \"{ASKED_AGAIN}\";")));
    assert!(
        nginx.contains(&format!("~^/bmax/({})- \"{KEPT}\";", NAMED.map(|name| name.trim_end_matches('-')).join("|")))
    );
    assert!(caddy.contains(&format!("Cache-Control \"{ASKED_AGAIN}\"")));
    let kept = NAMED.map(|name| format!("/bmax/{name}*")).join(" ");
    assert!(caddy.contains(&format!("@kept path {kept}\n\theader @kept Cache-Control \"{KEPT}\"")));
}

#[test]
fn a_module_of_webassembly_is_declared_as_one_and_compressed() {
    let (nginx, caddy) = (file("nginx.conf"), file("Caddyfile"));
    assert!(nginx.contains("application/wasm wasm;"));
    assert!(nginx.lines().any(|line| line.trim().starts_with("gzip_types ") && line.contains(" application/wasm ")));
    // Caddy declares it by itself.
    assert!(caddy.contains("header Content-Type application/wasm*\n"));
}

/// While a new build is uploaded, a page may ask for a file that is not there yet.
#[test]
fn what_is_missing_is_not_kept() {
    // nginx goes on to another address, whose name is not among those that are kept.
    assert!(file("nginx.conf").contains("error_page 404 /bmax/404.html;"));
    let caddy = file("Caddyfile");
    let (_, missing) = caddy.split_once("handle_errors {").expect("what Caddy does about errors");
    assert!(missing.contains(&format!("header Cache-Control \"{ASKED_AGAIN}\"")));
}

#[test]
fn an_address_without_its_last_slash_keeps_the_configuration() {
    assert!(file("nginx.conf").contains("return 301 /bmax/$is_args$args;"));
    assert!(file("Caddyfile").contains("redir /bmax /bmax/?{query} permanent"));
}
