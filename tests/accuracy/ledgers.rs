//! What the estimator says of every run that a program counted or somebody measured: a table beside the figures of the
//! runs, which `make accuracy` writes. The report says how near the ledger is; this table says which answers a change of
//! the estimator moves, and in which direction.

use std::fmt::Write;

use bmax::{Method, estimate, largest_micro_batch};

use super::cases::{self, Case, Row, Seen};
use super::{files, vectors};
use crate::support::golden;
use crate::support::held::throughout;

/// Where the table stands.
pub const PATH: &str = "tests/golden/ledgers.txt";

/// Files whose rows no report summarizes.
const OTHER_FILES: [&str; 4] = ["differential.json", "lengths_cuda.json", "outside.json", "vision.json"];

const HEAD: &str = "\
# What the estimator says of every row of tests/vectors, in bytes. Written by `make accuracy`; do not edit.
#
# seen: the peak of the run; none where it only ran, or ran out of memory, or where one instant outside the step was seen
#   (tests/outside.rs compares that)
# ledger: the peak of the ledger by the counter of the run, and how far it is from what was seen
# all instants: the totals of all instants, added up, so that no line changes unseen
# host: the same for the memory of the machine
# b_max: the largest micro-batch on the device of the row
";

/// The table of all rows that can be compared.
pub fn table() -> String {
    let mut table = HEAD.to_owned();
    for file in files().chain(OTHER_FILES) {
        _ = write!(
            table,
            "\n{file}\n{:>16} {:>16} {:>9} {:>18} {:>16} {:>8}  run\n",
            "seen", "ledger", "off", "all instants", "host", "b_max"
        );
        for row in cases::read(&vectors().join(file)) {
            if let Row::Compared(case) = row {
                table += &line(&case);
            }
        }
    }
    table
}

fn line(case: &Case) -> String {
    let ledger = case.predicted_by(Method::Ledger).get();
    let (seen, off) = match case.seen {
        Seen::Peak(..) if case.file == "outside" => ("one instant".to_owned(), String::new()),
        Seen::Peak(bytes, _) => {
            (format!("{:.0}", bytes.get()), format!("{:+.2} %", (ledger / bytes.get() - 1.0) * 100.0))
        }
        Seen::Fit => ("ran".to_owned(), String::new()),
        Seen::OutOfMemory => ("out of memory".to_owned(), String::new()),
    };
    let [all, host] = throughout(&estimate(&case.scenario));
    let batch = largest_micro_batch(&case.scenario).map_or("none".to_owned(), |batch| batch.to_string());
    format!("{seen:>16} {ledger:>16.0} {off:>9} {all:>18.0} {host:>16.0} {batch:>8}  {}\n", case.id)
}

#[test]
fn no_answer_to_a_recorded_run_changes_unseen() {
    golden::unmoved(PATH, &table(), "make accuracy");
}
