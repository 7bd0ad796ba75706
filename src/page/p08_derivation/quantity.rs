//! Quantities of the derivation as native MathML.

use bmax::Bytes;

use crate::site::dom::{El, math};
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

/// A letter or a name.
pub fn mi(name: &str) -> El {
    math("mi").text(name)
}

/// A number.
pub fn mn(number: &str) -> El {
    math("mn").text(number)
}

/// An operator or a bracket.
pub fn mo(operator: &str) -> El {
    math("mo").text(operator)
}

/// A part of a formula that belongs together.
pub fn mrow(parts: Vec<El>) -> El {
    math("mrow").children(parts)
}

/// One part of a formula above another.
pub fn mfrac(numerator: El, denominator: El) -> El {
    math("mfrac").child(numerator).child(denominator)
}

/// A letter with a name below its line.
pub fn msub(letter: &str, name: &str) -> El {
    math("msub").child(mi(letter)).child(mi(name))
}

/// A memory size with its unit.
pub fn amount(bytes: Bytes) -> El {
    mrow(vec![mn(&gib(bytes)), math("mtext").text("\u{a0}GiB")])
}

/// A whole formula.
pub fn equation(parts: Vec<El>) -> El {
    math("math").children(parts)
}

/// What a step may use.
pub fn usable() -> El {
    msub("M", "usable")
}

/// The device.
pub fn gpu() -> El {
    msub("M", "GPU")
}

/// What does not depend on the batch.
pub fn fixed() -> El {
    msub("M", "fixed")
}

/// Activations of one sequence.
pub fn one_sequence() -> El {
    msub("M", "act")
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
