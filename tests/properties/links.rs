//! Links: what they bring back, however they are written, and what is said of what they cannot mean.

use bmax::link::Pinned;
use bmax::{Field, Scenario, catalogue, link, number, setting};
use proptest::prelude::*;
use proptest::sample::select;

use super::{as_drawn, random};
use crate::support::any_scenario::{any_scenario, within};

/// A parameter's name.
fn any_key() -> impl Strategy<Value = &'static str> {
    let keys: Vec<&'static str> = link::parameters().iter().map(|parameter| parameter.key).collect();
    select(keys)
}

/// What people and programs write for a number or a word, right and wrong.
fn any_value() -> impl Strategy<Value = String> {
    let words: Vec<String> =
        setting::ALL.iter().flat_map(|word| word.options).map(|option| option.key.to_owned()).collect();
    let rows = catalogue::MODELS.iter().map(|row| row.slug).chain(catalogue::DEVICES.iter().map(|row| row.slug));
    let rows: Vec<String> = rows.map(str::to_owned).collect();
    prop_oneof![
        4 => select(Field::ALL).prop_flat_map(within).prop_map(number::plain),
        1 => (1_u64..200_000_000).prop_map(|thousandths| number::grouped(thousandths as f64 / 1000.0)),
        1 => "[0-9]{1,20}([.][0-9]{0,20})?(e-?[0-9]{1,3})?",
        3 => select(words),
        2 => select(rows),
        1 => ".{0,12}",
    ]
}

/// A query of known parameters with any values, some of them several times.
fn any_query() -> impl Strategy<Value = String> {
    prop::collection::vec((any_key(), any_value()), 0..24).prop_map(|pairs| query_of(&pairs))
}

fn query_of<K: AsRef<str>, V: AsRef<str>>(pairs: &[(K, V)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The parameters of the link that a scenario is written as.
fn written(scenario: &Scenario) -> Vec<(String, String)> {
    form_urlencoded::parse(link::encode(scenario).as_bytes()).into_owned().collect()
}

/// Any number of ways to write the same text in a query.
#[derive(Clone, Copy, Debug)]
enum Spelling {
    /// Every byte by its number, in capitals.
    Capitals,
    /// Every byte by its number, in small letters.
    Small,
    /// Only what has a meaning of its own in a query.
    Bare,
}

fn spelt(text: &str, spelling: Spelling) -> String {
    let byte = |byte: u8| match spelling {
        Spelling::Capitals => format!("%{byte:02X}"),
        Spelling::Small => format!("%{byte:02x}"),
        Spelling::Bare if b"&=%+#".contains(&byte) => format!("%{byte:02X}"),
        Spelling::Bare => char::from(byte).to_string(),
    };
    text.bytes().map(byte).collect()
}

/// That a link is written for a scenario which brings it back, and is written again as it was.
fn survives(scenario: &Scenario) -> Result<(), TestCaseError> {
    let query = link::encode(scenario);
    prop_assert!(query.len() < link::MAX_QUERY_BYTES);
    let read = link::decode(&query);
    prop_assert_eq!(&read.notices, &[], "{}", query);
    prop_assert_eq!(&read.scenario, scenario, "{}", query);
    prop_assert_eq!(link::encode(&read.scenario), query);
    Ok(())
}

#[test]
fn a_link_brings_back_every_model_on_every_device() {
    for model in catalogue::MODELS {
        for device in catalogue::DEVICES {
            let scenario = device.apply(model.apply(Scenario::workshop()));
            survives(&scenario).unwrap_or_else(|error| panic!("{} on {}: {error}", model.slug, device.slug));
        }
    }
}

#[test]
fn a_link_brings_back_every_word_and_both_ends_of_every_number_of_every_model() {
    for row in catalogue::MODELS {
        let start = row.apply(Scenario::workshop());
        for word in setting::ALL {
            for option in word.options {
                let scenario = word.read(option.key, start).expect("a word of its own");
                survives(&scenario).unwrap_or_else(|error| panic!("{}: {error}", row.slug));
            }
        }
        for &field in Field::ALL {
            for value in [field.bound().min, field.bound().max] {
                let scenario = start.with_number(field, value).expect("the ends are in range");
                survives(&scenario).unwrap_or_else(|error| panic!("{}: {error}", row.slug));
            }
        }
    }
}

#[test]
fn words_may_be_written_in_any_case_and_what_else_is_in_another_case_is_named() {
    for word in setting::ALL {
        for option in word.options {
            let read = link::decode(&format!("{}={}", word.key, option.key.to_uppercase()));
            assert_eq!(word.get(&read.scenario), option.key);
            assert_eq!(read.notices, []);
        }
    }
    for parameter in link::parameters() {
        let read = link::decode(&format!("{}=1", parameter.key.to_uppercase()));
        assert_eq!(read.scenario, Scenario::default(), "{}", parameter.key);
        assert_eq!(read.notices.len(), 1, "{}", parameter.key);
    }
    for slug in catalogue::MODELS.iter().map(|row| row.slug).filter(|slug| *slug != slug.to_uppercase()) {
        let read = link::decode(&format!("model={}", slug.to_uppercase()));
        assert_eq!((read.scenario.model.origin, read.notices), (bmax::Origin::Row(slug), vec![]), "{slug}");
    }
}

#[test]
fn digits_of_other_scripts_and_invisible_marks_are_named_and_not_guessed_at() {
    // Full-width, Arabic-Indic, Devanagari and mathematical digits; superscripts; a Roman numeral; an emoji
    // with a digit in it; a number between marks that turn the direction of writing; a soft hyphen; a minus
    // that is none of ASCII's; a number with an accent, apart from its letter and together with it.
    let texts = [
        "１２",
        "١٢",
        "१२",
        "𝟏𝟐",
        "¹²",
        "Ⅻ",
        "1️⃣",
        "🦀",
        "\u{200f}12",
        "12\u{200e}",
        "\u{202e}21\u{202c}",
        "1\u{ad}2",
        "−12",
        "12\u{301}",
        "1é2",
        "1e\u{301}2",
    ];
    for text in texts {
        for &field in Field::ALL {
            let query = query_of(&[(field.bound().key, text), ("gpus", "64")]);
            let read = link::decode(&query);
            let expected = if field == Field::Gpus { 8 } else { 64 };
            assert_eq!(read.scenario.cluster.gpus, expected, "{text:?}");
            let usual = link::decode(if expected == 64 { "gpus=64" } else { "" }).scenario;
            assert_eq!(read.scenario.number(field), usual.number(field), "{text:?} for {}", field.bound().key);
            assert!(!read.notices.is_empty(), "{text:?} for {}", field.bound().key);
        }
        for word in setting::ALL {
            let read = link::decode(&query_of(&[(word.key, text)]));
            assert_eq!((read.scenario, read.notices.len()), (Scenario::default(), 1), "{text:?} for {}", word.key);
        }
    }
    // The same name in two forms of Unicode is two names, and neither is one of ours.
    assert_eq!(link::decode("v=3&caf%C3%A9=1&cafe%CC%81=1").notices.len(), 2);
}

#[test]
fn no_mark_in_a_link_turns_around_what_a_message_says_of_it() {
    // What switches the direction of writing would also switch that of our own words around it.
    for mark in
        ['\u{202a}', '\u{202b}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2028}', '\u{7f}']
    {
        for query in [format!("s={mark}12"), format!("zero={mark}7"), format!("colour{mark}=1"), format!("v={mark}")] {
            for notice in link::decode(&query).notices {
                assert!(!notice.to_string().contains(mark), "{notice:?}");
            }
        }
    }
}

of_every_scenario! {
    fn a_link_brings_back_the_same_scenario(scenario in as_drawn) {
        survives(&scenario)?;
    }
}

proptest! {
    #![proptest_config(random())]

    #[test]
    fn a_link_with_every_parameter_spelled_out_says_the_same(scenario in any_scenario(), own in any::<bool>()) {
        let mut scenario = scenario;
        if own {
            scenario.model.origin = bmax::Origin::Own;
        }
        let whole = link::encode_whole(&scenario);
        prop_assert!(whole.len() <= link::MAX_QUERY_BYTES, "{} bytes", whole.len());
        let read = link::decode(&whole);
        prop_assert_eq!(&read.notices, &[]);
        prop_assert_eq!(read.scenario, scenario);
        for parameter in link::parameters() {
            let given = whole.split('&').filter(|pair| pair.split('=').next() == Some(parameter.key)).count();
            prop_assert_eq!(given, 1, "{}", parameter.key);
        }
    }

    #[test]
    fn a_link_brings_back_the_scenarios_to_compare_with_and_the_first_one_whatever_that_is(
        first in any_scenario(), second in any_scenario(), own in any::<[bool; 2]>(), changed in any_query(),
    ) {
        let (mut first, mut second) = (first, second);
        for (scenario, own) in [&mut first, &mut second].into_iter().zip(own) {
            if own {
                scenario.model.origin = bmax::Origin::Own;
            }
        }
        let third = link::decode_onto(Some(&first), &changed).scenario;
        let all = Pinned::from(second).with(third).with(first);
        for vs in [Pinned::from(second), Pinned::from(third), all] {
            let query = link::encode_with(&first, &vs);
            let read = link::decode(&query);
            prop_assert_eq!(&read.notices, &[], "{}", query);
            prop_assert_eq!((read.scenario, read.vs), (first, vs), "{}", query);
            let whole = link::encode_whole(&first) + &link::versus_whole(&first, &vs);
            prop_assert!(whole.len() <= link::MAX_QUERY_BYTES, "{} bytes", whole.len());
            let read = link::decode(&whole);
            prop_assert_eq!((read.scenario, read.vs, read.notices.len()), (first, vs, 0), "{}", whole);
        }
        prop_assert_eq!(link::encode_with(&first, &Pinned::from(first)), link::encode(&first) + "&vs=");
    }

    #[test]
    fn nothing_in_the_scenario_to_compare_with_panics_or_changes_the_first(
        scenario in any_scenario(), vs in "(.|[:;]){0,80}",
    ) {
        let link = link::encode(&scenario) + "&" + &query_of(&[("vs", vs)]);
        let read = link::decode(&link);
        prop_assert_eq!(read.scenario, scenario);
        prop_assert!(!read.vs.is_empty() || !read.notices.is_empty());
    }

    #[test]
    fn what_any_query_was_read_as_is_written_as_a_link_that_means_the_same(query in any_query()) {
        survives(&link::decode(&query).scenario)?;
    }

    #[test]
    fn the_order_of_parameters_does_not_matter(
        (pairs, shuffled) in any_scenario()
            .prop_map(|scenario| written(&scenario))
            .prop_flat_map(|pairs| (Just(pairs.clone()), Just(pairs).prop_shuffle())),
    ) {
        let read = link::decode(&query_of(&shuffled));
        prop_assert_eq!(&read.notices, &[]);
        prop_assert_eq!(read.scenario, link::decode(&query_of(&pairs)).scenario, "{:?}", shuffled);
    }

    #[test]
    fn of_a_repeated_parameter_the_first_counts_and_it_is_named_once(
        scenario in any_scenario(), at in any::<prop::sample::Index>(), values in prop::collection::vec(any_value(), 1..4),
    ) {
        // The sign for what could not be decoded is taken for that, and named as damage.
        prop_assume!(values.iter().all(|value| !value.contains('\u{fffd}')));
        let pairs = written(&scenario);
        let key = at.get(&pairs).0.clone();
        let mut more = pairs.clone();
        more.extend(values.into_iter().map(|value| (key.clone(), value)));
        let read = link::decode(&query_of(&more));
        prop_assert_eq!(read.scenario, scenario);
        prop_assert_eq!(read.notices, vec![link::Notice::Repeated(key)]);
    }

    #[test]
    fn however_a_link_is_percent_encoded_it_means_the_same(
        scenario in any_scenario(), spelling in select(&[Spelling::Capitals, Spelling::Small, Spelling::Bare][..]),
    ) {
        let pairs = written(&scenario);
        let pairs: Vec<_> =
            pairs.iter().map(|(key, value)| spelt(key, spelling) + "=" + &spelt(value, spelling)).collect();
        let read = link::decode(&pairs.join("&"));
        prop_assert_eq!(read.notices, vec![]);
        prop_assert_eq!(read.scenario, scenario);
    }

    #[test]
    fn a_space_may_be_a_plus_or_encoded_or_itself_anywhere_around_a_value_and_between_thousands(
        scenario in any_scenario(), space in select(&["+", "%20", " ", "%C2%A0", "%E2%80%AF"][..]),
    ) {
        let pairs: Vec<_> = written(&scenario)
            .iter()
            .map(|(key, value)| match Field::from_key(key) {
                Some(_) => format!("{key}={space}{}{space}", number::with_commas(value).replace(',', space)),
                None => format!("{key}={space}{value}{space}"),
            })
            .collect();
        let read = link::decode(&pairs.join("&"));
        prop_assert_eq!(read.notices, vec![]);
        prop_assert_eq!(read.scenario, scenario);
    }

    #[test]
    fn of_a_link_that_is_too_long_everything_before_the_limit_holds(
        scenario in any_scenario(), rest in "[&=%a-z0-9é🦀]{1,8}",
    ) {
        let query = link::encode_whole(&scenario);
        let long = format!("{query}&x={}", rest.repeat(link::MAX_QUERY_BYTES));
        let read = link::decode(&long);
        prop_assert_eq!(&read.notices[0], &link::Notice::TooLong(long.len()));
        // Every parameter is given already, so that what follows has no effect.
        prop_assert_eq!(read.scenario, scenario);
    }

    #[test]
    fn no_query_panics_and_every_one_gives_a_scenario_in_range(query in "(.|[&=%?+]){0,200}") {
        let read = link::decode(&query);
        for &field in Field::ALL {
            prop_assert!(field.check(read.scenario.number(field)).is_ok());
        }
    }

    #[test]
    fn no_value_of_a_known_parameter_panics(
        field in select(Field::ALL), value in "(\\PC|[0-9eE.,+-]){0,40}",
    ) {
        let read = link::decode(&format!("{}={value}", field.bound().key));
        prop_assert!(field.check(read.scenario.number(field)).is_ok());
    }
}
