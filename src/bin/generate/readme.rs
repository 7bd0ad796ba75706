//! The blocks of the README that follow from the code: the parameters of links, and the answer to its example.

use bmax::cli::{Depth, line, question};
use bmax::link;
use serde_json::Value;

/// The README with both blocks as they should be; the error names the block that is missing.
pub fn filled(readme: &str) -> Result<String, String> {
    with_example(&with_parameters(readme)?)
}

fn with_parameters(readme: &str) -> Result<String, String> {
    let head = "| parameter | what it is | takes | default |\n| --- | --- | --- | --- |\n";
    let (before, rest) = readme.split_once(head).ok_or("README.md has no table of parameters")?;
    let listed: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    let row =
        |link::Parameter { key, name, takes, default, .. }| format!("| `{key}` | {name} | {takes} | `{default}` |\n");
    let table: String = link::parameters().into_iter().map(row).collect();
    Ok(format!("{before}{head}{table}{}", &rest[listed..]))
}

/// The members of the answer that the README shows, in the order to read them in.
const SHOWN: [&str; 6] = ["line", "id", "link", "answer", "range", "counters"];

fn with_example(readme: &str) -> Result<String, String> {
    let asked = readme.split("echo '").nth(1).and_then(|rest| rest.split('\'').next());
    let asked = asked.ok_or("README.md has no example of a question")?;
    let report = line(Some(1), question(asked, None), Depth::Brief);
    let report = serde_json::to_value(report).map_err(|error| error.to_string())?;
    let members = SHOWN.map(|key| format!("  \"{key}\": {}", spaced(&report[key])));
    let start = "among much else:\n\n```json\n";
    let (before, rest) = readme.split_once(start).ok_or("README.md has no answer to its example")?;
    let (_, after) = rest.split_once("\n```").ok_or("the answer in README.md has no end")?;
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
