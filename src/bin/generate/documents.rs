//! The blocks of the documents in `docs/` that follow from the code: what links may say, and the answer to the
//! example of the JSON contract.

use bmax::catalogue::{DEVICES, MODELS};
use bmax::cli::{Depth, line, question};
use bmax::link;
use bmax::starts::{STARTS, Start};
use serde_json::Value;

/// The document on links with its parameters, models and GPUs; the error names the block that is missing.
pub fn links(document: &str) -> Result<String, String> {
    let document = with_parameters(document)?;
    let document = with_slugs(&document, "Models: ", MODELS.iter().map(|row| row.slug))?;
    with_slugs(&document, "GPUs: ", DEVICES.iter().map(|row| row.slug))
}

/// The document on starting points with their table; the error says that it has none.
pub fn starts(document: &str) -> Result<String, String> {
    let head = "| what | with | answer | what is set | link |\n| --- | --- | --- | --- | --- |\n";
    let (before, rest) = document.split_once(head).ok_or("docs/starts.md has no table of starting points")?;
    let listed: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    let row = |start: &Start| {
        // Plain spaces: nothing has to stay on one line here.
        let [name, with] = [start.name, start.with].map(|text| text.replace('\u{a0}', " "));
        format!("| {name} | {with} | {} | {} | `{}` |\n", start.answer(), start.line, start.address())
    };
    let table: String = STARTS.iter().map(row).collect();
    Ok(format!("{before}{head}{table}{}", &rest[listed..]))
}

fn with_parameters(document: &str) -> Result<String, String> {
    let head = "| parameter | what it is | takes | default |\n| --- | --- | --- | --- |\n";
    let (before, rest) = document.split_once(head).ok_or("docs/links.md has no table of parameters")?;
    let listed: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    let row =
        |link::Parameter { key, name, takes, default, .. }| format!("| `{key}` | {name} | {takes} | `{default}` |\n");
    let table: String = link::parameters().into_iter().map(row).collect();
    Ok(format!("{before}{head}{table}{}", &rest[listed..]))
}

/// The document with these slugs in the line that begins so.
fn with_slugs(document: &str, start: &str, slugs: impl Iterator<Item = &'static str>) -> Result<String, String> {
    let missing = || format!("docs/links.md has no line of “{start}”");
    let (before, rest) = document.split_once(&format!("\n{start}")).ok_or_else(missing)?;
    let (_, after) = rest.split_once('\n').ok_or_else(missing)?;
    let slugs: Vec<String> = slugs.map(|slug| format!("`{slug}`")).collect();
    Ok(format!("{before}\n{start}{}.\n{after}", slugs.join(", ")))
}

/// The members of the answer that the document shows, in the order to read them in.
const SHOWN: [&str; 6] = ["line", "id", "link", "answer", "range", "counters"];

/// The document on JSON with the answer to its example.
pub fn json(document: &str) -> Result<String, String> {
    let asked = document.split("echo '").nth(1).and_then(|rest| rest.split('\'').next());
    let asked = asked.ok_or("docs/json.md has no example of a question")?;
    let report = line(Some(1), question(asked, None), Depth::Brief);
    let report = serde_json::to_value(report).map_err(|error| error.to_string())?;
    let members = SHOWN.map(|key| format!("  \"{key}\": {}", spaced(&report[key])));
    let start = "among much else:\n\n```json\n";
    let (before, rest) = document.split_once(start).ok_or("docs/json.md has no answer to its example")?;
    let (_, after) = rest.split_once("\n```").ok_or("the answer in docs/json.md has no end")?;
    Ok(format!("{before}{start}{{\n{}\n}}\n```{after}", members.join(",\n")))
}

/// JSON on one line with spaces between the words.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<String> =
                members.iter().map(|(key, value)| format!("\"{key}\": {}", spaced(value))).collect();
            members.sort();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}
