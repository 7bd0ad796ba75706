//! What recomputation saves and what it costs: the policies, and how far apart checkpoints should be.

use crate::{
    Bucket, Bytes, Choice, Estimate, Recomputation, Scenario, cost::extra_work, estimate, largest_micro_batch,
};

/// The largest distance between checkpoints that [`curve`] goes to. The best one is at most √L where a
/// layer's inside is at least as large as its input, so that nothing is missed by stopping here.
pub const MOST: u32 = 128;

/// One policy on one configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// What is computed again.
    pub recomputation: Recomputation,
    /// The most that activations take at any instant, without logits.
    pub activations: Bytes,
    /// What it adds to the floating-point operations of a step, as a part of them.
    pub extra: f64,
    /// The largest micro-batch, if one sequence fits.
    pub batch: Option<u32>,
}

/// The most that activations take at any instant of an estimate.
pub fn activations(estimate: &Estimate) -> Bytes {
    let at = |position| estimate.bucket_at(Bucket::Activations, position);
    (0..estimate.instants.len()).map(at).fold(Bytes::ZERO, |most, bytes| if bytes > most { bytes } else { most })
}

/// Every policy on this configuration, in the order of [`Recomputation::ALL`].
pub fn policies(scenario: &Scenario) -> Vec<Policy> {
    let policy = |&recomputation: &Recomputation| {
        let mut with = *scenario;
        with.recipe.recomputation = recomputation;
        Policy {
            recomputation,
            activations: activations(&estimate(&with)),
            extra: extra_work(&with),
            batch: largest_micro_batch(&with),
        }
    };
    Recomputation::ALL.iter().map(policy).collect()
}

/// The lecture's model of checkpoints every `every` of `layers` layers, in units of one layer: N/K inputs
/// are kept and K layers are computed again together (Chen et al. 2016, arXiv 1604.06174, section 4; the
/// lecture writes O(N/K) + O(K)). Its least value is at K = √N. It takes the inside of a layer to be as
/// large as its input.
///
/// ```
/// use bmax::course::recomputing::layers_worth;
/// assert_eq!(layers_worth(64, 8), 16.0);
/// assert!(layers_worth(64, 8) < layers_worth(64, 7) && layers_worth(64, 8) < layers_worth(64, 9));
/// ```
pub fn layers_worth(layers: u32, every: u32) -> f64 {
    f64::from(layers) / f64::from(every.max(1)) + f64::from(every.max(1))
}

/// What activations take at most when the inputs of every K-th layer are kept, from the ledger, for K from
/// 1 to the number of layers, or to [`MOST`] in a deeper model.
pub fn curve(scenario: &Scenario) -> Vec<Bytes> {
    let mut with = *scenario;
    with.recipe.recomputation = Recomputation::EveryK;
    let at = |every| {
        with.recipe.every = every;
        activations(&estimate(&with))
    };
    (1..=scenario.model.layers.clamp(1, MOST)).map(at).collect()
}

/// The K of the least value of a curve; the smallest of several as low, and 1 of an empty one.
pub fn best(curve: &[Bytes]) -> u32 {
    let mut best = 0;
    for position in 1..curve.len() {
        if curve[position] < curve[best] {
            best = position;
        }
    }
    best as u32 + 1
}

/// One layer's input and all that one layer brings back when it is computed again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// What a checkpoint holds.
    pub input: Bytes,
    /// What is alive of the layer while it runs backward.
    pub inside: Bytes,
}

/// The two sizes that decide how far apart checkpoints should be, from the ledger with every layer's input
/// kept; on the only pipeline stage or on the last. `None` for methods that know no instants.
pub fn layer(scenario: &Scenario) -> Option<Layer> {
    // What a task has beside the step is none of a layer's.
    let mut with = scenario.without_task();
    with.recipe.recomputation = Recomputation::Full;
    let estimate = estimate(&with);
    // Positions of the ledger's instants: the loss, and the backward passes of the last and the first layer.
    let (forward, last, first) = (0, 2, 3);
    if estimate.instants.len() <= first {
        return None;
    }
    let kept = estimate.entries.iter().find(|entry| entry.name == "Layer inputs" && entry.alive.contains(forward))?;
    let inside = |entry: &&crate::Entry| {
        let alive = |position| entry.alive.contains(position);
        entry.bucket == Bucket::Activations && alive(first) && alive(last) && !alive(forward)
    };
    Some(Layer {
        input: Bytes::new(kept.bytes.get() / kept.layers.max(1.0)),
        inside: estimate.entries.iter().filter(inside).map(|entry| entry.bytes).sum(),
    })
}

/// The K that L/K inputs and K insides of layers are smallest at: √(L · input / inside).
///
/// ```
/// use bmax::Bytes;
/// use bmax::course::recomputing::{Layer, smooth_best};
/// // As large inside as at the boundary: the square root of the lecture.
/// let equal = Layer { input: Bytes::new(5.0), inside: Bytes::new(5.0) };
/// assert_eq!(smooth_best(64, equal), 8.0);
/// // Sixteen times as large inside: a quarter of it.
/// assert_eq!(smooth_best(64, Layer { inside: Bytes::new(80.0), ..equal }), 2.0);
/// ```
pub fn smooth_best(layers: u32, layer: Layer) -> f64 {
    (f64::from(layers) * layer.input.get() / layer.inside.get().max(1.0)).sqrt()
}

/// What discarding every activation adds to the work of a step, as a part of it: to run layer i backward,
/// layers 1 to i run forward again, L(L + 1)/2 in all, where forward and backward together are worth 3L.
///
/// ```
/// use bmax::course::recomputing::discard_all;
/// // With one layer it is full recomputation; with 32, five and a half steps more.
/// assert_eq!(discard_all(1), 1.0 / 3.0);
/// assert_eq!(discard_all(32), 5.5);
/// ```
pub fn discard_all(layers: u32) -> f64 {
    (f64::from(layers) + 1.0) / 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AttentionKernel, Kernels, Method, Precision, catalogue};

    fn scenario(slug: &str, attention: AttentionKernel) -> Scenario {
        let row = catalogue::model(slug).unwrap_or_else(|| panic!("{slug} is listed"));
        let mut scenario = row.apply(Scenario::workshop());
        scenario.recipe.attention = attention;
        scenario
    }

    fn saved(policies: &[Policy], recomputation: Recomputation) -> f64 {
        let of = |kind| policies.iter().find(|policy| policy.recomputation == kind).expect("every policy").activations;
        1.0 - of(recomputation).get() / of(Recomputation::None).get()
    }

    #[test]
    fn the_more_is_computed_again_the_less_is_kept() {
        use Recomputation::{Full, None, Operators, Selective};
        for attention in [AttentionKernel::Flash, AttentionKernel::Eager] {
            let policies = policies(&scenario("7b", attention));
            let of = |kind| policies.iter().find(|policy| policy.recomputation == kind).expect("every policy");
            for pair in [None, Selective, Operators, Full].windows(2) {
                assert!(of(pair[1]).activations <= of(pair[0]).activations, "{pair:?}");
                assert!(of(pair[1]).extra > of(pair[0]).extra, "{pair:?}");
            }
        }
    }

    #[test]
    fn under_flash_attention_selective_recomputation_saves_nothing() {
        let flash = policies(&scenario("7b", AttentionKernel::Flash));
        assert_eq!(saved(&flash, Recomputation::Selective), 0.0);
        let eager = policies(&scenario("7b", AttentionKernel::Eager));
        assert!(saved(&eager, Recomputation::Selective) > 0.7);
    }

    #[test]
    fn full_recomputation_saves_more_than_nine_tenths_and_costs_a_third() {
        for slug in ["1b", "3b", "7b", "13b", "70b"] {
            let policies = policies(&scenario(slug, AttentionKernel::Eager));
            assert!(saved(&policies, Recomputation::Full) > 0.9, "{slug}");
            // The head is not repeated, and it is the larger a part the smaller the model.
            let extra = policies.last().map(|policy| policy.extra);
            assert!(extra.is_some_and(|extra| (0.31..1.0 / 3.0).contains(&extra)), "{slug}: {extra:?}");
        }
    }

    #[test]
    fn a_checkpoint_every_layer_is_full_recomputation() {
        let scenario = scenario("7b", AttentionKernel::Flash);
        let full = policies(&scenario).last().map(|policy| policy.activations);
        assert_eq!(curve(&scenario).first().copied(), full);
        assert_eq!(curve(&scenario).len(), 32);
    }

    #[test]
    fn the_best_k_is_the_least_of_all_of_them() {
        for slug in ["1b", "7b", "70b", "llama-3.1-8b"] {
            for attention in [AttentionKernel::Flash, AttentionKernel::Eager] {
                let mut scenario = scenario(slug, attention);
                let curve = curve(&scenario);
                let best = best(&curve);
                scenario.recipe.recomputation = Recomputation::EveryK;
                for every in 1..=scenario.model.layers.min(MOST) {
                    scenario.recipe.every = every;
                    assert!(activations(&estimate(&scenario)) >= curve[best as usize - 1], "{slug} {every}");
                }
            }
        }
        assert_eq!(best(&[]), 1);
    }

    #[test]
    fn a_layer_s_inside_is_so_large_that_the_square_root_is_far_too_wide() {
        for slug in ["1b", "7b", "13b", "70b", "llama-3.1-8b"] {
            for attention in [AttentionKernel::Flash, AttentionKernel::Eager] {
                let scenario = scenario(slug, attention);
                let layers = scenario.model.layers;
                let root = f64::from(layers).sqrt();
                let layer = layer(&scenario).expect("the ledger knows instants");
                assert!(layer.inside.get() > 16.0 * layer.input.get(), "{slug}: {layer:?}");
                let best = f64::from(best(&curve(&scenario)));
                assert!(best <= 2.0 && root > 4.8, "{slug}: {best} beside {root}");
                assert!((best - smooth_best(layers, layer)).abs() < 1.0, "{slug}");
            }
        }
    }

    #[test]
    fn a_fused_layer_of_the_paper_is_seventeen_boundaries() {
        // Korthikanti et al. 2022: 34·s·b·h inside, 2·s·b·h at the boundary.
        let mut scenario = scenario("7b", AttentionKernel::Flash);
        scenario.recipe.kernels = Kernels::Fused;
        scenario.recipe.precision = Precision::Bf16;
        let layer = layer(&scenario).expect("the ledger knows instants");
        let ratio = layer.inside.get() / layer.input.get();
        assert!((ratio - 17.0).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn the_lecture_s_curve_is_least_at_the_root() {
        for layers in [16, 36, 64, 100] {
            let least = (1..=layers).min_by(|a, b| layers_worth(layers, *a).total_cmp(&layers_worth(layers, *b)));
            assert_eq!(least.map(|every| every * every), Some(layers));
        }
    }

    #[test]
    fn methods_that_know_one_instant_know_no_k() {
        for method in [Method::Workshop, Method::Paper] {
            let scenario = Scenario { method, ..Scenario::workshop() };
            assert_eq!(layer(&scenario), None);
            let curve = curve(&scenario);
            assert!(curve.iter().all(|bytes| *bytes == curve[0]));
            assert_eq!(best(&curve), 1);
        }
    }
}
