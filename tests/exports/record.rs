//! The digest of every export, those of the exports that were handed to their programs, and what the record says of both.

use crate::support::golden::{as_committed, here};

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use bmax::export::{Target, write};
use bmax::link;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{PAGE, every_scenario};

/// What writes digests and record anew, once the change of an export is meant.
const COMMAND: &str = "BMAX_BLESS=1 cargo test --features prerender,cli,finish --test native -- exports::";

/// One line for each scenario and target.
const DIGESTS: &str = "tests/exports/digests.txt";

/// Digests of exports, scenario by scenario and target by target.
type Digests = BTreeMap<String, BTreeMap<String, String>>;

/// What `check.py` wrote when every program had read its exports.
#[derive(Deserialize)]
struct HandedOver {
    date: String,
    python: String,
    versions: Vec<(String, String)>,
    outcomes: Vec<Outcome>,
    digests: Digests,
}

/// What was done with the exports of a target, and with how many scenarios.
#[derive(Deserialize)]
struct Outcome {
    target: String,
    what: String,
    scenarios: usize,
}

/// The first 16 hexadecimal digits of SHA-256: enough to see a change that nobody meant, and short lines.
///
/// The query of the page's address, which each export names once or twice, is no part of it: a new version of links writes it
/// in other words.
fn digest(text: &str) -> String {
    Sha256::digest(without_query(text)).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The text without what stands behind a version of links.
fn without_query(text: &str) -> String {
    let mut parts = text.split("v=");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_query = part.starts_with(|c: char| c.is_ascii_digit()) && rest.ends_with(['?', '"']);
        let end = part.find(|c: char| c.is_whitespace() || "\"'(){}<>\\".contains(c)).unwrap_or(part.len());
        rest += "v=";
        rest += if is_query { &part[end..] } else { part };
    }
    rest
}

fn handed_over() -> HandedOver {
    let text = fs::read_to_string(here("tests/exports/handed_over.json")).expect("it is committed");
    serde_json::from_str(&text).expect("a record")
}

/// The digests of what the code writes now.
fn written_now() -> Digests {
    let of = |question: &str| {
        let read = link::decode(&super::asked(question));
        assert_eq!(read.notices, [], "{question}");
        let digests = Target::ALL.iter().map(|&target| (target, digest(&write(target, &read.scenario, PAGE))));
        digests.map(|(target, digest)| (target.key().to_owned(), digest)).collect()
    };
    every_scenario().into_iter().map(|(name, question)| (name, of(&question))).collect()
}

fn as_text(digests: &Digests) -> String {
    let mut text = format!(
        "# The first 16 hexadecimal digits of the SHA-256 of every export of every scenario in scenarios.json.\n\
         # Written by {COMMAND}\n"
    );
    for (name, targets) in digests {
        _ = write!(text, "\n# {name}\n");
        for (target, digest) in targets {
            _ = writeln!(text, "{digest} {target}");
        }
    }
    text
}

/// The digests that such a text lists.
fn from_text(text: &str) -> Digests {
    let mut digests = Digests::new();
    for part in text.split("\n\n# ").skip(1) {
        let (name, lines) = part.split_once('\n').expect("a name and its digests");
        let lines = lines.lines().filter_map(|line| line.split_once(' '));
        digests.insert(name.to_owned(), lines.map(|(digest, target)| (target.to_owned(), digest.to_owned())).collect());
    }
    digests
}

/// The exports that are others now, or had not been there: by target the names of their scenarios.
fn changed(now: &Digests, before: &Digests) -> BTreeMap<String, Vec<String>> {
    let mut changed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, targets) in now {
        for (target, digest) in targets {
            if before.get(name).and_then(|targets| targets.get(target)) != Some(digest) {
                changed.entry(target.clone()).or_default().push(name.clone());
            }
        }
    }
    changed
}

/// The record for readers: what was handed over and when, and what has changed since.
fn told(record: &HandedOver, now: &Digests) -> String {
    let scenarios = record.digests.len();
    let mut text = format!(
        "# Exports handed to their programs\n\
         \n\
         Written by `make test-exports`; do not edit. What it speaks of are the exports whose digests are in\n\
         [`handed_over.json`](handed_over.json), all of them together {}. A test of `make test` compares them with what\n\
         is written now; what is another one is named under [Changed since](#changed-since).\n\
         \n\
         {}, Python {}, no GPU, {scenarios} scenarios of `scenarios.json`.\n\
         \n\
         | program | version |\n\
         | --- | --- |\n",
        digest(&as_text(&record.digests)),
        record.date,
        record.python,
    );
    for (name, version) in &record.versions {
        _ = writeln!(text, "| {name} | {version} |");
    }
    text.push_str("\n| export | what was done with it | scenarios |\n| --- | --- | ---: |\n");
    for Outcome { target, what, scenarios } in &record.outcomes {
        _ = writeln!(text, "| {target} | {what} | {scenarios} |");
    }
    text.push_str("\n## Changed since\n\n");
    let changed = changed(now, &record.digests);
    if changed.is_empty() {
        text.push_str("None: every export is the one that was handed over.\n");
        return text;
    }
    let count: usize = changed.values().map(Vec::len).sum();
    let all: usize = now.values().map(BTreeMap::len).sum();
    _ = write!(
        text,
        "{count} of {all} exports are not those that were handed over, if only by a number in a comment: no program has\n\
         read them as they are.\n\n| export | scenarios | which |\n| --- | ---: | --- |\n"
    );
    for (target, names) in &changed {
        let which: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let which = if names.len() == now.len() { "all".to_owned() } else { which.join(", ") };
        _ = writeln!(text, "| {target} | {} | {which} |", names.len());
    }
    text
}

#[test]
fn every_export_of_every_scenario_is_the_committed_one() {
    let now = written_now();
    assert!(now.len() >= 86 && now.values().all(|targets| targets.len() == Target::ALL.len()));
    if std::env::var_os("BMAX_BLESS").is_some() {
        fs::write(here(DIGESTS), as_text(&now)).expect("the file can be written");
    }
    let committed = fs::read_to_string(here(DIGESTS)).expect("it is committed");
    let moved = changed(&now, &from_text(&committed));
    let lines: String = moved
        .iter()
        .map(|(target, names)| format!("{target}: {} scenarios, the first {:?}\n", names.len(), names[0]))
        .collect();
    assert!(
        moved.is_empty(),
        "exports are other ones now; if that is meant, `{COMMAND}` writes their digests\n{lines}"
    );
    assert!(as_text(&now) == committed, "{DIGESTS} lists exports that are not written; `{COMMAND}` writes it anew");
}

#[test]
fn the_record_says_which_exports_were_handed_over_and_which_have_changed_since() {
    as_committed("tests/exports/RESULT.md", &told(&handed_over(), &written_now()));
}

#[test]
fn an_export_that_changed_or_was_never_handed_over_is_told_by_name() {
    let of = |name: &str, target: &str, digest: &str| {
        (name.to_owned(), BTreeMap::from([(target.to_owned(), digest.to_owned())]))
    };
    let before = Digests::from([of("one", "trl", "a"), of("two", "trl", "b")]);
    let now = Digests::from([of("one", "trl", "a"), of("two", "trl", "c"), of("three", "trl", "d")]);
    let record = |digests: &Digests| HandedOver {
        date: "2000-01-01".to_owned(),
        python: "3".to_owned(),
        versions: Vec::new(),
        outcomes: Vec::new(),
        digests: digests.clone(),
    };
    let text = told(&record(&before), &now);
    assert!(text.contains("2 of 3 exports") && text.contains("| trl | 2 | `three`, `two` |"), "{text}");
    assert!(told(&record(&now), &now).contains("None: every export is the one"));
    assert_eq!(from_text(&as_text(&now)), now);
}
