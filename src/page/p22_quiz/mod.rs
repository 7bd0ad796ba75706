//! Check yourself.
//!
//! Questions, options and worked answers stand in the page. What was checked is kept in a hidden field
//! of the form, a letter for each question, so that "start again" is all that ever has to be forgotten.

use bmax::course::quiz::{self, COUNT, DOUBLED_LENGTH, Doubling, LARGEST_PART};

use crate::site::{Facts, Live, State, format, mount_pressed};

/// The mark of a question that was not checked.
const OPEN: u8 = b'-';
/// The mark of one that was to be checked before an option was chosen.
const EMPTY: u8 = b'?';

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_pressed("quiz", state, draw, press);
}

/// `word` is the number of the question to check, or "again".
fn press(live: &Live, word: &str) {
    let mut marks = live.word("marks").into_bytes();
    for (place, mark) in marks.iter_mut().enumerate() {
        let number = (place + 1).to_string();
        if number == word {
            *mark = live.word(&format!("q{word}")).bytes().next().unwrap_or(EMPTY);
            // A reader may fold the answer away again; only a check opens it.
            live.attr(&format!("q{word}-worked"), "open", "");
        } else if word == "again" {
            *mark = OPEN;
            show(live, place, OPEN, "");
        }
    }
    live.set("last", word);
    live.set("marks", &String::from_utf8(marks).unwrap_or_default());
}

fn draw(live: &Live) {
    live.facts(|facts| {
        let last = live.word("last");
        let mut said = String::new();
        let (mut right, mut checked) = (0_u32, 0_u32);
        for (place, mark) in live.word("marks").bytes().enumerate().take(COUNT) {
            if mark == OPEN {
                continue;
            }
            let letter = quiz::right(place, &facts.scenario, &facts.estimate, &facts.answer);
            let verdict = match mark {
                EMPTY => "Choose one of the four first.".to_owned(),
                _ if mark == letter => "Right.".to_owned(),
                _ => format!("Wrong: it is {}.", char::from(letter.to_ascii_uppercase())),
            };
            checked += u32::from(mark != EMPTY);
            right += u32::from(mark == letter);
            show(live, place, mark, &verdict);
            live.class(&format!("q{}-verdict", place + 1), "is-right", mark == letter);
            if (place + 1).to_string() == last {
                said = format!("Question {last}: {verdict} ");
            }
            if place == LARGEST_PART {
                write_parts(live, facts);
            } else if place == DOUBLED_LENGTH {
                write_doubling(live, facts);
            }
        }
        let score = match checked {
            0 => "None checked so far.".to_owned(),
            _ => format!("{right} of {checked} right so far."),
        };
        live.text("score", &(said + &score));
    });
}

/// The verdict on one question, the word on the chosen option, and the worked answer.
fn show(live: &Live, place: usize, mark: u8, verdict: &str) {
    let number = place + 1;
    live.text(&format!("q{number}-verdict"), verdict);
    for letter in b'a'..=b'd' {
        live.show(&format!("q{number}-{}", char::from(letter)), letter == mark);
    }
    live.show(&format!("q{number}-worked"), mark.is_ascii_lowercase());
}

fn write_parts(live: &Live, facts: &Facts) {
    live.text("moment", facts.estimate.peak().instant.name);
    let names = ["states", "activations", "temporary", "process"];
    for (name, bytes) in names.into_iter().zip(quiz::parts(&facts.estimate)) {
        live.text(name, &format::memory(bytes));
    }
}

fn write_doubling(live: &Live, facts: &Facts) {
    let doubling = Doubling::of(&facts.scenario, &facts.answer);
    for (name, most) in [("now", doubling.now), ("then", doubling.then)] {
        // A bare zero would be read as a batch.
        live.text(name, &if most == 0 { "none".to_owned() } else { format::count(most) });
    }
}
