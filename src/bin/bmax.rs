//! The command line of the estimator: `bmax --help` tells how it is used.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bmax::cli::run(std::env::args_os().skip(1)))
}
