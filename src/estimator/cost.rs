//! What a step costs: floating-point operations, traffic to the host, time.

use serde::Serialize;

use super::choice::{Adapter, Engine, LossHead, Method, Offload, Recomputation, ZeroStage};
use super::counted;
use super::ledger::Ledger;
use super::scenario::Scenario;
use super::units::Bytes;
use super::weights::{AdapterWeights, Weights};
use super::{Bucket, estimate};

/// How fast one device computes and reaches the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// Sustained floating-point operations per second.
    pub flops_per_second: f64,
    /// Bytes per second to and from the host, each way.
    pub host_bytes_per_second: f64,
}

impl Speed {
    /// The part of a device's peak that training reaches. No source states it: 0.4 is a choice among what
    /// large models reached, 0.213 to 0.462 in Chowdhery et al. 2022, arXiv 2204.02311, table 3, and 0.38
    /// to 0.43 with Llama 3 405B (Grattafiori et al. 2024, arXiv 2407.21783, table 4).
    pub const UTILIZATION: f64 = 0.4;

    /// From a device's dense peak in TFLOP/s, in the precision of the products, and the bandwidth of
    /// its host link in GB/s.
    pub const fn from_peak(teraflops: f64, host_gb_per_second: f64) -> Self {
        Self { flops_per_second: teraflops * 1e12 * Self::UTILIZATION, host_bytes_per_second: host_gb_per_second * 1e9 }
    }
}

/// What one optimizer step costs on one device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// Floating-point operations without any recomputation.
    pub flops: f64,
    /// What recomputation adds, as a part of them.
    pub extra: f64,
    /// What waiting for the other stages of a pipeline adds to the computing, as a part of it.
    pub bubble: f64,
    /// Bytes that cross the host link, there and back together.
    pub host_traffic: Bytes,
    /// Seconds of computing, with the pipeline's bubble.
    pub compute_seconds: f64,
    /// Seconds that transfers take beyond the computing they hide behind.
    pub stall_seconds: f64,
}

impl Cost {
    /// Seconds of one step.
    pub fn seconds(&self) -> f64 {
        self.compute_seconds + self.stall_seconds
    }
}

/// Floating-point operations of one token, by the pass that does them, over all layers.
///
/// A product with a matrix takes 2 operations for each of its weights forward, 2 backward for the
/// gradient of its input and 2 for that of the matrix (Narayanan et al. 2021, arXiv 2104.04473,
/// appendix). Counted are the products of attention, of the feed-forward blocks or the experts that
/// the token visits, of the router and of the head; a head that is the input embedding is a product
/// all the same. Looking up an embedding or a position is none, and neither are norms and biases.
/// Frozen matrices beside adapters have no gradient of their own, which saves 2 operations of 6; the
/// adapters' own products take all 6.
///
/// Attention multiplies queries with keys and probabilities with values: 2·S·n·(width of a query +
/// width of a value) forward and twice that backward. With n heads of width d this is 12·S·n·d
/// together; Narayanan et al., equation 3, write 12·S·H, because their n·d is H. By the convention of
/// that paper and of Chowdhery et al. 2022, appendix B, all S² pairs are counted, although a causal
/// mask needs only half of them, and so are those outside a sliding window.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Work {
    /// Forward, once.
    pub forward: f64,
    /// Backward, without what is computed again.
    pub backward: f64,
    /// What recomputation computes again.
    pub again: f64,
}

impl Work {
    /// The work of one token.
    pub fn of(scenario: &Scenario) -> Self {
        let (model, recipe) = (&scenario.model, &scenario.recipe);
        let weights = Weights::of(model);
        // What an encoder does is shared out among the tokens of the decoder.
        let stacks = Stacks::of(scenario, &weights);
        let layers = 2.0 * (weights.multiplied_in_layers(model) as f64 + stacks.multiplied);
        let head = if recipe.loss == LossHead::Classifier { 0.0 } else { 2.0 * weights.multiplied_by_head() as f64 };
        let attention = attention_forward(scenario) * f64::from(model.layers) + stacks.attention;
        let frozen = recipe.adapter != Adapter::None;
        let adapters = if frozen {
            // Of routed experts a token visits a few.
            let visited = model.experts.active.min(model.experts.count).into();
            2.0 * AdapterWeights::of(model, recipe).multiplied(&weights, visited) as f64
        } else {
            0.0
        };
        let through_weights = if frozen { 1.0 } else { 2.0 };
        // Every layer runs forward once more, and the head does not.
        let whole = layers + adapters + attention;
        Self {
            forward: whole + head,
            backward: through_weights * (layers + head) + 2.0 * (adapters + attention),
            again: match recipe.recomputation {
                Recomputation::None => 0.0,
                Recomputation::Selective => attention,
                Recomputation::Operators => whole / 2.0,
                Recomputation::EveryK | Recomputation::Full => whole,
                Recomputation::KthLayer | Recomputation::Block => recomputed_part(scenario) * whole,
            },
        }
    }

    /// Forward and backward, without what is computed again.
    pub fn once(&self) -> f64 {
        self.forward + self.backward
    }

    /// What recomputation adds to a step, as a part of the step without it.
    pub fn extra(&self) -> f64 {
        self.again / self.once()
    }
}

/// What an encoder adds for each token of the decoder.
#[derive(Default)]
struct Stacks {
    /// Weights that it is multiplied with.
    multiplied: f64,
    /// Operations of the products of queries with keys and of probabilities with values.
    attention: f64,
}

impl Stacks {
    /// The encoder multiplies each of its S_e positions with its matrices, and each layer of the decoder makes keys and
    /// values of them; queries and the output of attention to them belong to the decoder's tokens.
    fn of(scenario: &Scenario, weights: &Weights) -> Self {
        let model = &scenario.model;
        if !model.encoder.is_there() {
            return Self::default();
        }
        let (source, sequence) = (f64::from(scenario.source()), f64::from(scenario.recipe.sequence.max(1)));
        let width = f64::from(model.heads) * f64::from(model.head_dim);
        let queries = 2.0 * f64::from(model.hidden) * width;
        let (layers, own) = (f64::from(model.layers), f64::from(model.encoder.layers));
        let keys = (weights.cross as f64 - queries).max(0.0);
        let ratio = source / sequence;
        let pairs = 4.0 * width * source;
        Self {
            multiplied: layers * queries + ratio * (layers * keys + weights.encoder as f64),
            attention: pairs * (layers + own * ratio),
        }
    }
}

/// The two products of attention in one layer, forward, for one token.
fn attention_forward(scenario: &Scenario) -> f64 {
    let model = &scenario.model;
    // Latent attention rotates some more elements of queries and keys (DeepSeek-AI 2024, arXiv
    // 2405.04434, section 2.1.3).
    let (query, value) = (f64::from(model.head_dim) + f64::from(model.latent.rope_dim), f64::from(model.head_dim));
    2.0 * f64::from(scenario.recipe.sequence) * f64::from(model.heads) * (query + value)
}

/// Floating-point operations of one token, forward and backward, without recomputation: 6 for every
/// weight that it is multiplied with and 12·S·n·d for the attention of each layer. See [`Work`].
///
/// ```
/// use bmax::{Scenario, catalogue, cost::flops_per_token};
/// let mut scenario = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::workshop());
/// scenario.recipe.sequence = 8_192;
/// // 6 for each of 7.5 billion weights beside the input embedding, and 12·32·4096·8192.
/// assert_eq!(flops_per_token(&scenario).round(), 6.0 * 7_504_658_432.0 + 12_884_901_888.0);
/// ```
pub fn flops_per_token(scenario: &Scenario) -> f64 {
    Work::of(scenario).once()
}

/// What recomputation adds to a step, as a part of the step without it.
///
/// Full recomputation runs every layer forward again, a third of the layers' forward and backward
/// together, and half of it where the weights are frozen; the head is not repeated. Selective
/// recomputation runs the two products of attention forward once more, S/18H of a step and 0.9 % for
/// GPT-3 175B (Korthikanti et al. 2022, section 5, print 2.7 %, which is S/6H: the products three
/// times); operator-level selection repeats every second product, half of what full recomputation does.
pub fn extra_work(scenario: &Scenario) -> f64 {
    Work::of(scenario).extra()
}

/// The time in which a stage of a pipeline waits for the others, as a part of the time in which it
/// computes: (P − 1)/m for m micro-batches, and a v-th of that where every device holds v pieces of the
/// model (Narayanan et al. 2021, arXiv 2104.04473, sections 2.2.1 and 2.2.2).
///
/// ```
/// use bmax::cost::bubble;
/// assert_eq!(bubble(4, 1, 8), 3.0 / 8.0);
/// assert_eq!(bubble(4, 2, 8), 3.0 / 16.0);
/// ```
pub fn bubble(stages: u32, virtual_stages: u32, micro_batches: u32) -> f64 {
    let pieces = f64::from(virtual_stages.max(1)) * f64::from(micro_batches.max(1));
    f64::from(stages.max(1) - 1) / pieces
}

/// The part of the layers that are computed again when only some of them are.
fn recomputed_part(scenario: &Scenario) -> f64 {
    let layers = scenario.model.layers;
    let again = match scenario.recipe.recomputation {
        Recomputation::KthLayer => layers / scenario.recipe.every.max(1),
        _ => scenario.recipe.recomputed_layers.saturating_mul(scenario.cluster.pipeline_parallel).min(layers),
    };
    f64::from(again) / f64::from(layers.max(1))
}

/// The cost of one optimizer step of `micro_batches` micro-batches, each as large as the scenario's.
///
/// Work is divided evenly over T, P and C, and the stages of a pipeline wait for each other at both
/// ends of the step ([`bubble`]).
pub fn cost(scenario: &Scenario, micro_batches: u32, speed: Speed) -> Cost {
    let recipe = &scenario.recipe;
    let sequences = f64::from(recipe.batch) * f64::from(scenario.unit().sequences());
    let tokens = sequences * f64::from(recipe.sequence) * f64::from(micro_batches);
    let work = Work::of(scenario);
    let flops = work.once() * tokens / f64::from(scenario.cluster.group().max(1));
    let extra = work.extra();
    let cluster = &scenario.cluster;
    let bubble = bubble(cluster.pipeline_parallel, cluster.virtual_stages, micro_batches);
    let traffic = Traffic::of(scenario, micro_batches);
    let host_traffic = Bytes::new(traffic.out + traffic.back);
    let compute_seconds = flops * (1.0 + extra) * (1.0 + bubble) / speed.flops_per_second;
    // Both ways run at once, beside the computing.
    let transfer_seconds = traffic.out.max(traffic.back) / speed.host_bytes_per_second;
    let stall_seconds = (transfer_seconds - compute_seconds).max(0.0);
    Cost { flops, extra, bubble, host_traffic, compute_seconds, stall_seconds }
}

/// Bytes between a device and its host in one optimizer step, by the way they go.
#[derive(Clone, Copy, Default)]
struct Traffic {
    out: f64,
    back: f64,
}

impl Traffic {
    fn of(scenario: &Scenario, micro_batches: u32) -> Self {
        let mut resident = *scenario;
        resident.recipe.offload = Offload::None;
        let offload = scenario.recipe.offload;
        let mut traffic =
            if offload.takes_optimizer() { Self::of_optimizer(&resident, micro_batches) } else { Self::default() };
        if offload.takes_activations() {
            // Layer inputs go out and come back for every micro-batch.
            let kept = Ledger::of(&resident).activations(scenario.recipe.batch) * f64::from(micro_batches);
            traffic.out += kept;
            traffic.back += kept;
        }
        traffic
    }

    /// What an update on the host moves: gradients out and new weights back, once a step (Ren et al. 2021, arXiv
    /// 2101.06840, sections 3 and 4). Where the optimizer state is sharded, a device moves its own share of both.
    ///
    /// DeepSpeed sends the gradients of the update in fp32. When it accumulates sharded gradients, it also keeps their
    /// sums on the host: out after every micro-batch, and back before the next is added to them
    /// (zero/stage_1_and_2.py, async_accumulate_grad_in_cpu_via_gpu; zero/stage3.py, partition_grads; at edaa722).
    fn of_optimizer(scenario: &Scenario, micro_batches: u32) -> Self {
        let (weight, gradient) = counted::bytes_of_a_trained_weight(scenario);
        let trained = trained_weights(scenario);
        let engine = scenario.cluster.engine;
        // Beside fp32 sums fp16 keeps the gradients that it adds to them; the sums alone are sent.
        let sent = trained * gradient.min(4.0);
        let back = trained * weight;
        if engine != Engine::DeepSpeed {
            return Self { out: sent, back };
        }
        let sharded = matches!(scenario.cluster.zero, ZeroStage::Stage2 | ZeroStage::Stage3);
        let sums = if sharded && micro_batches > 1 { f64::from(micro_batches) } else { 0.0 };
        Self { out: trained * 4.0 + sums * sent, back: back + (sums - 1.0).max(0.0) * sent }
    }
}

/// Trained weights that a device updates: its share of them where the optimizer state is sharded.
fn trained_weights(scenario: &Scenario) -> f64 {
    let mut share = *scenario;
    share.method = Method::Ledger;
    share.recipe.micro_batches = 1;
    // No buffers of an engine, and no buckets of data parallelism: gradients alone.
    share.cluster.engine = Engine::Torch;
    match share.cluster.zero {
        ZeroStage::Stage0 => {
            share.cluster.context_parallel = 1;
            share.cluster.gpus = share.cluster.group();
        }
        _ => share.cluster.zero = ZeroStage::Stage3,
    }
    let (_, gradient) = counted::bytes_of_a_trained_weight(&share);
    estimate(&share).at_update(&[Bucket::Gradients]).get() / gradient
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    /// Llama 3.1 8B with its optimizer on the host.
    fn offloaded(gpus: u32, zero: ZeroStage, engine: Engine) -> Scenario {
        let mut scenario = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::workshop());
        scenario.recipe.offload = Offload::Optimizer;
        scenario.cluster.gpus = gpus;
        scenario.cluster.zero = zero;
        scenario.cluster.engine = engine;
        scenario
    }

    /// Ren et al. 2021: 2 bytes of gradient out and 2 bytes of weight back, whatever is accumulated, and over all
    /// devices together as much as on one.
    #[test]
    fn an_offloaded_update_moves_two_bytes_a_weight_each_way() {
        let n = 8_030_261_248.0;
        for (gpus, zero) in
            [(1, ZeroStage::Stage0), (8, ZeroStage::Stage1), (8, ZeroStage::Stage2), (8, ZeroStage::Stage3)]
        {
            for micro_batches in [1, 16] {
                let Traffic { out, back } = Traffic::of(&offloaded(gpus, zero, Engine::Torch), micro_batches);
                let share = 2.0 * n / f64::from(gpus);
                assert!(
                    (out / share - 1.0).abs() < 1e-6 && (back / share - 1.0).abs() < 1e-6,
                    "{zero:?}: {out} {back}"
                );
            }
        }
    }

    #[test]
    fn deepspeed_keeps_the_sums_of_sharded_gradients_on_the_host() {
        let share = 8_030_261_248.0 / 8.0;
        // Bytes a weight: 4 for the update and 2 of new weights, and 2 out of each micro-batch and back into all but
        // the first.
        for (zero, micro_batches, [out, back]) in [
            (ZeroStage::Stage2, 1, [4.0, 2.0]),
            (ZeroStage::Stage2, 4, [4.0 + 8.0, 2.0 + 6.0]),
            (ZeroStage::Stage3, 4, [4.0 + 8.0, 2.0 + 6.0]),
            (ZeroStage::Stage1, 4, [4.0, 2.0]),
        ] {
            let found = Traffic::of(&offloaded(8, zero, Engine::DeepSpeed), micro_batches);
            for (found, expected) in [(found.out, out), (found.back, back)] {
                assert!((found / share / expected - 1.0).abs() < 1e-6, "{zero:?} {micro_batches}: {found}");
            }
        }
    }

    #[test]
    fn beside_adapters_only_they_cross() {
        let mut scenario = offloaded(1, ZeroStage::Stage0, Engine::Torch);
        scenario.recipe.adapter = Adapter::Lora;
        let trained = AdapterWeights::of(&scenario.model, &scenario.recipe).total(scenario.model.layers.into(), 0);
        // PEFT keeps adapters in fp32.
        let found = Traffic::of(&scenario, 1);
        assert!((found.out / (4.0 * trained as f64) - 1.0).abs() < 1e-6, "{}", found.out);
        assert_eq!(found.out, found.back);
    }

    #[test]
    fn traffic_is_what_goes_out_and_what_comes_back() {
        let scenario = offloaded(1, ZeroStage::Stage0, Engine::Torch);
        // Two bytes of gradient and two of weight for each of 8.03·10⁹ weights.
        let traffic = cost(&scenario, 1, Speed::from_peak(312.0, 25.0)).host_traffic.get();
        assert!((traffic / (4.0 * 8_030_261_248.0) - 1.0).abs() < 1e-6, "{traffic}");
    }

    #[test]
    fn layer_inputs_go_out_and_come_back_for_every_micro_batch() {
        let mut scenario = offloaded(1, ZeroStage::Stage0, Engine::Torch);
        scenario.recipe.offload = Offload::Activations;
        scenario.recipe.recomputation = Recomputation::Full;
        (scenario.recipe.sequence, scenario.recipe.batch) = (1_024, 1);
        let [one, four] = [1, 4].map(|micro_batches| Traffic::of(&scenario, micro_batches));
        assert_eq!((one.out, four.out), (one.back, four.back));
        assert_eq!(four.out, 4.0 * one.out);
        // 32 layers of 1,024 × 4,096 numbers of 2 bytes, and what else is kept beside them.
        assert!(one.out >= 32.0 * 1_024.0 * 4_096.0 * 2.0, "{}", one.out);
    }
}
