//! The questions, each answered by a search of the estimator.

use bmax::{
    Answer, Balance, Bytes, Field, Scenario, Unit, b_max, catalogue, estimate, fewest_gpus,
    inverse::{largest_model, least_memory, longest_sequence},
    number,
};

use crate::site::format;

/// What is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The largest micro-batch.
    Batch,
    /// The longest sequence.
    Sequence,
    /// The fewest GPUs.
    Gpus,
    /// The smallest GPU of the catalogue.
    Device,
    /// The largest model of the same shape.
    Model,
}

impl Question {
    /// The questions in their order, each with its label.
    pub const LABELS: [(Self, &'static str); 5] = [
        (Self::Batch, "Micro-batch"),
        (Self::Sequence, "Sequence length"),
        (Self::Gpus, "Fewest GPUs"),
        (Self::Device, "Smallest GPU"),
        (Self::Model, "Largest model"),
    ];
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The answer in a sentence, or why there is none.
    pub sentence: String,
    /// The scenario with the answer; none where there is no answer.
    pub next: Option<Scenario>,
    /// Whether there is nothing to take over.
    pub idle: bool,
}

impl Shown {
    /// The answer to a question about a scenario.
    pub fn of(question: Question, scenario: &Scenario) -> Self {
        if let Answer::Refused(refusal) = b_max(scenario) {
            return Self { sentence: format::refusal(&refusal, scenario.unit()), next: None, idle: true };
        }
        match solved(question, scenario) {
            Some((sentence, next)) => Self { sentence, next: Some(next), idle: next == *scenario },
            None => Self { sentence: lacking(question, scenario), next: None, idle: true },
        }
    }
}

/// The answer in a sentence, and the scenario with it.
fn solved(question: Question, scenario: &Scenario) -> Option<(String, Scenario)> {
    let batch = scenario.recipe.batch;
    let mut next = *scenario;
    let sequences = format::batch(batch, scenario.unit());
    let sentence = match question {
        Question::Batch => {
            let Answer::Fits(room) = b_max(scenario) else { return None };
            next = next.with_batch(room.batch);
            let most = if room.capped { "At least" } else { "At most" };
            let many = format::batch(room.batch, scenario.unit());
            let fit = if room.batch == 1 { "fits" } else { "fit" };
            format!(
                "{most} {many} of {} {fit} on each GPU.",
                format::counted(scenario.recipe.sequence, "token", "tokens")
            )
        }
        Question::Sequence => {
            next.recipe.sequence = longest_sequence(scenario, batch)?;
            let length = format::counted(next.recipe.sequence, "token", "tokens");
            format!("With {sequences} on each GPU, a sequence may be {length} long.")
        }
        Question::Gpus => {
            next.cluster.gpus = fewest_gpus(scenario, batch)?;
            let gpus = format::counted(next.cluster.gpus, "GPU", "GPUs");
            format!("With {gpus}, {sequences} fit on each; with fewer they do not.")
        }
        Question::Device => {
            let least = least_memory(scenario, batch)?;
            let need = format!("{sequences} on each GPU need {} GiB", format::input(least.gib()));
            match catalogue::smallest_device(scenario) {
                Some(row) => {
                    next = row.apply(next);
                    format!("{need}. The smallest GPU of the list that has it is the {}.", row.name)
                }
                None => {
                    next.device.memory = least;
                    need + ", more than any GPU of the list has, except machines with unified memory."
                }
            }
        }
        Question::Model => {
            next.model = largest_model(scenario, batch)?;
            let billions = number::grouped((next.model.parameters as f64 / 1e7).round() / 100.0);
            let [hidden, layers, heads] = [next.model.hidden, next.model.layers, next.model.heads].map(format::count);
            format!(
                "With {sequences} on each GPU, a model of this shape may have {billions} billion parameters: H = \
                 {hidden}, L = {layers}, n = {heads}."
            )
        }
    };
    Some((sentence, next))
}

/// Why nothing in the range of a question is an answer: by how much its easiest case is over, at which instant where
/// there are instants to tell apart, and the largest entry then with its size.
fn lacking(question: Question, scenario: &Scenario) -> String {
    let mut easiest = *scenario;
    let none = match question {
        Question::Batch => {
            easiest.recipe.batch = 1;
            match scenario.unit() {
                Unit::Pairs => "Not even one pair fits",
                Unit::Completions => "Not even one completion fits",
                Unit::Rows => "Not even one row fits",
                _ => "Not even one sequence fits",
            }
        }
        Question::Sequence => {
            easiest.recipe.sequence = 1;
            "Not even sequences of one token fit"
        }
        Question::Gpus => {
            let group = easiest.cluster.group();
            easiest.cluster.gpus = (Field::Gpus.bound().max as u32 / group).max(1) * group;
            "No number of GPUs is enough"
        }
        Question::Device => {
            easiest.device.memory = Bytes::from_gib(Field::Memory.bound().max);
            "No GPU is large enough"
        }
        // The model of one head that was tried is not known here.
        Question::Model => "Not even a model of this shape with one head fits; at its present size it does not",
    };
    let estimate = estimate(&easiest);
    if let (Balance::LacksHost(lacks), Some(largest)) = (estimate.balance(), estimate.host.largest()) {
        let [lacks, size] = [lacks, largest.bytes].map(format::memory);
        let name = largest.name;
        return format!(
            "{none}: each machine lacks {lacks} of CPU memory. The largest entry there is “{name}” with {size}."
        );
    }
    let (peak, largest) = (estimate.peak(), estimate.largest()[0]);
    let over = format::memory(peak.bytes - estimate.usable());
    let at = if estimate.instants.len() > 1 { format!(" at “{}”", peak.instant.name) } else { String::new() };
    let size = format::memory(largest.bytes);
    format!("{none}: {over} too much{at}. The largest entry is “{}” with {size}.", largest.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use bmax::catalogue::DeviceGroup;
    use bmax::largest_micro_batch;
    use proptest::prelude::*;

    fn scenario(query: &str) -> Scenario {
        bmax::link::decode(query).scenario
    }

    #[test]
    fn every_answer_fits_and_a_smaller_device_does_not() {
        for query in ["", "?model=llama-3.1-8b&gpu=h100-80&b=2", "?method=paper&b=2", "?method=workshop&model=13b&b=2"]
        {
            let scenario = scenario(query);
            for (question, _) in Question::LABELS {
                let found = Shown::of(question, &scenario);
                let next = found.next.unwrap_or_else(|| panic!("{query}: {}", found.sentence));
                assert!(largest_micro_batch(&next) >= Some(next.recipe.batch), "{query}: {}", found.sentence);
            }
            let next = Shown::of(Question::Device, &scenario).next;
            let chosen = next.map_or(Bytes::ZERO, |next| next.device.memory);
            // Machines with unified memory are no cards, and are not proposed.
            let cards = catalogue::DEVICES.iter().filter(|row| row.group != DeviceGroup::Unified);
            for row in cards.filter(|row| row.memory() < chosen) {
                let smaller = row.apply(scenario);
                assert!(largest_micro_batch(&smaller) < Some(scenario.recipe.batch), "{query}: {}", row.slug);
            }
        }
    }

    #[test]
    fn the_device_is_the_catalogue_s_and_no_machine_with_unified_memory() {
        let large = scenario("?model=70b&gpus=1&b=1&method=paper&zero=0&recompute=full&opt=sgd");
        for scenario in [Scenario::workshop(), large] {
            let found = Shown::of(Question::Device, &scenario);
            let next = found.next.expect("some memory is enough");
            match catalogue::smallest_device(&scenario) {
                Some(row) => {
                    assert_eq!(next, row.apply(scenario));
                    assert!(found.sentence.ends_with(&format!("is the {}.", row.name)), "{}", found.sentence);
                }
                None => {
                    assert_eq!(Some(next.device.memory), least_memory(&scenario, scenario.recipe.batch));
                    assert!(found.sentence.contains("more than any GPU of the list has"), "{}", found.sentence);
                }
            }
        }
    }

    #[test]
    fn no_answer_names_what_is_over_and_the_largest_entry() {
        for (query, has_instants) in [
            ("?model=70b&gpus=1&b=1000000&s=4000000", true),
            ("?model=70b&gpus=1&b=1000000&s=4000000&method=paper", false),
        ] {
            for (question, _) in Question::LABELS {
                let Shown { sentence, next, idle } = Shown::of(question, &scenario(query));
                assert!(next.is_none() && idle, "{sentence}");
                assert!(
                    sentence.contains(" GiB too much") && sentence.contains("The largest entry is “"),
                    "{sentence}"
                );
                assert!(!sentence.contains(": -"), "{sentence}");
                assert_eq!(sentence.contains(" at “"), has_instants, "{sentence}");
            }
        }
    }

    #[test]
    fn an_answer_that_is_in_use_cannot_be_taken_again() {
        let first = Shown::of(Question::Batch, &Scenario::workshop());
        let next = first.next.expect("the default fits");
        assert!(Shown::of(Question::Batch, &next).idle);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_scenario_has_an_answer_to_every_question_or_a_reason(scenario in any_scenario()) {
            for (question, _) in Question::LABELS {
                let shown = Shown::of(question, &scenario);
                let is_reason = shown.sentence.contains("The largest entry is") || shown.sentence.starts_with("No answer");
                prop_assert_eq!(shown.next.is_none(), is_reason);
                texts_are_sound(&shown.sentence);
            }
        }
    }
}
