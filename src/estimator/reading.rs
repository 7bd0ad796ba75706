//! Values that somebody gives for an input: checked, read and put into a scenario.

use super::bounds::Field;
use super::choice::{BatchUnit, Choice};
use super::error::{InputError, InputErrorKind};
use super::input::Input;
use super::scenario::Scenario;
use super::setting::Setting;
use super::text::excerpt;
use super::unit::Unit;
use crate::number::{self, NumberError};

impl Field {
    /// Accepts `value` when it lies in the declared range.
    ///
    /// # Errors
    /// [`InputError`], which names the field and the range, for NaN, for a fraction where a whole
    /// number is asked for, and for anything below or above the range.
    pub fn check(self, value: f64) -> Result<f64, InputError> {
        let bound = self.bound();
        let fault = if value.is_nan() {
            InputErrorKind::Unreadable(NumberError::Malformed)
        } else if value < bound.min {
            InputErrorKind::TooSmall
        } else if value > bound.max {
            InputErrorKind::TooLarge
        } else if bound.whole && value.fract() != 0.0 {
            InputErrorKind::NotWhole
        } else {
            return Ok(value);
        };
        Err(InputError { input: Input::Number(self), given: number::grouped(value), fault })
    }

    /// Reads what somebody typed or pasted: separators, the field's own unit and the letters behind a
    /// number that people use for it are accepted.
    ///
    /// # Errors
    /// [`InputError`] as for [`check`](Self::check), for text that is no number, and for a unit that has to be set
    /// beside the number, which [`Scenario::with_text`] does.
    ///
    /// ```
    /// use bmax::Field;
    /// assert_eq!(Field::Sequence.read("4,096 tokens"), Ok(4096.0));
    /// assert_eq!(Field::Sequence.read("4k"), Ok(4096.0));
    /// assert_eq!(Field::Batch.read("8 pairs"), Ok(8.0));
    /// assert_eq!(Field::Parameters.read("350M"), Ok(0.35));
    /// let problem = Field::Sequence.read("-1").unwrap_err();
    /// assert_eq!(
    ///     problem.to_string(),
    ///     "Sequence length: “-1” is too small; it takes a whole number from 1 to 4,194,304 tokens."
    /// );
    /// ```
    pub fn read(self, text: &str) -> Result<f64, InputError> {
        let typed = self.typed(text)?;
        match typed.unit {
            None => Ok(typed.value),
            Some(_) => {
                let fault = InputErrorKind::Unreadable(NumberError::Malformed);
                Err(InputError { input: Input::Number(self), given: excerpt(text.trim()), fault })
            }
        }
    }

    /// Reads what somebody typed or pasted, with what is to be known about it beside its value.
    ///
    /// # Errors
    /// [`InputError`] as for [`check`](Self::check), and for text that is no number.
    ///
    /// ```
    /// use bmax::{BatchUnit, Field};
    /// let card = Field::Memory.typed("80GB")?;
    /// assert_eq!((card.value, card.in_gb), (80.0, true));
    /// let target = Field::GlobalBatch.typed("1e6 tokens")?;
    /// assert_eq!((target.value, target.unit), (1e6, Some(BatchUnit::Tokens)));
    /// # Ok::<(), bmax::InputError>(())
    /// ```
    pub fn typed(self, text: &str) -> Result<Typed, InputError> {
        let text = text.trim();
        let refused = |fault| InputError { input: Input::Number(self), given: excerpt(text), fault };
        let mut bare = without(text, self.bound().unit).unwrap_or(text);
        if self == Self::Batch {
            // It counts what its task and its lengths make of it.
            bare = Unit::ALL.iter().find_map(|unit| without(bare, unit.many())).unwrap_or(bare);
        }
        let mut unit = None;
        if self == Self::GlobalBatch {
            // Its unit is an input of its own.
            for &one in BatchUnit::ALL {
                if let Some(number) = without(bare, one.key()) {
                    (bare, unit) = (number, Some(one));
                }
            }
        }
        let letters = bare.len() - bare.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (digits, suffix) = bare.split_at(bare.len() - letters);
        let known = self.suffixes().iter().find(|known| known.letters.eq_ignore_ascii_case(suffix));
        let value = match known {
            None if self == Self::Gpus => product(bare),
            None => number::parse(bare),
            // Without a digit there is nothing for the letters to stand behind.
            Some(_) if digits.trim().is_empty() => Err(NumberError::Malformed),
            // The digits are read together with the power of ten, so that 4.35M is exactly 4,350,000.
            Some(Suffix { ten, two, .. }) => match *ten {
                0 => number::parse(digits),
                ten => number::parse(&format!("{}e{ten}", digits.trim_end())),
            }
            .map(|value| value * number::power(2.0, *two)),
        };
        let value = value.map_err(|fault| refused(InputErrorKind::Unreadable(fault)))?;
        let value = self.check(value).map_err(|problem| refused(problem.fault))?;
        Ok(Typed { value, unit, in_gb: known.is_some_and(|known| known.letters.starts_with('G')) })
    }

    /// The letters behind a number that people use for this field. Where two meanings are in use, as for
    /// vocabularies of “32k”, there are none.
    fn suffixes(self) -> &'static [Suffix] {
        match (self, self.bound().unit) {
            // Targets are given as papers give them, in rounded decimal numbers: table 2.1 of Brown et al. 2020
            // (arXiv 2005.14165) has batches of 0.5M to 3.2M tokens.
            (Self::GlobalBatch, _) => const { &[ten("k", 3), ten("M", 6), ten("B", 9)] },
            // Names of models count contexts in steps of 1,024: 8k is 8,192 and 128k is 131,072, as in
            // Dubey et al. 2024 (arXiv 2407.21783), sections 3.4.1 and 3.4.2.
            (Self::Positions, _) | (_, "tokens") => const { &[two("k", 10), two("M", 20)] },
            // Names of models count weights in powers of ten, and the unit here is a billion.
            (_, "billion") => const { &[ten("T", 3), ten("B", 0), ten("M", -3), ten("k", -6)] },
            // GPUs are named by GB, which counts their memory in GiB: of an “H100 80 GB” the driver
            // reports 81,559 MiB, which is 79.6 GiB and 85.5 GB (src/catalogue/devices.rs).
            (Self::Memory, _) => const { &[two("MiB", -10), two("GB", 0), two("G", 0)] },
            // What a driver or a profiler reports is in MiB.
            (_, "GiB") => const { &[two("MiB", -10)] },
            _ => &[],
        }
    }
}

/// What somebody typed for a field.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Typed {
    /// The number in the unit of the field, inside the declared range.
    pub value: f64,
    /// The unit that a target was given in.
    pub unit: Option<BatchUnit>,
    /// Whether a memory was given in GB, which is taken as GiB: whoever shows the value should say so.
    pub in_gb: bool,
}

impl Scenario {
    /// The same scenario with one numeric field set, in the unit of its [`Bound`](crate::bounds::Bound).
    ///
    /// # Errors
    /// [`InputError`] when `value` is outside the declared range; nothing changes then.
    pub fn with_number(mut self, field: Field, value: f64) -> Result<Self, InputError> {
        self.store(field, field.check(value)?);
        Ok(self)
    }

    /// The same scenario with sequences as long as those of `other`.
    pub(crate) const fn with_length_of(mut self, other: &Self) -> Self {
        self.recipe.sequence = other.recipe.sequence;
        self
    }

    /// The same scenario at another micro-batch, clamped to the declared range.
    pub fn with_batch(mut self, batch: u32) -> Self {
        let bound = Field::Batch.bound();
        self.recipe.batch = batch.clamp(bound.min as u32, bound.max as u32);
        self
    }

    /// The same scenario with one numeric field set as somebody typed it, and with its unit if that is an input
    /// of its own.
    ///
    /// # Errors
    /// [`InputError`] as for [`Field::typed`]; nothing changes then.
    ///
    /// ```
    /// use bmax::{BatchUnit, Field, Scenario};
    /// let scenario = Scenario::workshop().with_text(Field::GlobalBatch, "4M tokens")?;
    /// assert_eq!((scenario.goal.global_batch, scenario.goal.unit), (4_000_000, BatchUnit::Tokens));
    /// # Ok::<(), bmax::InputError>(())
    /// ```
    pub fn with_text(self, field: Field, text: &str) -> Result<Self, InputError> {
        self.with_typed(field, field.typed(text)?)
    }

    /// The same with what was read already.
    ///
    /// # Errors
    /// [`InputError`] as for [`with_number`](Self::with_number).
    pub fn with_typed(self, field: Field, typed: Typed) -> Result<Self, InputError> {
        let mut scenario = self.with_number(field, typed.value)?;
        scenario.goal.unit = typed.unit.unwrap_or(scenario.goal.unit);
        Ok(scenario)
    }
}

/// A number, or the product of two whole ones: GPUs are told as machines times the GPUs of each, “2 × 8”.
fn product(text: &str) -> Result<f64, NumberError> {
    let Some((machines, each)) = text.split_once(['×', 'x', 'X', '*']) else { return number::parse(text) };
    let [machines, each] = [number::parse(machines)?, number::parse(each)?];
    let are_whole = [machines, each].iter().all(|one| *one >= 1.0 && one.fract() == 0.0);
    if are_whole { Ok(machines * each) } else { Err(NumberError::Malformed) }
}

/// Letters behind a number, and what they multiply it by.
struct Suffix {
    letters: &'static str,
    /// The power of ten.
    ten: i32,
    /// The power of two.
    two: i32,
}

const fn ten(letters: &'static str, ten: i32) -> Suffix {
    Suffix { letters, ten, two: 0 }
}

const fn two(letters: &'static str, two: i32) -> Suffix {
    Suffix { letters, ten: 0, two }
}

/// What stands before a unit at the end of a text, if it is there in any case, singular or plural.
fn without<'a>(text: &'a str, unit: &str) -> Option<&'a str> {
    [unit, unit.strip_suffix('s').unwrap_or(unit)].into_iter().find_map(|unit| {
        let at = text.len().checked_sub(unit.len())?;
        let end = text.get(at..)?;
        end.eq_ignore_ascii_case(unit).then(|| text[..at].trim_end())
    })
}

impl Setting {
    /// The scenario with the option of this word in use; the case of its letters does not matter.
    ///
    /// # Errors
    /// [`InputError`], which names the setting and its words, when there is no such option.
    ///
    /// ```
    /// use bmax::{Recomputation, Scenario, setting};
    /// let full = setting::RECOMPUTATION.read("full", Scenario::workshop())?;
    /// assert_eq!(full.recipe.recomputation, Recomputation::Full);
    /// let problem = setting::OFFLOAD.read("all", full).unwrap_err();
    /// assert_eq!(
    ///     problem.to_string(),
    ///     "Offloaded to CPU memory: “all” is not known; it takes none, optimizer, activations, both, \
    ///      parameters, everything."
    /// );
    /// # Ok::<(), bmax::InputError>(())
    /// ```
    pub fn read(&'static self, word: &str, scenario: Scenario) -> Result<Scenario, InputError> {
        match self.find(word) {
            Some(word) => Ok(word.apply(scenario)),
            None => {
                Err(InputError { input: Input::Word(self), given: excerpt(word), fault: InputErrorKind::NotListed })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_accepts_its_ends_and_refuses_what_lies_beyond() {
        for &field in Field::ALL {
            let bound = field.bound();
            assert_eq!(field.check(bound.min), Ok(bound.min), "{}", bound.key);
            assert_eq!(field.check(bound.max), Ok(bound.max), "{}", bound.key);
            assert_eq!(field.check(bound.min - 1.0).unwrap_err().fault, InputErrorKind::TooSmall, "{}", bound.key);
            assert_eq!(field.check(bound.max * 2.0).unwrap_err().fault, InputErrorKind::TooLarge, "{}", bound.key);
            assert!(field.check(f64::NAN).is_err(), "{}", bound.key);
        }
    }

    #[test]
    fn every_message_names_the_field_and_the_range() {
        for &field in Field::ALL {
            let bound = field.bound();
            for text in ["", "abc", "-1", "NaN", "1e400", "7,5"] {
                let message = field.read(text).unwrap_err().to_string();
                assert!(message.contains(bound.name), "{message}");
                assert!(message.contains(&number::grouped(bound.max)), "{message}");
            }
        }
    }

    #[test]
    fn letters_without_a_digit_are_no_number() {
        for (field, text) in [(Field::Sequence, "k"), (Field::Memory, " GB"), (Field::GlobalBatch, "M")] {
            let fault = field.read(text).expect_err("no number").fault;
            assert_eq!(fault, InputErrorKind::Unreadable(NumberError::Malformed), "{text:?}");
        }
    }

    #[test]
    fn machines_times_gpus_are_two_whole_numbers_and_only_gpus_are_told_so() {
        for (field, text) in [
            (Field::Gpus, "2 x"),
            (Field::Gpus, "x8"),
            (Field::Gpus, "0.5 x 16"),
            (Field::Gpus, "-2x-8"),
            (Field::Batch, "2x8"),
        ] {
            let fault = field.read(text).expect_err(text).fault;
            assert!(matches!(fault, InputErrorKind::Unreadable(_)), "{text}: {fault:?}");
        }
        assert_eq!(Field::Gpus.read("131072x2").expect_err("too many").fault, InputErrorKind::TooLarge);
    }

    #[test]
    fn keys_are_unique() {
        for (i, a) in Field::ALL.iter().enumerate() {
            for b in &Field::ALL[i + 1..] {
                assert_ne!(a.bound().key, b.bound().key);
            }
        }
    }

    #[test]
    fn a_hundred_kilobytes_of_text_give_a_short_message() {
        let message = Field::Batch.read(&"9".repeat(100_000)).unwrap_err().to_string();
        assert!(message.len() < 200, "{} bytes", message.len());
    }

    #[test]
    fn a_pasted_unit_is_accepted_in_any_case() {
        assert_eq!(Field::Memory.read("80 gib"), Ok(80.0));
        assert_eq!(Field::Headroom.read("10%"), Ok(10.0));
        assert_eq!(Field::Parameters.read("8.03 billion"), Ok(8.03));
    }

    #[test]
    fn letters_behind_a_number_are_read_by_the_field_they_stand_in() {
        for (field, text, expected) in [
            // What the papers and names say that are quoted at the table of letters.
            (Field::Sequence, "8k", 8_192.0),
            (Field::Sequence, "128K tokens", 131_072.0),
            (Field::Sequence, "1M", 1_048_576.0),
            (Field::Sequence, "0.5k", 512.0),
            (Field::Positions, "2k", 2_048.0),
            (Field::GlobalBatch, "3.2M", 3_200_000.0),
            (Field::GlobalBatch, "0.5 M", 500_000.0),
            (Field::GlobalBatch, "1k", 1_000.0),
            (Field::Parameters, "8B", 8.0),
            (Field::Parameters, "350M", 0.35),
            (Field::Parameters, "1.5 t", 1_500.0),
            (Field::Parameters, "124439k", 0.124439),
            (Field::Memory, "80 GB", 80.0),
            (Field::Memory, "24564MiB", 24_564.0 / 1_024.0),
            (Field::Driver, "453 MiB", 453.0 / 1_024.0),
            (Field::Batch, "1 sequence", 1.0),
            (Field::Gpus, "2 × 8", 16.0),
            (Field::Gpus, "4x8", 32.0),
            (Field::Gpus, "1,024*8", 8_192.0),
        ] {
            assert_eq!(field.read(text), Ok(expected), "{field:?} {text}");
        }
    }

    #[test]
    fn letters_that_mean_nothing_or_two_things_are_refused() {
        for (field, text) in [
            (Field::Vocabulary, "32k"),
            (Field::Gpus, "1k"),
            (Field::Sequence, "k"),
            (Field::Sequence, "4kk"),
            (Field::Sequence, "4 GB"),
            (Field::Parameters, "8BB"),
            (Field::Driver, "1GB"),
            (Field::GlobalBatch, "1e6M"),
            (Field::GlobalBatch, "tokens"),
        ] {
            assert!(
                matches!(field.read(text), Err(InputError { fault: InputErrorKind::Unreadable(_), .. })),
                "{field:?} {text}"
            );
        }
        assert_eq!(Field::Sequence.read("4.1k").map_err(|problem| problem.fault), Err(InputErrorKind::NotWhole));
        assert_eq!(Field::Sequence.read("5M").map_err(|problem| problem.fault), Err(InputErrorKind::TooLarge));
    }

    #[test]
    fn a_number_alone_never_stands_for_another_unit() {
        // Whoever asks for the number only is not told the unit, and gets nothing.
        assert!(Field::GlobalBatch.read("4M tokens").is_err());
        let with = Scenario::workshop().with_text(Field::GlobalBatch, "4M tokens").expect("a number and its unit");
        assert_eq!((with.goal.global_batch, with.goal.unit), (4_000_000, BatchUnit::Tokens));
    }

    #[test]
    fn a_field_reads_back_what_was_written() {
        let start = Scenario::workshop();
        for &field in Field::ALL {
            for value in [field.bound().min, field.bound().max] {
                let set = start.with_number(field, value).expect("the ends are in range");
                // Memory is kept in whole MiB, parameters in whole weights.
                assert!((set.number(field) - value).abs() < 1e-9 * value.max(1.0), "{field:?}");
            }
        }
    }
}
