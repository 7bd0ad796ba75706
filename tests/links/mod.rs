//! Old links: what they mean, and what they answer, for ever. README.md beside this says what is promised.

use std::collections::BTreeSet;
use std::{env, fs};

use bmax::link::{Change, Notice};
use bmax::setting::{self, Setting};
use bmax::{Answer, ExpertMatrices, Field, Method, Scenario, b_max, link};
use proptest::prelude::*;

use crate::support::any_scenario::any_scenario;
use serde_json::{Map, Value, json};

const LINKS: &str = include_str!("links.json");
const LEDGER: &str = include_str!("ledger.json");
const DOCUMENT: &str = include_str!("../../docs/links.md");
const CHANGELOG: &str = include_str!("../../CHANGELOG.md");

/// The micro-batch: since version 4 a link that does not name it means the largest one.
const BATCH: &str = "b";

/// One link of the list.
struct Old {
    link: String,
    /// What every parameter that its version knew stands for.
    means: Map<String, Value>,
    /// The parameters that the reader is told about.
    named: Vec<String>,
    /// The parameters that say what was counted before, where the link does not and the count has changed.
    changed: Vec<String>,
    /// b_max by the two methods that never change, where their sources have one.
    workshop: Option<Value>,
    paper: Option<Value>,
}

fn list() -> Vec<Old> {
    let file: Value = serde_json::from_str(LINKS).expect("links.json is JSON");
    let links = file["links"].as_array().expect("a list of links");
    let read = |entry: &Value| {
        let link = entry["link"].as_str().expect("a link").to_owned();
        let version = link.split('&').find_map(|pair| pair.strip_prefix("v=")).expect("a version");
        let mut means = file[version].as_object().expect("the defaults of the version").clone();
        means.extend(entry["differs"].as_object().expect("what differs").clone());
        let [named, changed] = ["named", "changed"].map(|list| {
            let keys = entry[list].as_array().into_iter().flatten();
            keys.map(|key| key.as_str().expect("a parameter").to_owned()).collect()
        });
        let [workshop, paper] = ["workshop", "paper"].map(|method| entry.get(method).cloned());
        Old { link, means, named, changed, workshop, paper }
    };
    links.iter().map(read).collect()
}

/// Whether a parameter of the scenario is exactly this.
fn is(scenario: &Scenario, key: &str, expected: &str) -> Result<(), String> {
    let differs = |seen: String| if seen == expected { Ok(()) } else { Err(format!("{key}={seen}, not {expected}")) };
    if let Some(field) = Field::from_key(key) {
        let number: f64 = expected.parse().expect("a number");
        let seen = scenario.number(field);
        // Byte for byte: not one unit in the last place is passed over.
        return if seen.to_bits() == number.to_bits() { Ok(()) } else { differs(seen.to_string()) };
    }
    if let Some(word) = Setting::from_key(key) {
        return differs(word.get(scenario).to_owned());
    }
    match key {
        "model" => differs(link::model_word(scenario.model.origin).to_owned()),
        "gpu" => differs(scenario.device.origin.to_owned()),
        _ => Err(format!("{key} is no parameter")),
    }
}

fn answer(scenario: &Scenario, method: Method) -> Value {
    match b_max(&Scenario { method, ..*scenario }) {
        Answer::Fits(room) => json!(room.batch),
        Answer::Infeasible(_) => json!("does not fit"),
        // What a method counts does not depend on whether anybody can run it.
        Answer::Refused(refusal) => refusal.would_be.map_or_else(|| json!("does not fit"), |most| json!(most)),
    }
}

#[test]
fn the_list_is_long_enough_and_has_every_parameter_of_every_version() {
    let links = list();
    assert!(links.len() >= 40, "{}", links.len());
    for version in 1..=link::VERSION {
        let of_version: Vec<_> = links.iter().filter(|old| old.link.contains(&format!("v={version}"))).collect();
        assert!(of_version.len() >= 15, "version {version} has {}", of_version.len());
    }
    for parameter in link::parameters() {
        let has = |old: &&Old| old.link.split('&').any(|pair| pair.split('=').next() == Some(parameter.key));
        assert!(links.iter().any(|old| has(&old)), "no old link has {}", parameter.key);
    }
    // A link of the newest version fixes everything.
    let newest = links.iter().find(|old| old.link.starts_with("v=4")).expect("one of version 4");
    for parameter in link::parameters().iter().filter(|parameter| !["v", BATCH].contains(&parameter.key)) {
        assert!(newest.means.contains_key(parameter.key), "version 4 says nothing of {}", parameter.key);
    }
}

#[test]
fn every_old_link_means_what_it_always_meant() {
    for old in list() {
        let read = link::decode(&old.link);
        let wrong: Vec<_> = old
            .means
            .iter()
            .filter_map(|(key, expected)| is(&read.scenario, key, expected.as_str().expect("a text")).err())
            .collect();
        assert!(wrong.is_empty(), "{} means something else now: {wrong:?}", old.link);
    }
}

#[test]
fn a_link_of_version_4_without_a_micro_batch_means_the_largest() {
    let mut silent = 0;
    for old in list().iter().filter(|old| old.link.starts_with("v=4") && !old.means.contains_key(BATCH)) {
        let scenario = link::decode(&old.link).scenario;
        assert_eq!(scenario.recipe.batch, b_max(&scenario).batch().unwrap_or(1), "{}", old.link);
        silent += 1;
    }
    assert!(silent >= 10, "{silent}");
}

#[test]
fn what_could_not_be_used_in_an_old_link_is_still_named_and_nothing_else_is() {
    for old in list() {
        let faults = link::decode(&old.link).notices.into_iter().filter(Notice::is_fault);
        let notices: Vec<_> = faults.map(|notice| notice.to_string()).collect();
        assert_eq!(notices.len(), old.named.len(), "{}: {notices:?}", old.link);
        for key in &old.named {
            assert!(notices.iter().any(|notice| notice.contains(&format!("“{key}”"))), "{key} in {notices:?}");
        }
    }
}

#[test]
fn the_workshop_and_the_paper_answer_old_links_as_they_always_did() {
    let mut answers = 0;
    for old in list() {
        let scenario = link::decode(&old.link).scenario;
        for (method, expected) in [(Method::Workshop, &old.workshop), (Method::Paper, &old.paper)] {
            if let Some(expected) = expected {
                assert_eq!(&answer(&scenario, method), expected, "{} by {method:?}", old.link);
                answers += 1;
            }
        }
    }
    assert!(answers >= 80, "{answers}");
}

#[test]
fn an_old_link_that_is_written_anew_means_the_same() {
    for old in list() {
        let scenario = link::decode(&old.link).scenario;
        let written = link::encode(&scenario);
        let again = link::decode(&written);
        assert_eq!((again.scenario, again.notices), (scenario, vec![]), "{} as {written}", old.link);
    }
}

/// Every input with the version of links that it came with, as its declaration says.
fn inputs() -> impl Iterator<Item = (&'static str, u32)> {
    let numbers = Field::ALL.iter().map(|field| (field.bound().key, field.bound().since));
    numbers.chain(setting::ALL.iter().map(|word| (word.key, word.since)))
}

#[test]
fn every_input_came_with_a_version_and_stands_in_older_links_for_what_was_counted_without_it() {
    let file: Value = serde_json::from_str(LINKS).expect("links.json is JSON");
    for version in 1..=link::VERSION {
        let table = |value: &Value| value.as_object().expect("a table").clone();
        let is_known = |(key, since): &(&str, u32)| *since <= version && (version < 4 || *key != BATCH);
        let known: BTreeSet<_> = inputs().filter(is_known).map(|(key, _)| key).collect();
        let means = table(&file[version.to_string()]);
        let listed: BTreeSet<_> =
            means.keys().map(String::as_str).filter(|key| !["model", "gpu"].contains(key)).collect();
        assert_eq!(listed, known, "what links of version {version} know");
        if version == link::VERSION {
            continue;
        }
        let later: BTreeSet<_> = inputs().filter(|(_, since)| *since > version).map(|(key, _)| key).collect();
        let stands_in = table(&file["stands_in"][version.to_string()]);
        assert_eq!(stands_in.keys().map(String::as_str).collect::<BTreeSet<_>>(), later, "version {version}");
        let read = link::decode(&format!("v={version}")).scenario;
        for (key, value) in &stands_in {
            is(&read, key, value.as_str().expect("a text")).unwrap_or_else(|wrong| panic!("v={version}: {wrong}"));
        }
    }
}

#[test]
fn old_links_of_which_the_count_has_changed_say_since_when() {
    for old in list() {
        let notices: Vec<_> = link::decode(&old.link).notices.into_iter().filter(|notice| !notice.is_fault()).collect();
        let told = notices.iter().map(|notice| match notice {
            Notice::CountedAsBefore(change, _) => change.setting().key,
            other => panic!("{}: {other}", old.link),
        });
        assert_eq!(told.collect::<Vec<_>>(), old.changed, "{}", old.link);
        for notice in notices.iter().map(ToString::to_string) {
            assert!(Change::ALL.iter().any(|change| notice.contains(change.day())), "{notice}");
        }
    }
}

#[test]
fn the_document_of_links_says_what_stands_in_and_since_when_the_count_is_another() {
    let (_, versions) = DOCUMENT.split_once("## Versions").expect("a section");
    let rows: Vec<_> = versions.lines().filter(|line| line.starts_with('|')).collect();
    let says = |words: &[&str]| rows.iter().any(|row| words.iter().all(|word| row.contains(word)));
    for change in Change::ALL {
        let old = link::decode("v=2&adapter=lora&experts=8&active=2").scenario;
        let (key, option) = (change.setting().key, change.setting().get(&old));
        assert!(says(&[change.day(), &format!("`{key}={option}`")]), "{key}={option}");
        assert!(says(&[&format!("`{key}`"), &format!("`{option}`")]), "{key}");
    }
    // Whatever stands for something else than its default in an older link is in the table.
    for query in ["adapter=lora", "mlp=gelu-tanh"] {
        let [old, new] = ["v=2", "v=3"].map(|version| link::decode(&format!("{version}&{query}")).scenario);
        let differing = setting::ALL.iter().filter(|word| word.since > 2 && word.get(&old) != word.get(&new));
        let differing: Vec<_> = differing.collect();
        assert_eq!(differing.len(), 2, "{query}");
        for word in differing {
            assert!(says(&[&format!("`{}`", word.key), &format!("`{}`", word.get(&old))]), "{}", word.key);
        }
    }
}

/// For a day such a link was read with stacks of experts: 245.6 GiB and no fit (CHANGELOG.md, “Fixed”), where 93.6 GiB and
/// 5 sequences had been.
#[test]
fn a_link_of_version_2_with_experts_beside_adapters_stands_for_linear_layers() {
    let link = "v=2&model=mixtral-8x7b&gpu=h200&gpus=1&adapter=qlora&zero=0";
    let read = link::decode(link);
    assert_eq!(read.scenario.recipe.expert_matrices, ExpertMatrices::Linear);
    let spelled = link::decode(&format!("{link}&expert_matrices=linear&adapter_type=16"));
    assert_eq!((spelled.scenario, spelled.notices), (read.scenario, vec![]));
    let said: Vec<_> = read.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "Adapters have been counted in fp32 since 22 November 2026; this link stands for adapters in 16 bits \
             (adapter_type=16), as it did.",
            "Experts beside adapters have been counted as stacks since 25 November 2026; this link stands for linear \
             layers (expert_matrices=linear), as it did.",
        ]
    );
}

proptest! {
    /// A notice that the count has changed is due where the two counts differ, and nowhere else is one missing.
    #[test]
    fn where_no_change_of_the_count_is_told_both_counts_are_the_same(scenario in any_scenario()) {
        for &change in Change::ALL {
            if change.concerns(&scenario) {
                continue;
            }
            let counts = change.setting().options.iter().map(|option| {
                let counted = change.setting().read(option.key, scenario).expect("a word of its own");
                format!("{:?} {:?}", bmax::estimate(&counted).peak(), answer(&counted, counted.method))
            });
            let counts: BTreeSet<_> = counts.collect();
            prop_assert_eq!(counts.len(), 1, "{:?}: {:?}", change, counts);
        }
    }
}

/// The ledger's answers may become better. `BMAX_REASON="what changed" cargo test --test native links::` records them
/// anew, and the reason must be a sentence of the change log.
#[test]
fn the_ledger_answers_old_links_as_recorded_and_a_change_is_in_the_change_log() {
    let answers: Map<_, _> = list()
        .into_iter()
        .map(|old| (old.link.clone(), answer(&link::decode(&old.link).scenario, Method::Ledger)))
        .collect();
    let recorded: Value = serde_json::from_str(LEDGER).expect("ledger.json is JSON");
    let differing: Vec<_> = answers
        .iter()
        .filter(|(link, answer)| recorded["answers"].get(*link) != Some(answer))
        .map(|(link, answer)| format!("{link}: {answer}, recorded as {}", recorded["answers"][link]))
        .collect();
    if let Ok(reason) = env::var("BMAX_REASON") {
        let text = json!({ "because": reason, "answers": answers });
        let text = serde_json::to_string_pretty(&text).expect("JSON") + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/links/ledger.json");
        fs::write(path, text).expect("a file that can be written");
        return;
    }
    assert!(
        differing.is_empty() && recorded["answers"].as_object().is_some_and(|all| all.len() == answers.len()),
        "the ledger answers links that were shared differently now. If that is meant, say so in CHANGELOG.md and \
         record it: BMAX_REASON=\"the sentence there\" cargo test --test native links::\n{}",
        differing.join("\n")
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let because = recorded["because"].as_str().expect("a sentence");
    assert!(because.len() > 20, "“{because}” is no reason");
    assert!(words(CHANGELOG).contains(&words(because)), "CHANGELOG.md does not say “{because}”");
}
