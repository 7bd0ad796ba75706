//! Exports as files: whatever the scenario they are written and can be read, and those that were handed
//! to their programs (`make test-exports`) are still what the code writes.
//!
//! The recorded files are golden files as well: each was read when it was recorded. All other exports are held by
//! their digests. Where a change of them is meant, `make test-exports` writes them anew and hands them to the programs
//! again; `BMAX_BLESS=1 cargo test --features prerender,cli,finish --test native -- exports::` only writes them and their
//! digests, and names in RESULT.md what no program has read since.

mod record;

use crate::support::any_scenario::any_scenario;
use crate::support::golden::{as_committed, here, nothing_but};

use std::fs;

use bmax::export::{Target, write};
use bmax::link;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, TagEnd};
use saphyr::LoadableYamlNode;
use serde_json::Value;

/// The page that recorded files lead to; `check.py` has the same.
const PAGE: &str = "https://example.org/bmax/";

fn scenarios() -> Value {
    let text = fs::read_to_string(here("tests/exports/scenarios.json")).expect("it is committed");
    serde_json::from_str(&text).expect("it is JSON")
}

/// A question of the list as a link. The list was made when links began with the workshop's example, and goes on from it;
/// `check.py` does the same.
fn asked(question: &str) -> String {
    format!("v=3&{}", question.trim_start_matches('?'))
}

/// Every scenario of the list by its name, or by its question where it has none, with its question.
fn every_scenario() -> Vec<(String, String)> {
    let scenarios = scenarios();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let named = scenarios["recorded"].as_object().expect("names and questions");
    let others = scenarios["checked"].as_array().expect("a list");
    let named = named.iter().map(|(name, question)| (name.clone(), text(question)));
    named.chain(others.iter().map(|question| (text(question), text(question)))).collect()
}

/// The scenario whose files are recorded whole.
const WHOLE: &str = "default";

/// Where the part of the script ends that follows from the scenario.
const REST_OF_SCRIPT: &str = "\nGIB = ";

/// The file that records an export. The script that measures is the same for every scenario but for its head,
/// and the report for programs has a schema and tests of its own: both are recorded whole once.
fn recorded(name: &str, target: Target, text: &str) -> Option<(String, String)> {
    match target {
        Target::Measure if name != WHOLE => {
            let (head, _) = text.split_once(REST_OF_SCRIPT).expect("the script has a head");
            Some((format!("tests/exports/files/{name}/bmax_measure_head.py"), head.to_owned()))
        }
        Target::Json if name != WHOLE => None,
        _ => Some((format!("tests/exports/files/{name}/{}", target.file_name()), text.to_owned())),
    }
}

#[test]
fn the_files_that_were_handed_to_their_programs_are_what_is_written_now() {
    let scenarios = scenarios();
    let named = scenarios["recorded"].as_object().expect("names and questions");
    assert!(named.len() >= 2);
    let mut expected = Vec::new();
    for (name, question) in named {
        let read = link::decode(&asked(question.as_str().expect("text")));
        assert_eq!(read.notices, [], "{name}");
        for &target in Target::ALL {
            let Some((path, now)) = recorded(name, target, &write(target, &read.scenario, PAGE)) else { continue };
            as_committed(&path, &now);
            expected.push(path);
        }
    }
    nothing_but("tests/exports/files", &expected);
}

#[test]
fn the_script_that_measures_differs_in_its_head_alone() {
    let rest = |question: &Value| {
        let scenario = link::decode(&asked(question.as_str().expect("text"))).scenario;
        let script = write(Target::Measure, &scenario, PAGE);
        script.split_once(REST_OF_SCRIPT).expect("a head and the rest").1.to_owned()
    };
    let scenarios = scenarios();
    let whole = rest(&scenarios["recorded"][WHOLE]);
    let others = scenarios["recorded"].as_object().expect("names and questions").values();
    for question in others.chain(scenarios["checked"].as_array().expect("a list")) {
        assert!(rest(question) == whole, "{question}");
    }
}

#[test]
fn the_record_names_every_target_and_no_failure() {
    let record = fs::read_to_string(here("tests/exports/RESULT.md")).expect("it is committed");
    let scenarios = scenarios();
    let count = scenarios["recorded"].as_object().map_or(0, serde_json::Map::len)
        + scenarios["checked"].as_array().map_or(0, Vec::len);
    assert!(record.contains(&format!("{count} scenarios")), "{record}");
    for target in Target::ALL {
        let rows = record.lines().filter(|line| line.starts_with(&format!("| {} |", target.key())));
        let checked = rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit(' ').next()?.parse::<usize>().ok());
        assert_eq!(checked.sum::<usize>(), count, "{}", target.key());
    }
    let pinned = |list: &str| fs::read_to_string(here("tests/exports").join(list)).expect("it is committed");
    for line in pinned("requirements.txt").lines() {
        let Some((name, version)) = line.split_once("==") else { continue };
        // bitsandbytes is only looked for.
        let build_only = ["setuptools", "wheel", "bitsandbytes"].contains(&name);
        assert!(build_only || record.contains(&format!("| {name} | {version}")), "{name} {version}");
    }
    for name in ["axolotl", "llamafactory"] {
        let list = pinned(&format!("{name}.txt"));
        let version =
            |name: &str| list.lines().find_map(|line| line.strip_prefix(&format!("{name}==")).map(str::to_owned));
        let (own, transformers) = (version(name).expect("pinned"), version("transformers").expect("pinned"));
        assert!(record.contains(&format!("| {name} | {own}, with transformers {transformers} |")), "{name}");
    }
}

#[test]
fn every_question_of_the_list_is_understood() {
    for question in scenarios()["checked"].as_array().expect("a list") {
        assert_eq!(link::decode(&asked(question.as_str().expect("text"))).notices, [], "{question}");
    }
}

/// Lines that no comment sign begins.
fn code<'a>(text: &'a str, sign: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter(move |line| !line.starts_with(sign))
}

/// Whether a text is one pair of braces, and what is between them.
fn is_group(text: &str) -> bool {
    let mut depth = 0;
    let ends = text.char_indices().filter(|(at, sign)| {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth <= 0 && at + 1 < text.len()
    });
    ends.count() == 0 && depth == 0 && text.starts_with('{')
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_scenario_has_every_file_and_its_parser_reads_it(scenario in any_scenario()) {
        for &target in Target::ALL {
            let text = write(target, &scenario, PAGE);
            prop_assert!(text.ends_with('\n'), "{:?}", target);
            prop_assert!(!text.contains("NaN") && !text.contains("inf ") && !text.contains("infinity"), "{}", text);
            match target {
                Target::DeepSpeed => {
                    let config: Value = serde_json::from_str(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
                    let size = |key: &str| config[key].as_u64().unwrap_or(0);
                    let (micro, steps) = (size("train_micro_batch_size_per_gpu"), size("gradient_accumulation_steps"));
                    prop_assert!(micro > 0 && steps > 0);
                    prop_assert_eq!(size("train_batch_size") % (micro * steps), 0);
                }
                Target::Peft => {
                    let config: Value = serde_json::from_str(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
                    prop_assert!(config["r"].as_u64() > Some(0));
                }
                Target::Trl | Target::Axolotl | Target::LlamaFactory => {
                    let documents = saphyr::Yaml::load_from_str(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
                    prop_assert_eq!(documents.len(), 1);
                    let key = if target == Target::Axolotl { "micro_batch_size" } else { "per_device_train_batch_size" };
                    prop_assert!(documents[0][key].as_integer() > Some(0));
                    prop_assert!(documents[0]["gradient_accumulation_steps"].as_integer() > Some(0));
                }
                Target::Json => {
                    let report: Value = serde_json::from_str(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
                    prop_assert!(report["estimate"]["peak"]["bytes"].as_f64() > Some(0.0));
                }
                Target::Torchtitan => {
                    let config: toml::Table = text.parse().map_err(|error: toml::de::Error| TestCaseError::fail(error.to_string()))?;
                    prop_assert!(config["training"]["local_batch_size"].as_integer() > Some(0));
                    // Its commented flags are flags.
                    prop_assert!(text.contains("#   --module "));
                }
                Target::Accelerate => {
                    let documents = saphyr::Yaml::load_from_str(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
                    prop_assert_eq!(documents.len(), 1);
                    prop_assert!(documents[0]["num_processes"].as_integer() > Some(0));
                }
                Target::Megatron => {
                    // Nothing between the brackets of the array but flags and their values.
                    let inside = code(&text, "#").skip_while(|line| *line != "BMAX_ARGS=(").skip(1).take_while(|line| *line != ")");
                    for line in inside {
                        prop_assert!(line.starts_with("    --"), "{}", line);
                    }
                }
                Target::Transformers | Target::Lightning | Target::Measure => {
                    for (open, close) in ["()", "[]", "{}"].iter().map(|pair| pair.split_at(1)) {
                        let lines: Vec<&str> = code(&text, "#").collect();
                        let count = |sign: &str| lines.iter().map(|line| line.matches(sign).count()).sum::<usize>();
                        prop_assert_eq!(count(open), count(close), "{:?}", target);
                    }
                }
                Target::Markdown => {
                    let parts: Vec<_> = Parser::new_ext(&text, Options::ENABLE_TABLES).collect();
                    let count = |tag: TagEnd| parts.iter().filter(|part| **part == Event::End(tag)).count();
                    prop_assert_eq!((count(TagEnd::Table), count(TagEnd::Link)), (1, 1), "{}", text);
                    // Two cells in every row, the head among them.
                    prop_assert_eq!(count(TagEnd::TableCell), 2 * (count(TagEnd::TableRow) + 1), "{}", text);
                }
                Target::Bibtex => {
                    let inside = text.strip_prefix("@misc{bmax,\n").and_then(|rest| rest.strip_suffix("\n}\n"));
                    let fields = inside.ok_or_else(|| TestCaseError::fail(text.clone()))?.split(",\n");
                    for field in fields {
                        let (name, value) = field.split_once('=').ok_or_else(|| TestCaseError::fail(text.clone()))?;
                        prop_assert!(name.trim().chars().all(|sign| sign.is_ascii_lowercase()), "{}", text);
                        prop_assert!(is_group(value.trim()), "{}", text);
                    }
                }
                other => prop_assert!(false, "{other:?} has no parser here"),
            }
        }
    }
}
