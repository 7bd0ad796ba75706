//! Any scenario is played or refused by name, whatever its sizes.

use bmax::tape::{Program, largest_micro_batch};
use bmax::{
    Adapter, AttentionKernel, Batching, Engine, Fp8, LossHead, Method, Offload, Outside, Precision, Recomputation,
    RewardModel, Rollout, Scenario, Switch, TaskKind, catalogue,
};
use proptest::prelude::*;

use crate::support::any_scenario::any_scenario;

/// A scenario whose sizes, model, precision, adapters, recomputation and optimizer are any, and of which everything else is
/// played.
fn on_one_gpu(mut scenario: Scenario, is_listed: bool) -> Scenario {
    let plain = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::workshop());
    (scenario.method, scenario.task, scenario.lengths) = (Method::Ledger, plain.task, plain.lengths);
    (scenario.task.kind, scenario.lengths.batching) = (TaskKind::Train, Batching::Equal);
    let Outside { evaluation, eval_batch, eval_sequences, eval_steps, .. } = scenario.outside;
    let is_evaluated = scenario.recipe.micro_batches == 1;
    let evaluated = Outside { evaluation, eval_batch, eval_sequences, eval_steps, ..Outside::OFF };
    scenario.outside = if is_evaluated { evaluated } else { Outside::OFF };
    scenario.cluster = plain.cluster;
    (scenario.cluster.gpus, scenario.cluster.engine) = (1, Engine::Torch);
    let recipe = &mut scenario.recipe;
    (recipe.offload, recipe.fp8, recipe.dropout) = (Offload::None, Fp8::Off, plain.recipe.dropout);
    if !(recipe.loss.is_of_a_library() || recipe.loss == LossHead::Tiled) {
        recipe.loss = LossHead::Plain;
    }
    if is_listed {
        // The classes of the list, with sizes of their own.
        let (layers, vocabulary) = (scenario.model.layers, scenario.model.vocabulary);
        scenario.model = plain.model;
        (scenario.model.layers, scenario.model.vocabulary) = (layers, vocabulary);
    }
    scenario
}

/// A scenario of a task, of which everything else is played.
fn of_a_task(scenario: Scenario, kind: TaskKind) -> Scenario {
    let mut scenario = on_one_gpu(scenario, true);
    let recipe = &mut scenario.recipe;
    (recipe.attention, recipe.adapter_dropout, recipe.dropout) = (AttentionKernel::Flash, Switch::Off, Switch::Off);
    (scenario.task.kind, scenario.outside) = (kind, Outside::OFF);
    let is_ppo = kind == TaskKind::Ppo;
    let generates = kind == TaskKind::Grpo && scenario.task.rollout == Rollout::Model;
    scenario.task.rollout = if generates || is_ppo { Rollout::Model } else { Rollout::Server };
    scenario.task.reward = if is_ppo { RewardModel::Model } else { RewardModel::Function };
    scenario
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_scenario_is_played_or_refused(
        scenario in any_scenario(),
        (is_one_gpu, is_listed, task, is_pipeline) in any::<(bool, bool, bool, bool)>(),
        (ranks, chunks, is_full) in (2..9_u32, 1..5_u32, any::<bool>()),
    ) {
        let kind = scenario.task.kind;
        let task_of = scenario.task;
        let scenario = if is_one_gpu { on_one_gpu(scenario, is_listed) } else { scenario };
        let is_task = task && is_one_gpu;
        let mut scenario = if is_task { of_a_task(Scenario { task: task_of, ..scenario }, kind) } else { scenario };
        if is_one_gpu && is_pipeline && !is_task {
            let (cluster, recipe) = (&mut scenario.cluster, &mut scenario.recipe);
            (cluster.gpus, cluster.pipeline_parallel, cluster.virtual_stages) = (ranks, ranks, chunks);
            (recipe.precision, recipe.adapter) = (Precision::PureBf16, Adapter::None);
            recipe.recomputation = if is_full { Recomputation::Full } else { Recomputation::None };
        }
        match Program::of(&scenario) {
            Ok(program) => {
                let peak = program.steady().peak();
                prop_assert!(peak.bytes > 0);
                let budget = scenario.device.memory.get() as u64;
                let largest = largest_micro_batch(&scenario, budget).expect("it is played with any micro-batch");
                if largest > 0 {
                    let mut within = scenario;
                    within.recipe.batch = largest;
                    let program = Program::of(&within).expect("it is played with any micro-batch");
                    prop_assert!(program.steady().peak().bytes <= budget, "{}", largest);
                }
            }
            Err(reason) => prop_assert!(!reason.reason().is_empty()),
        }
    }
}

#[test]
fn attention_of_any_kernel_is_played_for_every_class_or_refused_by_name() {
    for row in catalogue::MODELS {
        for attention in [AttentionKernel::Flash, AttentionKernel::Eager] {
            let mut scenario = on_one_gpu(row.apply(Scenario::workshop()), false);
            scenario.recipe.attention = attention;
            if let Ok(program) = Program::of(&scenario) {
                assert!(program.steady().peak().bytes > 0, "{}", row.slug);
            }
        }
    }
}
