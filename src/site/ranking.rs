//! The ranking of single changes, which several figures show and none should compute again.

use std::cell::RefCell;

use bmax::catalogue;
use bmax::levers::{self, Change, Lever};
use bmax::ways::{Ways, ways};
use bmax::{Scenario, b_max};

/// The changes that are open to a scenario, the strongest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The scenario, at one sequence: the ranking does not depend on the micro-batch.
    pub scenario: Scenario,
    levers: Vec<Lever>,
    /// How many of them make room.
    gaining: usize,
    /// The ways out, where nothing fits or nothing can be said.
    pub ways: Ways,
}

impl Ranking {
    /// Tries every single change on `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        let levers = levers::ranked(scenario, &catalogue::larger_devices(scenario.device.memory));
        // They are ranked by where they lead, from where all of them start.
        let gaining = levers.iter().position(|lever| lever.gain() == 0).unwrap_or(levers.len());
        let ways = match b_max(scenario).batch() {
            Some(_) => Ways::default(),
            None => {
                let devices: Vec<Change> = catalogue::sizes_above(scenario.device.memory).collect();
                ways(scenario, &devices)
            }
        };
        Self { scenario: *scenario, levers, gaining, ways }
    }

    /// The ranking of `scenario`, and whether it differs from the one before. A moved micro-batch
    /// changes nothing and costs nothing.
    pub(super) fn next(scenario: Scenario, before: Option<Self>) -> (Self, bool) {
        let scenario = scenario.with_batch(1);
        match before {
            Some(ranking) if ranking.scenario == scenario => (ranking, false),
            _ => (Self::known(&scenario), true),
        }
    }

    /// The ranking of `scenario`, which the figure before may have asked for.
    fn known(scenario: &Scenario) -> Self {
        thread_local! {
            static LAST: RefCell<Option<Ranking>> = const { RefCell::new(None) };
        }
        let last = LAST.with_borrow(|last| last.as_ref().filter(|last| last.scenario == *scenario).cloned());
        last.unwrap_or_else(|| {
            let ranking = Self::of(scenario);
            LAST.set(Some(ranking.clone()));
            ranking
        })
    }

    /// The changes that make room, the strongest first.
    pub fn gaining(&self) -> &[Lever] {
        &self.levers[..self.gaining]
    }

    /// The changes that would make none by themselves.
    pub fn idle(&self) -> &[Lever] {
        &self.levers[self.gaining..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Field, Method, Recomputation, setting::Word};

    #[test]
    fn the_first_view_gains_most_from_recomputing_whole_layers() {
        for method in [Method::Ledger, Method::Workshop] {
            let scenario = Scenario { method, ..Scenario::workshop() };
            let ranking = Ranking::of(&scenario);
            let first = ranking.gaining().first().expect("something helps");
            assert_eq!(first.change, Word::Recomputation(Recomputation::Full).into());
            assert_eq!(first.before, bmax::largest_micro_batch(&scenario));
        }
    }

    #[test]
    fn no_change_is_both_gaining_and_idle() {
        let alone = Scenario::workshop().with_number(Field::Gpus, 1.0).expect("in range");
        let ranking = Ranking::of(&alone);
        assert!(ranking.idle().iter().all(|lever| lever.gain() == 0));
        assert!(ranking.gaining().iter().all(|lever| lever.before.is_none() && lever.after.is_some()));
    }

    #[test]
    fn a_moved_micro_batch_keeps_the_ranking() {
        let (first, _) = Ranking::next(Scenario::workshop(), None);
        assert_eq!(Ranking::next(Scenario::workshop().with_batch(9), Some(first.clone())), (first, false));
    }
}
