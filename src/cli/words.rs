//! Quantities and answers in words. The estimator never rounds; this file does, and only for the eye.

use crate::{Bytes, Infeasible, Shortage, number};

/// A memory size in GiB with two digits after the point.
pub fn gib(bytes: Bytes) -> String {
    number::with_commas(&number::fixed(bytes.gib(), 2))
}

/// A memory size in GiB, or in MiB below a tenth of a GiB.
pub fn memory(bytes: Bytes) -> String {
    if bytes.gib().abs() < 0.1 {
        format!("{} MiB", number::with_commas(&number::fixed(bytes.mib(), 1)))
    } else {
        format!("{} GiB", gib(bytes))
    }
}

/// A share as percent with one digit after the point.
pub fn percent(share: f64) -> String {
    number::fixed(share * 100.0, 1) + " %"
}

/// A count with thousands commas.
pub fn count(count: u32) -> String {
    number::grouped(f64::from(count))
}

/// "1 sequence", "3 sequences".
pub fn counted(number: u32, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Why nothing fits and what mends it, in one or two sentences.
pub fn shortage(reason: &Infeasible) -> String {
    let over = memory(reason.over);
    let why = match reason.shortage {
        Shortage::ModelStates => format!(
            "Parameters, gradients, optimizer state and what the process takes leave no room: with one sequence, \
             {over} too much."
        ),
        Shortage::FirstSequence => {
            format!("The model states fit, but the activations of one sequence are {over} too much.")
        }
    };
    match reason.fewest_gpus {
        Some(gpus) => format!("{why} With {} it would fit.", counted(gpus, "GPU", "GPUs")),
        None => format!("{why} More GPUs of this kind alone do not help."),
    }
}
