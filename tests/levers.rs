//! Levers: what is offered, what it says of its cost, and what it changes.

use bmax::{
    Adapter, AdapterTargets, Change, Choice, Engine, Evaluation, ExpertMatrices, Field, Gather, Load, Merge, Method,
    Offload, Precision, Recomputation, Reference, Resume, Rollout, Scenario, TaskKind, Tower, TowerTraining, ZeroStage,
    catalogue, cost::Speed, fewest_gpus, levers::ranked, strategy::cheapest_plan,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::any_scenario::any_scenario;

fn llama() -> Scenario {
    let scenario = Scenario { method: Method::Ledger, ..Scenario::workshop() };
    catalogue::model("llama-3.1-8b").expect("listed").apply(scenario)
}

fn keys(scenario: &Scenario) -> Vec<&'static str> {
    ranked(scenario, &[]).iter().map(|lever| lever.change.key()).collect()
}

#[test]
fn every_lever_says_what_it_costs() {
    let changes: [fn(&mut Scenario); 12] = [
        |_| {},
        |s| (s.recipe.precision, s.recipe.recomputation) = (Precision::Fp32, Recomputation::None),
        |s| (s.cluster.zero, s.cluster.tensor_parallel) = (ZeroStage::Stage0, 2),
        |s| s.recipe.recomputation = Recomputation::Full,
        |s| (s.recipe.recomputation, s.recipe.offload) = (Recomputation::Full, Offload::Optimizer),
        |s| (s.recipe.recomputation, s.recipe.offload) = (Recomputation::Full, Offload::Parameters),
        |s| (s.task.kind, s.recipe.adapter) = (TaskKind::Dpo, Adapter::Lora),
        |s| (s.task.kind, s.task.rollout) = (TaskKind::Grpo, Rollout::Awake),
        |s| (s.outside.evaluation, s.outside.eval_steps) = (Evaluation::Logits, 8),
        |s| (s.outside.gather, s.outside.load) = (Gather::Gpu, Load::Gpu),
        |s| {
            // peft merges on a GPU that has all of the weights.
            s.cluster.zero = ZeroStage::Stage0;
            (s.recipe.adapter, s.outside.merge, s.outside.resume) = (Adapter::Lora, Merge::Safe, Resume::Gpu);
        },
        |s| s.model.vision = catalogue::model("qwen2.5-vl-7b").expect("listed").model.vision,
    ];
    let mut seen = Vec::new();
    for change in changes {
        let mut scenario = llama();
        change(&mut scenario);
        scenario.recipe.images.tower = TowerTraining::Trained;
        for lever in ranked(&scenario, &[]) {
            assert!(!lever.change.cost().is_empty(), "{:?}", lever.change);
            seen.push(lever.change.key());
        }
    }
    for key in ["ref", "frozen", "rollout", "merge", "offload", "tower", "max_pixels", "eval_steps", "resume"] {
        assert!(seen.contains(&key), "{key}");
    }
}

#[test]
fn adapters_of_attention_alone_are_offered_where_those_of_all_matrices_are_added_to_stacks_of_experts() {
    let mut scenario = catalogue::model("mixtral-8x7b").expect("listed").apply(llama());
    (scenario.recipe.adapter, scenario.recipe.targets) = (Adapter::Qlora, AdapterTargets::All);
    let found =
        ranked(&scenario, &[]).into_iter().find(|lever| lever.change.key() == "targets").expect("it is offered");
    assert!(found.gain() > 0 && !found.change.cost().is_empty(), "{found:?}");
    // Where experts are linear layers the sums are none, and where attention alone has adapters there is nothing to change.
    scenario.recipe.expert_matrices = ExpertMatrices::Linear;
    assert!(!keys(&scenario).contains(&"targets"));
    (scenario.recipe.expert_matrices, scenario.recipe.targets) = (ExpertMatrices::Stacked, AdapterTargets::Attention);
    assert!(!keys(&scenario).contains(&"targets"));
}

#[test]
fn weights_in_cpu_memory_cost_more_traffic_than_states_alone() {
    let mut scenario = llama();
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.recipe.recomputation = Recomputation::Full;
    scenario.recipe.offload = Offload::Parameters;
    let offered = ranked(&scenario, &[]);
    let everything = offered.iter().find(|lever| lever.change.key() == "offload").expect("layer inputs are left");
    assert!(everything.change.cost().starts_with("Every layer crosses the link"), "{}", everything.change.cost());
}

#[test]
fn adapters_that_are_switched_off_are_offered_as_a_reference_and_not_as_a_teacher() {
    let mut scenario = llama();
    scenario.recipe.adapter = Adapter::Lora;
    scenario.task.reference = Reference::Copy;
    scenario.task.kind = TaskKind::Dpo;
    assert!(keys(&scenario).contains(&"ref"));
    scenario.task.kind = TaskKind::Distil;
    assert!(!keys(&scenario).contains(&"ref"));
}

#[test]
fn a_model_of_text_is_offered_no_frozen_tower() {
    let mut scenario = llama();
    scenario.recipe.images.tower = TowerTraining::Trained;
    assert_eq!(scenario.model.vision.tower, Tower::None);
    assert!(!keys(&scenario).contains(&"tower"));
}

#[test]
fn twice_the_gpus_are_offered_as_far_as_their_range_goes() {
    let most = Field::Gpus.bound().max;
    for (gpus, offered) in [(most / 2.0, true), (most / 2.0 + 8.0, false)] {
        let scenario = llama().with_number(Field::Gpus, gpus).expect("in range");
        assert_eq!(keys(&scenario).contains(&"gpus"), offered, "{gpus}");
    }
}

#[test]
fn a_gpu_that_is_taken_is_the_same_as_the_row_that_it_comes_from() {
    for before in catalogue::DEVICES {
        let scenario = before.apply(llama());
        for row in catalogue::DEVICES {
            let taken: Change = row.taken();
            assert_eq!(taken.apply(scenario), row.apply(scenario), "{} after {}", row.slug, before.slug);
        }
    }
}

/// Levers, steps of a plan and numbers of GPUs with more contradictions than there are now.
fn contradictory(scenario: &Scenario) -> Vec<String> {
    let conflicts = scenario.conflicts().len();
    let mut found = Vec::new();
    let mut look = |what: String, at: Scenario| {
        if at.conflicts().len() > conflicts {
            found.push(format!("{what}: {:?}", at.conflicts()));
        }
    };
    for lever in ranked(scenario, &catalogue::larger_devices(scenario.device.memory)) {
        look(format!("{:?}", lever.change), lever.change.apply(*scenario));
    }
    for rung in cheapest_plan(scenario, Speed::from_peak(312.0, 25.0)).rungs {
        look(format!("plan with {:?}", rung.measure), rung.scenario);
    }
    if let Some(gpus) = fewest_gpus(scenario, 1) {
        let mut fewest = *scenario;
        fewest.cluster.gpus = gpus;
        look(format!("{gpus} GPUs"), fewest);
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_is_offered_leads_to_another_contradiction(scenario in any_scenario()) {
        prop_assert_eq!(contradictory(&scenario), Vec::<String>::new());
    }

    /// Of scenarios that contradict nothing, or little.
    #[test]
    fn nothing_that_is_offered_contradicts_what_went_together(
        model in select(catalogue::MODELS),
        device in select(catalogue::DEVICES),
        engine in select(Engine::ALL),
        zero in select(ZeroStage::ALL),
        adapter in select(Adapter::ALL),
        task in select(TaskKind::ALL),
        precision in select(Precision::ALL),
        sizes in (0_u32..=7, 0_u32..=2, 0_u32..=2, 0_u32..=2),
        lengths in (256_u32..=8_192, 1_u32..=8),
    ) {
        let mut scenario = device.apply(model.apply(Scenario::workshop()));
        (scenario.cluster.engine, scenario.cluster.zero) = (engine, zero);
        (scenario.recipe.adapter, scenario.recipe.precision, scenario.task.kind) = (adapter, precision, task);
        scenario.cluster.gpus = 1 << sizes.0;
        scenario.cluster.tensor_parallel = 1 << sizes.1;
        scenario.cluster.pipeline_parallel = 1 << sizes.2;
        scenario.cluster.context_parallel = 1 << sizes.3;
        (scenario.recipe.sequence, scenario.recipe.micro_batches) = lengths;
        prop_assert_eq!(contradictory(&scenario), Vec::<String>::new());
    }
}

#[test]
fn tensor_parallelism_is_no_lever_beside_deepspeed_s_zero_3() {
    let mut scenario = llama();
    scenario.cluster.zero = ZeroStage::Stage3;
    assert!(keys(&scenario).contains(&"tp"));
    scenario.cluster.engine = Engine::DeepSpeed;
    assert!(!keys(&scenario).contains(&"tp"));
    scenario.cluster.zero = ZeroStage::Stage2;
    assert!(keys(&scenario).contains(&"tp"));
}
