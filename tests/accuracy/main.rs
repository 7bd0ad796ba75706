//! How near the predictions are to what was measured.
//!
//! `make accuracy` writes the report that is committed as `tests/vectors/REPORT.md`; the tests here
//! hold its thresholds. Other files in the same two formats are run with
//! `make accuracy CASES=path/to/cases.json`.

mod cases;
mod mapping;
mod report;
mod statistics;

use std::env;
use std::path::{Path, PathBuf};

use cases::Case;
use report::Report;
use statistics::Summary;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn committed() -> Vec<Case> {
    ["measured.json", "memtracker.json", "memtracker_more.json"]
        .iter()
        .flat_map(|file| cases::read(&vectors().join(file)))
        .collect()
}

/// Relative errors of the measured rows that `wanted` picks.
fn errors(wanted: impl Fn(&Case) -> bool) -> Summary {
    let cases = committed();
    Summary::of(cases.iter().filter(|case| wanted(case)).filter_map(Case::error))
}

#[test]
fn tier_a_is_within_5_percent_at_the_median_and_12_percent_at_the_90th_percentile() {
    let summary = errors(|case| case.tier == "A");
    assert!(summary.count >= 20, "{} rows", summary.count);
    assert!(summary.median <= 0.05, "median {:.3}", summary.median);
    assert!(summary.ninetieth <= 0.12, "90th percentile {:.3}", summary.ninetieth);
}

#[test]
fn tier_b_is_within_10_percent_at_the_median() {
    let summary = errors(|case| case.tier == "B");
    assert!(summary.count >= 15, "{} rows", summary.count);
    assert!(summary.median <= 0.10, "median {:.3}", summary.median);
}

#[test]
fn every_simulated_eager_model_is_within_3_percent() {
    for case in committed().iter().filter(|case| case.tier == "simulated" && !case.cpu_masks()) {
        let error = case.error().expect("simulated rows have a figure");
        assert!(error.abs() <= 0.03, "{}: {:.2} %", case.id, error * 100.0);
    }
}

#[test]
fn configurations_that_ran_are_accepted_unless_the_report_says_why_not() {
    for case in committed() {
        if let Some(false) = case.agrees() {
            assert!(report::known_disagreement(&case).is_some(), "{} is judged wrongly and not listed", case.id);
        }
    }
}

/// Not a check: writes the report, or prints one for another file.
#[test]
#[ignore = "writes a file; run by make accuracy"]
fn write_the_report() {
    let other = env::var("BMAX_CASES").unwrap_or_default();
    if other.is_empty() {
        let path = vectors().join("REPORT.md");
        std::fs::write(&path, Report::of(&committed()).to_string()).expect("the report can be written");
        println!("accuracy: wrote {}", path.display());
    } else {
        println!("{}", Report::of(&cases::read(Path::new(&other))));
    }
}

#[test]
fn the_committed_report_is_what_the_estimator_says_today() {
    let path = vectors().join("REPORT.md");
    let written = std::fs::read_to_string(&path).expect("the report is committed");
    assert!(written == Report::of(&committed()).to_string(), "run make accuracy and read what changed");
}
