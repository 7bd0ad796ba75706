//! What the bar says.

use bmax::{Answer, Method};

use crate::site::{self, Facts, Standing, format};

/// The texts of the bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The model and what is trained of it, where there is no room for the whole line.
    pub configuration: String,
    /// How many settings differ from their defaults; empty for none.
    pub changed: String,
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
    /// How the chosen micro-batch stands.
    pub standing: Standing,
    /// The answer as it is spoken.
    pub spoken: String,
    /// How many configurations are pinned; empty for none.
    pub pinned: String,
}

impl Shown {
    /// What these facts say.
    pub fn of(facts: &Facts, pinned: usize) -> Self {
        Self {
            configuration: format::model(&facts.scenario),
            changed: changed(facts),
            fits: facts.answer.batch().is_some(),
            unanswered: !facts.is_answered(),
            answer: format::answer(&facts.answer),
            outlook: outlook(facts),
            batch: format!(" = {} ", format::count(facts.scenario.recipe.batch)),
            standing: Standing::of(facts),
            spoken: spoken(facts),
            pinned: if pinned == 0 { String::new() } else { format::count(pinned as u32) },
        }
    }
}

/// How many settings the drawer of all settings lists as changed.
fn changed(facts: &Facts) -> String {
    match site::changed(facts).count() {
        0 => String::new(),
        some => some.to_string(),
    }
}

/// How an answer was counted, in words that need no other page.
const fn counted(method: Method) -> &'static str {
    match method {
        Method::Ledger => "Counted tensor by tensor",
        Method::Workshop => "Counted as the workshop does",
        Method::Paper => "Counted as the paper does",
    }
}

/// How it was counted and, where unknowns part them, the safe and the optimistic answer.
fn outlook(facts: &Facts) -> String {
    let counted = counted(facts.scenario.method);
    let [safe, optimistic] = [&facts.range.safe, &facts.range.optimistic].map(format::answer);
    if safe == optimistic { counted.to_owned() } else { format!("{counted}: safe {safe}, at best {optimistic}") }
}

fn spoken(facts: &Facts) -> String {
    let (counted, unit) = (counted(facts.scenario.method), facts.scenario.unit());
    let most = match (&facts.answer, format::shortage(&facts.answer, unit)) {
        (Answer::Fits(room), _) => {
            format!("{counted}: {} per GPU at most", format::batch(room.batch, unit))
        }
        (Answer::Infeasible(_), reason) => {
            return format!("{counted}: does not fit. {}", reason.unwrap_or_default());
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
    use bmax::Scenario;
    use bmax::link::Pinned;
    use proptest::prelude::*;

    #[test]
    fn the_worked_7b_example_is_told_in_one_line() {
        let shown = Shown::of(&facts_of(Scenario { method: Method::Workshop, ..Scenario::workshop() }), 0);
        assert!(shown.fits);
        assert_eq!((shown.answer.as_str(), shown.outlook.as_str()), ("3", "Counted as the workshop does"));
        assert_eq!((shown.batch.as_str(), shown.configuration.as_str()), (" = 3 ", "7B"));
        assert_eq!(shown.changed, "1", "the method");
        assert_eq!(shown.spoken, "Counted as the workshop does: 3 sequences per GPU at most.");
    }

    #[test]
    fn what_does_not_fit_is_spoken_with_what_is_largest() {
        let mut scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        scenario.cluster.gpus = 1;
        let shown = Shown::of(&facts_of(scenario), 0);
        assert!(!shown.fits);
        assert!(shown.spoken.starts_with("Counted as the workshop does: does not fit. Parameters"), "{}", shown.spoken);
    }

    #[test]
    fn what_is_pinned_is_counted_and_of_nothing_there_is_no_count() {
        let facts = facts_of(Scenario::default());
        let most = Shown::of(&facts, Pinned::MOST).pinned;
        assert_eq!([0, 1, 2].map(|pinned| Shown::of(&facts, pinned).pinned), ["", "1", "2"]);
        assert_eq!(most, Pinned::MOST.to_string());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_its_line(scenario in any_scenario()) {
            texts_are_sound(&Shown::of(&facts_of(scenario), 2));
        }
    }
}
