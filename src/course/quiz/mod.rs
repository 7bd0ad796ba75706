//! Questions with answers that are computed.
//!
//! The words of the questions stand in the page; what is right stands here. Most answers are the same
//! for everybody: for these the page needs only the letter ([`KEY`]), and [`settled`] computes, option
//! by option, why it is that one. The last questions are about the reader's own configuration, so their
//! letters are found when they are asked for ([`right`]).
//!
//! An option that is wrong is a mistake somebody makes: its number is computed by making it.

mod settled;
#[cfg(test)]
mod tests;

pub use settled::settled;

use crate::{Answer, Bucket, Bytes, Estimate, Scenario, b_max};

/// How many questions there are.
pub const COUNT: usize = 19;

/// The letter of the right option of each question, in order; a blank where it depends on the
/// configuration.
pub const KEY: &[u8; COUNT] = b"dabddbcbacabbadcb  ";

/// The letter of the right option of the question at this place, for a scenario, its ledger and its
/// largest micro-batch.
///
/// ```
/// use bmax::course::quiz;
/// use bmax::{Scenario, b_max, estimate};
/// let scenario = Scenario::workshop();
/// let (ledger, answer) = (estimate(&scenario), b_max(&scenario));
/// // Activations are the largest part of the default's peak, and with flash attention they are linear.
/// assert_eq!(quiz::right(17, &scenario, &ledger, &answer), b'b');
/// assert_eq!(quiz::right(18, &scenario, &ledger, &answer), b'a');
/// ```
pub fn right(place: usize, scenario: &Scenario, ledger: &Estimate, answer: &Answer) -> u8 {
    match place {
        LARGEST_PART => b'a' + largest(&parts(ledger)),
        DOUBLED_LENGTH => Doubling::of(scenario, answer).letter(),
        _ => KEY.get(place).copied().unwrap_or(b' '),
    }
}

/// The place of the question which part is largest at the peak.
pub const LARGEST_PART: usize = 17;

/// The place of the question what doubling the sequence length does.
pub const DOUBLED_LENGTH: usize = 18;

/// The peak of a ledger in four parts: model states; activations and the data of the batch; logits and
/// temporary tensors; what the process takes beside its tensors.
pub fn parts(ledger: &Estimate) -> [Bytes; 4] {
    let position = ledger.binding().0;
    let mut parts = [Bytes::ZERO; 4];
    for bucket in Bucket::ALL {
        let part = match bucket {
            Bucket::Parameters | Bucket::Gradients | Bucket::Optimizer => 0,
            Bucket::Activations | Bucket::Batch => 1,
            Bucket::Logits | Bucket::Temporary => 2,
            Bucket::Runtime => 3,
        };
        parts[part] = parts[part] + ledger.bucket_at(*bucket, position);
    }
    parts
}

/// The position of the largest of four; the first of several.
fn largest(parts: &[Bytes; 4]) -> u8 {
    let mut found = 0;
    for position in 1..4_u8 {
        if parts[usize::from(position)] > parts[usize::from(found)] {
            found = position;
        }
    }
    found
}

/// What happens to the largest micro-batch when sequences become twice as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubling {
    /// The largest micro-batch now; 0 when nothing fits.
    pub now: u32,
    /// The largest micro-batch at twice the length; 0 when nothing fits.
    pub then: u32,
}

impl Doubling {
    /// Asks the same scenario at twice its length.
    pub fn of(scenario: &Scenario, answer: &Answer) -> Self {
        let mut longer = *scenario;
        longer.recipe.sequence = longer.recipe.sequence.saturating_mul(2);
        Self { now: answer.batch().unwrap_or(0), then: b_max(&longer).batch().unwrap_or(0) }
    }

    /// A: half as many, rounded down. B: fewer than that. C: more than that. D: none.
    fn letter(self) -> u8 {
        match (self.then, self.now / 2) {
            (0, _) => b'd',
            (then, half) if then == half => b'a',
            (then, half) if then < half => b'b',
            _ => b'c',
        }
    }
}

/// A question whose answer is the same for everybody.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// What its four options say.
    pub options: Options,
    /// Every number that the question, its options and its worked answer may print, in the unit it is
    /// printed in.
    pub numbers: Vec<f64>,
}

/// What four options say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Options {
    /// Quantities, and the one that is asked for. The unit is the base one: bytes, seconds, a count.
    Quantities {
        /// Of A to D.
        said: [f64; 4],
        /// What is right.
        asked: f64,
    },
    /// Statements that are true or false, and which of the two is asked for.
    Statements {
        /// Of A to D.
        holds: [bool; 4],
        /// The one that is to be found.
        asked: bool,
    },
}

impl Settled {
    /// The letter of the only right option; nothing when none is right or more than one.
    pub fn letter(&self) -> Option<u8> {
        let is_right = match self.options {
            Options::Quantities { said, asked } => said.map(|said| (said - asked).abs() <= 1e-9 * asked.abs()),
            Options::Statements { holds, asked } => holds.map(|holds| holds == asked),
        };
        let mut letters = (b'a'..=b'd').zip(is_right).filter(|(_, right)| *right);
        let (letter, _) = letters.next()?;
        letters.next().is_none().then_some(letter)
    }
}
