//! Rows of `tools/gpu_check.sh`, as it writes them: `gpu_check.json` beside this file is what it wrote of its whole plan on
//! the GPU that computes nothing (tools/nullcuda). No row of it is a measurement.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::cases::{self, Case, Counter, Row, Seen};
use super::exceptions::WITHIN;
use super::{committed, compared, files, mapping, vectors};

/// The rows of a GPU among the measurements, a file for each plan.
pub const FILES: [&str; 2] = ["gpu.json", "gpu_2.json"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn fixture() -> PathBuf {
    repository().join("tests/accuracy/gpu_check.json")
}

fn values(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("it is committed");
    serde_json::from_str(&text).expect("a list of rows")
}

/// The runs of the plan, and how many of them have `also` done with them.
fn planned(also: Option<&str>) -> usize {
    let runs = values(&repository().join("tools/gpu_check/plan.json"));
    let has = |run: &Value, what| run["also"].as_array().is_some_and(|list| list.iter().any(|one| one == what));
    runs.iter().filter(|run| also.is_none_or(|what| has(run, what))).count()
}

fn cases_of(rows: &[Row], wanted: impl Fn(&Case) -> bool) -> Vec<&Case> {
    compared(rows).filter(|case| wanted(case)).collect()
}

#[test]
fn the_plan_has_sixty_runs_ten_searches_and_five_traces_at_least() {
    assert!(planned(None) >= 60 && planned(Some("least")) >= 10 && planned(Some("trace")) >= 5);
}

#[test]
fn every_run_of_the_plan_gives_a_row_for_each_counter_and_every_search_one_on_each_side() {
    let rows = cases::read(&fixture());
    let left_out: Vec<&str> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Out { id, .. } => Some(id.as_str()),
            Row::Compared(_) => None,
        })
        .collect();
    assert!(left_out.is_empty(), "{left_out:?}");
    for counter in [Counter::Live, Counter::Reserved, Counter::Device] {
        let read = cases_of(&rows, |case| case.counter() == Some(counter)).len();
        assert_eq!(read, planned(None), "{}", counter.name());
    }
    for seen in [Seen::Fit, Seen::OutOfMemory] {
        assert_eq!(cases_of(&rows, |case| case.seen == seen).len(), planned(Some("least")), "{seen:?}");
    }
}

#[test]
fn the_scenario_of_every_planned_run_is_that_of_the_run() {
    let rows = cases::read(&fixture());
    let wrong: Vec<String> = cases_of(&rows, |case| case.counter() == Some(Counter::Live))
        .into_iter()
        .filter_map(|case| {
            case.error().filter(|error| error.abs() > WITHIN).map(|error| format!("{}: {error}", case.id))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The process holds what the allocator holds, which is no less than what is alive.
#[test]
fn the_three_counters_of_a_run_stand_in_order() {
    let rows = cases::read(&fixture());
    let figures = |counter| -> Vec<f64> {
        compared(&rows)
            .filter_map(|case| match case.seen {
                Seen::Peak(bytes, of) if of == counter => Some(bytes.get()),
                _ => None,
            })
            .collect()
    };
    let [live, reserved, device] = [Counter::Live, Counter::Reserved, Counter::Device].map(figures);
    for ((live, reserved), device) in live.iter().zip(&reserved).zip(&device) {
        assert!(live <= reserved && reserved <= device, "{live}, {reserved}, {device}");
    }
}

#[test]
fn a_row_is_a_measurement_where_its_gpu_computes() {
    let mut value = values(&fixture()).swap_remove(0);
    let is_simulated = |value: &Value| match mapping::row("gpu", value) {
        Row::Compared(case) => case.is_simulated(),
        Row::Out { id, reason } => panic!("{id}: {reason}"),
    };
    assert!(is_simulated(&value));
    value["tier"] = "A".into();
    assert!(!is_simulated(&value));
}

#[test]
fn nothing_of_a_gpu_that_computes_nothing_is_among_the_measurements() {
    for file in files() {
        for value in values(&vectors().join(file)) {
            let nothing = ["gpu", "device"].iter().any(|key| mapping::says(&value, key, "computes nothing"));
            assert!(!(nothing && value["tier"] == "A"), "{file}: {}", Row::name(&value));
        }
    }
    assert!(committed().iter().any(|row| matches!(row, Row::Compared(case) if !case.is_simulated())));
}
