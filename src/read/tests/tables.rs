//! What is held of every table.

use super::super::explain;
use super::super::format::{ALL, Row, Rule, Said};
use super::*;

/// What the format of a row means.
fn of(row: &Row) -> &'static Meaning {
    Readers::all().meaning(row.format).expect("all parts are there")
}

#[test]
fn a_format_whose_meaning_is_not_there_names_the_part_that_has_it() {
    let none = Readers::default();
    assert_eq!(none.meaning(Format::Axolotl).err(), Some(Needs::FineTuning));
    assert_eq!(none.meaning(Format::Torchtitan).err(), Some(Needs::Pretraining));
    assert!(none.meaning(Format::Torchrun).is_ok());
    assert!(none.with_pretraining().meaning(Format::Megatron).is_ok());
}

#[test]
fn every_word_of_a_link_in_a_table_is_one_that_its_input_takes() {
    let mut words = 0;
    let mut check = |said: &Said| {
        if let Said::Link(all) = said {
            for pair in all.split('&').filter(|pair| !pair.is_empty()) {
                let (key, value) = pair.split_once('=').expect("a pair");
                assert!(explain::checked(key, value).is_some(), "{pair}");
                words += 1;
            }
        }
    };
    for row in ALL {
        let meaning = of(row);
        meaning.always.iter().for_each(&mut check);
        for key in meaning.tables.iter().flat_map(|table| table.keys) {
            match &key.rule {
                Rule::Words(all) | Rule::File(all) | Rule::Optimizer(all) => {
                    all.iter().for_each(|(_, said)| check(said))
                }
                Rule::Above(above, below) => [above, below].into_iter().for_each(&mut check),
                Rule::Number(input) | Rule::Millions(input) | Rule::Share(input) => {
                    assert!(crate::Field::from_key(input).is_some(), "{input}");
                }
                _ => {}
            }
        }
    }
    assert!(words > 100, "{words}");
}

#[test]
fn every_format_has_a_row_a_name_and_a_source_and_no_key_twice_in_a_table() {
    for row in ALL {
        assert!(row.format.row().is_some_and(|found| std::ptr::eq(found, *row)), "{:?} has two rows", row.format);
        assert!(!row.name.is_empty());
        assert!(!of(row).tables.is_empty(), "{:?} means nothing", row.format);
        for table in of(row).tables {
            let names: Vec<&str> = table.keys.iter().flat_map(|key| key.names).copied().collect();
            for (at, name) in names.iter().enumerate() {
                assert!(!names[..at].contains(name), "{name} in {}", table.source);
                assert!(!table.no_matter.split(' ').any(|other| other == *name), "{name} in {}", table.source);
                assert!(!table.not_counted.iter().any(|(other, _)| other == name), "{name} in {}", table.source);
            }
            assert!(table.keys.is_empty() || table.source.contains(char::is_numeric), "{}: a version", table.source);
        }
    }
}

#[test]
fn every_default_is_a_value_that_its_own_rule_understands() {
    for row in ALL {
        let silent = Section::new(row.format, Default::default());
        let defaults = of(row).tables.iter().flat_map(|table| table.keys).filter(|key| key.default.is_some()).count();
        let unsaid = explain::unsaid(&silent, of(row));
        assert!(unsaid.len() <= defaults);
        for unsaid in unsaid {
            assert!(!unsaid.claims.is_empty(), "{}", unsaid.key);
        }
    }
}
