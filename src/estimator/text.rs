//! Text of others, as messages show it.

use std::fmt;

use super::number;

/// A number with its noun: "1 layer", "3,072 layers".
pub(crate) fn counted(number: u32, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A number that is written with commas between its thousands.
pub(crate) struct Grouped(u32);

/// The number with commas between its thousands, inside a sentence.
pub(crate) const fn grouped(number: u32) -> Grouped {
    Grouped(number)
}

impl fmt::Display for Grouped {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&number::grouped(self.0.into()))
    }
}

/// The first characters of a text that may be very long or hold characters which are not for reading:
/// control characters, and those that end a line or would turn the direction of our own words around it.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 32;
    let is_mark = |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown: String = text.chars().take(SHOWN).map(|c| if is_mark(c) { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
