//! What a training program makes of its weights behind a step: it writes them, gathers them, or adds adapters to them.

use super::evaluated;
use crate::estimator::choice::{
    Adapter, AdapterTargets, Engine, Evaluation, Gather, Gathered, Load, Merge, Optimizer, Resume, Save, StepKernel,
    TaskKind, ZeroStage,
};
use crate::estimator::engines::passes::Pass;
use crate::estimator::scenario::Scenario;

/// Whether all that a scenario has outside its step is played.
pub fn is_played(scenario: &Scenario) -> bool {
    let Scenario { outside, recipe, cluster, task, .. } = scenario;
    let is_evaluated = outside.evaluation == Evaluation::Off || evaluated::is_evaluated(scenario);
    let is_trained = task.kind == TaskKind::Train && matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed);
    let has_gradients = recipe.step != StepKernel::InBackward;
    let is_alone = cluster.pipeline_parallel == 1 && cluster.tensor_parallel == 1 && cluster.context_parallel == 1;
    is_trained
        && is_alone
        && has_gradients
        && is_evaluated
        && is_read(scenario)
        && is_gathered(scenario)
        && is_merged(scenario)
}

/// Whether what a run reads before its first step needs no more than that step: weights that go tensor by tensor into a whole
/// model, and states that become those of the optimizer (`_process_value_according_to_param_policy` in torch/optim/optimizer.py,
/// PyTorch 2.15), or that a step on gradients of zeros makes. bitsandbytes copies states that are on the device.
fn is_read(Scenario { outside, recipe, cluster, .. }: &Scenario) -> bool {
    let divides = cluster.gpus > 1 && cluster.zero == ZeroStage::Stage3;
    let is_loaded = outside.load == Load::Cpu && !divides && !recipe.adapter.is_quantized();
    let is_taken = matches!(outside.resume, Resume::Cpu | Resume::Init)
        || outside.resume == Resume::Gpu
            && matches!(recipe.optimizer, Optimizer::AdamW | Optimizer::Sgd | Optimizer::Momentum);
    (outside.load == Load::Off || is_loaded) && (outside.resume == Resume::Off || is_taken)
}

/// Whether what it gathers is played: FSDP's weights, and the two moments of AdamW.
fn is_gathered(Scenario { outside, recipe, cluster, .. }: &Scenario) -> bool {
    let divides = cluster.gpus > 1 && cluster.zero == ZeroStage::Stage3;
    let is_whole = outside.gathered == Gathered::Weights || recipe.optimizer == Optimizer::AdamW;
    let is_fsdp = cluster.engine == Engine::Torch && recipe.adapter == Adapter::None && cluster.reshard == 0;
    outside.gather == Gather::Off || !divides || is_fsdp && is_whole
}

/// Whether what it merges is played: adapters beside whole matrices that are not quantized.
fn is_merged(Scenario { outside, recipe, cluster, model, .. }: &Scenario) -> bool {
    let divides = cluster.gpus > 1 && cluster.zero == ZeroStage::Stage3;
    let has_stacks = model.experts.count > 0 && recipe.targets == AdapterTargets::All;
    let is_plain = matches!(recipe.adapter, Adapter::Lora | Adapter::LoraFp32) && !has_stacks;
    outside.merge == Merge::Off || recipe.adapter == Adapter::None || divides || is_plain
}

/// What is done behind a step. A full state dict of the weights is gone when that of the optimizer is made. What is written goes
/// from the device to the host tensor by tensor.
pub fn passes(scenario: &Scenario) -> Vec<Pass> {
    let Scenario { outside, recipe, cluster, .. } = scenario;
    let divides = cluster.gpus > 1 && cluster.zero == ZeroStage::Stage3;
    let stays = outside.gather == Gather::Gpu;
    let mut passes = Vec::new();
    if divides && outside.gather != Gather::Off {
        passes.push(Pass::Gather { each: 1, names_head: true, stays });
        if outside.gathered == Gathered::All {
            passes.push(Pass::Gather { each: 2, names_head: false, stays });
        }
    }
    if recipe.adapter != Adapter::None && !divides && outside.merge != Merge::Off {
        passes.push(Pass::Merge { is_copied: outside.merge == Merge::Safe });
    }
    if passes.is_empty() && outside.save == Save::Off {
        return passes;
    }
    passes.insert(0, Pass::BeginCheckpoint);
    passes
}
