//! b_max along the sequence length, the size of the model and the memory of a device: the curves of a chart, without
//! the chart.

use std::f64::consts::LN_2;

use super::answer::{by_memory, by_tokens, holds, largest_micro_batch};
use super::choice::{AttentionKernel, Method, Position, TaskKind};
use super::ledger::Ledger;
use super::scenario::{Model, Scenario};
use super::search;
use super::shape::Shape;
use super::units::Bytes;

/// The shortest sequence of a sweep, in tokens.
pub const MIN_TOKENS: u32 = 1 << 7;
/// The longest sequence of a sweep, in tokens.
pub const MAX_TOKENS: u32 = 1 << 17;
/// The fewest and the most parameters of a sweep over sizes, where the model itself does not lie beyond: from the smallest
/// models that people pretrain to the largest dense one that was published, Llama 3.1 405B.
pub const PARAMETERS: (u64, u64) = (500_000_000, 410_000_000_000);
/// The least and the most memory of a sweep over devices, in GiB, where the device itself does not lie beyond: from a small
/// card for games to an MI355X.
pub const MEMORY_GIB: (u32, u32) = (8, 288);
/// What devices have, in GiB, to the nearest round figure: those of the catalogue, and the doublings beyond.
pub const USUAL_GIB: [u32; 13] = [1, 2, 4, 8, 16, 24, 40, 80, 141, 192, 288, 1_024, 4_096];

/// About `points` lengths in tokens from [`MIN_TOKENS`] to [`MAX_TOKENS`], strictly increasing and evenly
/// spread over orders of magnitude.
///
/// They are whole tokens. When there are enough of them, the one nearest to each power of two is
/// moved onto it, because those are the lengths people train with. Fewer come back only where
/// rounding makes neighbours equal; both ends are always there.
///
/// ```
/// use bmax::sweep;
/// let lengths = sweep::sequence_lengths(64);
/// assert_eq!(lengths.len(), 64);
/// assert_eq!((lengths[0], lengths[63]), (128, 131_072));
/// assert!(lengths.contains(&4_096));
/// ```
pub fn sequence_lengths(points: usize) -> Vec<u32> {
    let steps = points.max(2) - 1;
    let (first, last) = (MIN_TOKENS.ilog2(), MAX_TOKENS.ilog2());
    let octaves = f64::from(last - first);
    // A power of two by way of e, whose code is a tenth of the size.
    let length = |step: usize| ((f64::from(first) + octaves * step as f64 / steps as f64) * LN_2).exp().round() as u32;
    let mut lengths: Vec<u32> = (0..=steps).map(length).collect();
    // With a step of an octave or less, every power of two has a nearest point of its own.
    if steps as f64 >= octaves {
        for power in first..=last {
            let nearest = (f64::from(power - first) / octaves * steps as f64).round() as usize;
            if let Some(length) = lengths.get_mut(nearest) {
                *length = 1 << power;
            }
        }
    }
    lengths.dedup();
    lengths
}

/// The largest micro-batch in sequences per GPU at each of `lengths`, in tokens; `None` where not
/// even one sequence fits, or where learned positions end before. Nothing of the scenario but its sequence length is varied.
///
/// ```
/// use bmax::{Method, Scenario, sweep};
/// let scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
/// let curve = sweep::b_max_by_sequence(&scenario, &[2_048, 4_096, 8_192]);
/// assert_eq!(curve, [Some(3), Some(1), None]);
/// ```
pub fn b_max_by_sequence(scenario: &Scenario, lengths: &[u32]) -> Vec<Option<u32>> {
    // Under flash attention every tensor that knows the sequence is so many bytes a token.
    // A task and what is outside the step have sequences that are not of the micro-batch. An encoder has a length of its
    // own, images take what they take at any length, and T5’s bias is on every pair of tokens, also in a decoder alone.
    let in_step = !scenario.outside.is_on() && scenario.task.kind == TaskKind::Train;
    let is_one_length = !scenario.model.encoder.is_there() && !scenario.model.vision.is_there();
    let is_flash = scenario.at_longest().recipe.attention == AttentionKernel::Flash;
    let has_pairs = scenario.masks_padding() || scenario.model.position == Position::Relative;
    let is_linear = in_step && is_one_length && is_flash && !has_pairs;
    if scenario.method == Method::Ledger && is_linear {
        let batches = by_tokens(scenario, lengths).into_iter().zip(lengths);
        let has_positions = |length: u32| !at_length(scenario, length).is_beyond_positions();
        return batches.map(|(batch, &length)| batch.filter(|_| has_positions(length))).collect();
    }
    lengths.iter().map(|&length| b_max_at_length(scenario, length)).collect()
}

/// The largest micro-batch in sequences per GPU at one length in tokens; `None` where not even one sequence fits, or where
/// learned positions end before.
pub fn b_max_at_length(scenario: &Scenario, length: u32) -> Option<u32> {
    let at = at_length(scenario, length);
    if at.is_beyond_positions() { None } else { largest_micro_batch(&at) }
}

/// About `points` sizes of device memory in MiB, strictly increasing and spread over orders of magnitude: whole GiB from
/// one end of [`MEMORY_GIB`] to the other, the usual ones, and that of the scenario's device, wherever it lies.
pub fn memories(scenario: &Scenario, points: usize) -> Vec<u32> {
    let own = scenario.device.memory.mib().round() as u32;
    let (low, high) = (MEMORY_GIB.0.min(own / 1024), MEMORY_GIB.1.max(own / 1024));
    let low = low.max(1);
    let ratio = (f64::from(high) / f64::from(low)).ln() / (points.max(2) - 1) as f64;
    let spread = (0..points.max(2)).map(|step| (f64::from(low) * (ratio * step as f64).exp()).round() as u32);
    let usual = USUAL_GIB.into_iter().filter(|gib| (low..=high).contains(gib));
    let mut memories = Vec::with_capacity(points + USUAL_GIB.len() + 1);
    for memory in spread.chain(usual).map(|gib| gib * 1024).chain([own]) {
        // A sort is more code than all the rest, and the page carries it.
        if let Err(at) = memories.binary_search(&memory) {
            memories.insert(at, memory);
        }
    }
    memories
}

/// The largest micro-batch on devices of these sizes, in MiB as their drivers report it; `None` where not even one
/// sequence fits. What the driver keeps for itself stays what it is.
pub fn b_max_by_memory(scenario: &Scenario, memories: &[u32]) -> Vec<Option<u32>> {
    by_memory(scenario, memories)
}

/// The scenario's model in about `points` other sizes, strictly increasing in parameters and spread over orders of
/// magnitude, from one end of [`PARAMETERS`] to the other: width and depth in proportion, a group of heads at a time. The
/// model itself is among them, wherever it lies.
pub fn model_sizes(model: &Model, points: usize) -> Vec<Model> {
    let shape = Shape::of(model);
    let (low, high) = (PARAMETERS.0.min(model.parameters), PARAMETERS.1.max(model.parameters));
    let sizes = (1..=shape.most().max(shape.own())).map(|groups| (groups, shape.counted(groups)));
    let seen: Vec<_> = sizes
        .skip_while(|(_, model)| model.parameters < low)
        .take_while(|(_, model)| model.parameters <= high)
        .collect();
    let spread = (high as f64 / low as f64).ln() / points.max(1) as f64;
    let mut thin: Vec<Model> = Vec::with_capacity(seen.len().min(points + 2));
    for (at, (groups, size)) in seen.iter().enumerate() {
        let is_kept = *groups == shape.own() || at + 1 == seen.len();
        let apart = thin.last().is_none_or(|last| (size.parameters as f64 / last.parameters as f64).ln() >= spread);
        if (is_kept || apart) && thin.last().is_none_or(|last| last.parameters < size.parameters) {
            thin.push(*size);
        }
    }
    thin
}

/// The largest model of the scenario's shape of which one sequence fits, counted as [`model_sizes`] counts; `None` when not
/// even one group of heads does.
pub fn largest_size(scenario: &Scenario) -> Option<Model> {
    let shape = Shape::of(&scenario.model);
    let fits = |groups| {
        let at = Scenario { model: shape.counted(groups), ..*scenario };
        holds(&at, &Ledger::of(&at), 1)
    };
    let groups = search::largest(shape.most(), shape.own(), fits);
    (groups > 0).then(|| shape.counted(groups))
}

/// The scenario on a device of this memory, in MiB.
#[must_use]
pub fn with_memory(mut scenario: Scenario, mib: u32) -> Scenario {
    scenario.device.memory = Bytes::from_mib(mib.into());
    scenario
}

/// The scenario of a reference curve: `model` spread over the GPUs and recomputed as
/// [`Scenario::comparison`] says, with everything else as in `scenario`.
///
/// A tensor-parallel group cannot be larger than all GPUs, so that it shrinks with them.
pub fn reference(scenario: &Scenario, model: Model) -> Scenario {
    let mut reference = Scenario { model, ..*scenario };
    reference.cluster.gpus = scenario.comparison.gpus;
    reference.cluster.tensor_parallel = scenario.cluster.tensor_parallel.min(scenario.comparison.gpus).max(1);
    reference.recipe.recomputation = scenario.comparison.recomputation;
    reference
}

pub(super) fn at_length(scenario: &Scenario, length: u32) -> Scenario {
    let mut at = *scenario;
    at.recipe.sequence = length;
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batching, Choice, Recomputation, Rollout, catalogue};

    #[test]
    fn lengths_increase_strictly_from_end_to_end_whatever_their_number() {
        for points in [0, 1, 2, 3, 10, 11, 12, 61, 64, 65, 500, 5_000] {
            let lengths = sequence_lengths(points);
            assert_eq!((lengths.first(), lengths.last()), (Some(&MIN_TOKENS), Some(&MAX_TOKENS)), "{points} points");
            assert!(lengths.is_sorted_by(|a, b| a < b), "{points} points");
            assert!(lengths.len() <= points.max(2), "{points} points");
        }
    }

    #[test]
    fn a_curve_of_a_task_is_the_answer_at_every_place() {
        let lengths = [256, 1_024, 4_096, 65_536];
        let memories = [16, 80, 288].map(|gib: u32| gib * 1024);
        for &kind in TaskKind::ALL {
            for &rollout in Rollout::ALL {
                let mut scenario = Scenario::workshop();
                (scenario.task.kind, scenario.task.rollout) = (kind, rollout);
                (scenario.task.completion, scenario.task.generations) = (512, 861);
                let by_length = lengths.map(|length| largest_micro_batch(&at_length(&scenario, length)));
                assert_eq!(b_max_by_sequence(&scenario, &lengths), by_length, "{kind} {rollout}");
                let by_size = memories.map(|mib| largest_micro_batch(&with_memory(scenario, mib)));
                assert_eq!(b_max_by_memory(&scenario, &memories), by_size, "{kind} {rollout}");
            }
        }
    }

    #[test]
    fn no_size_is_named_where_not_even_the_smallest_fits() {
        let mut scenario = Scenario::workshop();
        assert!(largest_size(&scenario).is_some());
        // Less than a CUDA context takes.
        scenario.device.memory = Bytes::from_mib(512.0);
        assert_eq!(largest_size(&scenario), None);
    }

    #[test]
    fn every_power_of_two_is_among_the_points_of_a_chart() {
        let lengths = sequence_lengths(64);
        assert_eq!(lengths.len(), 64);
        assert!((7..=17).all(|power| lengths.contains(&(1 << power))));
    }

    #[test]
    fn a_curve_never_rises_and_ends_at_the_longest_sequence() {
        let lengths = sequence_lengths(64);
        for row in catalogue::MODELS {
            for &method in Method::ALL {
                for &recomputation in Recomputation::ALL {
                    let mut scenario = row.apply(Scenario { method, ..Scenario::workshop() });
                    scenario.recipe.recomputation = recomputation;
                    let curve = b_max_by_sequence(&scenario, &lengths);
                    assert!(curve.is_sorted_by(|before, after| before >= after), "{}", row.slug);
                    let longest = crate::inverse::longest_sequence(&scenario, 1).unwrap_or(0);
                    for (length, batch) in lengths.iter().zip(curve) {
                        assert_eq!(batch.is_some(), *length <= longest, "{} at {length}", row.slug);
                    }
                }
            }
        }
    }

    #[test]
    fn every_point_of_a_curve_is_the_answer_at_its_length() {
        let lengths = sequence_lengths(64);
        for row in catalogue::MODELS {
            let mut scenario = row.apply(Scenario::workshop());
            scenario.cluster.gpus = 64;
            for &recomputation in Recomputation::ALL {
                scenario.recipe.recomputation = recomputation;
                let asked = lengths.iter().map(|&length| at_length(&scenario, length));
                let asked = asked.map(|at| largest_micro_batch(&at).filter(|_| !at.is_beyond_positions()));
                assert_eq!(b_max_by_sequence(&scenario, &lengths), asked.collect::<Vec<_>>(), "{}", row.slug);
            }
        }
    }

    #[test]
    fn every_point_of_a_curve_is_the_answer_at_its_length_for_every_kind_of_position_and_batch() {
        let lengths = sequence_lengths(12);
        for &position in Position::ALL {
            for &batching in Batching::ALL {
                let mut scenario = Scenario::workshop();
                scenario.model.position = position;
                scenario.lengths.batching = batching;
                // Memory grows with the length alone, but for masks and biases of pairs, which long sequences show.
                scenario.recipe.attention = AttentionKernel::Flash;
                scenario.recipe.recomputation = Recomputation::Full;
                scenario.cluster.gpus = 64;
                let asked = lengths.iter().map(|&length| at_length(&scenario, length));
                let asked = asked.map(|at| largest_micro_batch(&at).filter(|_| !at.is_beyond_positions()));
                let asked: Vec<_> = asked.collect();
                assert_eq!(b_max_by_sequence(&scenario, &lengths), asked, "{position}, {batching}");
            }
        }
    }

    #[test]
    fn a_reference_takes_its_gpus_and_recomputation_from_the_comparison() {
        let mut scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
        scenario.cluster.tensor_parallel = 8;
        scenario.comparison.gpus = 2;
        let model = catalogue::WORKSHOP_MODEL.model;
        let compared = reference(&scenario, model);
        assert_eq!((compared.cluster.gpus, compared.cluster.tensor_parallel), (2, 2));
        assert_eq!(compared.recipe.recomputation, scenario.comparison.recomputation);
        assert_eq!((compared.model, compared.device, compared.method), (model, scenario.device, scenario.method));
    }

    /// Every row of the catalogue by every method, on 64 GPUs.
    fn every_row() -> impl Iterator<Item = Scenario> {
        let by_method = |row: &catalogue::ModelRow| {
            Method::ALL
                .iter()
                .map(|&method| {
                    let mut scenario = row.apply(Scenario { method, ..Scenario::workshop() });
                    scenario.cluster.gpus = 64;
                    scenario
                })
                .collect::<Vec<_>>()
        };
        catalogue::MODELS.iter().flat_map(by_method)
    }

    #[test]
    fn more_memory_never_lowers_b_max_and_every_point_is_the_answer_on_its_device() {
        for scenario in every_row() {
            let memories = memories(&scenario, 64);
            let curve = b_max_by_memory(&scenario, &memories);
            assert!(curve.is_sorted(), "{}", scenario.model.origin.slug().unwrap_or_default());
            let asked = memories.iter().map(|&mib| largest_micro_batch(&with_memory(scenario, mib)));
            assert_eq!(curve, asked.collect::<Vec<_>>(), "{}", scenario.model.origin.slug().unwrap_or_default());
            let least = crate::inverse::least_memory(&scenario, 1).map_or(f64::INFINITY, Bytes::mib);
            for (mib, batch) in memories.into_iter().zip(curve) {
                assert_eq!(
                    batch.is_some(),
                    f64::from(mib) >= least,
                    "{} on {mib} MiB",
                    scenario.model.origin.slug().unwrap_or_default()
                );
            }
        }
    }

    #[test]
    fn a_sweep_over_memory_has_the_usual_devices_and_the_scenario_s_own() {
        for gib in [0.5, 3.3, 80.0, 139.71, 288.0, 1_000.0, 4_096.0] {
            let scenario = Scenario::workshop().with_number(crate::Field::Memory, gib).expect("in range");
            let memories = memories(&scenario, 64);
            assert!(memories.is_sorted_by(|a, b| a < b));
            assert!((16..=80).contains(&memories.len()), "{}", memories.len());
            for usual in [8, 16, 24, 40, 80, 141, 192, 288] {
                assert!(memories.contains(&(usual * 1024)), "{usual}");
            }
            assert!(memories.contains(&(scenario.device.memory.mib() as u32)), "{gib}");
        }
    }

    #[test]
    fn a_larger_model_of_the_same_shape_never_has_a_larger_b_max() {
        for scenario in every_row() {
            let name = scenario.model.origin.slug().unwrap_or_default();
            let sizes = model_sizes(&scenario.model, 64);
            assert!(sizes.is_sorted_by(|a, b| a.parameters < b.parameters), "{name}");
            assert!(sizes.len() <= 66 && sizes.contains(&scenario.model), "{name}");
            let batch = |model: &Model| largest_micro_batch(&Scenario { model: *model, ..scenario });
            let curve: Vec<_> = sizes.iter().map(batch).collect();
            assert!(curve.is_sorted_by(|smaller, larger| smaller >= larger), "{name}: {curve:?}");
            let largest = largest_size(&scenario).map_or(0, |model| model.parameters);
            for (model, batch) in sizes.iter().zip(curve) {
                assert_eq!(batch.is_some(), model.parameters <= largest, "{name} at {}", model.parameters);
            }
        }
    }

    #[test]
    fn other_sizes_keep_the_proportion_of_width_and_depth_and_the_width_of_a_head() {
        let model = catalogue::WORKSHOP_MODEL.model;
        for size in model_sizes(&model, 64) {
            assert_eq!((size.head_dim, size.vocabulary), (model.head_dim, model.vocabulary));
            assert_eq!(size.hidden, size.heads * 128);
            // 4096 / 32 is 128 of width for a layer; layers are whole.
            assert_eq!(size.layers, size.hidden / 128);
        }
    }
}
