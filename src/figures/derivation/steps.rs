//! The quantities of the derivation, taken from the estimate of one sequence.

use bmax::{
    Answer, Bucket, Bytes, Entry, Method, Scenario, Shortage, Unit, b_max,
    division::{Division, division},
    estimate,
    formula::Values,
    number,
};

use super::quantity::gib;
use crate::site::format;

/// What the lines of the derivation show.
#[cfg_attr(test, derive(Debug, PartialEq))]
pub struct Steps {
    pub memory: Bytes,
    pub usable: Bytes,
    /// Everything that does not depend on the batch.
    pub fixed: Bytes,
    /// Activations of one sequence.
    pub one_sequence: Bytes,
    /// The values of the entries' formulas.
    pub values: Values,
    headroom: f64,
    entries: Vec<Entry>,
    /// What the answer counts.
    unit: Unit,
    pub answer: Answer,
    /// The ledger's own division and its answer, where the ledger is in use: what is derived is then
    /// the workshop's method.
    pub ledger: Option<(Division, Answer)>,
}

impl Steps {
    /// Reads the estimate of `scenario` at one sequence; its own micro-batch does not matter. The
    /// ledger has no derivation of a few lines, so that the workshop's stands in for it.
    pub fn of(scenario: &Scenario) -> Self {
        let ledger = (scenario.method == Method::Ledger).then(|| (division(scenario), b_max(scenario)));
        let derived = Scenario { method: Method::Workshop, ..*scenario };
        let scenario = if ledger.is_some() { &derived } else { scenario };
        let estimate = estimate(&scenario.with_batch(1));
        let one_sequence = estimate.bucket(Bucket::Activations);
        Self {
            memory: estimate.memory,
            usable: estimate.usable(),
            fixed: estimate.peak().bytes - one_sequence,
            one_sequence,
            values: estimate.values,
            headroom: scenario.device.headroom.fraction(),
            unit: scenario.unit(),
            answer: b_max(scenario),
            entries: estimate.entries,
            ledger,
        }
    }

    /// The entries that do not depend on the batch.
    pub fn fixed_entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.bucket != Bucket::Activations)
    }

    /// The entries that do.
    pub fn activations(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.bucket == Bucket::Activations)
    }

    /// The headroom as a factor.
    pub fn headroom_text(&self) -> String {
        // A tenth of a percent is as fine as anybody states it.
        number::plain((self.headroom * 1e4).round() / 1e4)
    }

    fn left(&self) -> Bytes {
        self.usable - self.fixed
    }

    fn quotient(&self) -> String {
        quotient(self.left(), self.one_sequence, &self.answer)
    }

    /// The last line in words.
    pub fn conclusion(&self) -> String {
        let [one, many] = [self.unit.one(), self.unit.many()];
        match &self.answer {
            Answer::Fits(room) if room.capped => {
                format!(
                    "⌊{}⌋: at least {} {many}; larger values are not tried.",
                    self.quotient(),
                    format::count(room.batch)
                )
            }
            Answer::Fits(room) => format!(
                "⌊{}⌋ = {}: {} on each GPU. One more is {} too much.",
                self.quotient(),
                format::count(room.batch),
                format::batch(room.batch, self.unit) + if room.batch == 1 { " fits" } else { " fit" },
                format::memory(room.next_lacks)
            ),
            Answer::Refused(refusal) => format!("⌊{}⌋. {}", self.quotient(), format::refusal(refusal, self.unit)),
            Answer::Infeasible(reason) => {
                let short = match reason.shortage {
                    Shortage::ModelStates => {
                        let over = Bytes::new(-self.left().get());
                        format!("No {one} fits: the fixed part alone is {} GiB too large.", gib(over))
                    }
                    Shortage::HostMemory => return format!("No {one} fits into CPU memory."),
                    Shortage::FirstSequence => format!(
                        "No {one} fits: ⌊{}⌋ = 0. There is room for the fixed part, but the first {one} is {} too much.",
                        self.quotient(),
                        format::memory(reason.over)
                    ),
                    Shortage::Outside => {
                        return format!("No {one} fits. {}", format::outside(reason, self.unit));
                    }
                };
                let mend = reason.fewest_gpus.map_or_else(
                    || " More GPUs alone do not help.".to_owned(),
                    |gpus| format!(" With {} one does.", format::counted(gpus, "GPU", "GPUs")),
                );
                short + &mend
            }
        }
    }
}

/// How many times one sequence goes into what is left, cut after two digits: rounded, 2.996 would read
/// ⌊3.00⌋ and contradict its own floor.
pub fn quotient(left: Bytes, one_sequence: Bytes, answer: &Answer) -> String {
    let quotient = left.get() / one_sequence.get().max(f64::MIN_POSITIVE);
    let floor = f64::from(answer.batch().unwrap_or(0));
    // The last bits of a sum may fall just short of a whole number that the ledger reaches.
    format::digits(((quotient * 100.0).floor() / 100.0).max(floor), 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Field, Recomputation};

    fn with(field: Field, value: f64) -> Scenario {
        Scenario::workshop().with_number(field, value).expect("in range")
    }

    #[test]
    fn the_parts_add_up_to_the_ledger() {
        let scenario = Scenario::workshop();
        let steps = Steps::of(&scenario);
        let total: Bytes = steps.fixed_entries().chain(steps.activations()).map(|entry| entry.bytes).sum();
        assert_eq!(total, steps.fixed + steps.one_sequence);
        assert_eq!(gib(steps.fixed), "13.04");
        assert_eq!(gib(steps.one_sequence), "17.00");
    }

    #[test]
    fn the_quotient_is_cut_and_not_rounded() {
        let steps = Steps::of(&Scenario::workshop());
        assert_eq!(steps.quotient(), "3.46");
        assert!(steps.conclusion().starts_with("⌊3.46⌋ = 3: 3 sequences fit"));
    }

    #[test]
    fn the_floor_of_the_shown_quotient_is_the_answer() {
        let mut scenario = Scenario::workshop();
        for recomputation in [Recomputation::None, Recomputation::Selective, Recomputation::Full] {
            for sequence in [256, 1_000, 2_048, 4_096] {
                scenario.recipe.recomputation = recomputation;
                scenario.recipe.sequence = sequence;
                let steps = Steps::of(&scenario);
                let workshop = Scenario { method: Method::Workshop, ..scenario };
                let shown: f64 = steps.quotient().replace(',', "").parse().expect("a number");
                assert_eq!(shown.floor() as u32, b_max(&workshop).batch().unwrap_or(0));
            }
        }
    }

    #[test]
    fn packed_lengths_are_derived_in_rows() {
        let of = |gpus: u32| {
            let mut scenario = with(Field::Gpus, gpus.into());
            scenario.lengths.batching = bmax::Batching::Packed;
            Steps::of(&scenario).conclusion()
        };
        assert!(of(8).contains(" rows fit on each GPU"), "{}", of(8));
        assert!(of(1).starts_with("No row fits: the fixed part"), "{}", of(1));
    }

    #[test]
    fn what_does_not_fit_says_so_and_what_would_help() {
        let alone = Steps::of(&with(Field::Gpus, 1.0)).conclusion();
        let start = "No sequence fits: the fixed part alone is 32.31 GiB too large.";
        assert!(alone.starts_with(start) && alone.contains("2 GPUs"), "{alone}");
        let long = Steps::of(&with(Field::Sequence, 16_384.0)).conclusion();
        assert!(long.starts_with("No sequence fits: ⌊0.43⌋ = 0."), "{long}");
    }

    #[test]
    fn the_micro_batch_changes_no_line() {
        assert_eq!(Steps::of(&Scenario::workshop()), Steps::of(&Scenario::workshop().with_batch(99)));
    }

    #[test]
    fn under_the_ledger_the_workshop_is_derived_and_the_ledger_s_own_division_added() {
        let steps = Steps::of(&Scenario::workshop());
        let workshop = Steps::of(&Scenario { method: Method::Workshop, ..Scenario::workshop() });
        assert_eq!(steps.answer, workshop.answer);
        assert_eq!(workshop.ledger, None);
        let (division, answer) = steps.ledger.expect("the default is the ledger");
        assert_eq!(Some(division.quotient() as u32), answer.batch());
    }
}
