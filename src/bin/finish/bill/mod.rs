//! Which packages the two programs of the page are made of: a bill of materials in the format CycloneDX 1.6
//! (<https://cyclonedx.org/docs/1.6/json/>). It follows from Cargo.lock, the features and the compiler alone, so that it
//! has no date and no place in it. No page loads it; the footer has a link to it.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};

use super::digest::hexadecimal;
use super::{Result, read, read_bytes, write};

/// What it is called in the page's folder.
pub const FILE: &str = "bmax.cdx.json";

/// The features of both programs, as index.html tells them to Trunk.
const FEATURES: &str = "hydrate";

/// What this package is called.
const OWN: &str = env!("CARGO_PKG_NAME");

/// A package that is compiled into a program. Plug-ins of the compiler, scripts of packages and what tests use are not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    license: String,
    /// Its folder, where it does not come from crates.io.
    folder: Option<String>,
}

impl Package {
    /// Its address among packages (<https://github.com/package-url/purl-spec>), by which the bill calls it, too.
    fn purl(&self) -> String {
        // A plus would be read as a space.
        let version = self.version.replace('+', "%2B");
        match &self.folder {
            None => format!("pkg:cargo/{}@{version}", self.name),
            // What is in this repository is on no registry.
            Some(_) if self.name == OWN => format!("pkg:generic/{OWN}@{version}"),
            Some(_) => format!("pkg:generic/{OWN}/{}@{version}", self.name),
        }
    }
}

/// Packages with what each of them depends on.
type Tree = BTreeMap<Package, BTreeSet<Package>>;

/// Writes the bill of the programs whose files these are, as paths from the page's folder.
pub fn write_it(folder: &Path, files: &[String]) -> Result<()> {
    let bill = bill(&files_with_digests(folder, files)?)?;
    let text = serde_json::to_string_pretty(&bill).map_err(|error| error.to_string())?;
    write(&folder.join(FILE), text + "\n")
}

fn files_with_digests(folder: &Path, files: &[String]) -> Result<Vec<Value>> {
    let one = |name: &String| {
        let digest = hexadecimal(read_bytes(&folder.join(name))?);
        Ok(json!({ "type": "file", "bom-ref": format!("file:{name}"), "name": name, "hashes": hashes(&digest) }))
    };
    files.iter().map(one).collect()
}

fn hashes(digest: &str) -> Value {
    json!([{ "alg": "SHA-256", "content": digest }])
}

fn bill(files: &[Value]) -> Result<Value> {
    let tree = dependencies(FEATURES)?;
    let own = tree.keys().find(|package| package.name == OWN).cloned();
    let own = own.ok_or("cargo tree does not begin with this package")?;
    let digests = digests(&read(Path::new("Cargo.lock"))?)?;
    let mut components = vec![standard_library()?];
    for package in tree.keys().filter(|package| **package != own) {
        components.push(component(package, &digests)?);
    }
    let relations = tree.iter().map(|(package, needs)| {
        let needs: Vec<_> = needs.iter().map(Package::purl).collect();
        json!({ "ref": package.purl(), "dependsOn": needs })
    });
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": own.purl(),
            "name": own.name,
            "version": own.version,
            "description": env!("CARGO_PKG_DESCRIPTION"),
            "licenses": licenses(&own.license),
            "purl": own.purl(),
            "components": files,
        } },
        "components": components,
        "dependencies": relations.collect::<Vec<_>>(),
    }))
}

/// What a program with these features is compiled from. Cargo says it line by line, each with its depth.
fn dependencies(features: &str) -> Result<Tree> {
    let arguments = "tree --locked --no-default-features --target wasm32-unknown-unknown --edges normal,no-proc-macro \
                     --prefix depth --format |{p}|{l} --features";
    tree(&said("CARGO", "cargo", &[&arguments.split_whitespace().collect::<Vec<_>>()[..], &[features]].concat())?)
}

/// What a program of the toolchain says; a variable may name another one than that on the path.
fn said(variable: &str, usual: &str, arguments: &[&str]) -> Result<String> {
    let program = env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let mut command = Command::new(&program);
    command.args(arguments);
    // How the page is compiled (tools/env.sh) would only confuse a question.
    for (name, _) in env::vars().filter(|(name, _)| name.starts_with("CARGO_UNSTABLE_")) {
        command.env_remove(name);
    }
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{program}: {error}"))
}

fn tree(lines: &str) -> Result<Tree> {
    let mut tree = Tree::new();
    // The way from the root to the present line.
    let mut way: Vec<Package> = Vec::new();
    for line in lines.lines() {
        let (depth, package) = read_line(line).ok_or_else(|| format!("cargo tree says “{line}”"))?;
        way.truncate(depth);
        if let Some(above) = way.last() {
            tree.entry(above.clone()).or_default().insert(package.clone());
        }
        tree.entry(package.clone()).or_default();
        way.push(package);
    }
    Ok(tree)
}

/// `4|wasm-streams v0.5.0 (/folder)|MIT (*)`: the last sign says that its own dependencies stand elsewhere.
fn read_line(line: &str) -> Option<(usize, Package)> {
    let mut parts = line.trim_end_matches(" (*)").split('|');
    let (depth, name, license) = (parts.next()?, parts.next()?, parts.next()?);
    let (name, version) = name.split_once(" v")?;
    let (version, folder) = match version.split_once(" (") {
        Some((version, folder)) => (version, Some(folder.trim_end_matches(')').to_owned())),
        None => (version, None),
    };
    // Older packages write a slash where others may choose.
    let license = license.replace('/', " OR ");
    Some((depth.parse().ok()?, Package { name: name.to_owned(), version: version.to_owned(), license, folder }))
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The digest of each package as crates.io serves it, by name and version.
fn digests(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: Lock = toml::from_str(lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    let known = |one: Locked| Some(((one.name, one.version), one.checksum?));
    Ok(lock.package.into_iter().filter_map(known).collect())
}

fn component(package: &Package, digests: &BTreeMap<(String, String), String>) -> Result<Value> {
    let digest = match &package.folder {
        Some(folder) => hexadecimal(read_bytes(&Path::new(folder).join("src/lib.rs"))?),
        None => digests
            .get(&(package.name.clone(), package.version.clone()))
            .cloned()
            .ok_or_else(|| format!("Cargo.lock has no digest of {}", package.name))?,
    };
    if package.license.is_empty() {
        return Err(format!("{} names no licence", package.name));
    }
    Ok(json!({
        "type": "library",
        "bom-ref": package.purl(),
        "name": package.name,
        "version": package.version,
        "scope": "required",
        "hashes": hashes(&digest),
        "licenses": licenses(&package.license),
        "purl": package.purl(),
    }))
}

fn licenses(expression: &str) -> Value {
    json!([{ "expression": expression }])
}

/// The standard library is compiled with each program from the source that came with the compiler (tools/env.sh), of
/// which no digest is published.
fn standard_library() -> Result<Value> {
    let version = said("RUSTC", "rustc", &["--version", "--verbose"])?;
    let field = |name: &str| version.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let release = field("release:").ok_or("rustc does not say its release")?;
    let purl = match field("commit-hash:") {
        Some(commit) if commit != "unknown" => {
            format!("pkg:generic/rust-std@{release}?vcs_url=git%2Bhttps://github.com/rust-lang/rust%40{commit}")
        }
        _ => format!("pkg:generic/rust-std@{release}"),
    };
    Ok(json!({
        "type": "library",
        "bom-ref": purl,
        "name": "std",
        "version": release,
        "description": "The standard library of Rust, with the packages that its own Cargo.lock names",
        "scope": "required",
        "licenses": licenses("MIT OR Apache-2.0"),
        "purl": purl,
    }))
}

#[cfg(test)]
mod tests;
