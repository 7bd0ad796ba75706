//! Scripts and style sheets without what only their readers need: names, comments and space go. esbuild does it.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

use super::Result;
use super::markup::tags;

/// The language of a text, which esbuild has to be told.
#[derive(Clone, Copy)]
enum Kind {
    /// A script that shares its names with the others of its page.
    Script,
    /// A script whose names are its own.
    Module,
    Sheet,
}

impl Kind {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Script => &["--loader=js"],
            Self::Module => &["--loader=js", "--format=esm"],
            Self::Sheet => &["--loader=css"],
        }
    }
}

/// A module, smaller.
pub fn module(source: &str) -> Result<String> {
    minified(source, Kind::Module)
}

/// A script that a page calls by its address, smaller.
pub fn script(source: &str) -> Result<String> {
    minified(source, Kind::Script)
}

/// A style sheet, smaller.
pub fn sheet(source: &str) -> Result<String> {
    minified(source, Kind::Sheet)
}

/// A page with smaller scripts and style sheets. Blocks of data stay, and so does what lies in files.
pub fn inline(page: &str) -> Result<String> {
    changed(page, minified)
}

fn changed(page: &str, change: impl Fn(&str, Kind) -> Result<String>) -> Result<String> {
    let mut html = String::with_capacity(page.len());
    let mut done = 0;
    for tag in tags(page) {
        let kind = match tag.attribute("type").map(|kind| kind.value) {
            None if tag.is("script") => Kind::Script,
            Some("module") if tag.is("script") => Kind::Module,
            _ if tag.is("style") => Kind::Sheet,
            _ => continue,
        };
        let Some(content) = tag.content.filter(|content| !page[content.clone()].trim().is_empty()) else { continue };
        html += &page[done..content.start];
        html += &change(&page[content.clone()], kind)?;
        done = content.end;
    }
    Ok(html + &page[done..])
}

fn minified(source: &str, kind: Kind) -> Result<String> {
    let program = env::var_os("BMAX_ESBUILD").ok_or("BMAX_ESBUILD names no program: make dist sets it")?;
    let fault = |error: std::io::Error| format!("esbuild: {error}");
    let mut esbuild = Command::new(program);
    // Signs beyond ASCII stay as they are: escaped they are longer.
    esbuild.args(["--minify", "--charset=utf8", "--log-level=error"]).args(kind.options());
    let mut child =
        esbuild.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(fault)?;
    // All of it is read before anything is written.
    if let Some(mut input) = child.stdin.take() {
        input.write_all(source.as_bytes()).map_err(fault)?;
    }
    let output = child.wait_with_output().map_err(fault)?;
    if !output.status.success() {
        return Err(format!("esbuild: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8(output.stdout).map_err(|error| format!("esbuild: {error}"))?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_modules_and_sheets_of_a_page_are_made_smaller_and_data_and_files_stay() {
        let page = "<script>a</script><script type=module>b</script><style>c</style><script src=d.js></script>\
                    <script type=importmap>e</script><script type=application/ld+json>f</script><p>g</p>";
        let named = |source: &str, kind| {
            let kind = match kind {
                Kind::Script => "script",
                Kind::Module => "module",
                Kind::Sheet => "sheet",
            };
            Ok(format!("{kind} {source}"))
        };
        let wanted = "<script>script a</script><script type=module>module b</script><style>sheet c</style>\
                      <script src=d.js></script><script type=importmap>e</script>\
                      <script type=application/ld+json>f</script><p>g</p>";
        assert_eq!(changed(page, named).as_deref(), Ok(wanted));
        assert_eq!(changed(page, |_, _| Err("no".to_owned())), Err("no".to_owned()));
    }
}
