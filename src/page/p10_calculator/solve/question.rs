//! The questions, each answered by a search of the estimator.

use bmax::catalogue::{DEVICES, DeviceRow};
use bmax::{
    Answer, ChoiceOption, Field, Method, Scenario, b_max, estimate, fewest_gpus, largest_model, least_memory_mib,
    longest_sequence, number,
};

use crate::site::format;

/// What can be sought.
pub const QUESTIONS: &[ChoiceOption] = &[
    option("b", "Micro-batch"),
    option("s", "Sequence length"),
    option("gpus", "Fewest GPUs"),
    option("device", "Smallest GPU"),
    option("model", "Largest model"),
];

const fn option(key: &'static str, label: &'static str) -> ChoiceOption {
    ChoiceOption { key, label, effect: "" }
}

/// The answer in a sentence, and the scenario with it; none where there is no answer.
pub fn solved(question: &str, scenario: &Scenario) -> (String, Option<Scenario>) {
    let batch = scenario.recipe.batch;
    let sequences = format::counted(batch, "sequence", "sequences");
    let mut next = *scenario;
    let found = match question {
        "s" => longest_sequence(scenario, batch).map(|length| {
            next.recipe.sequence = length;
            format!("With {sequences} on each GPU, a sequence may be {} tokens long.", format::count(length))
        }),
        "gpus" => fewest_gpus(scenario, batch).map(|gpus| {
            next.cluster.gpus = gpus;
            format!("With {}, {sequences} fit on each. Fewer are too few.", format::counted(gpus, "GPU", "GPUs"))
        }),
        "device" => least_memory_mib(scenario, batch).map(|least| {
            let needs = format!("{sequences} on each GPU need {} GiB", format::input(f64::from(least) / 1024.0));
            match smallest_device(scenario, least) {
                Some(row) => {
                    next = row.apply(next);
                    format!("{needs}. The smallest GPU of the list that has it is the {}.", row.name)
                }
                None => {
                    next.device.memory_mib = least;
                    format!("{needs}, more than any GPU of the list has.")
                }
            }
        }),
        "model" => largest_model(scenario, batch).map(|model| {
            next.model = model;
            let billions = number::grouped((model.parameters as f64 / 1e7).round() / 100.0);
            format!(
                "With {sequences} on each GPU, a model of this shape may have {billions} billion parameters: H = {}, \
                 L = {}, n = {}.",
                format::count(model.hidden),
                format::count(model.layers),
                format::count(model.heads)
            )
        }),
        _ => match b_max(scenario) {
            Answer::Fits(room) => {
                next = next.with_batch(room.batch);
                let most = if room.capped { "At least" } else { "At most" };
                let many = format::counted(room.batch, "sequence", "sequences");
                let fit = if room.batch == 1 { "fits" } else { "fit" };
                Some(format!("{most} {many} of {} tokens {fit} on each GPU.", format::count(scenario.recipe.sequence)))
            }
            Answer::Infeasible(_) => None,
        },
    };
    match found {
        Some(text) => (text, Some(next)),
        None => (infeasible(question, scenario), None),
    }
}

/// The listed device with the least memory that has at least what `least_mib` of the present one is.
fn smallest_device(scenario: &Scenario, least_mib: u32) -> Option<&'static DeviceRow> {
    let driver = scenario.device.driver_mib;
    let enough = |row: &&DeviceRow| match scenario.method {
        // Each driver keeps its own part.
        Method::Ledger => row.visible_mib + driver >= least_mib,
        Method::Workshop | Method::Paper => row.memory_mib >= least_mib,
    };
    DEVICES.iter().filter(enough).min_by_key(|row| row.memory_mib)
}

/// Why nothing in the range of a question is an answer: by how much its easiest case is over, and the
/// largest entry then.
fn infeasible(question: &str, scenario: &Scenario) -> String {
    let mut easiest = *scenario;
    let case = match question {
        "s" => {
            easiest.recipe.sequence = 1;
            "Not even sequences of one token fit"
        }
        "gpus" => {
            let group = easiest.cluster.group();
            easiest.cluster.gpus = (Field::Gpus.bound().max as u32 / group).max(1) * group;
            "No number of GPUs is enough"
        }
        "device" => {
            easiest.device.memory_mib = (Field::Memory.bound().max * 1024.0) as u32;
            "No GPU is large enough"
        }
        "model" => "Not even a model of this shape with one head fits; at its present size it does not",
        _ => {
            easiest.recipe.batch = 1;
            "Not even one sequence fits"
        }
    };
    let estimate = estimate(&easiest);
    let peak = estimate.peak();
    let largest = estimate.largest()[0];
    let instant = if estimate.instants.len() > 1 { format!(" at “{}”", peak.instant.name) } else { String::new() };
    format!(
        "{case}: {} too much{instant}. The largest entry is “{}” with {}.",
        format::memory(peak.bytes - estimate.usable()),
        largest.name,
        format::memory(largest.bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{catalogue, largest_micro_batch};

    #[test]
    fn every_answer_fits_and_a_smaller_device_does_not() {
        for query in ["", "?model=llama-3.1-8b&gpu=h100-80&b=2", "?method=paper&b=2", "?method=workshop&model=13b&b=2"]
        {
            let scenario = bmax::link::decode(query).scenario;
            for option in QUESTIONS {
                let (text, next) = solved(option.key, &scenario);
                let next = next.unwrap_or_else(|| panic!("{query} {}: {text}", option.key));
                assert!(largest_micro_batch(&next) >= Some(next.recipe.batch), "{query} {}: {text}", option.key);
            }
            let (_, next) = solved("device", &scenario);
            let chosen = next.map_or(0, |next| next.device.memory_mib);
            for row in catalogue::DEVICES.iter().filter(|row| row.memory_mib < chosen) {
                let smaller = row.apply(scenario);
                assert!(largest_micro_batch(&smaller) < Some(scenario.recipe.batch), "{query}: {}", row.slug);
            }
        }
    }

    #[test]
    fn no_answer_names_what_is_over_and_the_largest_entry() {
        let scenario = bmax::link::decode("?model=70b&gpus=1&b=1000000&s=4000000").scenario;
        for option in QUESTIONS {
            let (text, next) = solved(option.key, &scenario);
            assert!(next.is_none() && text.contains("too much") && text.contains("largest entry"), "{text}");
        }
    }
}
