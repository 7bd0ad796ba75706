//! The texts and the bar of the first screen’s figure, as its view shows them.

use bmax::chart::MemoryBar;
use bmax::growth::growth;
use bmax::{Answer, Method, Scenario, Shortage, proof};

use crate::site::{Facts, Standing, format};

/// The texts and the bar of one configuration at one micro-batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The texts that the micro-batch does not change.
    pub said: Said,
    /// Which micro-batch the bar shows.
    pub batch: String,
    /// How it stands.
    pub standing: Standing,
    /// The bar.
    pub bar: MemoryBar,
}

/// The texts of the answer, which are the same at every micro-batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The scenario that the texts are made from, with a micro-batch of one.
    asked: Scenario,
    /// Whose answer it is, and how far off it was in real runs.
    pub method: String,
    /// Whether there is a micro-batch that fits.
    pub fits: bool,
    /// The largest of them.
    pub answer: String,
    /// What it counts.
    pub unit: &'static str,
    /// What each sequence adds, and the largest part of it as a product; empty where nothing can be said of it.
    pub growth: String,
    /// What is used, what is left, and what the next sequence lacks.
    pub reason: String,
}

impl Shown {
    /// Makes texts and bar from the facts. While only the micro-batch changes, the texts of `before` are taken.
    pub fn of(facts: &Facts, before: Option<&Self>) -> Self {
        let asked = facts.scenario.with_batch(1);
        let said = before.map(|before| &before.said).filter(|said| said.asked == asked);
        Self {
            said: said.cloned().unwrap_or_else(|| Said::of(facts, asked)),
            batch: format!(" = {}: ", format::count(facts.scenario.recipe.batch)),
            standing: Standing::of(facts),
            bar: facts.bar(),
        }
    }
}

impl Said {
    fn of(facts: &Facts, asked: Scenario) -> Self {
        Self {
            asked,
            method: method(facts),
            fits: facts.answer.batch().is_some(),
            answer: format::answer(&facts.answer),
            unit: facts.scenario.unit().word(facts.answer.batch().unwrap_or(0).into()),
            growth: growth(&facts.scenario, &facts.answer).as_ref().map_or_else(String::new, format::growth),
            reason: reason(facts),
        }
    }
}

fn method(facts: &Facts) -> String {
    let method = match facts.scenario.method {
        Method::Ledger => "Counted tensor by tensor (the ledger)",
        Method::Workshop => "Counted by the workshop’s formula",
        Method::Paper => "Counted by the paper’s formula",
    };
    // The other two were compared as well, and are further off (the accuracy report).
    if facts.is_ledger() { format!("{method}. {}", proof::said(&facts.scenario)) } else { method.to_owned() }
}

fn reason(facts: &Facts) -> String {
    let unit = facts.scenario.unit();
    match &facts.answer {
        Answer::Fits(room) if room.capped => "More may fit; larger values are not tried.".to_owned(),
        Answer::Fits(room) if room.by_host => {
            format!(
                "With one more {} each machine lacks {} of CPU memory.",
                unit.one(),
                format::memory(room.next_lacks)
            )
        }
        Answer::Fits(room) => {
            let [peak, one, lack] = [room.peak, room.per_sequence, room.next_lacks].map(format::memory);
            let all = format::batch(room.batch, unit) + if room.batch == 1 { " takes" } else { " take" };
            let taken = format!("{all} {peak}. One more needs {one}, which is {lack} too much");
            let tokens = format::most_tokens(&facts.scenario, room.batch);
            let tokens = tokens.map_or_else(String::new, |tokens| format!(" {tokens}"));
            if facts.is_ledger() {
                format!("{taken} {}.{tokens}", format::at_instant(facts.limit.instant))
            } else {
                format!("{taken}.{tokens}")
            }
        }
        Answer::Infeasible(reason) if reason.shortage == Shortage::HostMemory => {
            format::shortage(&facts.answer, facts.scenario.unit()).unwrap_or_default()
        }
        Answer::Refused(refusal) => format::refusal(refusal, unit),
        Answer::Infeasible(reason) => {
            let why = format::shortage(&facts.answer, unit).unwrap_or_default();
            if reason.training.is_some() {
                return why;
            }
            let mend = reason.fewest_gpus.map_or_else(
                || " More GPUs alone do not help: shorten the sequence or recompute more.".to_owned(),
                |gpus| format!(" {} would be enough.", format::counted(gpus, "GPU", "GPUs")),
            );
            why + &mend
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use proptest::prelude::*;

    #[test]
    fn the_worked_7b_example_takes_64_gib_and_lacks_9_for_the_next_sequence() {
        let shown = Shown::of(&facts_of(Scenario { method: Method::Workshop, ..Scenario::workshop() }), None);
        assert_eq!((shown.said.answer.as_str(), shown.standing), ("3", Standing::Fits));
        assert_eq!(
            shown.said.reason,
            "3 sequences take 64.0 GiB. One more needs 17.0 GiB, which is 9.04 GiB too much."
        );
    }

    #[test]
    fn the_ledger_says_how_far_off_it_was_in_the_reader_s_setting_and_the_other_methods_do_not() {
        let said = |query| Shown::of(&facts_of(bmax::link::decode(query).scenario), None).said.method;
        assert_eq!(
            said("gpus=8"),
            format!("Counted tensor by tensor (the ledger). {}", proof::SAID[proof::Setting::DataParallel as usize])
        );
        assert!(said("gpus=1&zero=0").contains(" figures of real runs on one GPU: "), "{}", said("gpus=1&zero=0"));
        assert!(said("adapter=qlora").contains(" with LoRA or QLoRA: median error "));
        assert_eq!(said("task=dpo"), "Counted tensor by tensor (the ledger). No real run of this kind was compared.");
        assert_eq!(said("method=paper"), "Counted by the paper’s formula");
    }

    #[test]
    fn the_ledger_names_the_moment_that_stops_the_next_sequence() {
        let facts = facts_of(Scenario::workshop());
        let name = facts.limit.instant.name;
        let reason = Shown::of(&facts, None).said.reason;
        assert!(reason.ends_with(&format!("at “{name}”.")), "{reason}");
    }

    #[test]
    fn lengths_that_vary_are_answered_in_tokens_as_well() {
        let facts = facts_of(bmax::link::decode("?v=3&lengths=padded&len_max=1000").scenario);
        let most = facts.answer.batch().expect("some fit");
        let said = format!("The worst micro-batch has {} tokens.", format::count(most * 1_000));
        assert!(Shown::of(&facts, None).said.reason.contains(&said), "{said}");
    }

    #[test]
    fn what_does_not_fit_says_how_many_gpus_would_be_enough() {
        let mut scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        scenario.cluster.gpus = 1;
        let shown = Shown::of(&facts_of(scenario), None);
        assert!(!shown.said.fits);
        assert!(shown.said.reason.ends_with(" 2 GPUs would be enough."), "{}", shown.said.reason);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_an_answer_and_a_reason(scenario in any_scenario()) {
            let shown = Shown::of(&facts_of(scenario), None);
            let mut said = shown.said.clone();
            prop_assert!(!said.growth.is_empty() || !said.fits || facts_of(scenario).answer.by_host());
            if said.growth.is_empty() {
                said.growth = "Nothing to say.".to_owned();
            }
            texts_are_sound(&Shown { said, ..shown });
        }
    }
}
