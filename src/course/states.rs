//! The optimizer state of each optimizer, side by side.

use crate::{
    Adapter, AdapterWeights, Bucket, Bytes, Method, Offload, Optimizer, Scenario, Weights, ZeroStage, estimate,
    largest_micro_batch,
};

/// What one optimizer remembers between two updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// The update rule.
    pub optimizer: Optimizer,
    /// Moments, for each trained weight on average, in bytes.
    pub per_weight: f64,
    /// Moments of all trained weights together.
    pub whole: Bytes,
    /// Moments that one GPU holds, after T, P and ZeRO; on the fuller of two pipeline ends.
    pub per_gpu: Bytes,
    /// The fp32 master copy that one GPU holds beside them, where the recipe has one.
    pub master: Bytes,
    /// The largest micro-batch with it, if one sequence fits.
    pub batch: Option<u32>,
}

/// The optimizers that are compared: those that any division of the work goes with and whose state stays where it is, in
/// the order of [`Choice::ALL`](crate::Choice::ALL).
pub const COMPARED: [Optimizer; 8] = [
    Optimizer::AdamW,
    Optimizer::Adam8bit,
    Optimizer::Adafactor,
    Optimizer::AdafactorTorch,
    Optimizer::Lion,
    Optimizer::Muon,
    Optimizer::Momentum,
    Optimizer::Sgd,
];

/// Every one of [`COMPARED`] on this configuration, in their order.
///
/// Sizes are those of the ledger, whatever method the scenario asks for, because the other two know only
/// Adam; and they are those of the whole state, wherever it lies. The sources of the bytes stand with the
/// ledger's lines: Adam (arXiv 1412.6980) and AdamW (1711.05101) keep two moments, 8-bit Adam (2110.02861)
/// keeps both in a byte each with an fp32 scale per 256, as bitsandbytes has it (2,048 in the paper), Adafactor (1804.04235) sums over rows and columns, in
/// fp32 (transformers) or in the type of the weights (torch.optim),
/// Lion (2302.06675) and momentum keep one, Muon keeps one on the blocks' matrices and two elsewhere.
///
/// ```
/// use bmax::course::states::states;
/// use bmax::{Optimizer, Scenario};
/// let adam = states(&Scenario::workshop())[0];
/// assert_eq!((adam.optimizer, adam.per_weight), (Optimizer::AdamW, 8.0));
/// ```
pub fn states(scenario: &Scenario) -> Vec<State> {
    let mut own = *scenario;
    own.method = Method::Ledger;
    own.recipe.offload = Offload::None;
    let mut whole = own;
    whole.cluster.gpus = 1;
    whole.cluster.tensor_parallel = 1;
    whole.cluster.pipeline_parallel = 1;
    whole.cluster.context_parallel = 1;
    whole.cluster.zero = ZeroStage::Stage0;
    // SGD keeps nothing: what is there with it is the master copy.
    let [master, all_master] = [own, whole].map(|scenario| held(&scenario, Optimizer::Sgd));
    let weights = trained(scenario);
    let state = |&optimizer: &Optimizer| {
        let all = held(&whole, optimizer) - all_master;
        let mut with = *scenario;
        with.method = Method::Ledger;
        with.recipe.optimizer = optimizer;
        State {
            optimizer,
            per_weight: all.get() / weights,
            whole: all,
            per_gpu: held(&own, optimizer) - master,
            master,
            batch: largest_micro_batch(&with),
        }
    };
    COMPARED.iter().map(state).collect()
}

/// Optimizer state and master copy at the instant that has most of them.
fn held(scenario: &Scenario, optimizer: Optimizer) -> Bytes {
    let mut with = *scenario;
    with.recipe.optimizer = optimizer;
    let estimate = estimate(&with);
    let at = |position| estimate.bucket_at(Bucket::Optimizer, position);
    (0..estimate.instants.len()).map(at).fold(Bytes::ZERO, |most, bytes| if bytes > most { bytes } else { most })
}

/// Weights that are trained: all of them, or those of the adapters.
fn trained(scenario: &Scenario) -> f64 {
    let (model, recipe) = (&scenario.model, &scenario.recipe);
    let count = match recipe.adapter {
        Adapter::None => Weights::of(model).total(),
        _ => {
            let weights = Weights::of(model);
            AdapterWeights::of(model, recipe).total(weights.dense_layers, weights.expert_layers)
        }
    };
    count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Precision, catalogue};

    fn of(scenario: &Scenario, optimizer: Optimizer) -> State {
        *states(scenario).iter().find(|state| state.optimizer == optimizer).expect("every optimizer is there")
    }

    #[test]
    fn bytes_per_weight_are_those_of_the_papers() {
        let scenario = Scenario::workshop();
        let per_weight = |optimizer| of(&scenario, optimizer).per_weight;
        assert_eq!(per_weight(Optimizer::Sgd), 0.0);
        for one in [Optimizer::Momentum, Optimizer::Lion] {
            assert!((per_weight(one) - 4.0).abs() < 1e-9);
        }
        // Two bytes and two fp32 scales for 256 weights; norms stay in fp32.
        assert!((per_weight(Optimizer::Adam8bit) - 2.03125).abs() < 5e-3);
        // Matrices of blocks 4, embeddings and head 8.
        let muon = per_weight(Optimizer::Muon);
        assert!(muon > 4.0 && muon < 4.3, "{muon}");
    }

    #[test]
    fn adafactor_without_momentum_is_far_below_a_hundredth_of_adam() {
        for slug in ["1b", "7b", "70b", "llama-3.1-8b"] {
            let scenario = catalogue::model(slug).expect("listed").apply(Scenario::workshop());
            let share = of(&scenario, Optimizer::Adafactor).whole.share_of(of(&scenario, Optimizer::AdamW).whole);
            assert!(share > 0.0 && share < 0.001, "{slug}: {share}");
            let with_momentum = of(&scenario, Optimizer::Adafactor).whole + of(&scenario, Optimizer::Momentum).whole;
            let half = with_momentum.share_of(of(&scenario, Optimizer::AdamW).whole);
            assert!((half - 0.5).abs() < 0.001, "{slug}: {half}");
        }
    }

    #[test]
    fn sharding_divides_the_state_and_offloading_moves_it() {
        let mut scenario = Scenario::workshop();
        let adam = of(&scenario, Optimizer::AdamW);
        assert!((adam.whole.get() / adam.per_gpu.get() - 8.0).abs() < 1e-9);
        assert!((adam.master.get() * 2.0 - adam.per_gpu.get()).abs() < 1.0);
        scenario.recipe.offload = Offload::Optimizer;
        assert_eq!(of(&scenario, Optimizer::AdamW).per_gpu, adam.per_gpu);
        scenario.recipe.precision = Precision::Fp32;
        assert_eq!(of(&scenario, Optimizer::AdamW).master, Bytes::ZERO);
        scenario.recipe.precision = Precision::PureBf16;
        assert!((of(&scenario, Optimizer::AdamW).per_weight - 4.0).abs() < 1e-9);
    }

    #[test]
    fn less_state_never_fits_fewer_sequences() {
        for gpus in [1, 2, 8] {
            let mut scenario = Scenario::workshop();
            scenario.cluster.gpus = gpus;
            let [adam, bits, none] =
                [Optimizer::AdamW, Optimizer::Adam8bit, Optimizer::Sgd].map(|kind| of(&scenario, kind).batch);
            assert!(adam <= bits && bits <= none, "{gpus}: {adam:?} {bits:?} {none:?}");
        }
    }

    #[test]
    fn adapters_are_counted_by_themselves() {
        let mut scenario = Scenario::workshop();
        scenario.recipe.adapter = Adapter::Lora;
        let adam = of(&scenario, Optimizer::AdamW);
        assert!((adam.per_weight - 8.0).abs() < 1e-9, "{}", adam.per_weight);
        assert!(adam.whole.gib() < 1.0);
    }
}
