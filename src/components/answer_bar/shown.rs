//! What the bar says.

use bmax::{Answer, Choice};

use crate::site::{Facts, Standing, format};

/// The texts of the bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Whether there is a micro-batch that fits.
    pub fits: bool,
    /// Whether nobody can say, because the configuration has no answer.
    pub unanswered: bool,
    /// The largest of them.
    pub answer: String,
    /// Whose answer it is, and its bounds.
    pub outlook: String,
    /// The chosen micro-batch.
    pub batch: String,
    /// What is used of what may be used: one text, so that its beginning stays in its place whatever its length.
    pub used: String,
    /// How the chosen micro-batch stands.
    pub standing: Standing,
    /// What stops the next sequence.
    pub binds: String,
    /// The answer as it is spoken.
    pub spoken: String,
}

impl Shown {
    /// What these facts say.
    pub fn of(facts: &Facts) -> Self {
        let peak = format::digits(facts.estimate.peak().bytes.gib(), 1);
        Self {
            fits: facts.answer.batch().is_some(),
            unanswered: !facts.is_answered(),
            answer: format::answer(&facts.answer),
            outlook: outlook(facts),
            batch: format!(" = {}: ", format::count(facts.scenario.recipe.batch)),
            used: format!("{peak} / {}", format::gib(facts.estimate.usable())),
            standing: Standing::of(facts),
            binds: what_binds(facts),
            spoken: spoken(facts),
        }
    }
}

/// The method and, where unknowns part them, the safe and the optimistic answer.
fn outlook(facts: &Facts) -> String {
    let method = facts.scenario.method.label();
    let [safe, optimistic] = [&facts.range.safe, &facts.range.optimistic].map(format::answer);
    if safe == optimistic { format!("{method} method") } else { format!("{method}: safe {safe}, at best {optimistic}") }
}

/// What stops the next sequence, in a few words.
fn what_binds(facts: &Facts) -> String {
    let short = match &facts.answer {
        Answer::Fits(room) if room.capped => return "no limit within the range".to_owned(),
        Answer::Fits(room) if room.by_host => {
            format!("next sequence lacks {} of CPU memory", format::memory(room.next_lacks))
        }
        Answer::Fits(room) => {
            format!("next {} lacks {}", facts.scenario.unit().one(), format::memory(room.next_lacks))
        }
        Answer::Infeasible(reason) if facts.limit.in_host => {
            format!("CPU memory: each machine lacks {}", format::memory(reason.over))
        }
        Answer::Infeasible(reason) => {
            format!("{}: {} over", facts.limit.largest.bucket.name(), format::memory(reason.over))
        }
        Answer::Refused(refusal) => return format::would_be(refusal, facts.scenario.unit()),
    };
    if facts.is_ledger() { format!("{short} {}", format::at_instant(facts.limit.instant)) } else { short }
}

fn spoken(facts: &Facts) -> String {
    let (method, unit) = (facts.scenario.method.label(), facts.scenario.unit());
    let most = match (&facts.answer, format::shortage(&facts.answer, unit)) {
        (Answer::Fits(room), _) => {
            format!("{method} method: {} per GPU at most", format::batch(room.batch, unit))
        }
        (Answer::Infeasible(_), reason) => {
            return format!("{method} method: does not fit. {}", reason.unwrap_or_default());
        }
        (Answer::Refused(_), reason) => return reason.unwrap_or_default(),
    };
    match &facts.range.safe {
        safe if safe.batch() == facts.answer.batch() => most + ".",
        safe => format!("{most}; to be safe, {}.", format::answer(safe)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::{Method, Scenario};
    use proptest::prelude::*;

    #[test]
    fn the_worked_7b_example_is_told_in_one_line() {
        let shown = Shown::of(&facts_of(Scenario { method: Method::Workshop, ..Scenario::default() }));
        assert!(shown.fits);
        assert_eq!((shown.answer.as_str(), shown.outlook.as_str()), ("3", "Workshop method"));
        assert_eq!((shown.batch.as_str(), shown.used.as_str()), (" = 3: ", "64.0 / 72.0 GiB"));
        assert_eq!(shown.binds, "next sequence lacks 9.04 GiB");
        assert_eq!(shown.spoken, "Workshop method: 3 sequences per GPU at most.");
    }

    #[test]
    fn what_does_not_fit_names_what_is_largest() {
        let mut scenario = Scenario { method: Method::Workshop, ..Scenario::default() };
        scenario.cluster.gpus = 1;
        let shown = Shown::of(&facts_of(scenario));
        assert!(!shown.fits);
        assert!(shown.binds.contains(": ") && shown.binds.ends_with(" over"), "{}", shown.binds);
        assert!(shown.spoken.starts_with("Workshop method: does not fit. Parameters"), "{}", shown.spoken);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_its_line(scenario in any_scenario()) {
            texts_are_sound(&Shown::of(&facts_of(scenario)));
        }
    }
}
