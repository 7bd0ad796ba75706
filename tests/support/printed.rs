//! Numbers as a text prints them.

use bmax::number;

/// The numbers of a text with their places after the point and the word behind them. Digits that are
/// part of a name, as in fp32 or GPT-3, are none.
pub fn numbers(text: &str) -> Vec<(f64, u32, &str)> {
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
pub fn prints(printed: f64, places: u32, value: f64) -> bool {
    number::fixed(printed, places) == number::fixed(value, places)
}
