//! Text that nobody vouches for, in every place that reads some: nothing panics, everything is
//! answered. Some seconds of random input; a failure is printed shrunk to its smallest case.

use bmax::cli::{
    Depth, Line, MAX_LINE_BYTES, Question, QuestionError, answer_lines, comparison, comparison_text, line, question,
    report, text,
};
use bmax::{
    Field, Scenario,
    catalogue::{self, AsUsual},
    config_json, setting,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Real inputs, from which mutations start.
const SEEDS: &[&str] = &[
    "?v=3&model=llama-3.1-8b&gpu=h100-80&gpus=8&s=8,192&recompute=full&precision=mixed",
    "?v=3&s=8192&vs=model:13b;zero:1;s:2,048;segments:expandable",
    "https://example.org/bmax/?v=1&model=70b&gpus=64&tp=8&zero=1&headroom=7.5#levers",
    r#"{"id":"a","model":"mixtral-8x7b","gpu":"h200","gpus":64,"ep":8,"s":4096,"sp":true,"zero":"2","frag":7.25}"#,
    r#"{"v":2,"params":8.03,"hidden":4096,"layers":32,"b":null,"optimizer":"adam8bit","mem":79.65e0}"#,
    include_str!("config_files/llama-3.1-8b.json"),
    include_str!("config_files/deepseek-v2-lite.json"),
    include_str!("config_files/gemma-3-4b.json"),
    include_str!("config_files/gpt2.json"),
];

/// Pieces that break readers.
const SPLINTERS: &[&str] = &[
    "",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "&",
    "=",
    "?",
    "#",
    "%",
    "%ff",
    "\\",
    "\\u0000",
    "\\ud800",
    "\u{0}",
    "é",
    "\u{feff}",
    "-",
    "e",
    "e999",
    "1e-999",
    "0",
    "-0",
    "00",
    "99999999999999999999999999",
    "0.1e1",
    "NaN",
    ";",
    "vs",
    "null",
    "true",
    "id",
    "v",
    "{\"s\":",
    "[[[[[[[[",
    " ",
    "\r",
    "\t",
    "4294967296",
    "18446744073709551616",
];

/// One change of a text: what lies between two places becomes something else.
#[derive(Clone, Debug)]
struct Edit {
    from: Index,
    length: usize,
    splinter: &'static str,
}

fn edit() -> impl Strategy<Value = Edit> {
    (any::<Index>(), 0_usize..12, select(SPLINTERS)).prop_map(|(from, length, splinter)| Edit {
        from,
        length,
        splinter,
    })
}

fn mutated() -> impl Strategy<Value = String> {
    (select(SEEDS), prop::collection::vec(edit(), 1..6)).prop_map(|(seed, edits)| {
        let mut characters: Vec<char> = seed.chars().collect();
        for edit in edits {
            let from = edit.from.index(characters.len() + 1);
            let to = (from + edit.length).min(characters.len());
            characters.splice(from..to, edit.splinter.chars());
        }
        characters.into_iter().collect()
    })
}

/// A query of any declared values, the ends of their ranges more often than not.
fn in_range() -> impl Strategy<Value = String> {
    let numbers = Field::ALL.iter().map(|field| {
        let bound = field.bound();
        let ends = vec![None, None, Some(bound.min), Some(bound.max), Some((bound.min * bound.max).sqrt().ceil())];
        select(ends).prop_map(move |value| value.map(|value| format!("{}={value}", bound.key)))
    });
    let words = setting::ALL
        .iter()
        .map(|word| select(word.options).prop_map(move |option| Some(format!("{}={}", word.key, option.key))));
    let models = select(catalogue::MODELS).prop_map(|row| format!("model={}", row.slug));
    (models, numbers.collect::<Vec<_>>(), words.collect::<Vec<_>>()).prop_map(|(model, numbers, words)| {
        let parts: Vec<String> = numbers.into_iter().chain(words).flatten().chain([model]).collect();
        parts.join("&")
    })
}

/// Asks a question and looks at the whole answer.
fn answered(asked: &str, own_model: Option<AsUsual>, depth: Depth) -> Result<(), TestCaseError> {
    let told = line(None, question(asked, own_model), depth);
    if let Line::Report(report) = &told {
        for instant in &report.estimate.instants {
            prop_assert!(instant.total_bytes.0.is_finite() && instant.total_bytes.0 >= 0.0, "{}", instant.name);
        }
        // What was typed is repeated behind a dash, whatever it is.
        let tables = text(report);
        for line in tables.lines().filter(|line| !line.starts_with("  - ")) {
            prop_assert!(!line.contains("not a number") && !line.contains("infinity"), "{line}");
        }
        for notice in &report.notices {
            prop_assert!(notice.len() < 2_000, "{notice}");
        }
    }
    prop_assert!(serde_json::to_string(&told).is_ok());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn every_line_of_any_bytes_has_its_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut output = Vec::new();
        prop_assert!(answer_lines(&bytes[..], &mut output, Depth::Brief, false).is_ok());
        let lines = bytes.split(|byte| *byte == b'\n').count() - usize::from(bytes.last().is_none_or(|byte| *byte == b'\n'));
        prop_assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), lines);
        prop_assert!(String::from_utf8(output).is_ok());
    }

    #[test]
    fn any_text_is_answered(asked in "(\\PC|[\\[\\]{}\",:=&?%#0-9eE.+-]){0,120}") {
        answered(&asked, None, Depth::Brief)?;
        answered(&format!("{{{asked}}}"), None, Depth::Brief)?;
        answered(&format!("?{asked}"), None, Depth::Brief)?;
    }

    #[test]
    fn any_value_of_any_key_is_answered(
        keys in prop::collection::vec(select(Field::ALL), 1..4),
        value in "(null|true|\\[\\]|\\{\\}|\"[a-z0-9, ]{0,8}\"|-?[0-9]{1,25}(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,6})?)",
    ) {
        let members: Vec<String> = keys.iter().map(|field| format!("\"{}\":{value}", field.bound().key)).collect();
        answered(&format!("{{{}}}", members.join(",")), None, Depth::Brief)?;
    }

    #[test]
    fn a_damaged_input_is_answered(asked in mutated()) {
        answered(&asked, None, Depth::Brief)?;
    }

    #[test]
    fn any_two_questions_are_compared(before in mutated(), after in mutated()) {
        if let (Ok(before), Ok(after)) = (question(&before, None), question(&after, None)) {
            let compared = comparison(&before, &after);
            prop_assert!(serde_json::to_string(&compared).is_ok());
            let tables = comparison_text(&compared);
            for line in tables.lines().filter(|line| !line.starts_with("  - ")) {
                prop_assert!(!line.contains("not a number") && !line.contains("infinity"), "{}", line);
            }
        }
    }

    #[test]
    fn strictly_a_question_is_refused_in_full_or_answered_without_a_notice(asked in mutated()) {
        match question(&asked, None).and_then(Question::strictly) {
            Ok(asked) => prop_assert!(report(&asked, Depth::Brief).notices.is_empty()),
            Err(refusal) => prop_assert!(!refusal.to_string().is_empty()),
        }
    }

    #[test]
    fn any_word_for_any_setting_is_one_of_its_own_or_is_named_with_what_is_like_it(
        setting in select(setting::ALL), word in "(\\PC|[a-z0-9_. -]){0,40}",
    ) {
        let asked = format!("{{\"{}\": {}}}", setting.key, serde_json::Value::from(word.as_str()));
        let read = question(&asked, None).expect("an object with a known name");
        let is_own = setting.options.iter().any(|option| option.key.eq_ignore_ascii_case(word.trim()));
        prop_assert_eq!(read.notices.is_empty(), is_own, "{}: {:?}", asked, read.notices);
    }

    #[test]
    fn a_damaged_config_json_is_a_model_in_range_or_a_reason(file in mutated()) {
        match config_json::read(&file) {
            Ok(reading) => {
                let asked = question("?", Some(reading.as_usual())).expect("a question mark asks for the default");
                for &field in Field::ALL {
                    prop_assert!(field.check(asked.scenario.number(field)).is_ok(), "{field:?}");
                }
                answered("?", Some(reading.as_usual()), Depth::Brief)?;
            }
            Err(refusal) => prop_assert!(refusal.to_string().len() < 2_000),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_scenario_in_range_has_a_full_report(asked in in_range()) {
        answered(&asked, None, Depth::Full)?;
        let asked = question(&asked, None).expect("a query");
        // Any number of parameters beside any matrices is in range, and worth a word.
        let of_another = |notice: &str| !notice.starts_with(Field::Parameters.bound().name);
        prop_assert!(!asked.notices.iter().any(|notice| of_another(&notice.to_string())), "{:?}", asked.notices);
        let told = report(&asked, Depth::Brief);
        let again = question(&told.link, None).expect("a query");
        prop_assert_eq!(again.scenario, asked.scenario);
    }
}

#[test]
fn the_longest_line_is_read_and_one_byte_more_is_refused_unread() {
    for filling in ["[", "{\"a\":", "&a", "\"", "%", "1", "é"] {
        let longest = |start: &str| start.to_owned() + &filling.repeat((MAX_LINE_BYTES - start.len()) / filling.len());
        // A query is cut where links end, and what is left names no length.
        let query = question(&longest("?s="), None).expect("a query");
        assert_eq!(query.scenario, Scenario::default(), "{filling}");
        assert!(!query.notices.is_empty(), "{filling}");
        // An object that does not end is none.
        assert!(matches!(question(&longest("{\"s\":"), None), Err(QuestionError::Json(_))), "{filling}");
        let bare = longest("");
        assert!(!matches!(question(&bare, None), Ok(_) | Err(QuestionError::TooLong)), "{filling}");
        for start in ["", "?s=", "{\"s\":"] {
            let text = longest(start);
            let long = format!("{text}{}", "1".repeat(MAX_LINE_BYTES + 1 - text.len()));
            assert_eq!(question(&long, None), Err(QuestionError::TooLong), "{filling}");
        }
        assert!(config_json::read(&bare).is_err(), "{filling}");
    }
}
