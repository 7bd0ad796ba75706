//! The five curves as data.

use super::spec::{Axes, Curve};
use crate::{
    Comparison, Method, Percent, Precision, Recomputation, Scenario, catalogue, inverse, largest_micro_batch, sweep,
};

/// The catalogue rows of the reference curves.
const REFERENCES: [&str; 4] = ["1b", "7b", "13b", "70b"];
/// The curves in the order of legend and table, the reader's own last.
pub const NAMES: [&str; 5] = ["1B", "7B", "13B", "70B", "yours"];
/// The position of the reader's own curve.
pub const OWN: usize = 4;
/// Lengths at which a curve is known.
pub const POINTS: usize = 64;

/// The curves and what they are drawn by.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// The lengths at which they are known, in tokens.
    pub lengths: Vec<u32>,
    /// What is swept along the length, curve by curve.
    pub scenarios: Vec<Scenario>,
    /// The curves.
    pub all: Vec<Curve>,
    /// The axes on which they are all seen.
    pub axes: Axes,
}

impl Curves {
    /// The curves of `scenarios`, with those taken from `before` that are the same.
    #[must_use]
    pub fn along(scenarios: Vec<Scenario>, before: Option<Self>) -> Self {
        let lengths = sweep::sequence_lengths(POINTS);
        let curve_of = |scenario: &Scenario| match before.as_ref().and_then(|before| before.curve_of(scenario)) {
            Some(curve) => curve.clone(),
            None => Curve {
                batches: sweep::b_max_by_sequence(scenario, &lengths),
                longest: inverse::longest_sequence(scenario, 1),
            },
        };
        let all: Vec<_> = scenarios.iter().map(curve_of).collect();
        let axes = Axes::of(&lengths, &all);
        Self { lengths, scenarios, all, axes }
    }

    /// The largest micro-batch of one curve at any length.
    pub fn batch(&self, position: usize, length: u32) -> Option<u32> {
        let mut at = *self.scenarios.get(position)?;
        at.recipe.sequence = length;
        largest_micro_batch(&at)
    }

    fn curve_of(&self, scenario: &Scenario) -> Option<&Curve> {
        let position = self.scenarios.iter().position(|known| known == scenario)?;
        self.all.get(position)
    }
}

/// What is swept, in the order of [`NAMES`], for a reader with this scenario: the reference models
/// with its GPU and its choices, and the scenario itself.
#[must_use]
pub fn swept(scenario: &Scenario) -> Vec<Scenario> {
    let rows = REFERENCES.into_iter().filter_map(catalogue::model);
    let references = rows.map(|row| sweep::reference(scenario, row.model));
    references.chain([*scenario]).map(without_bystanders).collect()
}

/// The scenario with the chart set as the workshop sets its own: reference models on one A100 80 GB, of which a tenth
/// stays free, in mixed precision, attention recomputed, by the workshop's count
/// ([Finding the Maximum Local Batch Size](https://vizuaraai.github.io/5d-parallelism-visual-guide/max-local-batch-size.html),
/// "Maximum Batch Size vs. Sequence Length"). The reader's own model, its GPUs and its recomputation stay as they are.
#[must_use]
pub fn as_in_workshop(scenario: &Scenario) -> Scenario {
    let device = catalogue::device("a100-80").map_or(*scenario, |row| row.apply(*scenario)).device;
    let mut set = Scenario { method: Method::Workshop, device, ..*scenario };
    set.device.headroom = Percent::new(10.0);
    set.recipe.precision = Precision::Bf16;
    set.comparison = Comparison { gpus: 1, recomputation: Recomputation::Selective };
    set
}

/// The scenario with everything that [`as_in_workshop`] sets as it is in `before`.
#[must_use]
pub fn set_back(scenario: &Scenario, before: &Scenario) -> Scenario {
    let mut back =
        Scenario { method: before.method, device: before.device, comparison: before.comparison, ..*scenario };
    back.recipe.precision = before.recipe.precision;
    back
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
    use crate::Field;

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
    fn the_workshop_s_chart_has_room_for_1b_on_one_gpu_and_none_for_the_three_larger_models() {
        let set = as_in_workshop(&Scenario::default());
        let curves = Curves::along(swept(&set), None);
        // 80 GiB × 0.9 less 16·10⁹ bytes leave 57.1 GiB; a sequence takes 24 · 34 · 2048 · 2048 · 2 bytes, 6.375 GiB.
        assert_eq!(curves.batch(0, 2_048), Some(8));
        // 16·N is 104 GiB at 7B.
        assert!(curves.all[1..OWN].iter().all(|curve| curve.longest.is_none()));
    }

    #[test]
    fn what_the_workshop_s_chart_sets_can_be_set_back_and_what_was_changed_meanwhile_stays() {
        for query in ["", "?gpu=h200&precision=fp32&method=paper&chart_gpus=8&model=13b&gpus=64"] {
            let before = crate::link::decode(query).scenario;
            let set = as_in_workshop(&before);
            assert_eq!(set_back(&set, &before), before);
            assert_eq!(as_in_workshop(&set), set);
            assert_eq!((set.model, set.cluster.gpus), (before.model, before.cluster.gpus));
            assert_eq!(set_back(&set.with_batch(9), &before), before.with_batch(9));
        }
    }

    #[test]
    fn curves_that_are_taken_over_are_those_that_would_be_computed() {
        let scenario = Scenario::default();
        let before = Curves::along(swept(&scenario), None);
        let other = swept(&scenario.with_number(Field::Hidden, 2_048.0).expect("in range"));
        assert_ne!(other, before.scenarios);
        assert_eq!(Curves::along(other.clone(), Some(before)), Curves::along(other, None));
    }

    #[test]
    fn every_reference_is_in_the_catalogue_under_its_name() {
        let found: Vec<_> = REFERENCES.into_iter().filter_map(catalogue::model).map(|row| row.name).collect();
        assert_eq!(found, NAMES[..OWN]);
    }
}
