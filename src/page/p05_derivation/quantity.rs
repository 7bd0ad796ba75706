//! Quantities of the derivation as native MathML.

use bmax::Bytes;
use leptos::math::{math, mi, mn, mrow, msub, mtext};
use leptos::prelude::*;

use crate::site::format;

/// A memory size in GiB. It has about four digits, so that a reader who divides two of them by hand
/// comes to the quotient that is shown.
pub fn gib(bytes: Bytes) -> String {
    let gib = bytes.gib();
    let places = match gib.abs() {
        size if size >= 1_000.0 => 0,
        size if size >= 10.0 => 2,
        size if size >= 0.1 => 3,
        0.0 => 0,
        _ => 6,
    };
    // MathML text has no hyphen for a minus.
    format::digits(gib, places).replace('-', "−")
}

/// A memory size with its unit.
pub fn amount(bytes: Bytes) -> AnyView {
    mrow().child((mn().child(gib(bytes)), mtext().child("\u{a0}GiB"))).into_any()
}

/// A whole formula.
pub fn equation(parts: Vec<AnyView>) -> AnyView {
    math().child(parts).into_any()
}

fn memory_of(name: &'static str) -> AnyView {
    msub().child((mi().child("M"), mi().child(name))).into_any()
}

/// What a step may use.
pub fn usable() -> AnyView {
    memory_of("usable")
}

/// The device.
pub fn gpu() -> AnyView {
    memory_of("GPU")
}

/// What does not depend on the batch.
pub fn fixed() -> AnyView {
    memory_of("fixed")
}

/// Activations of one sequence.
pub fn one_sequence() -> AnyView {
    memory_of("act")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_enough_digits_to_be_divided_by_hand() {
        assert_eq!(gib(Bytes::from_gib(58.962)), "58.96");
        assert_eq!(gib(Bytes::from_gib(0.5)), "0.500");
        assert_eq!(gib(Bytes::from_gib(12_345.6)), "12,346");
        assert_eq!(gib(Bytes::from_gib(0.000_5)), "0.000500");
        assert_eq!(gib(Bytes::ZERO), "0");
    }

    #[test]
    fn a_negative_remainder_has_a_minus() {
        assert_eq!(gib(Bytes::from_gib(-32.3)), "−32.30");
    }
}
