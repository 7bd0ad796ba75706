//! Quantities as the derivation writes them.

use bmax::Bytes;

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
