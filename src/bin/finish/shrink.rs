//! Makes the programs smaller for their way to the reader: the names by which a WebAssembly module and its
//! JavaScript know each other become short ones, and the JavaScript loses its comments and indentation.
//! Trunk's own minifier cannot read what wasm-bindgen writes today.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use super::digest::sha384;
use super::{Result, read, read_bytes, write};

/// Taking the code apart and putting it together again saves a kilobyte that the optimizer leaves otherwise.
const OPTIONS: &str = "--enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext \
                       --enable-mutable-globals --enable-reference-types --enable-multivalue --flatten --rereloop -Oz \
                       --gufa -Oz --converge --minify-imports-and-exports-and-modules";

/// The digests of a script before and after.
pub struct Changed {
    pub old: String,
    pub new: String,
}

/// Shrinks every module of the folder that has a script. Without wasm-opt everything stays as it is.
pub fn modules(folder: &Path) -> Result<Vec<Changed>> {
    let fault = |error| format!("{}: {error}", folder.display());
    let mut changed = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        let module = entry.map_err(fault)?.path();
        let stem = module.file_name().and_then(|name| name.to_str()?.strip_suffix("_bg.wasm"));
        let Some(script) = stem.map(|stem| folder.join(format!("{stem}.js"))).filter(|script| script.is_file()) else {
            continue;
        };
        changed.extend(shrink(&module, &script)?);
    }
    Ok(changed)
}

fn shrink(module: &Path, script: &Path) -> Result<Option<Changed>> {
    let smaller = module.with_extension("smaller");
    let run = Command::new("wasm-opt").arg(module).args(OPTIONS.split_whitespace()).arg("-o").arg(&smaller).output();
    let output = match run {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| format!("wasm-opt: {error}"))?,
    };
    if !output.status.success() {
        return Err(format!("wasm-opt: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let small = read_bytes(&smaller)?;
    fs::remove_file(&smaller).map_err(|error| format!("{}: {error}", smaller.display()))?;
    let names = Names::read(&String::from_utf8_lossy(&output.stdout));
    // A release of wasm-opt that writes its map in another way leaves the page a little larger, and whole.
    if names.imports.is_empty() || names.exports.is_empty() {
        eprintln!("finish: this wasm-opt does not say how it renamed; the names stay long");
        return Ok(None);
    }
    let long = read(script)?;
    let short = names.shorten(&long);
    let changed = Changed { old: sha384(long), new: sha384(&short) };
    write(module, small)?;
    write(script, short)?;
    Ok(Some(changed))
}

/// The short names by the long ones.
#[derive(Default)]
struct Names {
    imports: BTreeMap<String, String>,
    exports: BTreeMap<String, String>,
}

impl Names {
    /// Reads what wasm-opt prints: lists of `["module","long","short"]` and `["long","short"]`, a line each.
    fn read(map: &str) -> Self {
        let mut names = Self::default();
        let mut section = "";
        for line in map.lines() {
            let quoted: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
            match (section, &quoted[..]) {
                (_, [name @ ("imports" | "exports" | "modules"), ..]) if line.contains(':') => section = name,
                ("imports", [_, long, short]) => _ = names.imports.insert((*long).to_owned(), (*short).to_owned()),
                ("exports", [long, short]) => _ = names.exports.insert((*long).to_owned(), (*short).to_owned()),
                _ => {}
            }
        }
        names
    }

    /// wasm-bindgen's script with the short names, without comments and indentation.
    fn shorten(&self, script: &str) -> String {
        let mut short = String::with_capacity(script.len());
        let mut is_comment = false;
        for line in script.lines() {
            let line = line.trim_start();
            // Comments stand on lines of their own.
            is_comment |= line.starts_with("/**");
            if is_comment {
                is_comment = !line.contains("*/");
            } else if !line.is_empty() && !line.starts_with("//") {
                short.push_str(&self.shorten_line(line));
                short.push('\n');
            }
        }
        short
    }

    fn shorten_line(&self, line: &str) -> String {
        // "name: function(" is how an import is given.
        let name = word(line);
        let line = match self.imports.get(name).filter(|_| line[name.len()..].starts_with(':')) {
            Some(import) => import.clone() + &line[name.len()..],
            None => line.to_owned(),
        };
        // The imports are those of a module, whose name is the only one.
        let line = match line.strip_prefix("\"./").and_then(|rest| rest.split_once('"')) {
            Some((module, rest)) if module.ends_with("_bg.js") && rest.starts_with(':') => format!("\"a\"{rest}"),
            _ => line,
        };
        // wasm.name is how an export is taken.
        let line = replaced(&line, "wasm.", |name| Some(format!("wasm.{}", self.exports.get(name)?)));
        // Functions of the script that are called like the export that they call.
        replaced(&line, "wasm_bindgen_", |rest| {
            Some(format!("call_{}", self.exports.get(&format!("wasm_bindgen_{rest}"))?))
        })
    }
}

/// The letters and digits at the start of a text.
fn word(text: &str) -> &str {
    let end = text.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_' && sign != '$');
    &text[..end.unwrap_or(text.len())]
}

/// A line in which each name behind a start becomes another one, start and all, or stays.
fn replaced(line: &str, start: &str, other: impl Fn(&str) -> Option<String>) -> String {
    let mut done = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(start) {
        // A name may have the start in it once more.
        let name = word(after);
        done.push_str(before);
        done.push_str(&other(name).unwrap_or_else(|| format!("{start}{name}")));
        rest = &after[name.len()..];
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As wasm-opt of Binaryen 132 prints it.
    const MAP: &str = "{\n  \"imports\": [\n    [\"./bmax-site_bg.js\", \"__wbg_new_1\", \"b\"],\n    [\"./bmax-site_bg.js\", \
                       \"__wbg_get_2\", \"c\"]\n  ],\n  \"exports\": [\n    [\"memory\", \"f\"],\n    \
                       [\"wasm_bindgen_1_wasm_bindgen_2\", \"g\"]\n  ],\n  \"modules\": [\n    [\"./bmax-site_bg.js\", \"a\"]\n  ]\n}\n";

    #[test]
    fn names_are_read_from_the_map_of_the_optimizer() {
        let names = Names::read(MAP);
        let pairs =
            |names: &BTreeMap<String, String>| names.iter().map(|(a, b)| format!("{a}={b}")).collect::<Vec<_>>();
        assert_eq!(pairs(&names.imports), ["__wbg_get_2=c", "__wbg_new_1=b"]);
        assert_eq!(pairs(&names.exports), ["memory=f", "wasm_bindgen_1_wasm_bindgen_2=g"]);
        assert!(Names::read("another way").imports.is_empty());
    }

    #[test]
    fn the_script_calls_imports_and_exports_by_their_short_names() {
        let script = "\
            /**\n * A comment.\n */\n\
            function wasm_bindgen_1_wasm_bindgen_2(arg) {\n    wasm.wasm_bindgen_1_wasm_bindgen_2(arg, wasm.memory.buffer, wasm.other);\n}\n\
            \n\
            // Another.\n\
            const imports = { __wbg_new_1x: 1,\n        \"./bmax-site_bg.js\": import0,\n\
            __wbg_new_1: function() { return 'memory'; },\n};\n";
        let short = "\
            function call_g(arg) {\nwasm.g(arg, wasm.f.buffer, wasm.other);\n}\n\
            const imports = { __wbg_new_1x: 1,\n\"a\": import0,\nb: function() { return 'memory'; },\n};\n";
        assert_eq!(Names::read(MAP).shorten(script), short);
    }
}
