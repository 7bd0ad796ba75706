//! Reading a number the way people write and paste it.

use std::fmt;

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberError {
    /// Nothing but white space.
    Empty,
    /// Something else than digits, separators, one point and an exponent.
    Malformed,
    /// A comma that may be a decimal comma or a misplaced thousands separator.
    AmbiguousComma,
}

impl std::error::Error for NumberError {}

impl fmt::Display for NumberError {
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
/// [`NumberError`] when nothing is left, when a comma is no thousands separator, or when what is
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
pub fn parse(text: &str) -> Result<f64, NumberError> {
    let bare: String = text.chars().filter(|c| !is_padding(*c)).collect();
    if bare.is_empty() {
        return Err(NumberError::Empty);
    }
    let bare = if bare.contains(',') { without_thousands(&bare)? } else { bare };
    decimal(&bare).ok_or(NumberError::Malformed)
}

/// The value of a plain decimal number: sign, digits, one point, exponent.
///
/// The standard library's parser is exact for any number of digits, by tables that would be a tenth
/// of the whole page. This one is exact, too, wherever 15 digits are: the digits make a whole number
/// below 2⁵³ and the power of ten at most 10²², both of which a double holds exactly, so the one
/// multiplication or division rounds correctly (Clinger 1990, "How to read floating point numbers
/// accurately"). Longer numbers may be off in the sixteenth digit.
fn decimal(text: &str) -> Option<f64> {
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut mantissa = 0_u64;
    let mut power = i64::from(exponent);
    for (place, digit) in whole.bytes().map(|digit| (0, digit)).chain(fraction.bytes().map(|digit| (1, digit))) {
        if !digit.is_ascii_digit() {
            return None;
        }
        if mantissa < 10_u64.pow(17) {
            mantissa = mantissa * 10 + u64::from(digit - b'0');
            power -= place;
        } else {
            // A digit that no double can hold only counts by its place.
            power += 1 - place;
        }
    }
    let value = scaled(mantissa as f64, power);
    Some(if negative { -value } else { value })
}

/// `value` · 10^`power`, at most the largest double: what is too large for one is still a number, and
/// the range check names the limit.
fn scaled(value: f64, power: i64) -> f64 {
    let steps = power.unsigned_abs();
    if value == 0.0 {
        return 0.0;
    }
    // Past 400 steps any 18 digits are beyond the doubles on either side.
    let mut remaining = steps.min(400);
    let mut result = value;
    while remaining > 0 {
        let step = remaining.min(22);
        let factor = ten_to(step);
        result = if power < 0 { result / factor } else { result * factor };
        remaining -= step;
    }
    result.min(f64::MAX)
}

/// 10^`power`, exact up to 22.
fn ten_to(power: u64) -> f64 {
    (0..power).fold(1.0, |product, _| product * 10.0)
}

fn is_padding(c: char) -> bool {
    c.is_whitespace() || matches!(c, '_' | '\'' | '’' | '\u{200b}' | '\u{feff}')
}

fn without_thousands(bare: &str) -> Result<String, NumberError> {
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
        Err(NumberError::AmbiguousComma)
    }
}

/// Writes a number with `places` digits after the point, rounded half away from zero.
///
/// It goes by way of whole numbers, because the standard library's formatting of doubles weighs more
/// than a figure of the page. Numbers of 10¹⁸ and more are written with an exponent.
///
/// ```
/// use bmax::number::fixed;
/// assert_eq!(fixed(79.6474609375, 2), "79.65");
/// assert_eq!(fixed(-0.5, 0), "-1");
/// assert_eq!(fixed(3.2e6, 0), "3200000");
/// ```
pub fn fixed(number: f64, places: u32) -> String {
    let magnitude = number.abs();
    if !magnitude.is_finite() {
        return if number.is_nan() { "not a number" } else { "infinity" }.to_owned();
    }
    if magnitude >= 1e18 {
        let mut exponent = 18;
        let mut mantissa = magnitude / 1e18;
        while mantissa >= 10.0 {
            mantissa /= 10.0;
            exponent += 1;
        }
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}e{exponent}", fixed(mantissa, 2));
    }
    // Digits past the eighteenth would not fit the whole number and mean nothing in a double.
    let mut places = places.min(18);
    while magnitude * ten_to(places.into()) >= 1e18 {
        places -= 1;
    }
    let units = (magnitude * ten_to(places.into())).round() as u64;
    let one = 10_u64.pow(places);
    let sign = if number < 0.0 && units > 0 { "-" } else { "" };
    let whole = units / one;
    if places == 0 {
        return format!("{sign}{whole}");
    }
    // A leading one keeps the zeros of the fraction.
    let fraction = (one + units % one).to_string();
    format!("{sign}{whole}.{}", &fraction[1..])
}

/// Writes a number with as few digits as bring it back, at most twelve after the point.
///
/// ```
/// use bmax::number::plain;
/// assert_eq!(plain(8.030261248), "8.030261248");
/// assert_eq!(plain(2048.0), "2048");
/// ```
pub fn plain(number: f64) -> String {
    let is_enough = |places: &u32| {
        let one = ten_to((*places).into());
        (number * one).round() / one == number
    };
    fixed(number, (0..12).find(is_enough).unwrap_or(12))
}

/// The power of ten at or below the size of a number, as its exponent; 0 for what has none.
///
/// Loops stand here and below in place of the standard library's powers and logarithms, whose code for
/// every case is larger than all that the page needs of them.
///
/// ```
/// use bmax::number::decade;
/// assert_eq!([0.05, 0.1, 1.0, 999.0, -1e3].map(decade), [-2, -1, 0, 2, 3]);
/// assert_eq!([0.0, f64::NAN, f64::INFINITY].map(decade), [0, 0, 0]);
/// ```
pub fn decade(number: f64) -> i32 {
    let size = number.abs();
    if size == 0.0 || !size.is_finite() {
        return 0;
    }
    let mut exponent = 0;
    while power(10.0, exponent + 1) <= size {
        exponent += 1;
    }
    while power(10.0, exponent) > size {
        exponent -= 1;
    }
    exponent
}

/// A whole power.
///
/// ```
/// use bmax::number::power;
/// assert_eq!((power(10.0, 3), power(2.0, -4), power(7.0, 0)), (1000.0, 0.0625, 1.0));
/// ```
pub fn power(base: f64, exponent: i32) -> f64 {
    let size = (0..exponent.unsigned_abs().min(2_000)).fold(1.0, |product, _| product * base);
    if exponent < 0 { 1.0 / size } else { size }
}

/// Two to the power of any number; exact where that is whole.
///
/// ```
/// use bmax::number::doublings;
/// assert_eq!((doublings(10.0), doublings(-2.0)), (1024.0, 0.25));
/// assert!((doublings(0.5) - 2_f64.sqrt()).abs() < 1e-15);
/// ```
pub fn doublings(number: f64) -> f64 {
    let whole = number.floor().clamp(-1_100.0, 1_100.0);
    power(2.0, whole as i32) * ((number - whole) * std::f64::consts::LN_2).exp()
}

/// Writes a number like [`plain`], with thousands commas, as messages and read-outs show it.
///
/// ```
/// assert_eq!(bmax::number::grouped(1_048_576.0), "1,048,576");
/// assert_eq!(bmax::number::grouped(0.001), "0.001");
/// ```
pub fn grouped(number: f64) -> String {
    with_commas(&plain(number))
}

/// Puts commas between the thousands of a number that [`fixed`] or [`plain`] wrote.
///
/// ```
/// assert_eq!(bmax::number::with_commas("-12345.678"), "-12,345.678");
/// ```
pub fn with_commas(text: &str) -> String {
    let digits = text.bytes().skip_while(|byte| *byte == b'-').take_while(u8::is_ascii_digit).count();
    let start = text.len() - text.trim_start_matches('-').len();
    let mut out = String::with_capacity(text.len() + digits / 3);
    for (at, character) in text.char_indices() {
        if at > start && at < start + digits && (start + digits - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(character);
    }
    out
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
        assert_eq!(parse("  "), Err(NumberError::Empty));
        for text in ["abc", "NaN", "inf", "-infinity", "1.2.3", "0x10", "１２", "-", "e9"] {
            assert_eq!(parse(text), Err(NumberError::Malformed), "{text:?}");
        }
        for text in ["7,5", "1,00", ",5", "1234,567", "1.5,000"] {
            assert_eq!(parse(text), Err(NumberError::AmbiguousComma), "{text:?}");
        }
    }

    #[test]
    fn decimals_of_up_to_fifteen_digits_are_read_as_exactly_as_doubles_allow() {
        for text in
            ["0.1", "79.6474609375", "8.030261248", "123456789012345", "1.7976931348623", "9e-9", "0.0001", "6.02e23"]
        {
            assert_eq!(parse(text), Ok(text.parse::<f64>().expect("a decimal")), "{text}");
        }
        let long = parse("3.14159265358979323846264338327950288").expect("a number");
        assert!((long - std::f64::consts::PI).abs() < 1e-15);
    }

    #[test]
    fn a_number_is_written_as_the_standard_library_would() {
        for (number, places) in
            [(0.0, 0), (0.05, 1), (2.5, 2), (1234.5678, 3), (0.999, 2), (1e17, 0), (-3.25, 1), (7.0, 4)]
        {
            let expected = format!("{number:.places$}");
            // Ties differ: the standard library goes to the even digit, which no reader expects.
            if number != 0.05 && number != -3.25 {
                assert_eq!(fixed(number, places as u32), expected);
            }
        }
        assert_eq!(fixed(-3.25, 1), "-3.3");
        assert_eq!(fixed(-0.001, 1), "0.0");
        assert_eq!(fixed(1.5e300, 2), "1.50e300");
        assert_eq!(fixed(f64::NAN, 2), "not a number");
        assert_eq!(fixed(1.0, 4_000_000_000), "1.00000000000000000");
        assert_eq!(grouped(-1_234_567.25), "-1,234,567.25");
    }

    #[test]
    fn what_does_not_fit_a_whole_number_is_written_with_fewer_places_or_an_exponent() {
        // Five places make 17 digits, and six would make a number of 10¹⁸ and more.
        assert_eq!(fixed(1_234_567_890_123.5, 10), "1234567890123.50000");
        assert_eq!(fixed(-1.5e300, 2), "-1.50e300");
    }

    #[test]
    fn a_decade_is_the_power_of_ten_at_or_below_a_size() {
        for (number, expected) in [(0.0, 0), (999.0, 2), (-1e3, 3), (1.0, 0), (9.5, 0), (0.1, -1), (0.05, -2)] {
            assert_eq!(decade(number), expected, "{number}");
        }
        assert_eq!([f64::NAN, f64::INFINITY].map(decade), [0, 0]);
    }

    #[test]
    fn a_number_beyond_doubles_stays_a_number() {
        assert_eq!(parse("1e999"), Ok(f64::MAX));
        assert_eq!(parse("-1e999"), Ok(f64::MIN));
    }
}
