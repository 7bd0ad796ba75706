//! Lengths that somebody pastes: one after another, or with how often each occurs.

use std::fmt;

use crate::Field;
use crate::bounds::excerpt;

/// The longest text: 2 MiB, some three hundred thousand lengths.
pub const MOST_BYTES: usize = 2 << 20;
/// How often a length may occur.
const MOST_OFTEN: u64 = 1_000_000_000_000;

/// Why a text holds no lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastedError {
    /// The line, from 1; 0 where it is the text as a whole.
    pub line: usize,
    /// What is wrong.
    pub kind: PastedErrorKind,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PastedErrorKind {
    /// There is no number in it.
    Empty,
    /// It has more than [`MOST_BYTES`] bytes.
    TooLong,
    /// This is no whole number.
    NotANumber(String),
    /// This is no length that a sequence may have.
    OutOfRange(String),
    /// A length may not occur so often.
    TooOften(String),
    /// A number begins with a zero, as behind a comma between thousands.
    Thousands(String),
    /// A line of more than two numbers without commas.
    TooMany,
}

impl fmt::Display for PastedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "Line {}: ", self.line)?;
        }
        match &self.kind {
            PastedErrorKind::Empty => f.write_str("There is no length in it."),
            PastedErrorKind::TooLong => f.write_str("It is longer than 2 MiB; lengths with their counts take less."),
            PastedErrorKind::NotANumber(given) => write!(f, "“{given}” is no whole number."),
            PastedErrorKind::OutOfRange(given) => {
                write!(f, "“{given}” is no length: {} are.", Field::LengthMedian.bound())
            }
            PastedErrorKind::TooOften(given) => write!(f, "“{given}” is no count: 1 to 10¹² are."),
            PastedErrorKind::Thousands(given) => {
                write!(f, "“{given}” begins with a zero: commas stand between lengths, and none within one.")
            }
            PastedErrorKind::TooMany => {
                f.write_str("There are more than two numbers: write one length, a length and its count, or commas.")
            }
        }
    }
}

impl std::error::Error for PastedError {}

/// Lengths in ascending order, each with how often it occurs. A line has one length, or a length and its count with a
/// space, a tab or a colon between them, or lengths with commas or semicolons between them. Empty lines are left out, and
/// so is a first line without a digit, which is the name of a column.
///
/// ```
/// use bmax::course::lengths::pasted;
/// assert_eq!(pasted("512\n128, 128\n"), Ok(vec![(128, 2), (512, 1)]));
/// assert_eq!(pasted("length count\n128 40\n512: 3"), Ok(vec![(128, 40), (512, 3)]));
/// assert_eq!(pasted("128\nmany").unwrap_err().to_string(), "Line 2: “many” is no whole number.");
/// ```
///
/// # Errors
/// What is wrong first, with its line.
pub fn pasted(text: &str) -> Result<Vec<(u32, u64)>, PastedError> {
    let whole = |kind| PastedError { line: 0, kind };
    if text.len() > MOST_BYTES {
        return Err(whole(PastedErrorKind::TooLong));
    }
    let mut lengths: Vec<(u32, u64)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if index == 0 && !line.contains(|c: char| c.is_ascii_digit()) {
            continue;
        }
        read_line(line, &mut lengths).map_err(|kind| PastedError { line: index + 1, kind })?;
    }
    lengths.sort_unstable_by_key(|(tokens, _)| *tokens);
    lengths.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
    if lengths.is_empty() { Err(whole(PastedErrorKind::Empty)) } else { Ok(lengths) }
}

fn read_line(line: &str, lengths: &mut Vec<(u32, u64)>) -> Result<(), PastedErrorKind> {
    // Most lines of a long text are one number.
    if line.is_empty() {
        return Ok(());
    }
    if line.bytes().all(|byte| byte.is_ascii_digit()) {
        lengths.push((length(line)?, 1));
        return Ok(());
    }
    let is_list = line.contains([',', ';']);
    let between = |c: char| if is_list { c == ',' || c == ';' } else { c.is_whitespace() || c == ':' };
    let mut words = line.split(between).map(str::trim).filter(|word| !word.is_empty());
    if is_list {
        for word in words {
            lengths.push((length(word)?, 1));
        }
        return Ok(());
    }
    let Some(tokens) = words.next() else { return Ok(()) };
    let tokens = length(tokens)?;
    let count = match words.next() {
        None => 1,
        Some(word) => match number(word)? {
            0 => return Ok(()),
            count if count <= MOST_OFTEN => count,
            _ => return Err(PastedErrorKind::TooOften(excerpt(word))),
        },
    };
    if words.next().is_some() {
        return Err(PastedErrorKind::TooMany);
    }
    lengths.push((tokens, count));
    Ok(())
}

fn length(word: &str) -> Result<u32, PastedErrorKind> {
    let tokens = number(word)?;
    let range = Field::LengthMedian.bound();
    u32::try_from(tokens)
        .ok()
        .filter(|tokens| (range.min..=range.max).contains(&f64::from(*tokens)))
        .ok_or_else(|| PastedErrorKind::OutOfRange(excerpt(word)))
}

fn number(word: &str) -> Result<u64, PastedErrorKind> {
    if !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(PastedErrorKind::NotANumber(excerpt(word)));
    }
    if word.len() > 1 && word.starts_with('0') {
        return Err(PastedErrorKind::Thousands(excerpt(word)));
    }
    // Digits alone are too many at worst.
    word.parse().map_err(|_| PastedErrorKind::OutOfRange(excerpt(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(text: &str) -> String {
        pasted(text).expect_err("no lengths").to_string()
    }

    #[test]
    fn what_is_no_length_is_named_with_its_line() {
        assert_eq!(refused(""), "There is no length in it.");
        assert_eq!(refused("tokens\n\n"), "There is no length in it.");
        assert_eq!(refused("1\n2\n-3"), "Line 3: “-3” is no whole number.");
        assert_eq!(refused("1.5"), "Line 1: “1.5” is no whole number.");
        assert_eq!(refused("0"), "Line 1: “0” is no length: a whole number from 1 to 4,194,304 tokens are.");
        assert_eq!(
            refused("4,096"),
            "Line 1: “096” begins with a zero: commas stand between lengths, and none within one."
        );
        assert!(refused("1 2 3").starts_with("Line 1: There are more than two numbers"));
        assert!(refused("1 9999999999999").starts_with("Line 1: “9999999999999” is no count"));
        assert!(refused(&"9".repeat(400)).len() < 160);
        assert!(refused(&" ".repeat(MOST_BYTES + 1)).starts_with("It is longer than 2 MiB"));
    }

    #[test]
    fn counts_add_up_and_none_is_nothing() {
        assert_eq!(pasted("7 2\r\n7\t3\n9 0"), Ok(vec![(7, 5)]));
        assert_eq!(pasted("1 1000000000000\n1 1000000000000"), Ok(vec![(1, 2_000_000_000_000)]));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,200}|[0-9 ,;:\\n\\t]{0,200}") {
            if let Ok(lengths) = pasted(&text) {
                prop_assert!(!lengths.is_empty() && lengths.is_sorted_by(|one, other| one.0 < other.0));
            }
        }
    }
}
