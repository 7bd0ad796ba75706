//! Every entry of the ledger by its source.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::LazyLock;

use bmax::{Scenario, catalogue, estimate, setting, source};

use super::works::{escaped, row_of};

/// Scenarios that between them use every line of every method: each pair of settings, on models of
/// every kind.
fn scenarios() -> Vec<Scenario> {
    let slugs = ["7b", "gpt2", "llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gemma-2-9b", "qwen3-8b", "olmo-2-7b"];
    let rows: Vec<_> = slugs.iter().filter_map(|slug| catalogue::model(slug)).collect();
    assert!(rows.len() >= 5, "most of these models should be listed");
    let mut found = Vec::new();
    let choices: Vec<_> = setting::ALL
        .iter()
        .flat_map(|setting| setting.options.iter().map(move |option| (setting, option.key)))
        .collect();
    for row in &rows {
        for (first, (setting, word)) in choices.iter().enumerate() {
            let one = setting.read(word, row.apply(Scenario::workshop())).expect("a word of its own");
            for (other, word) in &choices[first..] {
                found.push(other.read(word, one).expect("a word of its own"));
            }
        }
        // A pipeline and several micro-batches of one step.
        let mut piped = row.apply(Scenario::workshop());
        piped.cluster.pipeline_parallel = 4;
        piped.recipe.micro_batches = 8;
        found.push(piped);
        // Products in fp8, on a device that has them.
        let hopper = catalogue::device("h100-80").expect("listed").apply(row.apply(Scenario::workshop()));
        for option in setting::FP8.options {
            found.push(setting::FP8.read(option.key, hopper).expect("a word of its own"));
        }
        // A vocabulary that several devices share.
        let mut divided = row.apply(Scenario::workshop());
        divided.cluster.tensor_parallel = 2;
        found.push(divided);
    }
    found
}

/// The names of entries by what their source is called. There are some ten thousands of scenarios to estimate, so it is
/// found once.
pub static ENTRIES: LazyLock<BTreeMap<&'static str, BTreeSet<&'static str>>> = LazyLock::new(|| {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for scenario in scenarios() {
        let estimate = estimate(&scenario);
        for entry in estimate.entries.into_iter().chain(estimate.host.entries) {
            assert!(source::ALL.contains(&entry.source), "{} has a source that no list names", entry.name);
            found.entry(entry.source.short).or_default().insert(entry.name);
        }
    }
    found
});

/// The names of a source's entries. What every kind of weight has is said once.
fn gathered(names: &BTreeSet<&'static str>, kinds: &BTreeSet<&'static str>) -> Vec<String> {
    let mut said = Vec::new();
    let mut rest = names.clone();
    for suffix in ["", ", fp32 master", ", moments", ", DDP buckets"] {
        let of_kinds: BTreeSet<&str> = rest
            .iter()
            .copied()
            .filter(|name| name.strip_suffix(suffix).is_some_and(|kind| kinds.contains(kind)))
            .collect();
        if of_kinds.len() > 3 {
            said.push(format!("Every kind of weight{suffix}"));
            rest = rest.difference(&of_kinds).copied().collect();
        }
    }
    said.extend(rest.iter().map(|name| escaped(name)));
    said
}

pub fn ledger_entries(html: &mut String) {
    html.push_str("\n  <h2>Entries of the ledger</h2>\n\n  <dl>\n");
    let kinds: BTreeSet<&str> = ENTRIES.values().flatten().filter_map(|name| name.strip_suffix(", moments")).collect();
    for source in source::ALL {
        let names = gathered(&ENTRIES[source.short], &kinds);
        let (id, name) = (row_of(source).id, escaped(source.short));
        _ = writeln!(html, "    <dt><a href=\"#source-{id}\">{name}</a></dt><dd>{}</dd>", names.join("; "));
    }
    html.push_str("  </dl>\n");
}
