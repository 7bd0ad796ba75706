//! What a step costs: floating-point operations, traffic to the host, time.

use serde::Serialize;

use super::choice::{Adapter, LossHead, Offload, Recomputation};
use super::ledger::Ledger;
use super::scenario::Scenario;
use super::units::Bytes;
use super::weights::Weights;
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
    /// The part of a device's peak that training reaches; 0.4 is usual for transformers of some
    /// billion parameters (Chowdhery et al. 2022, arXiv 2204.02311, section 4.1: 0.21 to 0.46).
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
        let layers = 2.0 * weights.multiplied_in_layers(model) as f64;
        let head = if recipe.loss == LossHead::Classifier { 0.0 } else { 2.0 * weights.multiplied_by_head() as f64 };
        let attention = attention_forward(scenario) * f64::from(model.layers);
        let frozen = recipe.adapter != Adapter::None;
        let adapters = if frozen {
            2.0 * Weights::adapter(model, recipe.targets, recipe.rank.into()) as f64 * f64::from(model.layers)
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
/// let mut scenario = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::default());
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
    let tokens = f64::from(recipe.batch) * f64::from(recipe.sequence) * f64::from(micro_batches);
    let work = Work::of(scenario);
    let flops = work.once() * tokens / f64::from(scenario.cluster.group().max(1));
    let extra = work.extra();
    let cluster = &scenario.cluster;
    let bubble = bubble(cluster.pipeline_parallel, cluster.virtual_stages, micro_batches);
    let host_traffic = host_traffic(scenario, micro_batches);
    let compute_seconds = flops * (1.0 + extra) * (1.0 + bubble) / speed.flops_per_second;
    // Half of the traffic goes each way, and both ways run at once, beside the computing.
    let transfer_seconds = host_traffic.get() / 2.0 / speed.host_bytes_per_second;
    let stall_seconds = (transfer_seconds - compute_seconds).max(0.0);
    Cost { flops, extra, bubble, host_traffic, compute_seconds, stall_seconds }
}

/// Gradients out and weights in for an offloaded optimizer, once a step; layer inputs out and in for
/// every micro-batch.
fn host_traffic(scenario: &Scenario, micro_batches: u32) -> Bytes {
    let mut resident = *scenario;
    resident.recipe.offload = Offload::None;
    let offload = scenario.recipe.offload;
    let mut bytes = 0.0;
    if offload.takes_optimizer() {
        bytes += estimate(&resident).at_update(&[Bucket::Gradients, Bucket::Parameters]).get();
    }
    if offload.takes_activations() {
        let kept = Ledger::of(&resident).activations(scenario.recipe.batch);
        bytes += 2.0 * kept * f64::from(micro_batches);
    }
    Bytes::new(bytes)
}
