//! The questions, each answered by a search of the estimator. Their sentences stand in the page.

use bmax::{
    Answer, Bytes, Field, Scenario, b_max, catalogue, estimate, fewest_gpus, largest_model, least_memory,
    longest_sequence, number,
};

use crate::site::format;

/// An answer: the sentence of the page that says it, what stands in its places, and the scenario with
/// it; none where there is no answer.
pub struct Solved {
    pub case: &'static str,
    pub texts: Vec<String>,
    pub next: Option<Scenario>,
}

/// The answer to a question, by its word in the page.
pub fn solved(question: &str, scenario: &Scenario) -> Solved {
    let batch = scenario.recipe.batch;
    let mut next = *scenario;
    let sequences = || format::counted(batch, "sequence", "sequences");
    let (case, texts) = match question {
        "s" => match longest_sequence(scenario, batch) {
            Some(length) => {
                next.recipe.sequence = length;
                ("s", vec![sequences(), format::count(length)])
            }
            None => return none("no-s"),
        },
        "gpus" => match fewest_gpus(scenario, batch) {
            Some(gpus) => {
                next.cluster.gpus = gpus;
                ("gpus", vec![format::counted(gpus, "GPU", "GPUs"), sequences()])
            }
            None => return none("no-gpus"),
        },
        "device" => match least_memory(scenario, batch) {
            Some(least) => {
                let mut texts = vec![sequences(), format::input(least.gib())];
                let case = match catalogue::smallest_device(scenario) {
                    Some(row) => {
                        next = row.apply(next);
                        texts.push(row.name.to_owned());
                        "device"
                    }
                    None => {
                        next.device.memory = least;
                        "memory"
                    }
                };
                (case, texts)
            }
            None => return none("no-device"),
        },
        "model" => match largest_model(scenario, batch) {
            Some(model) => {
                next.model = model;
                let billions = number::grouped((model.parameters as f64 / 1e7).round() / 100.0);
                let [hidden, layers, heads] = [model.hidden, model.layers, model.heads].map(format::count);
                ("model", vec![sequences(), billions, hidden, layers, heads])
            }
            None => return none("no-model"),
        },
        _ => match b_max(scenario) {
            Answer::Fits(room) => {
                next = next.with_batch(room.batch);
                let most = if room.capped { "At least" } else { "At most" };
                let many = format::counted(room.batch, "sequence", "sequences");
                let fit = if room.batch == 1 { "fits" } else { "fit" };
                ("b", vec![most.to_owned(), many, format::count(scenario.recipe.sequence), fit.to_owned()])
            }
            Answer::Infeasible(_) => return none("no-b"),
        },
    };
    Solved { case, texts, next: Some(next) }
}

fn none(case: &'static str) -> Solved {
    Solved { case, texts: Vec::new(), next: None }
}

/// Why nothing in the range of a question is an answer: by how much its easiest case is over, at which
/// instant, and the largest entry then with its size; and whether there are instants to tell apart.
pub fn lacking(question: &str, scenario: &Scenario) -> (Vec<String>, bool) {
    let mut easiest = *scenario;
    match question {
        "s" => easiest.recipe.sequence = 1,
        "gpus" => {
            let group = easiest.cluster.group();
            easiest.cluster.gpus = (Field::Gpus.bound().max as u32 / group).max(1) * group;
        }
        "device" => easiest.device.memory = Bytes::from_gib(Field::Memory.bound().max),
        // The model of one head that was tried is not known here.
        "model" => {}
        _ => easiest.recipe.batch = 1,
    }
    let estimate = estimate(&easiest);
    let peak = estimate.peak();
    let largest = estimate.largest()[0];
    let texts = vec![
        format::memory(peak.bytes - estimate.usable()),
        peak.instant.name.to_owned(),
        largest.name.to_owned(),
        format::memory(largest.bytes),
    ];
    (texts, estimate.instants.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::catalogue::DeviceGroup;
    use bmax::largest_micro_batch;

    const PAGE: &str = include_str!("../prose.html");
    const QUESTIONS: [&str; 5] = ["b", "s", "gpus", "device", "model"];

    #[test]
    fn every_answer_fits_and_a_smaller_device_does_not() {
        for query in ["", "?model=llama-3.1-8b&gpu=h100-80&b=2", "?method=paper&b=2", "?method=workshop&model=13b&b=2"]
        {
            let scenario = bmax::link::decode(query).scenario;
            for question in QUESTIONS {
                let found = solved(question, &scenario);
                let next = found.next.unwrap_or_else(|| panic!("{query}: {}", found.case));
                assert!(largest_micro_batch(&next) >= Some(next.recipe.batch), "{query}: {}", found.case);
            }
            let next = solved("device", &scenario).next;
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
        let scenario = bmax::link::decode("?model=70b&gpus=1&b=1&method=paper&zero=0&recompute=full&opt=sgd").scenario;
        for scenario in [Scenario::default(), scenario] {
            let next = solved("device", &scenario).next.expect("some memory is enough");
            match catalogue::smallest_device(&scenario) {
                Some(row) => assert_eq!(next, row.apply(scenario)),
                None => assert_eq!(Some(next.device.memory), least_memory(&scenario, scenario.recipe.batch)),
            }
        }
    }

    #[test]
    fn no_answer_names_what_is_over_and_the_largest_entry() {
        let scenario = bmax::link::decode("?model=70b&gpus=1&b=1000000&s=4000000").scenario;
        for question in QUESTIONS {
            let found = solved(question, &scenario);
            assert!(found.next.is_none() && found.case == format!("no-{question}"), "{}", found.case);
            let (texts, _) = lacking(question, &scenario);
            assert!(texts.iter().all(|text| !text.is_empty() && !text.starts_with('-')), "{texts:?}");
        }
    }

    #[test]
    fn the_page_asks_every_question_and_has_a_sentence_for_every_answer() {
        for question in QUESTIONS {
            assert!(PAGE.contains(&format!("name=\"solve-for\" value=\"{question}\"")), "{question}");
            for case in [question.to_owned(), format!("no-{question}")] {
                assert!(PAGE.contains(&format!("data-case=\"{case}\"")), "{case}");
            }
        }
        assert!(PAGE.contains("data-case=\"memory\""));
    }
}
