//! Simulated rows that may be further off than the others, and why.

use super::cases::Case;

/// How far the live tensors of a simulated row may be off.
pub const WITHIN: f64 = 0.03;

/// Rows that are off for a known reason.
pub struct Exception {
    /// What their names hold, every word of it.
    pub words: &'static [&'static str],
    /// How far they may be off.
    pub within: f64,
    pub reason: &'static str,
}

pub const ALL: &[Exception] = &[];

impl Exception {
    /// Whether a row falls under it.
    pub fn is_of(&self, case: &Case) -> bool {
        self.words.iter().all(|word| case.id.contains(word))
    }
}

/// The exception that a row falls under.
pub fn of(case: &Case) -> Option<&'static Exception> {
    ALL.iter().find(|exception| exception.is_of(case))
}
