//! Writes two texts for programs that answer for people: `llms.txt`, which says where things are (<https://llmstxt.org/>),
//! and `programs.txt`, to which it leads first. Names, members and numbers are those of the library, so that none is written twice.

use std::path::Path;

use bmax::catalogue::{DEVICES, MODELS};
use bmax::cli::{Depth, help, line, question, schema};
use bmax::starts::STARTS;
use bmax::{embed, link, proof};
use serde_json::Value;

use super::address::Address;
use super::navigation::{CATALOGUE, COMMAND_LINE, LICENCE, LLMS, PROGRAMS};
use super::pages::address as place;
use super::previews::caption;
use super::text::Page;
use super::{Result, bill, write};

/// An example of a question, in words and as the query of a link.
struct Example {
    words: &'static str,
    query: &'static str,
    /// The members of the report that are shown.
    shown: &'static [&'static str],
}

const FITS: Example = Example {
    words: "How many sequences of 4,096 tokens fit when I tune Llama 3.1 8B with QLoRA on one RTX 4090?",
    query: "v=4&model=llama-3.1-8b&gpu=rtx-4090&gpus=1&s=4096&adapter=qlora",
    shown: &["link", "answer", "range", "notices"],
};
const SHORT: Example = Example {
    words: "And all of its weights?",
    query: "v=4&model=llama-3.1-8b&gpu=rtx-4090&gpus=1&s=4096",
    shown: &["link", "answer"],
};
const CONTRADICTION: Example =
    Example { words: "", query: "v=4&model=llama-3.1-8b&gpus=3&tp=2", shown: &["link", "answer", "conflicts"] };
const UNKNOWN: Example = Example { words: "", query: "v=4&model=llama3-8b", shown: &["error", "reason", "nearest"] };

/// Writes both files.
pub fn write_them(folder: &Path, pages: &[Page], address: &Address) -> Result<()> {
    write(&folder.join(LLMS), llms(pages, address)?)?;
    write(&folder.join(PROGRAMS), programs(pages, address)?)
}

/// The list of places. Its addresses are whole where that of the site is known.
fn llms(pages: &[Page], address: &Address) -> Result<String> {
    let to = |file: &str| address.of(file, "");
    let page = |page: &Page| {
        format!("- [{}]({}): {}", page.name, address.of(&place(page), "./"), page.description.trim_end_matches('.'))
    };
    filled(
        include_str!("llms.md"),
        &[
            ("models-count", MODELS.len().to_string()),
            ("gpus-count", DEVICES.len().to_string()),
            ("programs", to(PROGRAMS)),
            ("command-line", to(COMMAND_LINE)),
            ("catalogue", to(CATALOGUE)),
            ("bill", to(bill::FILE)),
            ("licence", to(LICENCE)),
            ("root", address.of("", "./")),
            ("example", format!("?{}", FITS.query)),
            ("pages", joined(pages.iter().map(page))),
        ],
    )
}

fn programs(pages: &[Page], address: &Address) -> Result<String> {
    let report = schema::report();
    let options: Vec<String> = embed::KEYS[1..].iter().map(|key| format!("`{key}`")).collect();
    let fits = answer(&FITS)?;
    let b_max = fits["answer"]["b_max"].as_u64().ok_or("the first example has no answer")?;
    let start = |start: &bmax::starts::Start| {
        format!("- {} ({}): {}. `{}`", spaced(start.name), spaced(start.with), spaced(&start.answer()), start.address())
    };
    let row =
        |link::Parameter { key, name, takes, default, .. }| format!("| `{key}` | {name} | {takes} | `{default}` |");
    let rows = ["| parameter | what it is | takes | default |".to_owned(), "| --- | --- | --- | --- |".to_owned()];
    filled(
        include_str!("programs.md"),
        &[
            ("root", address.of("", "./")),
            ("help", help()),
            ("embed-options", options.join(", ")),
            ("fits", format!("?{}", FITS.query)),
            ("fits-query", FITS.query.to_owned()),
            ("fits-words", FITS.words.to_owned()),
            ("fits-answer", shown(&FITS, &fits)?),
            ("fits-b-max", b_max.to_string()),
            ("short", format!("?{}", SHORT.query)),
            ("short-words", SHORT.words.to_owned()),
            ("short-answer", shown(&SHORT, &answer(&SHORT)?)?),
            ("contradiction", format!("?{}", CONTRADICTION.query)),
            ("contradiction-answer", shown(&CONTRADICTION, &answer(&CONTRADICTION)?)?),
            ("unknown", format!("?{}", UNKNOWN.query)),
            ("unknown-answer", shown(&UNKNOWN, &answer(&UNKNOWN)?)?),
            ("members", members(&report)?),
            ("refused", words(&report, "Refused")?),
            ("refused-why", meaning(&report, "Refused")?),
            ("infeasible", words(&report, "Infeasible")?),
            ("infeasible-why", meaning(&report, "Infeasible")?),
            ("starts", joined(STARTS.iter().map(start))),
            ("accuracy", joined(proof::SAID.iter().map(|said| format!("- {said}")))),
            ("figures", figures(pages)),
            ("models", slugs(MODELS.iter().map(|row| row.slug))),
            ("gpus", slugs(DEVICES.iter().map(|row| row.slug))),
            ("parameters", joined(rows.into_iter().chain(link::parameters().into_iter().map(row)))),
        ],
    )
}

/// A text with each `{{name}}` filled in; the error names one that is left over or not there.
fn filled(template: &str, fills: &[(&str, String)]) -> Result<String> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    // What is filled in is not looked at again.
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").ok_or("a {{ without its }}")?;
        let (_, fill) =
            fills.iter().find(|(known, _)| *known == name).ok_or(format!("nothing fills {{{{{name}}}}}"))?;
        text += before;
        text += fill;
        rest = after;
    }
    if let Some((name, _)) = fills.iter().find(|(name, _)| !template.contains(&format!("{{{{{name}}}}}"))) {
        return Err(format!("{{{{{name}}}}} is in no text"));
    }
    Ok(text + rest)
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn slugs(slugs: impl Iterator<Item = &'static str>) -> String {
    slugs.map(|slug| format!("`{slug}`")).collect::<Vec<_>>().join(", ") + "."
}

/// Plain spaces, since nothing has to stay on one line here.
fn spaced(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

/// The answer of the command line to an example.
fn answer(example: &Example) -> Result<Value> {
    serde_json::to_value(line(None, question(example.query, None), Depth::Brief)).map_err(|error| error.to_string())
}

/// The members of an answer that an example shows, as lines of code.
fn shown(example: &Example, answer: &Value) -> Result<String> {
    let member = |key: &&str| {
        let value = answer.get(key).ok_or(format!("the answer to {} has no {key}", example.query))?;
        Ok(format!("    {key}: {value}"))
    };
    Ok(example.shown.iter().map(member).collect::<Result<Vec<_>>>()?.join("\n"))
}

/// The schema of a type of the report.
fn definition<'a>(report: &'a Value, name: &str) -> Result<&'a Value> {
    report.pointer(&format!("/$defs/{name}")).ok_or(format!("the schema has no {name}"))
}

/// Gives the description that a JSON schema has of a type or a member, without its last stop.
fn described(schema: &Value) -> String {
    let all = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    all.trim_end_matches('.').to_owned()
}

fn members(report: &Value) -> Result<String> {
    let members = definition(report, "Report")?["properties"].as_object().ok_or("a report without members")?;
    Ok(joined(members.iter().map(|(name, schema)| format!("- `{name}`: {}", described(schema)))))
}

/// The words that the reason of a type of answer may be.
fn words(report: &Value, name: &str) -> Result<String> {
    let words = definition(report, name)?["properties"]["reason"]["enum"].as_array();
    let words = words.ok_or(format!("the reasons of {name} are no list"))?;
    Ok(joined(words.iter().map(|word| format!("- `{}`", word.as_str().unwrap_or_default()))))
}

/// Gives the description of the reasons that a type of answer may have.
fn meaning(report: &Value, name: &str) -> Result<String> {
    Ok(described(&definition(report, name)?["properties"]["reason"]) + ".")
}

/// Every figure by its name, with what it shows. One that stands on several pages is named once.
fn figures(pages: &[Page]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for section in pages.iter().flat_map(|page| &page.sections) {
        for name in &section.figures {
            let begin = format!("- `{name}`: ");
            if let (Some(caption), true) =
                (caption(&section.html, name), lines.iter().all(|line| !line.starts_with(&begin)))
            {
                lines.push(begin + &caption);
            }
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
