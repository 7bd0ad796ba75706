//! How near the predictions are to what was measured.
//!
//! `make accuracy` writes the report that is committed as `tests/vectors/REPORT.md`; the tests here
//! hold its thresholds. Other files in the same formats are run with
//! `make accuracy CASES=path/to/cases.json`.

mod cases;
mod exceptions;
mod mapping;
mod report;
mod statistics;

use std::env;
use std::path::{Path, PathBuf};

use cases::Row;
use report::Report;

/// The files, those first whose rows were chosen first.
const FILES: [&str; 4] = ["measured.json", "measured_fine_tuning.json", "measured_parallel.json", "memtracker.json"];

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn committed() -> Vec<Row> {
    FILES.iter().flat_map(|file| cases::read(&vectors().join(file))).collect()
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

/// Not a check: prints the scenario of each row as a link, for those who want to see its ledger.
#[test]
#[ignore = "prints; run by hand"]
fn print_the_links() {
    for row in committed() {
        if let Row::Compared(case) = row {
            println!("{}\t{}", case.id, bmax::link::encode(&case.scenario));
        }
    }
}
