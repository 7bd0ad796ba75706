//! What the figure shows: the answer of each count, and the memory of the chosen micro-batch by it.

use bmax::{Answer, Method, Scenario, estimate, others};

use crate::site::{Facts, format};

/// The three counts in the order of the page: as taught, where that comes from, and what a GPU holds.
pub const COUNTS: [Method; 3] = [Method::Workshop, Method::Paper, Method::Ledger];

/// What the page calls a count.
pub const fn name(method: Method) -> &'static str {
    match method {
        Method::Workshop => "Workshop",
        Method::Paper => "Paper",
        Method::Ledger => "Tensor by tensor",
    }
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    workshop: Count,
    paper: Count,
    ledger: Count,
}

/// One count of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// Whether the figures of the page show it.
    pub chosen: bool,
    /// The largest micro-batch with its noun, or that there is none.
    pub most: String,
    /// The memory that the chosen micro-batch takes, or what the count has no input for.
    pub takes: String,
}

impl Shown {
    /// What these facts show.
    pub fn of(facts: &Facts) -> Self {
        let count = |method| Count::of(facts, method);
        Self { workshop: count(Method::Workshop), paper: count(Method::Paper), ledger: count(Method::Ledger) }
    }

    /// What one count makes of the configuration.
    pub const fn by(&self, method: Method) -> &Count {
        match method {
            Method::Workshop => &self.workshop,
            Method::Paper => &self.paper,
            Method::Ledger => &self.ledger,
        }
    }
}

impl Count {
    fn of(facts: &Facts, method: Method) -> Self {
        let scenario = Scenario { method, ..facts.scenario };
        let chosen = facts.scenario.method == method;
        if let Some(lacking) = others::lacking(method, &scenario) {
            let takes = format!("has no input for {}", format::lacking(&lacking));
            return Self { chosen, most: "cannot say".to_owned(), takes };
        }
        let other = facts.others.iter().find(|(other, _)| *other == method).map(|(_, answer)| answer);
        let (batch, unit) = (scenario.recipe.batch, scenario.unit());
        Self {
            chosen,
            most: match other.unwrap_or(&facts.answer) {
                Answer::Fits(room) if !room.capped => format::batch(room.batch, unit),
                answer => format::answer(answer),
            },
            takes: format!("b = {} takes {}", format::count(batch), format::memory(estimate(&scenario).peak().bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::link::{self, Beginning};
    use proptest::prelude::*;

    /// The workshop’s example: 13.04 GiB are fixed; a sequence adds 17.0 by the workshop and 8.5 by the paper, so that
    /// three take 64.0 and 38.5.
    #[test]
    fn the_workshop_s_example_is_counted_in_three_ways() {
        let example = Beginning::Workshop.scenario();
        for chosen in COUNTS {
            let shown = Shown::of(&facts_of(Scenario { method: chosen, ..example }));
            let told = COUNTS.map(|method| (shown.by(method).most.as_str(), shown.by(method).takes.as_str()));
            assert_eq!(told[0], ("3 sequences", "b = 3 takes 64.0 GiB"));
            assert_eq!(told[1], ("6 sequences", "b = 3 takes 38.5 GiB"));
            assert_eq!(told[2], ("6 sequences", "b = 3 takes 43.3 GiB"));
            assert_eq!(COUNTS.map(|method| shown.by(method).chosen), COUNTS.map(|method| method == chosen));
        }
    }

    #[test]
    fn a_count_without_an_input_says_which_it_lacks() {
        let shown = Shown::of(&facts_of(link::decode("?v=3&model=llama-3.1-8b&adapter=lora").scenario));
        for method in [Method::Workshop, Method::Paper] {
            let count = shown.by(method);
            assert!(count.most == "cannot say" && count.takes.starts_with("has no input for "), "{count:?}");
        }
        assert!(shown.by(Method::Ledger).takes.contains("GiB"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_is_counted(scenario in any_scenario()) {
            texts_are_sound(&Shown::of(&facts_of(scenario)));
        }
    }
}
