//! What a report says beside the answer: which changes gain, what else would fit, how a target is reached.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::values::{Number, Value};

/// A single change that gains sequences.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lever {
    /// The change, as names and values of inputs.
    pub change: String,
    /// The same as parameters.
    pub parameters: BTreeMap<&'static str, Value>,
    /// What the change costs, in one sentence.
    pub cost: &'static str,
    /// The largest micro-batch before; null when not even one sequence fits.
    pub before: Option<u32>,
    /// The largest micro-batch with the change.
    pub after: u32,
}

/// Ways to a number where there is none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ways {
    /// Changes with which at least one sequence fits, none of which can be left out; the cheapest first.
    pub fitting: Vec<WayOut>,
    /// Where there are none, what comes closest; null where there are some.
    pub closest: Option<Closest>,
}

/// Changes with which at least one sequence fits.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WayOut {
    /// The changes, as names and values of inputs.
    pub change: String,
    /// The same as parameters.
    pub parameters: BTreeMap<&'static str, Value>,
    /// What they cost, in a sentence each.
    pub cost: String,
    /// The scenario with them, as the query of a link.
    pub link: String,
    /// The largest micro-batch with them.
    pub b_max: u32,
}

/// Changes with which one sequence comes closest to fitting.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closest {
    /// The changes, as names and values of inputs; empty where none brings it closer.
    pub change: String,
    /// The same as parameters.
    pub parameters: BTreeMap<&'static str, Value>,
    /// The scenario with them, as the query of a link.
    pub link: String,
    /// What one sequence lacks with them.
    pub lacks_bytes: Number,
}

/// The same question solved for other quantities, each alone, at the micro-batch of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Solve {
    /// The micro-batch that is to fit, in sequences per GPU, or in pairs, completions or rows where its
    /// task or its lengths count those.
    pub micro_batch: u32,
    /// The longest sequence, in tokens.
    pub longest_sequence: Option<u32>,
    /// The fewest GPUs.
    pub fewest_gpus: Option<u32>,
    /// The least memory of a GPU, in MiB as its driver reports it.
    pub least_memory_mib: Option<u32>,
    /// The GPU of the list with the least memory, by its word in links; unified memory is left out.
    pub smallest_device: Option<&'static str>,
    /// The parameters of the largest model of the same shape.
    pub largest_model_parameters: Option<u64>,
    /// For each that is null, why.
    pub reasons: BTreeMap<&'static str, &'static str>,
}

/// The cheapest way to the global batch: what was tried, in the order of cost, to the first that holds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The global batch in sequences.
    pub target_sequences: u32,
    /// Whether the last step reaches it.
    pub reached: bool,
    /// The speed that times are worked out with.
    pub assumed_speed: AssumedSpeed,
    /// What was tried; each step keeps the measures of those before it. Empty where the scenario has no answer.
    pub steps: Vec<Step>,
}

/// The speed that times are worked out with: 40 % of the peak on the data sheet of the GPU, that of fp32
/// where training is in fp32 and that of 16-bit products with fp32 sums otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssumedSpeed {
    /// Sustained floating-point operations per second.
    pub flops_per_second: Number,
    /// Bytes per second to and from the host, each way.
    pub host_bytes_per_second: Number,
    /// What stands in for the data sheet of a GPU without a listed speed, in words; null for all others.
    pub assumed: Option<String>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it adds to the step before.
    #[schemars(extend("enum" = ["accumulate", "recompute", "swap", "more-gpus"]))]
    pub measure: &'static str,
    /// The scenario with it, as the query of a link.
    pub link: String,
    /// The largest micro-batch there; null when not even one sequence fits.
    pub b_max: Option<u32>,
    /// How the global batch is reached; null when nothing fits.
    pub accumulation: Option<Accumulation>,
    /// What an optimizer step costs on one GPU; null when nothing fits.
    pub cost: Option<Cost>,
}

/// Micro-batches whose gradients are added up.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accumulation {
    /// Sequences a GPU processes at once.
    pub micro_batch: u32,
    /// Data-parallel GPUs.
    pub data_parallel: u32,
    /// Micro-batches of one optimizer step.
    pub steps: u32,
    /// Sequences an optimizer step sees.
    pub global_batch: u64,
}

/// What an optimizer step costs on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Floating-point operations without any recomputation.
    pub flops: Number,
    /// What recomputation adds, as a part of them.
    pub extra: Number,
    /// What waiting for the other stages of a pipeline adds to the time of computing, as a part of it.
    pub bubble: Number,
    /// Bytes that cross the host link, there and back together.
    pub host_traffic_bytes: Number,
    /// Seconds of a step at the assumed speed.
    pub seconds: Number,
}
