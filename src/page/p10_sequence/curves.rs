//! The five curves as data.

use bmax::{Scenario, catalogue, sweep};
use leptos::prelude::*;

use crate::site::State;
use crate::site::chart::spec::{Axes, Curve};

/// The catalogue rows of the reference curves.
const REFERENCES: [&str; 4] = ["1b", "7b", "13b", "70b"];
/// The curves in the order of legend and table, the reader's own last.
pub const NAMES: [&str; 5] = ["1B", "7B", "13B", "70B", "yours"];
/// The position of the reader's own curve.
pub const OWN: usize = 4;
/// Lengths at which a curve is known.
const POINTS: usize = 64;

/// The curves and what they are drawn by.
#[derive(Clone, Copy)]
pub struct Curves {
    /// The lengths at which they are known, in tokens.
    pub lengths: StoredValue<Vec<u32>>,
    /// What is swept along the length, curve by curve.
    pub scenarios: Memo<Vec<Scenario>>,
    /// The curves.
    pub all: Memo<Vec<Curve>>,
    /// The axes on which they are all seen.
    pub axes: Memo<Axes>,
}

impl Curves {
    /// The curves of a state. Each is computed again only when something changes that it depends
    /// on: moving the micro-batch or the sequence length computes none, changing the reader's model
    /// only one.
    pub fn new(state: State) -> Self {
        let lengths = StoredValue::new(sweep::sequence_lengths(POINTS));
        let references = Memo::new(move |_| {
            let scenario = state.scenario.get();
            let rows = REFERENCES.into_iter().filter_map(catalogue::model);
            rows.map(|row| without_bystanders(sweep::reference(&scenario, row.model))).collect::<Vec<_>>()
        });
        let own = Memo::new(move |_| without_bystanders(state.scenario.get()));
        let curve_of = move |scenario: &Scenario| Curve {
            batches: lengths.with_value(|lengths| sweep::b_max_by_sequence(scenario, lengths)),
            longest: sweep::longest_sequence(scenario),
        };
        let reference_curves = Memo::new(move |_| references.with(|all| all.iter().map(curve_of).collect::<Vec<_>>()));
        let own_curve = Memo::new(move |_| own.with(curve_of));
        let scenarios = Memo::new(move |_| {
            let mut all = references.get();
            all.push(own.get());
            all
        });
        let all = Memo::new(move |_| {
            let mut all = reference_curves.get();
            all.push(own_curve.get());
            all
        });
        let axes = Memo::new(move |_| lengths.with_value(|lengths| all.with(|all| Axes::of(lengths, all))));
        Self { lengths, scenarios, all, axes }
    }
}

/// The scenario with fixed values for everything a curve does not depend on, so that curves of
/// scenarios that differ only there are seen to be the same.
fn without_bystanders(scenario: Scenario) -> Scenario {
    let usual = Scenario::default();
    let mut bare = Scenario { goal: usual.goal, comparison: usual.comparison, ..scenario }.with_batch(1);
    bare.recipe.sequence = usual.recipe.sequence;
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Field;

    #[test]
    fn what_a_curve_does_not_depend_on_does_not_tell_scenarios_apart() {
        let scenario = Scenario::default();
        for field in [Field::Batch, Field::Sequence, Field::GlobalBatch, Field::ComparisonGpus] {
            let other = scenario.with_number(field, 77.0).expect("in range");
            assert_eq!(without_bystanders(other), without_bystanders(scenario), "{field:?}");
        }
        for field in [Field::Gpus, Field::Memory, Field::Headroom, Field::Hidden] {
            let other = scenario.with_number(field, 48.0).expect("in range");
            assert_ne!(without_bystanders(other), without_bystanders(scenario), "{field:?}");
        }
    }

    #[test]
    fn every_reference_is_in_the_catalogue_under_its_name() {
        let found: Vec<_> = REFERENCES.into_iter().filter_map(catalogue::model).map(|row| row.name).collect();
        assert_eq!(found, NAMES[..OWN]);
    }
}
