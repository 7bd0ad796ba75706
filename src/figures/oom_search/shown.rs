//! What the figure shows: the search on one side, the closed form on the other, and what both say.

use bmax::search::{Probe, by_running_out};
use bmax::{
    Bytes,
    division::{Division, division},
};

use super::track::{Track, numbers};
use super::{closed_form, words};
use crate::site::{Facts, format};

/// The whole search, and the division that gives the same number.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Its attempts.
    pub trace: Vec<Probe>,
    usable: Bytes,
    shortage: String,
    closed: f64,
    /// Whether CPU memory stops the search, of which the division knows nothing.
    in_host: bool,
    /// The usable memory, which the mark on every bar is.
    pub usable_text: String,
    /// The numbers below the axis, each with its place.
    pub marks: Vec<(String, String)>,
    /// The division in numbers and its value, as MathML.
    pub formula: [String; 2],
    /// Which division it is.
    pub explanation: String,
}

impl Search {
    /// The search of these facts.
    pub fn of(facts: &Facts) -> Self {
        let (trace, usable) = (by_running_out(&facts.scenario), facts.estimate.usable());
        let sizes: Division = division(&facts.scenario);
        Self {
            usable,
            shortage: nothing_fits(facts),
            closed: closed_form::result(&sizes),
            in_host: facts.answer.by_host(),
            usable_text: format::memory(usable),
            marks: numbers(&trace),
            formula: closed_form::numbers(&sizes),
            explanation: closed_form::explanation(&sizes, facts.is_ledger(), facts.scenario.unit()),
            trace,
        }
    }

    /// What is known when so many attempts have been made.
    pub fn after(&self, made: usize) -> Progress {
        let is_over = made >= self.trace.len();
        // The scale is that of the whole search, so that no bar changes its length as others come.
        let longest = longest(&self.trace, self.usable);
        let attempt = |(at, probe): (usize, &Probe)| Attempt {
            batch: format!("b = {}", format::count(probe.batch)),
            fits: probe.fits,
            is_last: made == at + 1,
            fill: format::css_percent(probe.peak.share_of(longest)),
            limit: format::css_percent(self.usable.share_of(longest)),
            peak: format::memory(probe.peak),
            known: format!(
                "Attempt {}, {}: {}",
                format::count(at as u32 + 1),
                words::phase(probe),
                words::known(probe)
            ),
        };
        Progress {
            said: words::step(&self.trace, made, &self.shortage),
            whole: words::whole(&self.trace, &self.shortage),
            track: Track::of(&self.trace, made.checked_sub(1).and_then(|last| self.trace.get(last))),
            attempts: self.trace.iter().take(made).enumerate().map(attempt).collect(),
            is_over,
            result: if is_over {
                words::verdict(&self.trace, self.closed, self.in_host)
            } else {
                "The search has not ended yet.".to_owned()
            },
        }
    }
}

/// That nothing fits, and why.
fn nothing_fits(facts: &Facts) -> String {
    let unit = facts.scenario.unit();
    format!("Not even one {} fits. {}", unit.one(), format::shortage(&facts.answer, unit).unwrap_or_default())
}

/// What is known after some attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The last attempt and what comes next.
    pub said: String,
    /// What is said in its place before anybody walks.
    pub whole: String,
    /// The open interval.
    pub track: Track,
    /// The attempts.
    pub attempts: Vec<Attempt>,
    /// Whether there is nothing left to try.
    pub is_over: bool,
    /// What search and division say together.
    pub result: String,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The micro-batch.
    pub batch: String,
    /// Whether it ran.
    pub fits: bool,
    /// Whether it is the newest.
    pub is_last: bool,
    /// The length of its bar.
    pub fill: String,
    /// Where the usable memory ends on it.
    pub limit: String,
    /// What it took.
    pub peak: String,
    /// Its place among the others, what the search was doing, and what was known then.
    pub known: String,
}

/// What the whole length of a bar stands for.
fn longest(trace: &[Probe], usable: Bytes) -> Bytes {
    trace.iter().map(|probe| probe.peak).fold(usable, |most, peak| if peak > most { peak } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::{Method, Recomputation, Scenario};
    use proptest::prelude::*;

    #[test]
    fn every_bar_and_the_mark_fit_the_scale() {
        let mut scenario = Scenario::workshop();
        for gpus in [1, 8, 64] {
            scenario.cluster.gpus = gpus;
            let (trace, usable) = (by_running_out(&scenario), scenario.usable());
            let longest = longest(&trace, usable);
            assert!(usable <= longest && trace.iter().all(|probe| probe.peak <= longest));
        }
    }

    #[test]
    fn the_search_meets_the_division_in_four_attempts_at_three_and_in_fourteen_at_117() {
        let mut scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        for (recomputation, batch, attempts) in [(Recomputation::Selective, 3, 4), (Recomputation::Full, 117, 14)] {
            scenario.recipe.recomputation = recomputation;
            let search = Search::of(&facts_of(scenario));
            let end = search.after(attempts);
            assert!(end.is_over && end.attempts.len() == attempts);
            assert_eq!(end.result, format!("Both give {batch}: {attempts} attempts against one division."));
            assert_eq!(search.after(attempts - 1).result, "The search has not ended yet.");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_is_searched_to_an_end(scenario in any_scenario()) {
            let search = Search::of(&facts_of(scenario));
            texts_are_sound(&(&search.usable_text, &search.marks, &search.formula, &search.explanation));
            for made in 0..=search.trace.len() {
                let progress = search.after(made);
                texts_are_sound(&progress);
                prop_assert_eq!(progress.attempts.len(), made);
                prop_assert_eq!(progress.is_over, made == search.trace.len());
                prop_assert_eq!(progress.attempts.iter().filter(|attempt| attempt.is_last).count(), made.min(1));
            }
        }
    }
}
