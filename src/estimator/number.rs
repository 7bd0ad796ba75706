//! Reading a number the way people write and paste it.

use std::fmt;

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotANumber {
    /// Nothing but white space.
    Empty,
    /// Something else than digits, separators, one point and an exponent.
    Malformed,
    /// A comma that may be a decimal comma or a misplaced thousands separator.
    AmbiguousComma,
}

impl fmt::Display for NotANumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::Malformed => "is not a number",
            Self::AmbiguousComma => "has a comma that does not separate thousands (write a decimal point)",
        })
    }
}

/// Reads a finite number: spaces of any kind, `_`, `'` and thousands commas are passed over.
///
/// # Errors
/// [`NotANumber`] when nothing is left, when a comma is no thousands separator, or when what is
/// left is not a finite decimal number (`NaN` and `inf` are refused by name).
///
/// ```
/// use bmax::number::parse;
/// assert_eq!(parse(" 1,048,576 "), Ok(1_048_576.0));
/// assert_eq!(parse("2 048"), Ok(2_048.0));
/// assert_eq!(parse("7e9"), Ok(7e9));
/// assert!(parse("7,5").is_err());
/// assert!(parse("NaN").is_err());
/// ```
pub fn parse(text: &str) -> Result<f64, NotANumber> {
    let bare: String = text.chars().filter(|c| !is_padding(*c)).collect();
    if bare.is_empty() {
        return Err(NotANumber::Empty);
    }
    let bare = if bare.contains(',') { without_thousands(&bare)? } else { bare };
    // `f64::from_str` also takes "inf", "nan" and "infinity", which are no quantities.
    if !bare.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E')) {
        return Err(NotANumber::Malformed);
    }
    match bare.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        // Too large for a double is still a number; the range check names the limit.
        Ok(number) => Ok(if number > 0.0 { f64::MAX } else { f64::MIN }),
        Err(_) => Err(NotANumber::Malformed),
    }
}

fn is_padding(c: char) -> bool {
    c.is_whitespace() || matches!(c, '_' | '\'' | '’' | '\u{200b}' | '\u{feff}')
}

fn without_thousands(bare: &str) -> Result<String, NotANumber> {
    let (whole, rest) = match bare.find(['.', 'e', 'E']) {
        Some(at) => bare.split_at(at),
        None => (bare, ""),
    };
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default().trim_start_matches(['+', '-']);
    let leads = (1..=3).contains(&first.len());
    if leads && !rest.contains(',') && groups.all(|group| group.len() == 3) {
        Ok(whole.replace(',', "") + rest)
    } else {
        Err(NotANumber::AmbiguousComma)
    }
}

/// Writes a whole number with thousands commas, as messages and read-outs show it.
///
/// ```
/// assert_eq!(bmax::number::grouped(1_048_576.0), "1,048,576");
/// assert_eq!(bmax::number::grouped(0.001), "0.001");
/// ```
pub fn grouped(number: f64) -> String {
    let text = format!("{number}");
    let (whole, rest) = match text.find('.') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    let mut out = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_separators_and_spaces_are_accepted() {
        for text in ["4096", " 4096\t", "4,096", "4 096", "4\u{a0}096", "4\u{202f}096", "4_096", "4'096", "4.096e3"] {
            assert_eq!(parse(text), Ok(4096.0), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused_with_its_reason() {
        assert_eq!(parse("  "), Err(NotANumber::Empty));
        for text in ["abc", "NaN", "inf", "-infinity", "1.2.3", "0x10", "１２", "-", "e9"] {
            assert_eq!(parse(text), Err(NotANumber::Malformed), "{text:?}");
        }
        for text in ["7,5", "1,00", ",5", "1234,567", "1.5,000"] {
            assert_eq!(parse(text), Err(NotANumber::AmbiguousComma), "{text:?}");
        }
    }

    #[test]
    fn a_number_beyond_doubles_stays_a_number() {
        assert_eq!(parse("1e999"), Ok(f64::MAX));
        assert_eq!(parse("-1e999"), Ok(f64::MIN));
    }
}
