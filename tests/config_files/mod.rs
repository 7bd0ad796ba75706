//! Every model_type of transformers, read from the config.json of its default configuration.
//!
//! `every_type.jsonl` has these files and what the library allocates for each (`every_type.py`);
//! `EVERY_TYPE.md` is the table of how each is read. `make test-configs` makes both anew, and
//! `BMAX_BLESS=1 cargo test --test native config_files::` the table alone.

use crate::support::golden::as_committed;

use std::collections::BTreeMap;

use bmax::config_json::{self, ConfigError, ConfigNotice, Reading};
use bmax::{Field, Scenario, link, number};
use serde_json::Value;

const LINES: &str = include_str!("every_type.jsonl");
/// The classes that read and write text alone.
const TEXT: [&str; 3] = ["AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForSeq2SeqLM"];

/// A line of the file.
struct Type {
    name: String,
    auto: String,
    class: String,
    /// What the class allocates, and its language model alone; `None` where it cannot be made.
    weights: Option<[i64; 2]>,
    reason: String,
    config: Value,
    /// Fields with other values, and the weights then.
    changed: Vec<(serde_json::Map<String, Value>, i64)>,
}

fn types() -> Vec<Type> {
    let lines = LINES.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    lines
        .map(|line| Type {
            name: text(&line, "type"),
            auto: text(&line, "auto"),
            class: text(&line, "class"),
            weights: line["weights"].as_i64().map(|all| [all, line["language"].as_i64().unwrap_or(all)]),
            reason: text(&line, "reason"),
            config: line["config"].clone(),
            changed: line["changed"].as_array().map_or(Vec::new(), |list| {
                let change = |entry: &Value| Some((entry[0].as_object()?.clone(), entry[1].as_i64()?));
                list.iter().map(|entry| change(entry).expect("fields and a count")).collect()
            }),
        })
        .collect()
}

/// How a reading compares with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Exact,
    Named,
    GuessedRight,
    GuessedWrong,
    Refused,
    NotMade,
    SilentlyWrong,
}

impl Verdict {
    const ALL: [(Self, &str); 7] = [
        (Self::Exact, "exact"),
        (Self::Named, "difference named"),
        (Self::GuessedRight, "guessed right, with a warning"),
        (Self::GuessedWrong, "guessed wrong, with a warning"),
        (Self::Refused, "refused, with a reason"),
        (Self::NotMade, "not made by the library from its defaults"),
        (Self::SilentlyWrong, "SILENTLY WRONG"),
    ];
}

fn has(reading: &Reading, is: impl Fn(&ConfigNotice) -> bool) -> bool {
    reading.notes.iter().any(is)
}

fn verdict(read: &Result<Reading, ConfigError>, weights: Option<[i64; 2]>) -> Verdict {
    let Ok(reading) = read else { return Verdict::Refused };
    let Some([all, language]) = weights else { return Verdict::NotMade };
    let named = reading.weights();
    let is_nested = has(reading, |note| matches!(note, ConfigNotice::Nested(_)));
    let leaves_parts = has(reading, |note| matches!(note, ConfigNotice::Uncounted { .. }));
    if has(reading, |note| matches!(note, ConfigNotice::UnknownType { .. })) {
        let is_right = named == all || named == language;
        return if is_right { Verdict::GuessedRight } else { Verdict::GuessedWrong };
    }
    // Where the library makes the language model alone, a tower is no part of what it allocates.
    let vision = &reading.model.vision;
    let seeing = vision.weights(reading.model.hidden);
    let tower = (seeing.tower(vision.layers) + seeing.projector) as i64;
    match (reading.model.parameters as i64, named) {
        (counted, _) if counted == all || counted - tower == all => Verdict::Exact,
        (_, named) if named == all => Verdict::Named,
        // A note says that nothing but the language model is counted.
        (_, named) if is_nested && named == language => Verdict::Named,
        // Notes name the parts that are left out, which have no sizes of their own in the library.
        (_, named) if leaves_parts && !is_nested && named < all => Verdict::Named,
        _ => Verdict::SilentlyWrong,
    }
}

/// Why a file is refused, in a few words.
fn reason(refusal: &ConfigError) -> String {
    match refusal {
        ConfigError::TwoStacks(_) => "an encoder with a decoder".to_owned(),
        ConfigError::OtherLayers { sign, what, .. } => format!("{sign}: layers {what}"),
        ConfigError::NotLanguage(key) => format!("no language model, by “{key}”"),
        ConfigError::NoVocabulary(_) => "no vocabulary".to_owned(),
        ConfigError::Missing { field, .. } => format!("no {}", field.bound().name.to_lowercase()),
        other => other.to_string(),
    }
}

fn grouped(weights: i64) -> String {
    let sign = if weights < 0 { "−" } else { "" };
    format!("{sign}{}", number::grouped(weights.unsigned_abs() as f64))
}

/// The table, as Markdown.
fn table() -> String {
    let release: Value = serde_json::from_str(LINES.lines().next().unwrap_or_default()).expect("JSON");
    let mut rows = String::new();
    let mut counts: BTreeMap<Verdict, [usize; 2]> = BTreeMap::new();
    for kind in types() {
        let read = config_json::read(&kind.config.to_string());
        let verdict = verdict(&read, kind.weights);
        let count = counts.entry(verdict).or_default();
        count[0] += usize::from(TEXT.contains(&&*kind.auto));
        count[1] += 1;
        let words = Verdict::ALL.iter().find(|(other, _)| *other == verdict).map_or("", |(_, words)| *words);
        let (mut counted, mut difference, mut named) = (String::new(), String::new(), String::new());
        let mut told = words.to_owned();
        match &read {
            Err(refusal) => told = format!("refused: {}", reason(refusal)),
            Ok(reading) => {
                let parameters = reading.model.parameters as i64;
                counted = grouped(parameters);
                named = grouped(reading.weights() - parameters);
                if let Some([_, language]) = kind.weights {
                    difference = grouped(language - parameters);
                }
            }
        }
        if !kind.reason.is_empty() {
            told += &format!(" ({})", kind.reason);
        }
        let [all, language] = kind.weights.map_or_else(Default::default, |weights| weights.map(grouped));
        let language = if language == all { String::new() } else { language };
        let cells = [&*kind.name, &*kind.class, &*all, &*language, &*counted, &*difference, &*named, &*told];
        rows += &format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    let mut summary = String::new();
    for (verdict, words) in Verdict::ALL {
        let [text, all] = counts.get(&verdict).copied().unwrap_or_default();
        summary += &format!("| {words} | {text} | {all} |\n");
    }
    let [text, all] = counts.values().fold([0, 0], |sum, count| [sum[0] + count[0], sum[1] + count[1]]);
    format!(
        "# Every model_type of transformers {release}\n\n\
         Made by `make test-configs`; do not edit. A test of `make test` holds it to what is read now.\n\n\
         Each type’s default configuration was written as its config.json, and its class made on the meta device \
         (`every_type.py`). “Counted” is the number of parameters that the file leads to here; “named” is how many more \
         the notes name with a number, and the difference is that to the language model, or to the whole class where \
         there is nothing else. A file whose language model is exact and whose other parts are named counts as “difference \
         named”.\n\n\
         | verdict | text models | all types |\n| --- | ---: | ---: |\n{summary}| together | {text} | {all} |\n\n\
         | model_type | class | weights | language model | counted | difference | named | verdict |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n{rows}",
        release = release["transformers"].as_str().unwrap_or_default(),
    )
}

#[test]
fn the_table_is_what_is_read_now() {
    as_committed("tests/config_files/EVERY_TYPE.md", &table());
}

#[test]
fn no_type_is_silently_wrong() {
    let types = types();
    assert!(types.len() > 600 && types.iter().filter(|kind| kind.weights.is_some()).count() > 560);
    for kind in types {
        let read = config_json::read(&kind.config.to_string());
        let said: Vec<_> = read.iter().flat_map(|reading| &reading.notes).map(ToString::to_string).collect();
        assert_ne!(verdict(&read, kind.weights), Verdict::SilentlyWrong, "{}: {said:#?}", kind.name);
    }
}

#[test]
fn another_value_of_any_field_is_counted_or_named_too() {
    let mut checked = 0;
    for kind in types() {
        for (fields, weights) in &kind.changed {
            let mut config = kind.config.clone();
            for (key, value) in fields {
                config[key] = value.clone();
            }
            let read = config_json::read(&config.to_string());
            let is_said = read.as_ref().is_ok_and(|reading| {
                has(reading, |note| {
                    matches!(note, ConfigNotice::Unread(_) | ConfigNotice::Differ(..) | ConfigNotice::Remark(_))
                })
            });
            let verdict = verdict(&read, Some([*weights; 2]));
            assert!(
                verdict != Verdict::SilentlyWrong || is_said,
                "{} with {fields:?}: {weights}, {read:#?}",
                kind.name
            );
            checked += usize::from([Verdict::Exact, Verdict::Named].contains(&verdict));
        }
    }
    assert!(checked > 1_000, "{checked}");
}

#[test]
fn every_file_is_a_model_in_range_or_a_short_reason() {
    for kind in types() {
        match config_json::read(&kind.config.to_string()) {
            Err(refusal) => {
                let said = refusal.to_string();
                assert!(said.len() < 500 && said.ends_with('.'), "{}: {said}", kind.name);
            }
            Ok(Reading { model, notes, .. }) => {
                let scenario = Scenario { model, ..Scenario::workshop() };
                assert!(Field::ALL.iter().all(|field| field.check(scenario.number(*field)).is_ok()), "{}", kind.name);
                assert!(notes.iter().all(|note| note.to_string().len() < 500), "{}: {notes:?}", kind.name);
            }
        }
    }
}

#[test]
fn what_is_offered_in_place_of_a_refused_file_counts_the_weights_that_it_names() {
    let mut offered = 0;
    for kind in types() {
        let Err(refusal) = config_json::read(&kind.config.to_string()) else { continue };
        let (said, on_page) = (refusal.to_string(), refusal.on_page());
        // The page speaks of its fields and of no command.
        assert!(!on_page.contains("bmax"), "{}: {on_page}", kind.name);
        if let ConfigError::TwoStacks(Some(by_hand)) = &refusal {
            // What is pasted is read without a notice, and has the parameters that it names.
            let command = said.split("bmax '").nth(1).and_then(|rest| rest.split('\'').next());
            let read = link::decode(command.unwrap_or_else(|| panic!("{}: {said}", kind.name)));
            assert_eq!(read.notices, [], "{}: {said}", kind.name);
            let model = read.scenario.model;
            assert_eq!((model.parameters, model.derived_parameters()), (by_hand.weights(), by_hand.weights()));
            assert!(on_page.contains(&number::grouped(by_hand.weights() as f64)), "{}: {on_page}", kind.name);
            offered += 1;
        } else {
            assert!(!said.contains("bmax"), "{}: {said}", kind.name);
        }
        if matches!(refusal, ConfigError::TwoStacks(None) | ConfigError::OtherLayers { .. }) {
            assert!(said.contains("A model of the list with about as many weights"), "{}: {said}", kind.name);
        }
    }
    assert!(offered > 20, "{offered}");
}
