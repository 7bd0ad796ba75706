//! Numbers as people write them.

use bmax::{Field, Scenario, number};
use proptest::prelude::*;
use proptest::sample::select;

use super::random;

proptest! {
    #![proptest_config(random())]

    #[test]
    fn a_number_with_a_unit_behind_it_is_that_many_of_the_unit(count in 1_u32..4_000, space in select(&["", " ", "\u{a0}"][..])) {
        let read = |field: Field, unit: &str| field.read(&format!("{count}{space}{unit}"));
        let count = f64::from(count);
        for (field, unit, one) in [
            (Field::Sequence, "k", 1024.0),
            (Field::Sequence, "K tokens", 1024.0),
            (Field::Positions, "k", 1024.0),
            (Field::GlobalBatch, "k", 1e3),
            (Field::Parameters, "B", 1.0),
            (Field::Memory, "GB", 1.0),
            (Field::Memory, "GiB", 1.0),
        ] {
            prop_assert_eq!(read(field, unit), Ok(count * one), "{:?} {}", field, unit);
        }
        // Division rounds once, and so do the digits when they are read together with the power of ten.
        prop_assert_eq!(read(Field::Parameters, "M"), Ok(count / 1e3));
        prop_assert_eq!(read(Field::GlobalBatch, "k sequences").is_err(), true);
        let with = Scenario::workshop().with_text(Field::GlobalBatch, &format!("{count}k tokens")).expect("in range");
        prop_assert_eq!(f64::from(with.goal.global_batch), count * 1e3);
    }

    #[test]
    fn what_is_written_for_any_value_in_any_unit_is_read_as_it_was(field in select(Field::ALL), at in 0.0..1.0_f64) {
        let bound = field.bound();
        let value = bound.min + at * (bound.max - bound.min);
        let value = if bound.whole { value.floor() } else { (value * 1024.0).floor() / 1024.0 };
        for written in [number::plain(value), number::grouped(value), format!("{} {}", number::grouped(value), bound.unit)] {
            prop_assert_eq!(field.read(&written), Ok(value), "{}", written);
        }
    }
}
