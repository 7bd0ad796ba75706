//! The example folders of axolotl, LLaMA-Factory, trl and torchtitan: `tools/examples.sh` has them read and recorded in
//! `tests/examples/`, and what was recorded has to stay true.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::super::explain::{self, Explained, Outcome};
use super::super::format::{ALL, Found};
use super::super::recognise::{self, Recognised};
use super::*;

/// What became of a key in all files that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Used,
    NoMatter,
    NotCounted,
    NotUnderstood,
}

impl Fate {
    const EACH: [(Self, &'static str); 4] = [
        (Self::Used, "used"),
        (Self::NoMatter, "no matter"),
        (Self::NotCounted, "not counted"),
        (Self::NotUnderstood, "not understood"),
    ];

    fn of(outcome: &Outcome) -> (Self, String) {
        match outcome {
            Outcome::Claims(_) | Outcome::Model(..) | Outcome::File(..) => (Self::Used, String::new()),
            Outcome::NoMatter => (Self::NoMatter, String::new()),
            Outcome::NotCounted(why) => (Self::NotCounted, (*why).to_owned()),
            Outcome::NotUnderstood(Why::Expression) => (Self::NotUnderstood, "an expression".to_owned()),
            Outcome::NotUnderstood(Why::Key(_)) => (Self::NotUnderstood, "no key of its program".to_owned()),
            Outcome::NotUnderstood(_) => (Self::NotUnderstood, "its value".to_owned()),
        }
    }

    fn name(self) -> &'static str {
        Self::EACH.iter().find(|(fate, _)| *fate == self).expect("all are in the list").1
    }
}

/// What was read of the examples of one program.
#[derive(Default)]
struct Record {
    /// Numbers of files by what they are.
    kinds: BTreeMap<String, usize>,
    /// Files that are not read, by why.
    unread: BTreeMap<String, Vec<String>>,
    /// Numbers of files by format, key, fate and reason.
    keys: BTreeMap<(Format, String, Fate, String), BTreeSet<String>>,
}

impl Record {
    fn add(&mut self, name: &str, text: &str) {
        let all = recognise::recognise_all(text, Readers::all()).expect("all parts are there");
        let mut formats = Vec::new();
        for one in all {
            match one {
                Recognised::Sections(sections) => {
                    for section in sections {
                        let format = section.format.name();
                        if !formats.contains(&format) {
                            formats.push(format);
                        }
                        let meaning = Readers::all().meaning(section.format).expect("all parts are there");
                        for Explained { key, outcome, .. } in explain::keys(&section, meaning) {
                            let (fate, why) = Fate::of(&outcome);
                            self.keys.entry((section.format, key, fate, why)).or_default().insert(name.to_owned());
                        }
                    }
                }
                Recognised::Unread(why) => self.unread.entry(why.to_string()).or_default().push(name.to_owned()),
                _ => formats.push("something else"),
            }
        }
        if !formats.is_empty() {
            *self.kinds.entry(formats.join(", ")).or_default() += 1;
        }
    }

    /// What people read of it.
    fn told(&self, program: &str) -> String {
        let mut told = format!("\n## {program}\n\n| files | what they are |\n| ---: | --- |\n");
        for (kind, files) in &self.kinds {
            writeln!(told, "| {files} | {kind} |").expect("a text");
        }
        for (why, files) in &self.unread {
            writeln!(told, "| {} | not read: {why} ({}) |", files.len(), files.join(", ")).expect("a text");
        }
        for fate in [Fate::NotCounted, Fate::NotUnderstood] {
            let mut rows = String::new();
            for ((_, key, of, why), files) in &self.keys {
                if *of == fate {
                    writeln!(rows, "| `{key}` | {} | {why} |", files.len()).expect("a text");
                }
            }
            if !rows.is_empty() {
                write!(told, "\n| {} | files | why |\n| --- | ---: | --- |\n{rows}", fate.name()).expect("a text");
            }
        }
        told
    }
}

/// All files below a folder that have one of these endings, in order.
fn files(folder: &Path, to: &mut Vec<PathBuf>) {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    for path in all {
        if path.is_dir() {
            files(&path, to);
        } else if path
            .extension()
            .is_some_and(|end| ["yaml", "yml", "json", "toml", "sh", "py"].iter().any(|one| end == *one))
        {
            to.push(path);
        }
    }
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples")
}

#[test]
#[ignore = "needs the examples, which tools/examples.sh fetches, and writes the record"]
fn write_what_the_examples_say() {
    let folder = PathBuf::from(env::var("BMAX_EXAMPLES").expect("the folder of examples"));
    let mut result = fs::read_to_string(folder.join("head.md")).expect("the beginning of the record");
    let mut keys = String::from("program\tformat\tkey\tfate\tfiles\n");
    for program in ["axolotl", "LLaMA-Factory", "trl", "torchtitan"] {
        let (mut record, mut paths) = (Record::default(), Vec::new());
        files(&folder.join(program), &mut paths);
        for path in paths {
            let name = path.strip_prefix(folder.join(program)).expect("below it").display().to_string();
            record.add(&name, &fs::read_to_string(&path).expect("a text"));
        }
        result += &record.told(program);
        let mut numbers: BTreeMap<(Format, &str, Fate), usize> = BTreeMap::new();
        for ((format, key, fate, _), files) in &record.keys {
            *numbers.entry((*format, key, *fate)).or_default() += files.len();
        }
        for ((format, key, fate), files) in numbers {
            writeln!(keys, "{program}\t{format:?}\t{key}\t{}\t{files}", fate.name()).expect("a text");
        }
    }
    fs::write(recorded().join("RESULT.md"), result).expect("a file");
    fs::write(recorded().join("keys.tsv"), keys).expect("a file");
}

#[test]
fn every_key_of_the_examples_is_known_as_it_is_recorded() {
    let text = fs::read_to_string(recorded().join("keys.tsv")).expect("the record");
    let mut read = 0;
    for line in text.lines().skip(1) {
        let [_, format, key, fate, _] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let row = ALL
            .iter()
            .find(|row| format!("{:?}", row.format) == format)
            .unwrap_or_else(|| panic!("{format} is no format"));
        let meaning = Readers::all().meaning(row.format).expect("all parts are there");
        let (meaning, path) = explain::within(meaning, key);
        let path = path.strip_prefix("no_").filter(|_| meaning.find(path).is_none()).unwrap_or(path);
        // A key that means something may say nothing by its value.
        let is_so = match meaning.find(path) {
            Some(Found::Key(_)) => true,
            Some(Found::NoMatter) => fate == "no matter",
            Some(Found::NotCounted(_)) => fate != "used",
            None => fate == "not understood",
        };
        assert!(is_so, "{line}");
        read += 1;
    }
    assert!(read > 400, "{read}");
}

#[test]
fn no_key_of_the_examples_is_left_not_understood_but_what_only_a_run_knows_and_misspelt_ones() {
    let text = fs::read_to_string(recorded().join("RESULT.md")).expect("the record");
    let rows = text.lines().skip_while(|line| !line.contains("not understood")).filter(|line| line.starts_with("| `"));
    for row in rows.filter(|row| row.contains("no key of its program")) {
        let key = row.split('`').nth(1).expect("a key");
        // The first is misspelt, and axolotl has none of the others.
        assert!(["context_parapllel_size", "full_finetune", "test_value"].contains(&key), "{row}");
    }
    assert!(!text.contains("| its value |"), "a value is not understood");
}
