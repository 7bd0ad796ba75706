//! What the figure shows: the ranked changes, what was applied of them, and what would gain nothing.

use bmax::levers::{Change, Lever};
use bmax::ways::{Way, Ways};
use bmax::{Choice, Field, Scenario, Unit, b_max};

use super::applied::{Applied, holding};
use super::text::{describe, still_missing, token_account};
use crate::site::{Facts, Ranking, format};

/// How many changes are in sight; the others are folded away.
const IN_SIGHT: usize = 5;

/// Where the configuration stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Now {
    /// The method in use.
    pub method: String,
    /// The largest micro-batch by it.
    pub most: String,
    /// What it counts.
    pub unit: &'static str,
    /// Whether one fits.
    pub fits: bool,
    /// What was applied here and still holds, each with its name.
    pub applied: Vec<(Applied, String)>,
}

impl Now {
    /// Where these facts stand after the changes in this list.
    pub fn of(facts: &Facts, applied: &[Applied]) -> Self {
        let named = |entry: Applied| (entry, describe(entry.change));
        Self {
            method: facts.scenario.method.label().to_owned(),
            most: format::answer(&facts.answer),
            unit: facts.scenario.unit().word(facts.answer.batch().unwrap_or(0).into()),
            fits: facts.answer.batch().is_some(),
            applied: holding(applied, &facts.scenario).into_iter().map(named).collect(),
        }
    }
}

/// The changes that are open, the strongest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Those that make room; where nothing fits, the cheapest first, alone and together.
    pub gaining: Vec<Gain>,
    /// How many of them are folded away, in words.
    pub rest_count: String,
    /// What is said where nothing makes room.
    pub none: String,
    /// How many would make none by themselves.
    pub idle: u32,
    /// The same in words.
    pub idle_count: String,
}

/// A change that makes room, or several that do together.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// The changes.
    pub changes: Vec<Change>,
    /// The same as an instruction.
    pub name: String,
    /// What they cost.
    pub cost: String,
    /// What it does to the tokens of a step, for a shorter sequence.
    pub tokens: Option<String>,
    /// The largest micro-batch before it.
    pub before: String,
    /// The same with it.
    pub after: String,
    /// What is gained.
    pub gain: String,
    /// Both as parts of what the strongest change leads to.
    pub shares: [String; 2],
}

impl Ranked {
    /// What a ranking shows.
    pub fn of(ranking: &Ranking) -> Self {
        let (gaining, ways) = (ranking.gaining(), &ranking.ways);
        // The longest bar is that of what leads farthest.
        let alone = gaining.iter().filter_map(|lever| lever.after);
        let most = alone.chain(ways.fitting.iter().map(|way| way.after)).max().unwrap_or(1);
        let idle = ranking.idle().len() as u32;
        // Where nothing fits, single changes are among the ways.
        let gaining: Vec<Gain> = if ways.fitting.is_empty() {
            gaining.iter().map(|lever| Gain::of(lever, most, &ranking.scenario)).collect()
        } else {
            ways.fitting.iter().take(WAYS_SHOWN).map(|way| Gain::of_way(way, most, &ranking.scenario)).collect()
        };
        let rest = gaining.len().saturating_sub(IN_SIGHT) as u32;
        Self {
            gaining,
            rest_count: format::counted(rest, "more change that makes room", "more changes that make room"),
            none: none(ways, ranking.scenario.unit()),
            idle,
            idle_count: format::counted(idle, "change", "changes"),
        }
    }

    /// Those in sight.
    pub fn first(&self) -> &[Gain] {
        &self.gaining[..self.gaining.len().min(IN_SIGHT)]
    }

    /// Those that are folded away.
    pub fn rest(&self) -> &[Gain] {
        &self.gaining[self.gaining.len().min(IN_SIGHT)..]
    }

    /// Whether no single change makes room. Several of those that gain nothing alone may together.
    pub fn alone(&self) -> bool {
        self.gaining.is_empty()
    }
}

impl Gain {
    fn of(lever: &Lever, most: u32, scenario: &Scenario) -> Self {
        let batch = |batch: Option<u32>| batch.map_or_else(|| "does not fit".to_owned(), format::count);
        let share = |batch: Option<u32>| f64::from(batch.unwrap_or(0)) / f64::from(most.max(1));
        Self {
            changes: vec![lever.change],
            name: describe(lever.change),
            cost: lever.change.cost().to_owned(),
            tokens: match (lever.change, lever.after) {
                (Change::Number(Field::Sequence, shorter), Some(after)) => {
                    let unit = scenario.unit();
                    Some(token_account(unit, lever.before, scenario.recipe.sequence, after, shorter as u32))
                }
                _ => None,
            },
            before: batch(lever.before),
            after: batch(lever.after),
            gain: format!("+{}", format::count(lever.gain())),
            shares: [lever.before, lever.after].map(|batch| format::css_percent(share(batch))),
        }
    }

    fn of_way(way: &Way, most: u32, scenario: &Scenario) -> Self {
        let costs = way.changes.iter().map(|change| change.cost()).filter(|cost| !cost.is_empty());
        Self {
            changes: way.changes.clone(),
            name: together(&way.changes),
            cost: costs.collect::<Vec<_>>().join(" "),
            tokens: None,
            before: format::answer(&b_max(scenario)),
            after: format::count(way.after),
            gain: format!("+{}", format::count(way.after)),
            shares: [0, way.after].map(|batch| format::css_percent(f64::from(batch) / f64::from(most.max(1)))),
        }
    }
}

/// How many ways out are listed.
const WAYS_SHOWN: usize = 8;

/// Changes that are made together, as one instruction.
pub fn together(changes: &[Change]) -> String {
    changes.iter().map(|change| describe(*change)).collect::<Vec<_>>().join(" + ")
}

/// What is said where nothing makes room: what comes closest, if nothing fits at all.
fn none(ways: &Ways, unit: Unit) -> String {
    let Some((changes, lacking)) = &ways.closest else {
        return "No single technique makes room for more. Apply two or more of these; each says what would still be missing."
            .to_owned();
    };
    let lacks = format!("one {} is still {} too much", unit.one(), format::memory(*lacking));
    if changes.is_empty() {
        format!("Nothing that was tried makes room, alone or together: {lacks}.")
    } else {
        format!("Nothing that was tried makes room, alone or together. Closest: {}; {lacks}.", together(changes))
    }
}

/// A change that makes no room by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Idle {
    /// The change.
    pub change: Change,
    /// The same as an instruction.
    pub name: String,
    /// What would still be missing.
    pub why: String,
}

impl Idle {
    /// The idle changes of a ranking, with reasons that cost an answer each.
    pub fn all(ranking: &Ranking) -> Vec<Self> {
        let idle = |lever: &Lever| Self {
            change: lever.change,
            name: describe(lever.change),
            why: still_missing(&b_max(&lever.change.apply(ranking.scenario)), ranking.scenario.unit()),
        };
        ranking.idle().iter().map(idle).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::{Field, Recomputation, setting::Word};
    use proptest::prelude::*;

    fn ranked(scenario: &Scenario) -> Ranked {
        Ranked::of(&Ranking::of(scenario))
    }

    #[test]
    fn the_strongest_change_of_the_default_has_the_longest_bar() {
        let ranked = ranked(&Scenario::workshop());
        let first = &ranked.gaining[0];
        assert_eq!(first.changes, [Change::Word(Word::Recomputation(Recomputation::Full))]);
        assert_eq!(first.shares[1], "100.000%");
        let after = |gain: &Gain| bmax::number::parse(&gain.after).expect("a number");
        assert!(ranked.gaining.is_sorted_by(|one, next| after(one) >= after(next)));
    }

    #[test]
    fn only_a_shorter_sequence_is_judged_by_tokens() {
        for gain in ranked(&Scenario::workshop()).gaining {
            assert_eq!(
                gain.tokens.is_some(),
                matches!(gain.changes[..], [Change::Number(Field::Sequence, _)]),
                "{}",
                gain.name
            );
        }
    }

    #[test]
    fn where_nothing_fits_ways_are_named_and_each_idle_change_says_what_is_missing() -> Result<(), bmax::InputError> {
        let large = bmax::catalogue::model("70b").expect("listed").apply(Scenario::workshop());
        let scenario = large.with_number(Field::Gpus, 1.0)?;
        let ranking = Ranking::of(&scenario);
        let ranked = Ranked::of(&ranking);
        assert!(!ranked.alone() && ranking.ways.closest.is_none());
        let names: Vec<_> = ranked.gaining.iter().map(|gain| gain.name.as_str()).collect();
        assert!(names.iter().any(|name| name.contains("Train QLoRA adapters")), "{names:?}");
        let idle = Idle::all(&ranking);
        assert!(!idle.is_empty());
        for idle in idle {
            assert!(idle.why.starts_with("Still does not fit: one sequence would be "), "{}: {}", idle.name, idle.why);
        }
        Ok(())
    }

    #[test]
    fn what_was_applied_is_named_for_as_long_as_it_holds() {
        let change = Change::Number(Field::Gpus, 16.0);
        let applied = [Applied { change, inverse: change.undo(&Scenario::workshop()) }];
        let now = |scenario| Now::of(&facts_of(scenario), &applied).applied;
        assert_eq!(now(change.apply(Scenario::workshop())), [(applied[0], "Use 16 GPUs".to_owned())]);
        assert_eq!(now(Scenario::workshop()), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_change_open_to_any_scenario_leads_where_it_says(scenario in any_scenario()) {
            let ranking = Ranking::of(&scenario.with_batch(1));
            let ranked = Ranked::of(&ranking);
            texts_are_sound(&(&ranked, Idle::all(&ranking)));
            for gain in &ranked.gaining {
                let with = gain.changes.iter().fold(scenario, |scenario, change| change.apply(scenario));
                let most = b_max(&with).batch().expect("it makes room");
                prop_assert_eq!(&gain.after, &format::count(most));
            }
        }
    }
}
