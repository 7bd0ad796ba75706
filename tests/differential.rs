//! How near the ledger is to PyTorch's own count for configurations that were drawn at random.
//!
//! `make test-exports` counts the rows of `tests/vectors/differential.json` and writes
//! `tests/exports/DIFFERENTIAL.md`; these tests hold the estimator to the rows as they were counted.

use bmax::{counters, link};
use serde_json::Value;

/// What is held of one set of draws, in percent: the median, nine of ten, and the worst.
struct Held {
    set: &'static str,
    rows: usize,
    median: f64,
    ninetieth: f64,
    worst: f64,
}

const HELD: &[Held] = &[
    Held { set: "first", rows: 300, median: 0.68, ninetieth: 9.2, worst: 32.5 },
    Held { set: "fresh", rows: 100, median: 0.7, ninetieth: 11.6, worst: 27.2 },
];

fn rows() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/differential.json");
    let text = std::fs::read_to_string(path).expect("the rows are there");
    serde_json::from_str(&text).expect("they are JSON")
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("{key} of {row}"))
}

/// How far the ledger is from the peak of a row, in percent.
fn error(row: &Value) -> f64 {
    let read = link::decode(text(row, "question"));
    assert_eq!(read.notices, [], "{}", text(row, "id"));
    let peak = row["peak_bytes"]["total"].as_f64().expect("every row has a peak");
    (counters(&read.scenario).allocated.get() / peak - 1.0).abs() * 100.0
}

#[test]
fn random_configurations_are_as_near_to_pytorchs_count_as_the_record_says() {
    let rows = rows();
    for held in HELD {
        let mut errors: Vec<f64> = rows.iter().filter(|row| text(row, "set") == held.set).map(error).collect();
        errors.sort_by(f64::total_cmp);
        assert_eq!(errors.len(), held.rows, "{}", held.set);
        let reached = [
            (errors[errors.len() / 2] + errors[(errors.len() - 1) / 2]) / 2.0,
            errors[errors.len() * 9 / 10 - 1],
            errors[errors.len() - 1],
        ];
        for (reached, held_at) in reached.into_iter().zip([held.median, held.ninetieth, held.worst]) {
            assert!(reached <= held_at, "{}: {reached:.2} %, held at {held_at} %", held.set);
        }
    }
    assert_eq!(rows.len(), HELD.iter().map(|held| held.rows).sum::<usize>());
}
