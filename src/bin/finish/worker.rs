//! Tells the service worker which files this build has: their names and digests, and a digest of it all that
//! names the cache.

use std::path::Path;

use super::bill;
use super::digest::sha256;
use super::navigation::{COMMAND_LINE, LICENCE, LLMS, PROGRAMS};
use super::previews::is_for_crawlers;
use super::{Result, paths, read, read_bytes, write};

/// The worker, whose source is `assets/sw.js`.
const WORKER: &str = "sw.js";
/// What some hosts read and do not serve.
const HEADERS: &str = "_headers";
const FILES: &str = "/* {{files}} */";
const VERSION: &str = "{{version}}";

/// Fills in the list. An empty one makes a worker that removes itself and what an earlier one kept, so that
/// nobody works on a page and looks at an old one.
pub fn list(folder: &Path, is_kept: bool) -> Result<()> {
    let mut names = Vec::new();
    if is_kept {
        collect(folder, "", &mut names)?;
        names.sort();
        if !names.iter().any(|name| name == "index.html") {
            return Err(format!("there is no index.html in {}", folder.display()));
        }
    }
    let digests = names.iter().map(|name| Ok((name.as_str(), sha256(read_bytes(&folder.join(name))?))));
    let files = entries(&digests.collect::<Result<Vec<_>>>()?)?;
    let path = folder.join(WORKER);
    write(&path, filled(&read(&path)?, &files)?)
}

/// The files below a folder, as paths from the page. What is hidden is left over from the build, the headers are
/// for the host, the worker itself is kept by the browser, what crawlers ask for is nothing that a reader sees, the bill
/// of materials is as much as a part of the program, and four texts are for who looks into it or for programs.
fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) -> Result<()> {
    for path in paths(folder)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("\u{fffd}");
        let place = format!("{prefix}{name}");
        let not_kept = [WORKER, HEADERS, bill::FILE, COMMAND_LINE, LICENCE, LLMS, PROGRAMS];
        if name.starts_with('.') || not_kept.contains(&place.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, &format!("{place}/"), names)?;
        } else if !is_for_crawlers(&place) {
            names.push(place);
        }
    }
    Ok(())
}

/// The worker's list, in JavaScript: all names, and all digests in one row, without the sign that ends each of them.
fn entries(files: &[(&str, String)]) -> Result<String> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._/-".contains(sign);
    if let Some((name, _)) = files.iter().find(|(name, _)| !name.chars().all(is_plain)) {
        return Err(format!("the file name '{name}' would need escaping"));
    }
    if files.is_empty() {
        return Ok(String::new());
    }
    let names = files.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(",");
    let digests: String = files.iter().map(|(_, digest)| digest.trim_end_matches('=')).collect();
    Ok(format!("[{names}],\"{digests}\""))
}

/// The worker's source with the list, and without comments, which stand on lines of their own.
fn filled(source: &str, files: &str) -> Result<String> {
    for placeholder in [FILES, VERSION] {
        if !source.contains(placeholder) {
            return Err(format!("{WORKER} has no {placeholder}"));
        }
    }
    let mut listed = String::new();
    for line in source.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        listed.push_str(&line.replace(FILES, files));
        listed.push('\n');
    }
    // Letters and digits only: the digest becomes part of a name.
    let version: String = sha256(&listed).chars().filter(char::is_ascii_alphanumeric).take(22).collect();
    Ok(listed.replace(VERSION, &version))
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;

    const SOURCE: &str = "// Why.\n\nconst [names, digests] = [/* {{files}} */];\n  // {{version}} names it.\n  const VERSION = \"{{version}}\";\n";

    #[test]
    fn the_list_and_its_version_are_filled_in_and_comments_go() {
        let worker = filled(SOURCE, "[\"a\"],\"x\"").expect("both places are there");
        let (files, version) = worker.split_once('\n').expect("two lines");
        assert_eq!(files, "const [names, digests] = [[\"a\"],\"x\"];");
        let version = version.strip_prefix("const VERSION = \"").and_then(|rest| rest.strip_suffix("\";\n"));
        assert!(version.is_some_and(|word| word.len() == 22 && word.chars().all(|c| c.is_ascii_alphanumeric())));
        assert_ne!(filled(SOURCE, "").ok(), Some(worker.clone()));
        assert!(!filled(SOURCE, "").expect("both").contains(version.expect("a version")));
    }

    #[test]
    fn a_worker_without_a_place_for_the_list_and_a_name_to_be_escaped_stop_the_build() {
        assert!(filled("const VERSION = \"{{version}}\";", "").is_err_and(|said| said.contains(FILES)));
        assert!(entries(&[("a b.js", String::new())]).is_err_and(|said| said.contains("a b.js")));
        let two = [("icons/a-1.png", "x=".to_owned()), ("b.js", "y=".to_owned())];
        assert_eq!(entries(&two).as_deref(), Ok("[\"icons/a-1.png\",\"b.js\"],\"xy\""));
    }

    #[test]
    fn every_file_is_listed_but_the_worker_what_is_hidden_and_what_is_for_crawlers() {
        let folder = env::temp_dir().join(format!("bmax-worker-{}", process::id()));
        for name in ["icons", ".stage", "model/a"] {
            fs::create_dir_all(folder.join(name)).expect("a folder");
        }
        for name in [
            "index.html",
            "icons/b.png",
            ".hidden",
            ".stage/c.js",
            "model/a/index.html",
            "picture.png",
            bill::FILE,
            LICENCE,
            LLMS,
            PROGRAMS,
        ] {
            fs::write(folder.join(name), "abc").expect("a file");
        }
        let made = |is_kept| {
            fs::write(folder.join(WORKER), SOURCE).expect("the worker");
            list(&folder, is_kept).map(|()| fs::read_to_string(folder.join(WORKER)).expect("it is there"))
        };
        let digest = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0";
        let expected = format!("= [[\"icons/b.png\",\"index.html\"],\"{digest}{digest}\"];");
        assert!(made(true).is_ok_and(|worker| worker.contains(&expected)));
        assert!(made(false).is_ok_and(|worker| worker.contains("= [];")));
        fs::remove_file(folder.join("index.html")).expect("it can go");
        assert!(made(true).is_err());
        fs::remove_dir_all(&folder).expect("it can go");
    }
}
