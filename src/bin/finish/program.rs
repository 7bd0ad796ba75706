//! Divides the page's program at its parts, which Leptos' `wasm_split` marks (src/figures/mod.rs): a first module with
//! the frame of a page, a module for each part, and modules with what several parts need, merged to fewer. Trunk
//! knows of one module, so that what it made is put aside: here the linked program is divided, wasm-bindgen takes the
//! first module, and Binaryen takes each.
//!
//! All files lie in one folder that is named by what they hold: within it they call each other by plain names, and a
//! browser may keep each for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wasm_split_cli_support::{Options, transform};

use super::digest::{sha256, short};
use super::imports::shortened;
use super::merge::merge;
use super::{Result, minify, paths, read, read_bytes, write};

/// What Cargo and Trunk call the program.
const NAME: &str = "bmax-site";
/// What its files are called: `bmax.js` and `bmax_bg.wasm` by wasm-bindgen, the others by the division.
const STEM: &str = "bmax";
/// The script that wasm-bindgen's asks for the parts. As the division writes it, it also names every file with its digest.
const LOADER: &str = "__wasm_split.js";
/// The script with all that, which is fetched with the first part.
const PARTS: &str = "parts.js";

/// The program as it lies in the page's folder.
pub struct Program {
    /// Its folder, seen from the page's.
    pub folder: String,
    /// The digest of the digests of its files.
    pub digest: String,
    /// The files of each part, as names in that folder.
    parts: BTreeMap<String, Vec<String>>,
    /// Its scripts and their digests.
    scripts: BTreeMap<String, String>,
}

/// The part that is the first module, which every page has.
const FIRST: &str = "first";

impl Program {
    /// The modules of a part beside the first one, those that it shares with others included.
    pub fn part(&self, name: &str) -> Result<Vec<String>> {
        if name == FIRST {
            return Ok(Vec::new());
        }
        let files = self.parts.get(name).ok_or_else(|| format!("the program has no part “{name}”"))?;
        Ok(files.iter().map(|file| format!("{}/{file}.wasm", self.folder)).collect())
    }

    /// Its files, as paths from the page's folder.
    pub fn files(&self, page: &Path) -> Result<Vec<String>> {
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(paths(&page.join(&self.folder))?.iter().map(|path| format!("{}/{}", self.folder, name(path))).collect())
    }

    /// Its scripts as they are called from the page's folder, and their digests.
    pub fn scripts(&self) -> impl Iterator<Item = (String, &str)> {
        self.scripts.iter().map(|(name, digest)| (format!("{}/{name}", self.folder), digest.as_str()))
    }
}

/// Divides the program that lies linked in `built`, into a folder inside the page's folder. Each of the pages has the
/// parts of one set.
pub fn divide(page: &Path, built: &Path, pages: &[BTreeSet<String>]) -> Result<Program> {
    remove_undivided(page)?;
    let linked = read_bytes(&built.join(format!("wasm32-unknown-unknown/release/{NAME}.wasm")))?;
    let work = page.join(".program");
    fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    let first = work.join(format!("{STEM}.wasm"));
    let script = format!("./{STEM}.js");
    let mut options = Options::new(&linked);
    options.output_dir = &work;
    options.main_out_path = &first;
    options.main_module = &script;
    options.target.web();
    let divided = transform(options).map_err(|error| format!("the program cannot be divided: {error:?}"))?;
    bind(&first, &work)?;
    fs::remove_file(&first).map_err(|error| format!("{}: {error}", first.display()))?;
    let bound = work.join(format!("{STEM}_bg.wasm"));
    shorten_imports(&bound, &work.join(format!("{STEM}.js")))?;
    let mut lists = divided.prefetch_map.into_iter().collect();
    let loader = merge(&work, &mut lists, pages, &read(&work.join(LOADER))?)?;
    let modules: Vec<_> = paths(&work)?.into_iter().filter(|file| is_module(file)).collect();
    optimize(&modules)?;
    let bindings = format!("{STEM}.js");
    let parts = checking(&loader, &work)?;
    let all =
        [(LOADER, deferring(&parts)?), (PARTS, parts), (&bindings, checking(&read(&work.join(&bindings))?, &work)?)];
    let mut scripts = BTreeMap::new();
    for (name, script) in all {
        let script = minify::module(&script)?;
        scripts.insert(name.to_owned(), sha256(&script));
        write(&work.join(name), script)?;
    }
    let digest = digest(&work)?;
    let folder = format!("program-{}", short(&digest));
    fs::rename(&work, page.join(&folder)).map_err(|error| format!("{folder}: {error}"))?;
    let digest = sha256(digest);
    Ok(Program { folder, digest, parts: lists, scripts })
}

fn is_module(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "wasm")
}

/// A script that refuses a module whose digest is not that of the file beside it: each is fetched with its integrity.
/// wasm-bindgen and the division write two ways of fetching one; any other stops the build.
pub fn checking(script: &str, folder: &Path) -> Result<String> {
    let mut checked = script.to_owned();
    for file in paths(folder)?.iter().filter(|file| is_module(file)) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let integrity = format!("{{ integrity: \"sha256-{}\" }}", sha256(read_bytes(file)?));
        let part = format!("fetch(new URL(\"./{name}\", import.meta.url)");
        checked = checked.replace(&format!("{part})"), &format!("{part}, {integrity})"));
        if checked.contains(&format!("new URL('{name}', import.meta.url)")) {
            checked = checked.replace("fetch(module_or_path)", &format!("fetch(module_or_path, {integrity})"));
        }
    }
    let counts = ["import.meta.url", "fetch(", "{ integrity: "].map(|words| checked.matches(words).count());
    if counts != [counts[0]; 3] {
        return Err("a script fetches a module in another way than it did, without its digest".to_owned());
    }
    Ok(checked)
}

/// A script with the functions of the one that fetches the parts. It imports that one when the first of them is called: a
/// page whose parts nobody comes near does without it. A part whose script does not come is told to the program as one
/// whose module does not.
fn deferring(parts: &str) -> Result<String> {
    const EXPORTED: &str = "export const ";
    let exports = parts.lines().filter_map(|line| line.strip_prefix(EXPORTED)?.split_once(" = wrapAsyncCb("));
    let functions: String = exports.map(|(name, _)| format!("{EXPORTED}{name} = of(\"{name}\");\n")).collect();
    if functions.is_empty() || functions.lines().count() != parts.matches("export ").count() {
        return Err("the script that fetches the parts exports something in another way than it did".to_owned());
    }
    Ok(format!(
        "import {{ initSync }} from \"./{STEM}.js\";
const of = (name) => async (callback, data) => {{
const parts = await import(\"./{PARTS}\").catch(console.error);
if (parts) return parts[name](callback, data);
initSync().__indirect_function_table.get(callback)(data, false);
}};
{functions}"
    ))
}

/// Removes what Trunk made of the undivided program.
fn remove_undivided(page: &Path) -> Result<()> {
    for path in paths(page)? {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME)) {
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// Lets wasm-bindgen write the script of the first module. Its exports are how the others reach it.
fn bind(module: &Path, folder: &Path) -> Result<()> {
    let mut command = Command::new("wasm-bindgen");
    command.args(["--target", "web", "--no-typescript", "--keep-lld-exports", "--out-name", STEM, "--out-dir"]);
    run(command.arg(folder).arg(module))
}

/// Shortens the names of what a module imports from its script.
pub fn shorten_imports(module: &Path, script: &Path) -> Result<()> {
    let name = module.file_stem().unwrap_or_default().to_string_lossy();
    let (smaller, shorter) = shortened(&read_bytes(module)?, &read(script)?, &format!("./{name}.js"))?;
    write(module, smaller)?;
    write(script, shorter)
}

/// Makes modules smaller, each in its place.
pub fn optimize(modules: &[PathBuf]) -> Result<()> {
    let binaryen = env::var_os("BMAX_BINARYEN").ok_or("BMAX_BINARYEN names no folder: make dist sets it")?;
    run(Command::new("node").arg("tools/optimize.mjs").arg(binaryen).args(modules))
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The digests of all files, one behind the other in the order of their names: what the name of the folder follows from.
fn digest(folder: &Path) -> Result<String> {
    paths(folder)?.into_iter().map(|file| Ok(sha256(read_bytes(&file)?))).collect()
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;

    #[test]
    fn a_part_is_named_with_its_folder_and_one_that_is_missing_is_said() {
        let parts = BTreeMap::from([("room".to_owned(), vec!["chunk_3".to_owned(), "split_room".to_owned()])]);
        let program =
            Program { folder: "program-x".to_owned(), digest: String::new(), parts, scripts: BTreeMap::new() };
        let files = ["program-x/chunk_3.wasm".to_owned(), "program-x/split_room.wasm".to_owned()];
        assert_eq!(program.part("room"), Ok(files.to_vec()));
        assert_eq!(program.part("first"), Ok(Vec::new()));
        assert_eq!(program.part("last"), Err("the program has no part “last”".to_owned()));
    }

    #[test]
    fn every_module_is_fetched_with_the_digest_of_its_file() {
        let folder = env::temp_dir().join(format!("bmax-program-{}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        // The digest of “abc” is that of FIPS 180-4, appendix B.1.
        fs::write(folder.join("a.wasm"), "abc").expect("a file");
        let digest = "{ integrity: \"sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=\" }";
        let part = "const src = fetch(new URL(\"./a.wasm\", import.meta.url));";
        let checked = format!("const src = fetch(new URL(\"./a.wasm\", import.meta.url), {digest});");
        assert_eq!(checking(part, &folder), Ok(checked));
        let first = "module_or_path = new URL('a.wasm', import.meta.url);\nmodule_or_path = fetch(module_or_path);";
        let checked = format!(
            "module_or_path = new URL('a.wasm', import.meta.url);\nmodule_or_path = fetch(module_or_path, {digest});"
        );
        assert_eq!(checking(first, &folder), Ok(checked));
        assert!(checking("module_or_path = new URL('a.wasm', import.meta.url);", &folder).is_err());
        assert!(checking("module_or_path = new URL('a.wasm', import.meta.url); fetch(path);", &folder).is_err());
        assert!(checking("fetch(new URL(\"./missing.wasm\", import.meta.url))", &folder).is_err());
        fs::remove_dir_all(&folder).expect("it can go");
    }

    #[test]
    fn every_part_is_asked_for_by_its_name_and_an_export_of_another_kind_stops_the_build() {
        let part = |name: &str| format!("export const {name} = wrapAsyncCb(makeLoad(() => {{\n}}, []));\n");
        let parts = part("load_room") + &part("load_home");
        let script = deferring(&parts).expect("two parts");
        let functions = "export const load_room = of(\"load_room\");\nexport const load_home = of(\"load_home\");\n";
        assert!(script.ends_with(functions), "{script}");
        assert!(deferring("").is_err());
        assert!(deferring(&(parts + "export function load() {}\n")).is_err());
    }

    #[test]
    fn what_a_tool_complains_of_stops_the_build_with_its_own_words() {
        let said = run(Command::new("sh").args(["-c", "echo too old >&2; exit 1"]));
        assert_eq!(said, Err("sh: too old\n".to_owned()));
        assert!(run(&mut Command::new("no-such-tool")).is_err_and(|said| said.starts_with("no-such-tool: ")));
    }
}
