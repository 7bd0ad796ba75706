//! What is read as JSON, held to `serde_json` and to the limits.

use super::*;
use proptest::prelude::*;

fn fault(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

#[test]
fn every_kind_of_value_is_read() {
    let value = read("\u{feff} {\"a\":[null,true,false,-0.5e+3,0],\"b\":{},\"c\":[ ],\"d\":\"é\"}\r\n").expect("JSON");
    let a = value.get("a").expect("a list").items();
    assert_eq!(a[..3], [Value::Null, Value::Bool(true), Value::Bool(false)]);
    assert_eq!((a[3].number(), a[4].number()), (Some(-500.0), Some(0.0)));
    assert_eq!(value.get("b"), Some(&Value::Object(vec![])));
    assert_eq!(value.get("c"), Some(&Value::List(vec![])));
    assert_eq!(value.get("d").and_then(Value::text), Some("é"));
    assert_eq!((value.get("e"), value.number(), value.get("b").and_then(Value::bool)), (None, None, None));
}

#[test]
fn as_many_values_are_read_as_are_allowed_and_one_more_is_refused() {
    // The list itself is one.
    let list = |items: usize| format!("[{}]", vec!["0"; items].join(","));
    assert_eq!(read(&list(QUESTION.values - 1)).expect("JSON").items().len(), QUESTION.values - 1);
    assert_eq!(fault(&list(QUESTION.values)), "line 1, column 65536: the text has more than 32768 values");
    assert_eq!(read_file(&list(FILE.values - 1)).expect("JSON").items().len(), FILE.values - 1);
    assert!(read_file(&list(FILE.values)).is_err_and(|fault| fault.reason.is_limit()));
}

#[test]
fn escapes_are_resolved_and_surrogates_paired() {
    let read_text = |text: &str| read(text).expect(text).text().map(str::to_owned);
    assert_eq!(read_text(r#""\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00""#).as_deref(), Some("\"\\/\u{8}\u{c}\n\r\té😀"));
    assert_eq!(read_text(r#""\u0000""#).as_deref(), Some("\0"));
    for broken in [r#""\ud83d\n""#, r#""\ud83d\u0041""#, r#""\ude00""#, r#""\ud83d\ud83d""#, r#""\ud83d""#] {
        assert!(fault(broken).contains("hex escape"), "{broken}: {}", fault(broken));
    }
    for broken in [r#""\u12zz""#, r#""\u+123""#, r#""\u12é4""#, r#""\x41""#] {
        assert!(fault(broken).contains("invalid escape"), "{broken}: {}", fault(broken));
    }
}

#[test]
fn a_fault_is_placed_and_said() {
    for (text, message) in [
        ("", "line 1, column 1: the text ends inside a value"),
        ("{", "line 1, column 1: the text ends inside an object"),
        ("{\"a\": \"b", "line 1, column 8: the text ends inside a string"),
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: expected `,` or `}`"),
        ("{\"a\": 1,}", "line 1, column 9: key must be a string"),
        ("{'a': 1}", "line 1, column 2: key must be a string"),
        ("{\"a\" 1}", "line 1, column 6: expected `:`"),
        ("{\"é\": NaN}", "line 1, column 7: expected value"),
        ("[1, Infinity]", "line 1, column 5: expected value"),
        ("[1 2]", "line 1, column 4: expected `,` or `]`"),
        ("[1,]", "line 1, column 4: expected value"),
        ("[1, // one", "line 1, column 5: expected value"),
        ("{} {}", "line 1, column 4: trailing characters"),
        ("012", "line 1, column 2: invalid number"),
        // What lies inside is placed in the whole text.
        ("[\n\n\"é\", [\"\\ud83d\"]]", "line 3, column 14: unexpected end of hex escape"),
        ("{\"a\":1,\n \"a\":2}", "line 2, column 2: “a” is here for the second time"),
        ("{\"a\":1,\"\\u0061\":2}", "line 1, column 8: “a” is here for the second time"),
        ("[{\"é\":{\n\"a\":1, \"a\":2}}]", "line 2, column 8: “a” is here for the second time"),
    ] {
        assert_eq!(fault(text), message, "{text}");
    }
    for text in ["{}\0", "\"ab\ncd\"", "\"ab\u{7}\"", "-", "1.", "1e+", ".5", "+5"] {
        assert!(fault(text).starts_with("line 1, column "), "{text}: {}", fault(text));
    }
}

#[test]
fn depth_keys_and_length_have_limits() {
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    assert!(read(&nested(QUESTION.depth)).is_ok() && read_file(&nested(FILE.depth)).is_ok());
    assert!(read_file(&nested(FILE.depth + 1)).is_err());
    assert!(fault(&nested(QUESTION.depth + 1)).contains("line 1, column 65: more than 64"), "{}", fault(&nested(65)));
    let objects = "[{\"a\":".repeat(90_000) + "0" + &"}]".repeat(90_000);
    assert!(fault(&objects).contains("more than 64"));
    let keys =
        |count: usize| format!("{{{}}}", (0..count).map(|key| format!("\"{key}\":0")).collect::<Vec<_>>().join(","));
    assert!(read(&keys(QUESTION.keys)).is_ok());
    assert!(fault(&keys(QUESTION.keys + 1)).contains("more than 2048 keys"));
    assert!(read_file(&keys(100_000)).is_ok());
    let padded = |length: usize| "0".to_owned() + &" ".repeat(length - 1);
    assert_eq!(read(&padded(MAX_JSON_BYTES)), Ok(Value::Number("0".to_owned())));
    assert_eq!(
        fault(&padded(MAX_JSON_BYTES + 1)),
        "line 1, column 1: the text has 1048577 bytes; at most 1048576 are read"
    );
    assert!(read_file(&padded(8_000_000)).is_ok());
    let fault = read_file(&padded(9_000_000)).expect_err("too long");
    assert_eq!(fault.to_string(), "line 1, column 1: the text has 9000000 bytes; at most 8388608 are read");
    assert!(fault.reason.is_limit());
}

#[test]
fn python_s_numbers_that_are_not_finite_are_values_of_a_file_and_of_nothing_else() {
    let text = "{\"é\": [0.0, Infinity , -Infinity,NaN], \"a\":NaN\n, \"b\": \"NaN, \\\"Infinity\"}";
    let value = read_file(text).expect("a file");
    let list = value.get("é").expect("a list").items();
    assert_eq!(list[1..], [Value::NotFinite, Value::NotFinite, Value::NotFinite]);
    assert_eq!((value.get("a"), value.get("a").and_then(Value::number)), (Some(&Value::NotFinite), None));
    assert_eq!(value.get("b").and_then(Value::text), Some("NaN, \"Infinity"));
    assert!(read(text).is_err());
    // Neither keys nor parts of words, and what is wrong behind them is placed in the text as it is.
    for (text, place) in [
        ("{NaN: 1}", "line 1, column 2"),
        ("{\"a\": 1, NaN: 1}", "line 1, column 10"),
        ("[NaNs]", "line 1, column 2"),
        ("[+Infinity]", "line 1, column 2"),
        ("[1 NaN]", "line 1, column 4"),
        ("[NaN, Infinity,\n \"é\", nul]", "line 2, column 10"),
        ("{\"a\": Infinity, \"a\": 1}", "line 1, column 17"),
    ] {
        let fault = read_file(text).expect_err(text).to_string();
        assert!(fault.starts_with(place), "{text}: {fault}");
    }
}

#[test]
fn numbers_of_any_length_and_size_are_numbers() {
    let long = read(&"9".repeat(100_000)).expect("digits");
    assert_eq!(long.number(), Some(f64::MAX));
    assert_eq!(read("4.5e22").expect("a number").number(), Some(4.5e22));
    assert_eq!(read("-1e999").expect("a number").number(), Some(f64::MIN));
    assert_eq!(read("1e-999").expect("a number").number(), Some(0.0));
    assert_eq!(read("1e99999999999").expect("a number").number(), None);
}

/// `serde_json` is the other reader: whoever disagrees with it has a stated reason.
fn agrees_with_serde(text: &str) -> Result<(), TestCaseError> {
    let theirs = serde_json::from_str::<serde_json::Value>(text.strip_prefix('\u{feff}').unwrap_or(text));
    match (read(text), theirs) {
        (Ok(ours), Ok(theirs)) => prop_assert!(same(&ours, &theirs), "{text}"),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(theirs)) => prop_assert!(theirs.to_string().contains("out of range"), "{text}: {theirs}"),
        (Err(ours), Ok(_)) => prop_assert!(!matches!(ours.reason, JsonErrorKind::Grammar(_)), "{text}: {ours}"),
    }
    Ok(())
}

fn same(ours: &Value, theirs: &serde_json::Value) -> bool {
    use serde_json::Value as Other;
    match (ours, theirs) {
        (Value::Null, Other::Null) => true,
        (Value::Bool(a), Other::Bool(b)) => a == b,
        (Value::Text(a), Other::String(b)) => a == b,
        (Value::Number(_), Other::Number(b)) => {
            let (a, b) = (ours.number().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            (a - b).abs() <= 1e-14 * b.abs()
        }
        (Value::List(a), Other::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Other::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_read_as_serde_reads_it(text in any::<String>()) {
        agrees_with_serde(&text)?;
    }

    #[test]
    fn a_file_is_read_as_a_question_is_but_for_python_s_words(
        text in r#"(\[|\{"a":|"a",|-?[0-9.e]{1,5}|\]|\}|,|null|NaN|-?Infinity|"\\"NaN"| )*"#
    ) {
        let read_file = read_file(&text);
        if !text.contains("NaN") && !text.contains("Infinity") {
            prop_assert_eq!(&read_file, &read(&text));
        }
        // What is read is what serde_json reads where null stands in their place.
        let theirs = text.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null");
        if read_file.is_ok() && !text.contains('"') {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&theirs).is_ok(), "{text}");
        }
    }

    #[test]
    fn text_of_json_characters_is_read_as_serde_reads_it(
        text in r#"[\[\]{}:,"\\/a-fu0-9.eE+\- \n\u{e9}\u{1}]{0,40}|(\[|\{"a":|"a",|-?[0-9.e]{1,5}|\]|\}|,|null|true|"\\u[0-9d][8-9a-f]..")*"#
    ) {
        agrees_with_serde(&text)?;
    }
}
