//! What a step costs: floating-point operations, traffic to the host, time.

use serde::Serialize;

use super::choice::{Adapter, Offload, Recomputation};
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

    /// From a device's dense 16-bit peak in TFLOP/s and the bandwidth of its host link in GB/s.
    pub const fn from_peak(teraflops: f64, host_gb_per_second: f64) -> Self {
        Self { flops_per_second: teraflops * 1e12 * Self::UTILIZATION, host_bytes_per_second: host_gb_per_second * 1e9 }
    }
}

/// What one optimizer step costs on one device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Floating-point operations without any recomputation.
    pub flops: f64,
    /// What recomputation adds, as a part of them.
    pub extra: f64,
    /// Bytes that cross the host link, there and back together.
    pub host_traffic: Bytes,
    /// Seconds of computing.
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

/// Floating-point operations of one token, forward and backward: 6 for every weight that takes part
/// and 12·L·H·S for attention (Narayanan et al. 2021, arXiv 2104.04473, equation 3, without its
/// recomputation).
pub fn flops_per_token(scenario: &Scenario) -> f64 {
    let model = &scenario.model;
    6.0 * active_weights(scenario) + attention_flops(scenario) * f64::from(model.layers)
}

/// Of one layer, forward and backward.
fn attention_flops(scenario: &Scenario) -> f64 {
    12.0 * f64::from(scenario.model.hidden) * f64::from(scenario.recipe.sequence)
}

/// Weights that a token meets: with experts, those it visits.
fn active_weights(scenario: &Scenario) -> f64 {
    let weights = Weights::of(&scenario.model);
    let idle = weights.experts.saturating_sub(scenario.model.experts.active.into());
    weights.total() as f64 - (weights.expert_layers * idle * weights.expert) as f64
}

/// What recomputation adds to a step, as a part of the step without it.
///
/// Full recomputation runs every layer forward again, a third of forward and backward together;
/// selective recomputation runs the two products of attention forward once more, S/18H of a step and
/// 0.9 % for GPT-3 175B (Korthikanti et al. 2022, section 5, print 2.7 %, which is S/6H: the products
/// three times); operator-level selection repeats every second product, half of what full
/// recomputation does.
pub fn extra_work(scenario: &Scenario) -> f64 {
    match scenario.recipe.recomputation {
        Recomputation::None => 0.0,
        Recomputation::Selective => {
            let again = attention_flops(scenario) * f64::from(scenario.model.layers) / 3.0;
            again / flops_per_token(scenario)
        }
        Recomputation::Operators => 1.0 / 6.0,
        Recomputation::EveryK | Recomputation::Full => 1.0 / 3.0,
        Recomputation::KthLayer | Recomputation::Block => recomputed_part(scenario) / 3.0,
    }
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
/// Work is divided evenly over T, P and C. Frozen weights beside adapters need no gradient of their
/// own, which saves a third of their work.
pub fn cost(scenario: &Scenario, micro_batches: u32, speed: Speed) -> Cost {
    let recipe = &scenario.recipe;
    let tokens = f64::from(recipe.batch) * f64::from(recipe.sequence) * f64::from(micro_batches);
    let trained = if recipe.adapter == Adapter::None { 1.0 } else { 2.0 / 3.0 };
    let flops = flops_per_token(scenario) * tokens * trained / f64::from(scenario.cluster.group().max(1));
    let extra = extra_work(scenario);
    let host_traffic = host_traffic(scenario, micro_batches);
    let compute_seconds = flops * (1.0 + extra) / speed.flops_per_second;
    // Half of the traffic goes each way, and both ways run at once, beside the computing.
    let transfer_seconds = host_traffic.get() / 2.0 / speed.host_bytes_per_second;
    let stall_seconds = (transfer_seconds - compute_seconds).max(0.0);
    Cost { flops, extra, host_traffic, compute_seconds, stall_seconds }
}

/// Gradients out and weights in for an offloaded optimizer, once a step; layer inputs out and in for
/// every micro-batch.
fn host_traffic(scenario: &Scenario, micro_batches: u32) -> Bytes {
    let mut resident = *scenario;
    resident.recipe.offload = Offload::None;
    let offload = scenario.recipe.offload;
    let mut bytes = 0.0;
    if matches!(offload, Offload::Optimizer | Offload::Both) {
        bytes += estimate(&resident).at_update(&[Bucket::Gradients, Bucket::Parameters]).get();
    }
    if matches!(offload, Offload::Activations | Offload::Both) {
        let kept = Ledger::of(&resident).activations(scenario.recipe.batch);
        bytes += 2.0 * kept * f64::from(micro_batches);
    }
    Bytes::new(bytes)
}
