//! What the ledger shows: the instants of a step, the buckets that are alive at one of them, and their entries.

use std::ptr;

use bmax::{
    Bucket, Bytes, Entry, Estimate,
    formula::{Expr, Symbol, Values},
    number,
    source::Source,
};

use crate::components::mathml;
use crate::site::{Facts, format};

/// The ledger before anything is unfolded.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Whether the ledger answers, which alone knows instants.
    pub is_ledger: bool,
    /// The instant that is looked at.
    pub at: usize,
    /// The instant that needs most.
    pub binding: usize,
    /// The instants.
    pub instants: Vec<InstantRow>,
    /// Which instant it is, and what is alive then.
    pub title: String,
    /// What happens then.
    pub meaning: String,
    /// The buckets, in their order.
    pub buckets: Vec<BucketRow>,
    /// What is alive.
    pub total: String,
    /// What one machine holds outside its GPUs; empty where that is nothing.
    pub host: String,
}

/// One instant of a step, as a bar to pick from.
#[derive(Clone, Debug, PartialEq)]
pub struct InstantRow {
    /// What it is called.
    pub name: &'static str,
    /// What is alive then.
    pub size: String,
    /// The buckets one after the other, measured by the highest instant: the stops of a gradient of the style sheet.
    pub parts: String,
}

/// One bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct BucketRow {
    /// Whether anything in it is alive.
    pub is_there: bool,
    /// How many entries of it are.
    pub entries: String,
    /// Their size.
    pub size: String,
    /// Their part of all that is alive.
    pub share: String,
}

impl Shown {
    /// The ledger of these facts. Until the reader picks an instant it is the binding one, whichever that is; and
    /// another method may have fewer instants than the one in which this was picked.
    pub fn of(facts: &Facts, picked: Option<usize>) -> Self {
        let estimate = &facts.estimate;
        let (binding, peak) = estimate.binding();
        let at = picked.filter(|at| *at < estimate.instants.len()).unwrap_or(binding);
        let (instant, total) = (&estimate.instants[at], format::memory(estimate.total_at(at)));
        let title = match estimate.instants[..] {
            [_] => format!("All buckets together: {total}"),
            _ if at == binding => format!("The peak, “{}”: {total}", instant.name),
            _ => format!("“{}”: {total}", instant.name),
        };
        Self {
            is_ledger: facts.is_ledger(),
            at,
            binding,
            instants: (0..estimate.instants.len()).map(|at| InstantRow::of(estimate, at, peak)).collect(),
            title,
            meaning: estimate.meaning(at) + &ranks(estimate),
            buckets: Bucket::ALL.iter().map(|bucket| BucketRow::of(estimate, at, *bucket)).collect(),
            total,
            host: host(estimate),
        }
    }
}

/// The memory of the machine, which is a counter of its own.
fn host(estimate: &Estimate) -> String {
    let host = &estimate.host;
    if host.entries.is_empty() {
        return String::new();
    }
    let peak = host.peak();
    let at = usize::from(peak.bytes > host.total_at(0) || host.total_at(0) == Bytes::ZERO);
    let there = host.entries.iter().filter(|entry| entry.alive.contains(at));
    let parts: Vec<String> = there.map(|entry| format!("{} {}", entry.name, format::memory(entry.bytes))).collect();
    let known = if host.memory > Bytes::ZERO { format!(" of {}", format::memory(host.memory)) } else { String::new() };
    format!(
        "CPU memory of one machine with {}, while {}: {}{known}. It is not part of the GPU’s: {}.",
        format::counted(host.gpus, "GPU", "GPUs"),
        peak.instant.name,
        format::memory(peak.bytes),
        parts.join(", ")
    )
}

impl InstantRow {
    fn of(estimate: &Estimate, at: usize, peak: Bytes) -> Self {
        let mut end = Bytes::ZERO;
        let part = |bucket: &Bucket| {
            let start = end;
            end = start + estimate.bucket_at(*bucket, at);
            let [from, to] = [start, end].map(|edge| format::css_percent(edge.share_of(peak)));
            format!("var(--bucket-{}) {from} {to}, ", bucket.key())
        };
        let parts: String = Bucket::ALL.iter().map(part).collect();
        Self {
            name: estimate.instants[at].name,
            size: format::gib(estimate.total_at(at)),
            parts: parts + "transparent 0",
        }
    }
}

impl BucketRow {
    fn of(estimate: &Estimate, at: usize, bucket: Bucket) -> Self {
        let size = estimate.bucket_at(bucket, at);
        let entries = estimate.largest_at(at).iter().filter(|entry| entry.bucket == bucket).count();
        Self {
            is_there: size > Bytes::ZERO,
            entries: format::counted(entries as u32, "entry", "entries"),
            size: format::memory(size),
            share: format::percent(size.share_of(estimate.total_at(at))),
        }
    }
}

/// Which rank of a pipeline needs most, and what the last one needs; nothing without a pipeline.
fn ranks(estimate: &Estimate) -> String {
    let peak = estimate.peak();
    let mut text = String::new();
    for stage in estimate.stages() {
        let which = match (stage.peak == peak, stage.stage) {
            (true, _) => "needs most,",
            (_, "last") => "is the last and needs",
            _ => continue,
        };
        text += &format!(" Rank {} {which} {}.", stage.rank, format::memory(stage.peak.bytes));
    }
    text
}

/// What tells entries apart as they change places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// What the entry is.
    pub name: &'static str,
    /// How many others of this name are alive with it and counted before it: the gradients of experts come second.
    before: usize,
}

impl Key {
    fn of(entry: &Entry, estimate: &Estimate, at: usize) -> Self {
        let earlier = estimate.entries.iter().take_while(|other| !ptr::eq(*other, entry));
        let of_this_name = |other: &&Entry| other.name == entry.name && other.alive.contains(at);
        Self { name: entry.name, before: earlier.filter(of_this_name).count() }
    }
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryRow {
    /// What it is.
    pub key: Key,
    /// The bucket it is in.
    pub bucket: Bucket,
    /// Its size.
    pub size: String,
    /// Its part of its bucket.
    pub share: String,
    /// The rest, while it is unfolded: fifty formulas would otherwise be the largest part of every change of the page.
    pub details: Option<Details>,
}

/// Where the size of an entry comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// Its formula in symbols, as MathML.
    pub formula: String,
    /// The same with the numbers of the scenario.
    pub numbers: String,
    /// The letters of the formula and what they stand for, as HTML.
    pub symbols: String,
    /// When it is alive.
    pub alive: String,
    /// Its source.
    pub source: &'static Source,
}

/// The entries of a bucket at an instant, largest first; those that are unfolded with their details.
pub fn entries_of(estimate: &Estimate, at: usize, bucket: Bucket, unfolded: &[Key]) -> Vec<EntryRow> {
    let size = estimate.bucket_at(bucket, at);
    let entries = estimate.largest_at(at).into_iter().filter(|entry| entry.bucket == bucket);
    let is_unfolded = |entry: &Entry| unfolded.contains(&Key::of(entry, estimate, at));
    entries.map(|entry| EntryRow::of(entry, estimate, at, size, is_unfolded(entry))).collect()
}

/// Every entry that is alive at an instant, largest first, with its details.
pub fn all_entries(estimate: &Estimate, at: usize) -> Vec<EntryRow> {
    let total = estimate.total_at(at);
    estimate.largest_at(at).into_iter().map(|entry| EntryRow::of(entry, estimate, at, total, true)).collect()
}

impl EntryRow {
    fn of(entry: &Entry, estimate: &Estimate, at: usize, whole: Bytes, unfolded: bool) -> Self {
        Self {
            key: Key::of(entry, estimate, at),
            bucket: entry.bucket,
            size: format::memory(entry.bytes),
            share: format::css_percent(entry.bytes.share_of(whole)),
            details: unfolded.then(|| Details::of(entry, estimate)),
        }
    }
}

impl Details {
    fn of(entry: &Entry, estimate: &Estimate) -> Self {
        let values = entry.values(estimate);
        Self {
            formula: mathml(entry.formula, &values),
            numbers: entry.formula.in_numbers(&values),
            symbols: symbols(entry.formula, &values),
            alive: lifetime(entry, estimate),
            source: entry.source,
        }
    }
}

/// When the entry is alive, in words.
fn lifetime(entry: &Entry, estimate: &Estimate) -> String {
    let alive = estimate.instants.iter().enumerate().filter(|(at, _)| entry.alive.contains(*at));
    let names: Vec<&str> = alive.map(|(_, instant)| instant.name).collect();
    if names.len() == estimate.instants.len() { "the whole step".to_owned() } else { names.join("; ") }
}

/// The letters of a formula and what they stand for, a line each. All of the words are the program's own.
fn symbols(formula: &Expr, values: &Values) -> String {
    let written = |symbol: &&Symbol| {
        let neutral = symbol.is_neutral_at_one() && values.get(**symbol) == 1.0;
        !symbol.is_coefficient() && !neutral && formula.contains(**symbol)
    };
    let line = |symbol: &Symbol| {
        let letter = mathml(&Expr::Symbol(*symbol), values);
        let (meaning, value) = (symbol.meaning(), number::grouped(values.get(*symbol)));
        format!("<span class=\"ledger-symbol\"><math>{letter}</math> {meaning}: {value}</span>")
    };
    Symbol::ALL.iter().filter(written).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::Scenario;
    use proptest::prelude::*;

    fn facts(query: &str) -> Facts {
        facts_of(bmax::link::decode(&format!("v=3&{}", query.trim_start_matches('?'))).scenario)
    }

    #[test]
    fn the_binding_instant_is_looked_at_until_another_is_picked() {
        let facts = facts("");
        let (binding, peak) = facts.estimate.binding();
        let shown = Shown::of(&facts, None);
        assert_eq!((shown.at, shown.binding), (binding, binding));
        let name = facts.estimate.instants[binding].name;
        assert_eq!(shown.title, format!("The peak, “{name}”: {}", format::memory(peak)));
        let other = (binding + 1) % facts.estimate.instants.len();
        let name = facts.estimate.instants[other].name;
        assert!(Shown::of(&facts, Some(other)).title.starts_with(&format!("“{name}”: ")));
        assert_eq!(Shown::of(&facts, Some(99)).at, binding);
    }

    #[test]
    fn the_other_methods_have_four_buckets_and_no_instants() {
        for query in ["?method=workshop", "?method=paper"] {
            let shown = Shown::of(&facts(query), None);
            assert!(!shown.is_ledger && shown.title.starts_with("All buckets together: "));
            assert_eq!(shown.buckets.iter().filter(|bucket| bucket.is_there).count(), 4);
        }
    }

    #[test]
    fn an_entry_is_explained_once_it_is_unfolded() {
        let facts = facts("");
        let (at, _) = facts.estimate.binding();
        let folded = entries_of(&facts.estimate, at, Bucket::Activations, &[]);
        assert!(folded.iter().all(|entry| entry.details.is_none()));
        let first = folded[0].key;
        let unfolded = entries_of(&facts.estimate, at, Bucket::Activations, &[first]);
        for entry in unfolded {
            assert_eq!(entry.details.is_some(), entry.key == first, "{}", entry.key.name);
            if let Some(details) = entry.details {
                assert!(details.symbols.contains("micro-batch: 3"), "{}", details.symbols);
                assert!(details.alive.contains("loss, backward"), "{}", details.alive);
            }
        }
    }

    #[test]
    fn every_entry_of_a_bucket_unfolds_alone() {
        for query in ["", "?experts=8&active=2&ep=2", "?adapter=qlora", "?pp=4&vpp=2&zero=1&accum=8", "?method=paper"] {
            let estimate = facts(query).estimate;
            for at in 0..estimate.instants.len() {
                for entry in all_entries(&estimate, at) {
                    let unfolded = entries_of(&estimate, at, entry.bucket, &[entry.key]);
                    assert_eq!(
                        unfolded.iter().filter(|entry| entry.details.is_some()).count(),
                        1,
                        "{query}: {entry:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_entry_that_is_unfolded_is_the_same_on_every_stage_of_a_pipeline() {
        let fragmentation = |query: &str| {
            let estimate = facts(query).estimate;
            let entries = entries_of(&estimate, estimate.binding().0, Bucket::Runtime, &[]);
            entries.iter().map(|entry| entry.key).find(|key| key.name == "Fragmentation")
        };
        assert!(fragmentation("").is_some());
        assert_eq!(fragmentation(""), fragmentation("?pp=4&vpp=2&zero=1&accum=8&engine=megatron"));
    }

    #[test]
    fn the_meanings_of_symbols_can_stand_in_markup() {
        for symbol in Symbol::ALL {
            assert!(!symbol.meaning().contains(['<', '>', '&', '"']), "{}", symbol.meaning());
        }
    }

    /// The words in markup.
    fn words(markup: &str) -> String {
        markup.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_scenario_has_a_ledger_whose_buckets_and_table_have_the_same_entries(
            scenario in any_scenario(),
            picked in proptest::option::of(0_usize..12),
        ) {
            let facts = facts_of(scenario);
            let shown = Shown::of(&facts, picked);
            texts_are_sound(&(&shown.title, &shown.meaning, &shown.buckets, &shown.instants));
            let table = all_entries(&facts.estimate, shown.at);
            texts_are_sound(&table.iter().map(|entry| (entry.key.name, &entry.size, &entry.share)).collect::<Vec<_>>());
            for details in table.iter().filter_map(|entry| entry.details.as_ref()) {
                for text in [&words(&details.formula), &details.numbers, &details.alive] {
                    texts_are_sound(text);
                }
            }
            let by_bucket: usize =
                Bucket::ALL.iter().map(|bucket| entries_of(&facts.estimate, shown.at, *bucket, &[]).len()).sum();
            prop_assert_eq!(by_bucket, table.len());
        }
    }

    #[test]
    fn the_default_ledger_names_no_rank_and_a_pipeline_names_two() {
        assert!(!Shown::of(&facts_of(Scenario::workshop()), None).meaning.contains("Rank"));
        let meaning = Shown::of(&facts("?pp=4&zero=1&accum=8"), None).meaning;
        assert!(meaning.contains("needs most,"), "{meaning}");
    }
}
