//! What the figure shows: each line of the derivation in symbols and with numbers, as MathML.

use bmax::{Answer, Bytes, Entry, Method, Scenario, division::Division, formula::Values, others};

use super::quantity::gib;
use super::steps::{Steps, quotient};
use crate::components::mathml;
use crate::site::{Facts, format};

/// Whose derivation it is, and what the method in use answers.
pub fn whose(facts: &Facts) -> String {
    let derived = if facts.is_ledger() { Method::Workshop } else { facts.scenario.method };
    let lacking = others::lacking(derived, &facts.scenario).map(|lacking| format::lacking(&lacking));
    let without = |said: &str| match &lacking {
        Some(input) => format!("{said} It has no input for {input}, and counts as if that were not asked for."),
        None => said.to_owned(),
    };
    match facts.scenario.method {
        Method::Workshop => without("This is the method in use."),
        Method::Paper => without("This is the paper’s method, which is in use."),
        Method::Ledger => {
            let workshop = facts.others.iter().find(|(method, _)| *method == Method::Workshop);
            let other = match (&lacking, workshop) {
                (Some(input), _) => format!(
                    "These lines are the workshop’s method. It cannot answer: it has no input for {input}, and counts as if that were not asked for."
                ),
                (None, Some((_, answer))) => {
                    format!("These lines are the workshop’s method with your numbers: {}.", answered(answer))
                }
                (None, None) => "These lines are the workshop’s method with your numbers.".to_owned(),
            };
            format!(
                "{other} By the ledger, which is in use, {}. The ledger’s own division is the last line.",
                answered(&facts.answer)
            )
        }
    }
}

/// An answer as a part of a sentence.
fn answered(answer: &Answer) -> String {
    match answer {
        Answer::Infeasible(_) => "nothing fits".to_owned(),
        fits => format!("the answer is {}", format::answer(fits)),
    }
}

/// The lines of the derivation, which the micro-batch does not change.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Everything must fit.
    pub fits: String,
    /// A share is kept free.
    pub usable: String,
    /// What is fixed.
    pub fixed: Sum,
    /// What one sequence takes.
    pub one: Sum,
    /// The division.
    pub solved: String,
    /// Whether a sequence fits.
    pub has_answer: bool,
    /// The division in words.
    pub conclusion: String,
    /// The same division by the ledger, where that is in use.
    pub ledger: Option<Ledger>,
}

/// Entries and their sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// The entries.
    pub entries: Vec<Line>,
    /// Their sum.
    pub total: String,
}

/// One entry: its size, and how that comes about.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The style sheet's word for its bucket.
    pub bucket: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its formula.
    pub symbols: String,
    /// The same with numbers, as text.
    pub numbers: String,
    /// Its size.
    pub size: String,
}

/// The last line under the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// What is divided, and when.
    pub title: String,
    /// The division.
    pub solved: String,
}

impl Lines {
    /// The lines of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let steps = Steps::of(scenario);
        let Steps { memory, usable, fixed, one_sequence, values, .. } = &steps;
        let [of_usable, of_fixed, of_one] = [usable, fixed, one_sequence].map(|bytes| amount(*bytes));
        let sum = |entries: Vec<Line>, name: &str, total: &str| Sum {
            entries,
            total: format!("<msub><mi>M</mi><mi>{name}</mi></msub><mo>=</mo>{total}"),
        };
        Self {
            fits: format!("{of_usable}<mo>≥</mo>{of_fixed}<mo>+</mo><mi>b</mi><mo>·</mo>{of_one}"),
            usable: format!(
                "<mrow><mo>(</mo><mn>1</mn><mo>−</mo><mn>{}</mn><mo>)</mo></mrow><mo>×</mo>{}<mo>=</mo>{of_usable}",
                steps.headroom_text(),
                amount(*memory)
            ),
            fixed: sum(lines(steps.fixed_entries(), values), "fixed", &of_fixed),
            one: sum(lines(steps.activations(), values), "act", &of_one),
            solved: solved([*usable, *fixed, *one_sequence], &steps.answer),
            has_answer: steps.answer.batch().is_some(),
            conclusion: steps.conclusion(),
            ledger: steps.ledger.as_ref().map(|(division, answer)| Ledger {
                title: title(division, answer, scenario),
                solved: solved([division.usable, division.fixed, division.per_sequence], answer),
            }),
        }
    }
}

/// What the ledger's division is of, and that CPU memory stops it earlier.
fn title(division: &Division, answer: &Answer, scenario: &Scenario) -> String {
    let one = scenario.unit().one();
    let instant = format::at_instant(division.instant);
    if answer.by_host() {
        let room = answer.batch().map_or_else(|| format!("not even one {one}"), format::count);
        return format!(
            "The same division by the ledger, {instant}: what the GPU has room for. CPU memory has room for {room}."
        );
    }
    format!("The same division by the ledger, {instant}, the moment that stops the next {one}.")
}

fn lines<'a>(entries: impl Iterator<Item = &'a Entry>, values: &Values) -> Vec<Line> {
    let line = |entry: &Entry| Line {
        bucket: entry.bucket.key(),
        name: entry.name,
        symbols: mathml(entry.formula, values),
        numbers: entry.formula.in_numbers(values) + " bytes",
        size: format!("= {} GiB", gib(entry.bytes)),
    };
    entries.map(line).collect()
}

/// A size with its unit.
fn amount(bytes: Bytes) -> String {
    format!("<mtext>{}\u{a0}GiB</mtext>", gib(bytes))
}

/// A division with its numbers, down to the whole number of sequences: usable memory, the fixed part and one
/// sequence. Where nothing is left, the difference says so.
fn solved([usable, fixed, one]: [Bytes; 3], answer: &Answer) -> String {
    let left = usable - fixed;
    let difference = format!("<mrow>{}<mo>−</mo>{}</mrow>", amount(usable), amount(fixed));
    if left.get() < 0.0 {
        return format!("{difference}<mo>=</mo>{}<mo>&lt;</mo><mn>0</mn>", amount(left));
    }
    format!(
        "<mrow><mo>⌊</mo><mfrac>{difference}{}</mfrac><mo>⌋</mo></mrow><mo>=</mo>\
         <mo>⌊</mo><mn>{}</mn><mo>⌋</mo><mo>=</mo><mn>{}</mn>",
        amount(one),
        quotient(left, one, answer),
        if answer.by_host() {
            format::digits((left.get() / one.get()).floor(), 0)
        } else {
            format::count(answer.batch().unwrap_or(0))
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::{b_max, division::division, estimate};
    use proptest::prelude::*;

    fn workshop() -> Scenario {
        Scenario { method: Method::Workshop, ..Scenario::workshop() }
    }

    #[test]
    fn the_worked_7b_example_has_its_numbers_in_every_line() {
        let lines = Lines::of(&workshop());
        for (line, numbers) in [
            (&lines.fits, ["72.00", "13.04", "17.00"]),
            (&lines.usable, ["0.1", "80.00", "72.00"]),
            (&lines.solved, ["72.00", "13.04", "17.00"]),
        ] {
            for number in numbers {
                assert!(
                    line.contains(&format!(">{number}<")) || line.contains(&format!(">{number}\u{a0}GiB<")),
                    "{line}"
                );
            }
        }
        assert!(lines.solved.ends_with("<mo>⌊</mo><mn>3.46</mn><mo>⌋</mo><mo>=</mo><mn>3</mn>"));
        assert!(lines.has_answer && lines.ledger.is_none());
    }

    #[test]
    fn every_entry_of_the_estimate_has_a_line() {
        let lines = Lines::of(&workshop());
        let named: Vec<&str> = lines.fixed.entries.iter().chain(&lines.one.entries).map(|line| line.name).collect();
        assert_eq!(named.len(), estimate(&workshop()).entries.len());
        for entry in estimate(&workshop()).entries {
            assert!(named.contains(&entry.name), "“{}” has no line", entry.name);
        }
    }

    #[test]
    fn a_fixed_part_that_is_too_large_is_no_division() {
        let mut scenario = workshop();
        scenario.cluster.gpus = 1;
        let lines = Lines::of(&scenario);
        assert!(!lines.has_answer);
        assert!(lines.solved.contains(">−32.31\u{a0}GiB<") && !lines.solved.contains("<mfrac>"), "{}", lines.solved);
    }

    #[test]
    fn under_the_ledger_the_figure_says_whose_derivation_it_is_and_ends_in_the_ledger_s_division() {
        let facts = facts_of(Scenario::workshop());
        let said = whose(&facts);
        assert!(
            said.contains(&format!("your numbers: the answer is {}.", format::answer(&b_max(&workshop())))),
            "{said}"
        );
        assert!(said.contains(&format!("in use, the answer is {}.", format::answer(&facts.answer))), "{said}");
        let ledger = Lines::of(&facts.scenario).ledger.expect("the default is the ledger");
        assert!(ledger.title.contains(division(&facts.scenario).instant.name));
        assert!(ledger.solved.ends_with(&format!("<mn>{}</mn>", format::answer(&facts.answer))), "{}", ledger.solved);
        assert_eq!(whose(&facts_of(workshop())), "This is the method in use.");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_is_derived(scenario in any_scenario()) {
            let lines = Lines::of(&scenario);
            texts_are_sound(&(&lines, whose(&facts_of(scenario))));
            prop_assert!(!lines.fixed.entries.is_empty() && !lines.one.entries.is_empty());
            prop_assert_eq!(&Lines::of(&scenario.with_batch(1)), &lines);
        }
    }
}
