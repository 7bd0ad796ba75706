//! Recipes that need something of the scenario, and the scenario as it runs where that is missing.

use super::fp8;
use crate::{Adapter, Engine, Fp8, GradientType, Optimizer, Precision, Scenario, StepKernel, TaskKind, ZeroStage};

/// What an optimizer, its step or its place lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::estimator) enum Unfit {
    /// A step in the backward pass beside gradients that add up.
    AddsUp,
    /// The same beside gradients that several GPUs average behind the backward pass.
    Averages,
    /// The same in a program that has its own step.
    Program,
    /// The same beside loss scaling.
    Scales,
    /// The same in a trainer of a task.
    Task,
    /// An optimizer of whole matrices whose matrices are divided.
    Divided,
    /// The same for stacks of experts, which have three sides.
    Stacked,
    /// The same for adapters.
    Adapted,
    /// SOAP beside gradients in 16 bits.
    Halved,
    /// An optimizer whose state is on the GPU, or moves by itself, and is off-loaded.
    Bound,
    /// Weights that nobody divides in CPU memory.
    Undivided,
    /// Weights in CPU memory with a program or a task that cannot.
    Kept,
}

/// What of the recipe cannot be run in this scenario, the first of each kind.
pub(in crate::estimator) fn unfit(scenario: &Scenario) -> [Option<Unfit>; 3] {
    [of_step(scenario), of_optimizer(scenario), of_offload(scenario)]
}

fn of_step(scenario: &Scenario) -> Option<Unfit> {
    let (recipe, cluster) = (&scenario.recipe, &scenario.cluster);
    let shares = cluster.data_parallel().saturating_mul(cluster.context_parallel);
    let gradients_have_a_buffer = recipe.gradients == GradientType::Full
        && matches!(recipe.precision, Precision::Bf16 | Precision::PureBf16)
        && recipe.adapter == Adapter::None;
    match () {
        () if recipe.step != StepKernel::InBackward => None,
        () if scenario.task.kind != TaskKind::Train => Some(Unfit::Task),
        () if !cluster.engine.is_torch() => Some(Unfit::Program),
        () if recipe.micro_batches > 1 || cluster.pipeline_parallel > 1 || gradients_have_a_buffer => {
            Some(Unfit::AddsUp)
        }
        () if recipe.precision == Precision::Fp16 => Some(Unfit::Scales),
        () if shares > 1 && cluster.zero < ZeroStage::Stage2 => Some(Unfit::Averages),
        () => None,
    }
}

fn of_optimizer(scenario: &Scenario) -> Option<Unfit> {
    let (recipe, cluster) = (&scenario.recipe, &scenario.cluster);
    let optimizer = recipe.optimizer;
    let whole = optimizer.needs_whole_matrices();
    let shares = cluster.data_parallel().saturating_mul(cluster.context_parallel);
    // Distributed Shampoo hands blocks out to data-parallel GPUs; no other divides its state.
    let most = if optimizer == Optimizer::Shampoo { ZeroStage::Stage1 } else { ZeroStage::Stage0 };
    let divided = cluster.tensor_parallel > 1 || (shares > 1 && cluster.zero > most);
    let bound = whole || optimizer == Optimizer::PagedAdam8bit;
    match () {
        () if whole && recipe.adapter != Adapter::None => Some(Unfit::Adapted),
        () if whole && scenario.model.experts.count > 0 => Some(Unfit::Stacked),
        () if whole && divided => Some(Unfit::Divided),
        () if optimizer == Optimizer::Soap && recipe.precision == Precision::PureBf16 => Some(Unfit::Halved),
        () if bound && recipe.offload.takes_optimizer() => Some(Unfit::Bound),
        () => None,
    }
}

fn of_offload(scenario: &Scenario) -> Option<Unfit> {
    let cluster = &scenario.cluster;
    match () {
        () if !scenario.recipe.offload.takes_parameters() => None,
        () if cluster.engine == Engine::Megatron || scenario.task.kind != TaskKind::Train => Some(Unfit::Kept),
        () if cluster.zero != ZeroStage::Stage3 || cluster.pipeline_parallel > 1 => Some(Unfit::Undivided),
        () => None,
    }
}

/// The scenario with what can be run of its recipe. [`Scenario::conflicts`] names the rest.
pub(super) fn as_run(mut run: Scenario) -> Scenario {
    if !fp8::runs(&run) {
        run.recipe.fp8 = Fp8::Off;
    }
    let [step, optimizer, offload] = unfit(&run);
    let recipe = &mut run.recipe;
    if step.is_some() {
        recipe.step = StepKernel::Fused;
    }
    if optimizer.is_some_and(|why| why != Unfit::Bound) {
        recipe.optimizer = Optimizer::AdamW;
    }
    if offload.is_some() {
        recipe.offload = recipe.offload.without_parameters();
    }
    if optimizer == Some(Unfit::Bound) {
        recipe.offload = recipe.offload.without_optimizer();
    }
    run
}
