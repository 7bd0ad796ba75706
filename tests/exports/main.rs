//! Exports as files: whatever the scenario they are written and can be read, and those that were handed
//! to their programs (`make test-exports`) are still what the code writes.
//!
//! The recorded files are golden files as well: each was read when it was recorded. Where a change of
//! them is meant, `make test-exports` writes them anew and hands them to the programs again;
//! `BMAX_BLESS=1 cargo test --test exports` only writes them.

#[path = "../support/any_scenario.rs"]
mod any_scenario;

use std::fs;
use std::path::PathBuf;

use any_scenario::any_scenario;
use bmax::export::{Target, write};
use bmax::link;
use proptest::prelude::*;
use saphyr::LoadableYamlNode;
use serde_json::Value;

/// The page that recorded files lead to; `check.py` has the same.
const PAGE: &str = "https://example.org/bmax/";

fn here(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/exports").join(path)
}

fn scenarios() -> Value {
    let text = fs::read_to_string(here("scenarios.json")).expect("it is committed");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn the_files_that_were_handed_to_their_programs_are_what_is_written_now() {
    let scenarios = scenarios();
    let recorded = scenarios["recorded"].as_object().expect("names and questions");
    assert!(recorded.len() >= 2);
    for (name, question) in recorded {
        let read = link::decode(question.as_str().expect("text"));
        assert_eq!(read.notices, [], "{name}");
        for &target in Target::ALL {
            let path = here(&format!("files/{name}/{}", target.file_name()));
            let now = write(target, &read.scenario, PAGE);
            if std::env::var_os("BMAX_BLESS").is_some() {
                fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
                fs::write(&path, &now).expect("it can be written");
            }
            let then = fs::read_to_string(&path).unwrap_or_default();
            assert!(now == then, "{} is not what is written now: make test-exports records it anew", path.display());
        }
    }
}

#[test]
fn the_record_names_every_target_and_no_failure() {
    let record = fs::read_to_string(here("RESULT.md")).expect("it is committed");
    let scenarios = scenarios();
    let count = scenarios["recorded"].as_object().map_or(0, serde_json::Map::len)
        + scenarios["checked"].as_array().map_or(0, Vec::len);
    assert!(record.contains(&format!("{count} scenarios")), "{record}");
    for target in Target::ALL {
        let rows = record.lines().filter(|line| line.starts_with(&format!("| {} |", target.key())));
        let checked = rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit(' ').next()?.parse::<usize>().ok());
        assert_eq!(checked.sum::<usize>(), count, "{}", target.key());
    }
    for line in fs::read_to_string(here("requirements.txt")).expect("it is committed").lines() {
        let Some((name, version)) = line.split_once("==") else { continue };
        let build_only = ["setuptools", "wheel"].contains(&name);
        assert!(build_only || record.contains(&format!("| {name} | {version}")), "{name} {version}");
    }
}

#[test]
fn every_question_of_the_list_is_understood() {
    for question in scenarios()["checked"].as_array().expect("a list") {
        assert_eq!(link::decode(question.as_str().expect("text")).notices, [], "{question}");
    }
}

/// Lines that no comment sign begins.
fn code<'a>(text: &'a str, sign: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter(move |line| !line.starts_with(sign))
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
                Target::Markdown | Target::Bibtex => {}
            }
        }
    }
}
