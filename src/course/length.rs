//! What a longer sequence costs: the part of activations that is linear in its length, and the part that
//! is quadratic.

use crate::{Bucket, Bytes, Model, Scenario, estimate, formula::Symbol};

/// Activations of one micro-batch, by how they grow with the sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// What doubles with the length.
    pub linear: Bytes,
    /// What quadruples: attention scores, softmax, its dropout.
    pub quadratic: Bytes,
}

impl Parts {
    /// Both together.
    pub fn total(&self) -> Bytes {
        self.linear + self.quadratic
    }

    /// The quadratic part of both, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.quadratic.share_of(self.total())
    }
}

/// Activations at the instant at which they are largest, at the scenario's micro-batch and length.
///
/// The ledger's formulas are evaluated at S and at 2S with everything else as it is: a part that is c·S
/// and one that is q·S² follow exactly, since no activation grows in another way. The source of an encoder is taken to
/// grow with the sequence.
///
/// ```
/// use bmax::course::length::parts;
/// use bmax::{AttentionKernel, Bytes, Scenario};
/// // Flash attention keeps nothing that grows with the square of the length.
/// assert_eq!(parts(&Scenario::workshop()).quadratic, Bytes::ZERO);
/// ```
pub fn parts(scenario: &Scenario) -> Parts {
    let estimate = estimate(scenario);
    let doubled = 2.0 * f64::from(scenario.longest());
    // Of every instant, what is alive at S and at 2S.
    let mut sums = vec![(0.0, 0.0); estimate.instants.len()];
    for entry in estimate.entries.iter().filter(|entry| entry.bucket == Bucket::Activations) {
        let values = entry.values(&estimate);
        let source = 2.0 * values.get(Symbol::Source);
        let values = values.with(Symbol::Sequence, doubled).with(Symbol::Source, source);
        let twice = entry.formula.value(&values);
        for (position, sum) in sums.iter_mut().enumerate() {
            if entry.alive.contains(position) {
                *sum = (sum.0 + entry.bytes.get(), sum.1 + twice);
            }
        }
    }
    let mut largest = Parts::default();
    for (once, twice) in sums {
        // once = c·S + q·S² and twice = 2·c·S + 4·q·S²; what is left of nothing is rounding.
        let quadratic = (twice - 2.0 * once) / 2.0;
        let quadratic = if quadratic > 1e-9 * once { quadratic } else { 0.0 };
        if once > largest.total().get() {
            largest = Parts { linear: Bytes::new(once - quadratic), quadratic: Bytes::new(quadratic) };
        }
    }
    largest
}

/// The same at another length, in tokens.
pub fn parts_at(scenario: &Scenario, sequence: u32) -> Parts {
    let mut at = *scenario;
    at.recipe.sequence = sequence.max(1);
    parts(&at)
}

/// Every bucket at the peak of a step with sequences of this length, in tokens, in the order of [`Bucket::ALL`]: together
/// they are the peak.
///
/// ```
/// use bmax::course::length::buckets_at;
/// use bmax::{Bytes, Scenario, estimate};
/// let scenario = Scenario::workshop();
/// let together: Bytes = buckets_at(&scenario, 2_048).into_iter().sum();
/// assert!((together.gib() - estimate(&scenario).peak().bytes.gib()).abs() < 1e-9);
/// ```
pub fn buckets_at(scenario: &Scenario, sequence: u32) -> [Bytes; Bucket::ALL.len()] {
    let mut at = *scenario;
    at.recipe.sequence = sequence.max(1);
    let estimate = estimate(&at);
    let (position, _) = estimate.binding();
    let mut sizes = [Bytes::ZERO; Bucket::ALL.len()];
    for (size, bucket) in sizes.iter_mut().zip(Bucket::ALL) {
        *size = estimate.bucket_at(*bucket, position);
    }
    sizes
}

/// The length in tokens at which the quadratic part is as large as the linear one by the count of a GPT
/// layer, where 34·S·H = 5·n·S² (Korthikanti et al. 2022, equation 1): 34·H / (5·n).
///
/// ```
/// use bmax::catalogue;
/// use bmax::course::length::crossover;
/// // H = 4096 and n = 32: 870 tokens.
/// assert_eq!(crossover(&catalogue::WORKSHOP_MODEL.model).round(), 870.0);
/// ```
pub fn crossover(model: &Model) -> f64 {
    34.0 * f64::from(model.hidden) / (5.0 * f64::from(model.heads.max(1)))
}

/// The same by the accounting in use, from the parts at the scenario's own length: they are in the ratio
/// of the length to it. `None` where nothing is quadratic.
pub fn crossover_of(scenario: &Scenario) -> Option<f64> {
    let parts = parts(scenario);
    let tokens = f64::from(scenario.longest()) * parts.linear.get() / parts.quadratic.get();
    (parts.quadratic > Bytes::ZERO).then_some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AttentionKernel, LossHead, Method, Recomputation, catalogue};

    fn scenarios() -> Vec<Scenario> {
        let mut all = Vec::new();
        // T5 keeps a mask of S² under SDPA, and sound has its own length.
        // Images take what they take at any length.
        for row in catalogue::MODELS.iter().filter(|row| !row.model.encoder.is_there() && !row.model.vision.is_there())
        {
            for method in [Method::Ledger, Method::Workshop, Method::Paper] {
                for attention in [AttentionKernel::Flash, AttentionKernel::Eager] {
                    for recomputation in [Recomputation::None, Recomputation::Selective, Recomputation::Full] {
                        let mut scenario = row.apply(Scenario { method, ..Scenario::workshop() });
                        scenario.recipe.sequence = 2_048;
                        scenario.recipe.attention = attention;
                        scenario.recipe.recomputation = recomputation;
                        all.push(scenario);
                    }
                }
            }
        }
        all
    }

    #[test]
    fn both_parts_together_are_the_most_that_activations_take() {
        for scenario in scenarios() {
            let most = crate::course::recomputing::activations(&estimate(&scenario));
            let total = parts(&scenario).total();
            assert!(
                (total.get() - most.get()).abs() <= 1e-9 * most.get(),
                "{}",
                scenario.model.origin.slug().unwrap_or_default()
            );
        }
    }

    #[test]
    fn without_recomputation_one_length_says_every_other_exactly() {
        for scenario in scenarios().into_iter().filter(|s| s.recipe.recomputation == Recomputation::None) {
            let here = parts(&scenario);
            for factor in [1, 3, 8, 16] {
                let times = f64::from(factor);
                let there = parts_at(&scenario, 2_048 * factor);
                let linear = there.linear.get() / (here.linear.get() * times);
                assert!(
                    (linear - 1.0).abs() < 1e-9,
                    "{} × {factor}: {linear}",
                    scenario.model.origin.slug().unwrap_or_default()
                );
                let expected = here.quadratic.get() * times * times;
                assert!((there.quadratic.get() - expected).abs() <= 1e-9 * there.total().get());
            }
        }
    }

    #[test]
    fn only_stored_scores_are_quadratic() {
        for scenario in scenarios().into_iter().filter(|s| s.method == Method::Ledger) {
            let quadratic = parts(&scenario).quadratic > Bytes::ZERO;
            match (scenario.recipe.attention, scenario.recipe.recomputation) {
                (AttentionKernel::Flash, _) => {
                    assert!(!quadratic, "{}", scenario.model.origin.slug().unwrap_or_default())
                }
                (AttentionKernel::Eager, Recomputation::None) => {
                    assert!(quadratic, "{}", scenario.model.origin.slug().unwrap_or_default())
                }
                // Of one layer's scores and all logits, either may be the larger.
                (AttentionKernel::Eager, _) => {}
            }
        }
    }

    #[test]
    fn the_paper_s_parts_cross_where_its_formula_says() {
        let mut scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
        scenario.recipe.recomputation = Recomputation::None;
        let by_parts = crossover_of(&scenario).expect("scores are stored");
        assert!((by_parts - crossover(&scenario.model)).abs() < 1e-6);
        // At that length both are equal.
        let at = parts_at(&scenario, 870);
        assert!((at.share() - 0.5).abs() < 0.001);
    }

    #[test]
    fn nothing_crosses_under_flash_attention() {
        let mut scenario = Scenario::workshop();
        scenario.recipe.recomputation = Recomputation::None;
        scenario.recipe.loss = LossHead::Fused;
        assert_eq!(crossover_of(&scenario), None);
        assert_eq!(parts(&scenario).share(), 0.0);
    }

    #[test]
    fn no_length_is_refused() {
        assert!(parts_at(&Scenario::workshop(), 0).total() > Bytes::ZERO);
        assert!(parts_at(&Scenario::workshop(), u32::MAX).total().get().is_finite());
    }
}
