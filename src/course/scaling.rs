//! What more GPUs give: memory by sharding, speed as far as communication lets it.

use super::quoted::{QLORA_CONSTANTS, RULE_TO_8, RULE_TO_64, RULE_TWO};
use crate::{
    Adapter, AdapterType, AdapterWeights, Bucket, Bytes, GradientType, Precision, Scenario, Weights, ZeroStage,
    catalogue,
    cost::{Work, cost},
    estimate,
};

/// The four stages, in order.
pub const STAGES: [ZeroStage; 4] = [ZeroStage::Stage0, ZeroStage::Stage1, ZeroStage::Stage2, ZeroStage::Stage3];

/// The scenario at a ZeRO stage (Rajbhandari et al. 2020, arXiv 1910.02054), with gradients that are being
/// added up: a single micro-batch frees them before the peak, and a bar would not show them.
pub fn at_stage(scenario: &Scenario, stage: ZeroStage) -> Scenario {
    let mut sharded = *scenario;
    sharded.cluster.zero = stage;
    sharded.recipe.micro_batches = sharded.recipe.micro_batches.max(2);
    sharded
}

/// The parts of a scenario's memory at its peak: parameters, gradients, optimizer state, activations, logits, and
/// all the rest together.
pub fn parts(scenario: &Scenario) -> [Bytes; 6] {
    let estimate = estimate(scenario);
    let named = [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer, Bucket::Activations, Bucket::Logits];
    let [parameters, gradients, optimizer, activations, logits] = named.map(|bucket| estimate.bucket(bucket));
    // Added up and not what is left, which rounding can make less than nothing.
    let rest = Bucket::ALL.iter().filter(|bucket| !named.contains(bucket)).map(|bucket| estimate.bucket(*bucket)).sum();
    [parameters, gradients, optimizer, activations, logits, rest]
}

/// What well-made data-parallel training keeps of perfect scaling, lowest and highest, from 0 to 1: 90 to
/// 95 % with 2 to 8 GPUs and 80 to 90 % up to 64, on NVLink or InfiniBand. Beyond 64 the source gives no
/// number. Source: the Batch Size Optimizer, "Multi-GPU Scaling Considerations", a rule of thumb
/// that names no measurement; its own answer on 2 GPUs, a speed-up of 1.8 to 1.95, reaches to 97.5 %.
///
/// ```
/// use bmax::course::scaling::usual_efficiency;
/// assert_eq!(usual_efficiency(8), Some((0.90, 0.95)));
/// assert_eq!(usual_efficiency(128), None);
/// ```
pub fn usual_efficiency(gpus: u32) -> Option<(f64, f64)> {
    match gpus {
        0 | 1 => Some((1.0, 1.0)),
        2 => Some((RULE_TWO.number() / 2.0, RULE_TWO.end() / 2.0)),
        3..=8 => Some((RULE_TO_8.number() / 100.0, RULE_TO_8.end() / 100.0)),
        9..=64 => Some((RULE_TO_64.number() / 100.0, RULE_TO_64.end() / 100.0)),
        _ => None,
    }
}

/// Seconds of an all-reduce of `bytes` over a ring of `gpus`, each of which sends at `bytes_per_second`:
/// every GPU sends 2·(n−1)/n of them (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms
/// for clusters of workstations", JPDC 69(2)). Latency is not counted.
///
/// ```
/// use bmax::{Bytes, course::scaling::all_reduce_seconds};
/// // 14 GB of gradients of 7 billion parameters, 8 GPUs, 25 GB/s: 0.98 s.
/// assert!((all_reduce_seconds(Bytes::from_gb(14.0), 8, 25e9) - 0.98).abs() < 1e-9);
/// ```
pub fn all_reduce_seconds(bytes: Bytes, gpus: u32, bytes_per_second: f64) -> f64 {
    2.0 * seconds_around(bytes, gpus, bytes_per_second)
}

/// Half of that: a reduce-scatter or an all-gather.
fn seconds_around(bytes: Bytes, gpus: u32, bytes_per_second: f64) -> f64 {
    let others = f64::from(gpus.max(1) - 1) / f64::from(gpus.max(1));
    others * bytes.get() / bytes_per_second
}

/// How the time of one update divides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// Seconds of computing.
    pub compute: f64,
    /// Seconds of sending and receiving.
    pub communicate: f64,
    /// The part of those that no computing hides, between its two extremes: all of it waits, or as much
    /// as can be is hidden.
    pub exposed: [f64; 2],
}

impl Exchange {
    /// What is left of perfect scaling, from 0 to 1: when everything waits, and when all is hidden that
    /// can be.
    pub fn efficiency(&self) -> [f64; 2] {
        self.exposed.map(|exposed| self.compute / (self.compute + exposed))
    }
}

/// One update of the scenario on `gpus` data-parallel GPUs (or groups of T·P·C) of its micro-batch each,
/// over a link on which each sends `bytes_per_second`.
///
/// Volumes are those of Rajbhandari et al. 2020, section 7, with Ψ parameters: twice Ψ without ZeRO and at
/// stages 1 and 2, and three times Ψ at stage 3, which gathers parameters forward and backward. Beside
/// adapters only the gradients and the new weights of the adapters are sent, and stage 3 gathers the frozen
/// weights as well. Tensor and pipeline parallelism divide the weights, and with them what is sent. The C GPUs of
/// a context-parallel group hold the same weights and see different tokens, so they are summed over like data-parallel
/// GPUs; experts are summed over the D·C/X GPUs that hold the same ones (Megatron-LM, `core/parallel_state.py`:
/// `dp_cp` and `expert_dp` groups). When micro-batches are accumulated, gradients that are whole on each GPU (stages 0 and 1)
/// wait for the last one; sharded ones (2 and 3) are reduced after each, and so are stage 3's parameters
/// gathered.
///
/// Gradients can hide behind the backward pass that makes them, and what is computed again is a part of that
/// pass: two thirds of the work where all weights are trained and nothing is computed again, and about half
/// of it beside frozen weights, which have no gradients of their own ([`Work`]). What stage 3 gathers can hide
/// behind all of it. Latency and contention are not counted.
pub fn exchange(scenario: &Scenario, gpus: u32, bytes_per_second: f64) -> Exchange {
    let micro_batches = scenario.recipe.micro_batches.max(1);
    let compute = cost(scenario, micro_batches, catalogue::speed(scenario)).seconds();
    let cluster = &scenario.cluster;
    let share = 1.0 / f64::from(cluster.tensor_parallel.max(1)) / f64::from(cluster.pipeline_parallel.max(1));
    let same = gpus.max(1).saturating_mul(cluster.context_parallel.max(1));
    let divided = cluster.expert_parallel.clamp(1, same.min(scenario.model.experts.count).max(1));
    let around = |sent: Parts| {
        let seconds = |bytes: f64, gpus: u32| seconds_around(Bytes::new(share * bytes), gpus, bytes_per_second);
        seconds(sent.dense, same) + seconds(sent.experts / f64::from(divided), same / divided)
    };
    let Sent { gathered, updated, gradients } = Sent::of(scenario);
    let (gather, update, reduce) = (around(gathered), around(updated), around(gradients));
    let work = Work::of(scenario);
    let backward = (work.backward + work.again) / (work.once() + work.again);
    let many = f64::from(micro_batches);
    let (communicate, behind) = match scenario.cluster.zero {
        ZeroStage::Stage0 => (2.0 * reduce, backward / many),
        // The gathering of updated parameters follows the optimizer step.
        ZeroStage::Stage1 => (reduce + update, backward / many),
        ZeroStage::Stage2 => (many * reduce + update, backward),
        ZeroStage::Stage3 => (many * (reduce + 2.0 * gather), 1.0),
    };
    Exchange { compute, communicate, exposed: [communicate, (communicate - behind * compute).max(0.0)] }
}

/// Bytes of what goes around, before any parallelism divides it.
struct Sent {
    /// All weights, as a pass needs them.
    gathered: Parts,
    /// The weights that an update changes.
    updated: Parts,
    /// Their gradients.
    gradients: Parts,
}

/// Bytes that expert parallelism divides, and the others.
#[derive(Clone, Copy)]
struct Parts {
    dense: f64,
    experts: f64,
}

impl Sent {
    /// Weights are sent in the type they are computed in, which for fp32 weights under autocast is fp32,
    /// because each product casts for itself. Gradients are sent in the type they are kept in.
    fn of(scenario: &Scenario) -> Self {
        let (model, recipe) = (&scenario.model, &scenario.recipe);
        let weights = Weights::of(model);
        let all = weights.total() as f64;
        let experts = (weights.expert_layers * weights.experts * weights.expert) as f64;
        let wide = |is_wide: bool| if is_wide { 4.0 } else { 2.0 };
        let in_fp32 = recipe.precision == Precision::Fp32;
        let over_fp32 = matches!(recipe.precision, Precision::Mixed | Precision::Autocast);
        let full = recipe.gradients == GradientType::Full;
        let every = |bytes: f64| Parts { dense: (all - experts) * bytes, experts: experts * bytes };
        if recipe.adapter == Adapter::None {
            let updated = every(wide(in_fp32 || recipe.precision == Precision::Autocast));
            return Self { gathered: updated, updated, gradients: every(wide(in_fp32 || over_fp32 || full)) };
        }
        // Adapters stand beside matrices that every GPU has.
        let adapters = AdapterWeights::of(model, recipe).total(weights.dense_layers, weights.expert_layers) as f64;
        let beside = |bytes: f64| Parts { dense: adapters * bytes, experts: 0.0 };
        let wide_adapters = in_fp32 || recipe.adapter_type == AdapterType::Full;
        let updated = beside(wide(wide_adapters));
        let gradients = beside(wide(wide_adapters || (full && !over_fp32)));
        // Quantized are the matrices of the blocks (Dettmers et al. 2023, arXiv 2305.14314, section 3: 4 bits
        // and 0.127 of doubly quantized constants).
        let inside = experts
            + (weights.dense_layers * (weights.attention + weights.dense_mlp)
                + weights.expert_layers * (weights.attention + weights.shared_experts)) as f64;
        // A stack of experts is none of them, in transformers 5.
        let stacked = recipe.stacks_experts(model);
        let quantized = |bytes: f64| Parts {
            dense: (inside - experts) * bytes + (all - inside) * wide(in_fp32),
            experts: experts * if stacked { wide(in_fp32) } else { bytes },
        };
        let frozen = match recipe.adapter {
            Adapter::Qlora => quantized((4.0 + QLORA_CONSTANTS.number()) / 8.0),
            Adapter::Lora8 => quantized(1.0),
            Adapter::LoraFp32 => every(4.0),
            Adapter::Lora | Adapter::None => every(wide(in_fp32)),
        };
        let gathered = Parts { dense: frozen.dense + updated.dense, experts: frozen.experts };
        Self { gathered, updated, gradients }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AdapterTargets, Method, Recomputation};

    #[test]
    fn the_parts_of_a_bar_make_its_peak_and_only_states_shrink() {
        let scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
        let before = parts(&at_stage(&scenario, ZeroStage::Stage0));
        for stage in STAGES {
            let sharded = at_stage(&scenario, stage);
            let parts = parts(&sharded);
            let sum: f64 = parts.iter().map(|part| part.get()).sum();
            assert!((sum - estimate(&sharded).peak().bytes.get()).abs() < 1.0);
            assert_eq!(parts[3], before[3], "activations are never sharded");
        }
        let last = parts(&at_stage(&scenario, ZeroStage::Stage3));
        assert!((last[0].get() * 8.0 / before[0].get() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_gpu_has_nothing_to_send() {
        for stage in STAGES {
            let mut scenario = Scenario::workshop();
            scenario.cluster.zero = stage;
            let alone = exchange(&scenario, 1, 25e9);
            assert_eq!((alone.communicate, alone.efficiency()), (0.0, [1.0, 1.0]));
        }
    }

    #[test]
    fn stage_three_sends_half_as_much_again() {
        let at = |stage| {
            let mut scenario = Scenario::workshop();
            scenario.cluster.zero = stage;
            exchange(&scenario, 8, 25e9).communicate
        };
        let [none, one, two, three] = STAGES.map(at);
        assert!((one - none).abs() < 1e-9 && (two - none).abs() < 1e-9 && (three / none - 1.5).abs() < 1e-9);
    }

    #[test]
    fn efficiency_falls_with_more_gpus_and_rises_with_faster_links_and_larger_batches() {
        let scenario = Scenario::workshop();
        let at = |scenario: &Scenario, gpus, link| exchange(scenario, gpus, link).efficiency()[0];
        assert!(at(&scenario, 2, 25e9) > at(&scenario, 64, 25e9));
        assert!(at(&scenario, 8, 300e9) > at(&scenario, 8, 25e9));
        assert!(at(&scenario.with_batch(16), 8, 25e9) > at(&scenario, 8, 25e9));
    }

    #[test]
    fn accumulating_sends_whole_gradients_once() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.zero = ZeroStage::Stage0;
        let once = exchange(&scenario, 8, 25e9);
        scenario.recipe.micro_batches = 16;
        let many = exchange(&scenario, 8, 25e9);
        assert!((many.communicate - once.communicate).abs() < 1e-12);
        assert!((many.compute / once.compute - 16.0).abs() < 1e-9);
    }

    /// The part of an update that gradients can hide behind, read off over a link so slow that they cannot.
    fn hidden(scenario: &Scenario) -> f64 {
        let mut scenario = *scenario;
        scenario.cluster.zero = ZeroStage::Stage0;
        let slow = exchange(&scenario, 8, 1e3);
        (slow.communicate - slow.exposed[1]) / slow.compute
    }

    #[test]
    fn gradients_hide_behind_the_backward_pass_and_what_it_computes_again() {
        let mut scenario = Scenario::workshop();
        scenario.recipe.recomputation = Recomputation::None;
        // 4 of 6 operations a weight.
        assert!((hidden(&scenario) - 2.0 / 3.0).abs() < 1e-9);
        scenario.recipe.recomputation = Recomputation::Full;
        // 6 of 8, but for the head, which is not computed again.
        assert!((0.74..0.75).contains(&hidden(&scenario)), "{}", hidden(&scenario));
    }

    #[test]
    fn beside_frozen_weights_the_backward_pass_is_half_of_the_work() {
        let mut scenario = Scenario::workshop();
        scenario.recipe.recomputation = Recomputation::None;
        scenario.recipe.adapter = Adapter::Lora;
        // 2 of 4 operations a frozen weight; adapters and attention are next to nothing at this size.
        scenario.recipe.rank = 1;
        scenario.recipe.sequence = 128;
        assert!((hidden(&scenario) - 0.5).abs() < 0.01, "{}", hidden(&scenario));
    }

    #[test]
    fn beside_frozen_weights_only_the_adapters_are_sent() {
        let mut scenario = catalogue::model("llama-2-7b").expect("listed").apply(Scenario::workshop());
        scenario.recipe.adapter = Adapter::Lora;
        scenario.recipe.targets = AdapterTargets::QueryValue;
        scenario.recipe.rank = 8;
        scenario.cluster.zero = ZeroStage::Stage0;
        // PEFT's own example: 4,194,304 trained of 6,742,609,920 parameters, in fp32.
        let expected = 2.0 * 7.0 / 8.0 * 4.0 * 4_194_304.0 / 25e9;
        assert!((exchange(&scenario, 8, 25e9).communicate / expected - 1.0).abs() < 1e-9);
        // Stage 3 gathers the 16-bit weights twice: 4 bytes for each of 6,738,415,616.
        scenario.cluster.zero = ZeroStage::Stage3;
        let gathered = 7.0 / 8.0 * 4.0 * 6_738_415_616.0 / 25e9;
        let three = exchange(&scenario, 8, 25e9).communicate;
        assert!(three > gathered && three < gathered * 1.01, "{three} beside {gathered}");
    }

    #[test]
    fn gpus_that_share_a_sequence_are_summed_over_like_copies() {
        let seconds = |context, gpus| {
            let mut scenario = Scenario::workshop();
            scenario.cluster.zero = ZeroStage::Stage0;
            scenario.cluster.context_parallel = context;
            exchange(&scenario, gpus, 25e9).communicate
        };
        // Two copies of four GPUs each hold the same weights eight times.
        assert!((seconds(4, 2) / seconds(1, 8) - 1.0).abs() < 1e-12);
        assert!(seconds(4, 1) > 0.0, "even one copy has gradients to sum");
    }

    #[test]
    fn experts_are_summed_over_those_that_hold_the_same_ones() {
        let seconds = |parallel| {
            let mut scenario = catalogue::model("mixtral-8x7b").expect("listed").apply(Scenario::workshop());
            scenario.cluster.zero = ZeroStage::Stage0;
            scenario.cluster.expert_parallel = parallel;
            exchange(&scenario, 8, 25e9).communicate
        };
        // 8 experts of 3 · 4096 · 14336 in each of 32 layers, of 46,702,792,704 (Jiang et al. 2024, arXiv 2401.04088,
        // table 1): with one on each of 8 GPUs no other holds it, and only the rest is sent, at 16 bits.
        let experts = 32.0 * 8.0 * 3.0 * 4096.0 * 14336.0;
        let rest = 2.0 * 7.0 / 8.0 * 2.0 * (46_702_792_704.0 - experts) / 25e9;
        assert!((seconds(8) / rest - 1.0).abs() < 1e-9, "{} beside {rest}", seconds(8));
        assert!(seconds(1) > seconds(2) && seconds(2) > seconds(8));
    }
}
