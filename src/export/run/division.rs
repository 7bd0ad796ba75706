//! How a scenario divides its work, as targets ask for it.

use crate::{Cluster, Scenario, ZeroStage};

/// Takes a pipeline away.
pub(in crate::export) fn one_stage(cluster: &mut Cluster) {
    cluster.pipeline_parallel = 1;
    cluster.virtual_stages = 1;
    cluster.first_stage_layers = 0;
    cluster.last_stage_layers = 0;
}

/// Layers of every pipeline stage; none where those of the first and the last stage leave the others
/// nothing, or too much. What does not divide is one layer more on the first of them.
pub(in crate::export) fn stage_layers(scenario: &Scenario) -> Option<Vec<u32>> {
    let (cluster, layers) = (&scenario.cluster, scenario.model.layers);
    let (first, last) = (cluster.first_stage_layers, cluster.last_stage_layers);
    let stages = cluster.pipeline_parallel.max(1);
    if stages == 1 {
        return Some(vec![layers]);
    }
    let between = stages - u32::from(first > 0) - u32::from(last > 0);
    let left = layers.checked_sub(first.checked_add(last)?)?;
    if left < between || (between == 0 && left > 0) {
        return None;
    }
    let share = |position: u32| left / between + u32::from(position < left % between);
    let mut all = Vec::with_capacity(stages as usize);
    all.extend((first > 0).then_some(first));
    all.extend((0..between).map(share));
    all.extend((last > 0).then_some(last));
    Some(all)
}

/// What FSDP does with the weights of a layer between its forward and its backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::export) enum Resharding {
    /// Divides them over all GPUs again.
    All,
    /// Keeps them whole. This is ZeRO 2, too.
    Kept,
    /// Divides them over groups of so many.
    Group(u32),
}

pub(in crate::export) fn resharding(scenario: &Scenario) -> Resharding {
    match (scenario.cluster.zero, scenario.cluster.reshard) {
        (ZeroStage::Stage3, 1) => Resharding::Kept,
        (ZeroStage::Stage3, 0) => Resharding::All,
        (ZeroStage::Stage3, group) if group >= sharing(scenario) => Resharding::All,
        (ZeroStage::Stage3, group) => Resharding::Group(group),
        _ => Resharding::Kept,
    }
}

/// Devices over which ZeRO divides: those that hold the same weights.
pub(in crate::export) fn sharing(scenario: &Scenario) -> u32 {
    scenario.cluster.data_parallel().saturating_mul(scenario.cluster.context_parallel.max(1))
}

/// Whether anything is divided over data-parallel devices.
pub(in crate::export) fn shards(scenario: &Scenario) -> bool {
    scenario.cluster.zero != ZeroStage::Stage0 && sharing(scenario) > 1
}

/// Machines and GPUs of each: eight GPUs to a machine, as they are mostly built, where the number
/// divides; otherwise one.
pub(in crate::export) fn machines(world: u32) -> (u32, u32) {
    if world > 8 && world.is_multiple_of(8) { (world / 8, 8) } else { (1, world) }
}
