//! The five curves as data.

use super::axis::{of_memory, of_model};
use super::spec::{Axes, Curve, End};
use crate::{
    ChartAxis, Comparison, Method, Model, Percent, Precision, Recomputation, Scenario, Unit, catalogue, inverse,
    largest_micro_batch, sweep,
};

/// The catalogue rows of the reference curves where the axis is no model's size.
const REFERENCES: [&str; 4] = ["1b", "7b", "13b", "70b"];
/// The catalogue rows of the reference curves over a model's size.
pub(super) const DEVICES: [&str; 4] = ["rtx-4090", "a100-40", "a100-80", "h200"];
/// The position of the reader's own curve.
pub const OWN: usize = 4;
/// Places at which a curve is known, about.
pub const POINTS: usize = 64;

/// The curves and what they are drawn by.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// What they are drawn against.
    pub axis: ChartAxis,
    /// The places at which they are known, increasing: tokens, millions of parameters, or MiB.
    pub places: Vec<u32>,
    /// The model at each place, where the axis is its size.
    models: Vec<Model>,
    /// What is swept along the axis, curve by curve.
    pub scenarios: Vec<Scenario>,
    /// The curves.
    pub all: Vec<Curve>,
    /// The axes on which they are all seen.
    pub axes: Axes,
}

impl Curves {
    /// What their numbers count: the task of the reader’s own configuration is that of all of them.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.scenarios.last().map_or(Unit::Sequences, Scenario::unit)
    }

    /// The curves of `scenarios`, the reader's own last, with those taken from `before` that are the same.
    #[must_use]
    pub fn along(scenarios: Vec<Scenario>, before: Option<Self>) -> Self {
        let own = scenarios.last().copied().unwrap_or_default();
        let axis = own.comparison.against;
        let mut models = Vec::new();
        let places = match axis {
            ChartAxis::Sequence => sweep::sequence_lengths(POINTS),
            ChartAxis::Memory => sweep::memories(&own, POINTS),
            ChartAxis::Size => {
                models = sweep::model_sizes(&own.model, POINTS);
                // Models that differ by less than the place tells apart are one; the reader's own stays.
                models.dedup_by(|next, kept| {
                    let is_same = of_model(next) == of_model(kept);
                    if is_same && *next == own.model {
                        *kept = *next;
                    }
                    is_same
                });
                models.iter().map(of_model).collect()
            }
        };
        let before = before.filter(|before| before.axis == axis && before.places == places && before.models == models);
        let curve_of = |scenario: &Scenario| match before.as_ref().and_then(|before| before.curve_of(scenario)) {
            Some(curve) => curve.clone(),
            None => match axis {
                ChartAxis::Sequence => along_sequence(scenario, &places),
                ChartAxis::Size => along_size(scenario, &models),
                ChartAxis::Memory => along_memory(scenario, &places),
            },
        };
        let all: Vec<_> = scenarios.iter().map(curve_of).collect();
        let axes = Axes::of(axis, &places, &all);
        Self { axis, places, models, scenarios, all, axes }
    }

    /// The largest micro-batch of one curve at any place; where the axis is a model's size, at those of the curves.
    pub fn batch(&self, position: usize, place: u32) -> Option<u32> {
        let scenario = *self.scenarios.get(position)?;
        match self.axis {
            ChartAxis::Sequence => sweep::b_max_at_length(&scenario, place),
            ChartAxis::Size | ChartAxis::Memory => largest_micro_batch(&self.at(scenario, place)?),
        }
    }

    /// A scenario moved to a place of the axis; nothing where no model has this size.
    pub fn at(&self, mut scenario: Scenario, place: u32) -> Option<Scenario> {
        match self.axis {
            ChartAxis::Sequence => scenario.recipe.sequence = place,
            ChartAxis::Memory => scenario = sweep::with_memory(scenario, place),
            ChartAxis::Size => scenario.model = *self.models.get(self.places.iter().position(|one| *one == place)?)?,
        }
        Some(scenario)
    }

    /// Where the table has its rows: the places next to the ticks, and the reader's own size, at which a model is known.
    pub fn stops(&self) -> Vec<usize> {
        let distance = |place: u32, tick: u32| (f64::from(place) / f64::from(tick)).ln().abs();
        let nearest = |tick: u32| {
            let places = self.places.iter().enumerate();
            places.min_by(|a, b| distance(*a.1, tick).total_cmp(&distance(*b.1, tick))).map(|(at, _)| at)
        };
        let own = self.scenarios.last().filter(|_| self.axis != ChartAxis::Sequence);
        let own = own.map(|own| super::axis::own_place(self.axis, own));
        let mut stops = Vec::new();
        for stop in self.axes.ticks.iter().map(|tick| tick.value).chain(own).filter_map(nearest) {
            // A sort is more code than all the rest.
            if let Err(at) = stops.binary_search(&stop) {
                stops.insert(at, stop);
            }
        }
        stops
    }

    fn curve_of(&self, scenario: &Scenario) -> Option<&Curve> {
        let position = self.scenarios.iter().position(|known| known == scenario)?;
        self.all.get(position)
    }
}

fn along_sequence(scenario: &Scenario, lengths: &[u32]) -> Curve {
    // One sequence fits at the end, or more where learned positions end before the memory does.
    let end = |at: u32| Some(End { at, batch: sweep::b_max_at_length(scenario, at)? });
    let end = inverse::longest_sequence(scenario, 1).and_then(end);
    Curve { batches: sweep::b_max_by_sequence(scenario, lengths), end }
}

fn along_size(scenario: &Scenario, models: &[Model]) -> Curve {
    let batch = |model: &Model| largest_micro_batch(&Scenario { model: *model, ..*scenario });
    let end = |model: Model| Some(End { at: of_model(&model), batch: batch(&model)? });
    Curve { batches: models.iter().map(batch).collect(), end: sweep::largest_size(scenario).and_then(end) }
}

fn along_memory(scenario: &Scenario, memories: &[u32]) -> Curve {
    let least = inverse::least_memory(scenario, 1);
    Curve {
        batches: sweep::b_max_by_memory(scenario, memories),
        end: least.map(|least| End { at: of_memory(least), batch: 1 }),
    }
}

/// What is swept for a reader with this scenario, in the order of [`names`](super::names): the reference models with its
/// GPU and its choices, or its model on the reference GPUs where the axis is a model's size, and the scenario itself.
#[must_use]
pub fn swept(scenario: &Scenario) -> Vec<Scenario> {
    let mut swept = Vec::with_capacity(OWN + 1);
    if scenario.comparison.against == ChartAxis::Size {
        let reference = sweep::reference(scenario, scenario.model);
        swept.extend(DEVICES.into_iter().filter_map(catalogue::device).map(|row| row.apply(reference)));
    } else {
        let rows = REFERENCES.into_iter().filter_map(catalogue::model);
        swept.extend(rows.map(|row| sweep::reference(scenario, row.model)));
    }
    swept.push(*scenario);
    swept.into_iter().map(without_bystanders).collect()
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
    set.comparison = Comparison { gpus: 1, recomputation: Recomputation::Selective, ..scenario.comparison };
    set
}

/// The scenario with everything that [`as_in_workshop`] sets as it is in `before`.
#[must_use]
pub fn set_back(scenario: &Scenario, before: &Scenario) -> Scenario {
    let comparison = Comparison { against: scenario.comparison.against, ..before.comparison };
    let mut back = Scenario { method: before.method, device: before.device, comparison, ..*scenario };
    back.recipe.precision = before.recipe.precision;
    back
}

/// The scenario with fixed values for everything a curve does not depend on, so that curves of
/// scenarios that differ only there are seen to be the same.
fn without_bystanders(scenario: Scenario) -> Scenario {
    let usual = Scenario::default();
    let comparison = Comparison { against: scenario.comparison.against, ..usual.comparison };
    let mut bare = Scenario { goal: usual.goal, comparison, ..scenario }.with_batch(1);
    if comparison.against == ChartAxis::Sequence {
        bare.recipe.sequence = usual.recipe.sequence;
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::super::axis::{names, own_place};
    use super::*;
    use crate::{Choice, Field, b_max};

    fn against(axis: ChartAxis, query: &str) -> Scenario {
        let mut scenario = crate::link::decode(query).scenario;
        scenario.comparison.against = axis;
        scenario
    }

    #[test]
    fn what_a_curve_does_not_depend_on_does_not_tell_scenarios_apart() {
        let scenario = Scenario::workshop();
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
        let set = as_in_workshop(&Scenario::workshop());
        let curves = Curves::along(swept(&set), None);
        // 80 GiB × 0.9 less 16·10⁹ bytes leave 57.1 GiB; a sequence takes 24 · 34 · 2048 · 2048 · 2 bytes, 6.375 GiB.
        assert_eq!(curves.batch(0, 2_048), Some(8));
        // 16·N is 104 GiB at 7B.
        assert!(curves.all[1..OWN].iter().all(|curve| curve.end.is_none()));
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
        let scenario = Scenario::workshop();
        let before = Curves::along(swept(&scenario), None);
        let other = swept(&scenario.with_number(Field::Hidden, 2_048.0).expect("in range"));
        assert_ne!(other, before.scenarios);
        assert_eq!(Curves::along(other.clone(), Some(before)), Curves::along(other, None));
    }

    #[test]
    fn every_reference_is_in_the_catalogue_under_its_name() {
        let found: Vec<_> = REFERENCES.into_iter().filter_map(catalogue::model).map(|row| row.name).collect();
        for axis in [ChartAxis::Sequence, ChartAxis::Memory] {
            assert_eq!(found, names(axis)[..OWN]);
        }
    }

    const QUERIES: [&str; 6] = [
        "",
        "?model=llama-3.1-8b&gpus=16&method=paper",
        "?model=deepseek-v3&gpus=2048&mem=139.71",
        "?model=gpt2&gpus=1&method=workshop&mem=4",
        "?model=70b&s=8192&attn=eager",
        "?model=llama-3.1-405b&gpus=128&tp=8",
    ];

    #[test]
    fn the_line_at_the_reader_s_place_is_the_answer_on_every_axis() {
        for (axis, query) in ChartAxis::ALL.iter().flat_map(|axis| QUERIES.map(|query| (*axis, query))) {
            let scenario = against(axis, query);
            let curves = Curves::along(swept(&scenario), None);
            let place = own_place(axis, &scenario);
            assert_eq!(curves.batch(OWN, place), b_max(&scenario).batch(), "{axis:?} {query}");
            if axis != ChartAxis::Sequence {
                let at = curves.places.iter().position(|one| *one == place).expect("the reader's own is on the axis");
                assert_eq!(curves.all[OWN].batches[at], b_max(&scenario).batch(), "{axis:?} {query}");
            }
        }
    }

    #[test]
    fn every_point_of_every_curve_is_what_is_read_off_there() {
        for (axis, query) in ChartAxis::ALL.iter().flat_map(|axis| QUERIES.map(|query| (*axis, query))) {
            let curves = Curves::along(swept(&against(axis, query)), None);
            assert_eq!(curves.all.len(), OWN + 1);
            for (position, curve) in curves.all.iter().enumerate() {
                let read: Vec<_> = curves.places.iter().map(|place| curves.batch(position, *place)).collect();
                assert_eq!(curve.batches, read, "{axis:?} {query}");
            }
        }
    }

    #[test]
    fn more_memory_never_lowers_a_curve_and_longer_sequences_and_larger_models_never_raise_one() {
        for (axis, query) in ChartAxis::ALL.iter().flat_map(|axis| QUERIES.map(|query| (*axis, query))) {
            for curve in Curves::along(swept(&against(axis, query)), None).all {
                let rises = curve.batches.is_sorted();
                let falls = curve.batches.is_sorted_by(|before, after| before >= after);
                assert!(if axis == ChartAxis::Memory { rises } else { falls }, "{axis:?} {query}");
            }
        }
    }

    #[test]
    fn a_curve_ends_or_starts_between_the_last_place_that_fits_and_the_next() {
        for (axis, query) in ChartAxis::ALL.iter().flat_map(|axis| QUERIES.map(|query| (*axis, query))) {
            let curves = Curves::along(swept(&against(axis, query)), None);
            for curve in &curves.all {
                let fits = |place: u32, end: u32| if axis == ChartAxis::Memory { place >= end } else { place <= end };
                for (place, batch) in curves.places.iter().zip(&curve.batches) {
                    let expected = curve.end.is_some_and(|end| fits(*place, end.at));
                    assert_eq!(batch.is_some(), expected, "{axis:?} {query} at {place}");
                }
            }
        }
    }

    #[test]
    fn the_same_device_is_the_same_on_both_axes_that_know_it() {
        // 7B on an A100 80 GB with the settings of the references: a point of the third GPU, and of the second model.
        let mut scenario = Scenario::workshop();
        scenario.cluster.gpus = scenario.comparison.gpus;
        scenario.recipe.recomputation = scenario.comparison.recomputation;
        scenario.comparison.against = ChartAxis::Size;
        let by_size = Curves::along(swept(&scenario), None);
        scenario.comparison.against = ChartAxis::Memory;
        let by_memory = Curves::along(swept(&scenario), None);
        let expected = b_max(&scenario).batch();
        assert_eq!(by_size.batch(2, own_place(ChartAxis::Size, &scenario)), expected);
        assert_eq!(by_memory.batch(1, own_place(ChartAxis::Memory, &scenario)), expected);
    }

    #[test]
    fn the_workshop_s_setting_leaves_the_axis_as_it_is() {
        for &axis in ChartAxis::ALL {
            let before = against(axis, "?gpu=h200");
            let set = as_in_workshop(&before);
            assert_eq!(set.comparison.against, axis);
            assert_eq!(set_back(&set, &before), before);
        }
    }
}
