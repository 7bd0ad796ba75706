//! What one device of each stage of a pipeline holds, before anything of it is turned into bytes.

use super::counted;
use super::scenario::Scenario;

/// One device of a stage of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StageShare {
    /// The stage's place in the pipeline, from 0.
    pub rank: u32,
    /// Transformer blocks of the stage.
    pub layers: f64,
    /// Those of them that have experts.
    pub expert_layers: f64,
    /// Weights on one device: after tensor, pipeline and expert parallelism, before ZeRO shards them.
    pub weights: f64,
    /// Micro-batches whose activations of the stage it keeps at once; a fraction where an interleaved
    /// schedule keeps some chunks of one.
    pub micro_batches: f64,
}

/// Every stage of a scenario's pipeline, from the first to the last; a single one without a pipeline. There are
/// at most as many as layers.
///
/// Under 1F1B stage i of P, counted from 0, keeps P − i micro-batches (Narayanan et al. 2021, arXiv 2104.04473,
/// section 2.2.1). Fewer than P micro-batches a step count as P.
///
/// ```
/// use bmax::{Scenario, stages::stages};
/// let mut scenario = Scenario::workshop();
/// scenario.cluster.pipeline_parallel = 4;
/// let kept: Vec<f64> = stages(&scenario).iter().map(|stage| stage.micro_batches).collect();
/// assert_eq!(kept, [4.0, 3.0, 2.0, 1.0]);
/// ```
pub fn stages(scenario: &Scenario) -> Vec<StageShare> {
    counted::stages(scenario)
}

/// Bytes of an element that goes into a matrix product, and of an element of the residual stream. They differ
/// under autocast, which casts for each product.
pub fn element_bytes(scenario: &Scenario) -> (f64, f64) {
    counted::element_bytes(scenario)
}
