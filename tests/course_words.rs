//! The words of the course: its questions, its answers, and every number in them.
//!
//! The text is written by hand and stands in the page; what it says is computed. Here they are held
//! together.

use bmax::course::quiz::{self, COUNT, DOUBLED_LENGTH, Doubling, KEY, LARGEST_PART, Options};
use bmax::{Scenario, b_max, estimate, number};

const QUIZ: &str = include_str!("../src/page/p21_quiz/prose.html");

/// What stands between `start` and the next `end`, and what comes after.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<(&'a str, &'a str)> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end)
}

/// The text of a fragment: tags become spaces.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut tag = false;
    for character in html.chars() {
        match character {
            '<' => tag = true,
            '>' => {
                tag = false;
                text.push(' ');
            }
            _ if tag => {}
            _ => text.push(character),
        }
    }
    text
}

/// The numbers of a text with their places after the point and the word behind them. Digits that are
/// part of a name, as in fp32 or GPT-3, are none.
fn numbers(text: &str) -> Vec<(f64, u32, &str)> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || b",.".contains(byte)).count();
        let token = rest[..length].trim_end_matches([',', '.']);
        if !first.is_ascii_digit() {
            let name = first == '-' && before.is_alphanumeric();
            before = if name { 'x' } else { first };
            rest = &rest[first.len_utf8()..];
        } else {
            rest = &rest[token.len()..];
            if !before.is_alphabetic() {
                let value = number::parse(token).unwrap_or_else(|problem| panic!("“{token}” {problem}"));
                let places = token.split_once('.').map_or(0, |(_, fraction)| fraction.len() as u32);
                let unit = rest.trim_start().split(|c: char| !c.is_alphabetic() && c != '%').next().unwrap_or_default();
                found.push((value, places, unit));
            }
            before = '0';
        }
    }
    found
}

/// Whether a printed number is this one, rounded to the places it is printed with.
fn prints(printed: f64, places: u32, value: f64) -> bool {
    number::fixed(printed, places) == number::fixed(value, places)
}

/// One question of the page.
struct Asked<'a> {
    question: &'a str,
    right: Option<&'a str>,
    options: Vec<&'a str>,
    whys: Vec<&'a str>,
    worked: &'a str,
}

fn asked() -> Vec<Asked<'static>> {
    let mut found = Vec::new();
    let mut rest = QUIZ;
    while let Some((item, after)) = between(rest, "<li class=\"quiz-item\">", "</li>") {
        let (fieldset, _) = between(item, "<fieldset", ">").expect("a fieldset");
        let (question, _) = between(item, "<legend>", "</legend>").expect("a question");
        let mut options = Vec::new();
        let mut of = item;
        while let Some((option, after)) = between(of, "<label>", "</label>") {
            options.push(between(option, "</b> ", "</span>").expect("words").0);
            of = after;
        }
        let mut whys = Vec::new();
        let mut of = item;
        while let Some((why, after)) = between(of, "<p class=\"quiz-why\"", "</p>") {
            whys.push(why.split_once("hidden>").expect("it is hidden until it is chosen").1);
            of = after;
        }
        let (worked, _) = between(item, "hidden><summary>Worked answer</summary>", "</details>").expect("hidden");
        let right = between(fieldset, "data-right=\"", "\"").map(|(letter, _)| letter);
        found.push(Asked { question, right, options, whys, worked });
        rest = after;
    }
    found
}

#[test]
fn every_question_has_four_options_a_word_on_each_and_a_worked_answer() {
    assert_eq!(asked().len(), COUNT);
    for Asked { question, options, whys, worked, .. } in asked() {
        assert_eq!((options.len(), whys.len()), (4, 4), "{question}");
        assert!(options.iter().chain(&whys).all(|words| !words.is_empty()) && worked.len() > 40, "{question}");
    }
    let marks = "-".repeat(COUNT);
    assert!(QUIZ.contains(&format!("data-in=\"marks\" value=\"{marks}\"")), "every question begins unchecked");
}

#[test]
fn the_option_that_the_page_marks_right_is_the_one_that_is_computed() {
    for (place, question) in asked().iter().enumerate() {
        let letter = char::from(KEY[place]).to_string();
        assert_eq!(question.right, Some(letter.as_str()).filter(|letter| *letter != " "), "{}", question.question);
        if let Some(settled) = quiz::settled().get(place) {
            assert_eq!(settled.letter().map(|letter| char::from(letter).to_string()).as_deref(), question.right);
        }
    }
}

#[test]
fn an_option_that_is_a_quantity_prints_the_one_that_is_computed() {
    for (question, settled) in asked().iter().zip(quiz::settled()) {
        let Options::Quantities { said, .. } = settled.options else { continue };
        for (option, value) in question.options.iter().zip(said) {
            let text = plain(option);
            // The first question's options are words for sizes.
            let Some((printed, places, unit)) = numbers(&text).first().copied() else { continue };
            let size = match unit {
                "GiB" => 2_f64.powi(30),
                "MiB" => 2_f64.powi(20),
                "KiB" => 2_f64.powi(10),
                "GB" => 1e9,
                _ => 1.0,
            };
            assert!(prints(printed, places, value / size), "“{text}” should be {} {unit}", value / size);
        }
    }
}

#[test]
fn every_number_of_a_question_and_its_worked_answer_is_one_of_the_library_s() {
    let mut strangers = Vec::new();
    for (question, settled) in asked().iter().zip(quiz::settled()) {
        let words = [&[question.question, question.worked][..], &question.options, &question.whys].concat();
        for text in words.into_iter().map(plain) {
            // The year of a reference is no result.
            for (printed, places, _) in numbers(&text.replace("et al. 2018", "")) {
                if !settled.numbers.iter().any(|value| prints(printed, places, *value)) {
                    strangers.push(format!("{printed} in “{}”", text.trim()));
                }
            }
        }
    }
    assert_eq!(strangers, Vec::<String>::new());
}

/// A memory size as the page writes it.
fn memory(bytes: bmax::Bytes) -> String {
    let gib = bytes.gib();
    if gib == 0.0 {
        "0 GiB".to_owned()
    } else if gib < 0.1 {
        number::fixed(bytes.mib(), 1) + " MiB"
    } else {
        number::fixed(gib, if gib < 10.0 { 2 } else { 1 }) + " GiB"
    }
}

#[test]
fn the_questions_on_the_configuration_are_worked_for_the_default() {
    let scenario = Scenario::default();
    let ledger = estimate(&scenario);
    let questions = asked();
    let worked = plain(questions[LARGEST_PART].worked);
    assert!(worked.contains(ledger.peak().instant.name), "{worked}: {}", ledger.peak().instant.name);
    for part in quiz::parts(&ledger) {
        assert!(worked.contains(&memory(part)), "{worked}: {}", memory(part));
    }
    let Doubling { now, then } = Doubling::of(&scenario, &b_max(&scenario));
    let printed: Vec<f64> = numbers(&plain(questions[DOUBLED_LENGTH].worked)).iter().map(|found| found.0).collect();
    assert_eq!(printed, [f64::from(now), f64::from(then)]);
}
