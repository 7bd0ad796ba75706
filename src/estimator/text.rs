//! Text of others, as messages show it.

/// A number with its noun: "1 layer", "3 layers".
pub(crate) fn counted(number: u32, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
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
