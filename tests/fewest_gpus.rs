//! The fewest GPUs, against every number of them tried in turn.

use bmax::{
    Adapter, Bytes, Choice, Engine, Evaluation, Field, Method, Precision, Scenario, Switch, TaskKind, ZeroStage, b_max,
    catalogue, estimate, fewest_gpus, link,
};
use proptest::prelude::*;

use crate::support::any_scenario::any_scenario;

/// Groups that are tried one by one.
const GROUPS: u32 = 48;

fn fits(scenario: &Scenario, gpus: u32) -> bool {
    let mut at = *scenario;
    at.cluster.gpus = gpus;
    estimate(&at).peak().bytes <= at.usable()
}

/// The first whole number of groups on which the scenario's micro-batch fits, among the first few, and on which nothing
/// contradicts anything that does not now.
fn by_trying(scenario: &Scenario) -> Option<u32> {
    let group = scenario.cluster.group();
    let conflicts = scenario.conflicts().len();
    let goes = |gpus: u32| {
        let mut at = *scenario;
        at.cluster.gpus = gpus;
        at.conflicts().len() <= conflicts
    };
    (1..=GROUPS).map(|groups| groups * group).find(|gpus| fits(scenario, *gpus) && goes(*gpus))
}

fn is_the_first_that_fits(scenario: &Scenario) -> Result<(), TestCaseError> {
    // What CPU memory asks beside it is held in tests/recipes.rs.
    let mut alone = *scenario;
    alone.host.ram = Bytes::ZERO;
    let scenario = &alone;
    let group = scenario.cluster.group();
    prop_assume!(u64::from(group) * u64::from(GROUPS) <= Field::Gpus.bound().max as u64);
    // A task on groups of GPUs is refused, and so is a pipeline with an encoder, a vision tower or weights in CPU memory.
    prop_assume!(group == 1 || scenario.task.kind == TaskKind::Train);
    let towers = scenario.model.encoder.is_there() || scenario.model.vision.is_there();
    let is_refused = towers || scenario.recipe.offload.takes_parameters();
    prop_assume!(scenario.cluster.pipeline_parallel == 1 || !is_refused);
    let found = fewest_gpus(scenario, scenario.recipe.batch);
    match by_trying(scenario) {
        Some(fewest) => prop_assert_eq!(found, Some(fewest), "{}", link::encode(scenario)),
        None => prop_assert!(found.is_none_or(|gpus| gpus > GROUPS * group), "{:?}, {}", found, link::encode(scenario)),
    }
    Ok(())
}

/// The scenario with just as much memory as it needs on so many groups: a card on which the answer is there, or
/// near it.
fn with_memory_for(mut scenario: Scenario, groups: u32) -> Scenario {
    let mut at = scenario;
    at.cluster.gpus = groups * scenario.cluster.group();
    let kept_free = scenario.reserved().get() / scenario.device.memory.get();
    let spare = estimate(&at).peak().bytes.get() / f64::from(1 << 20) / (1.0 - kept_free);
    let most = Field::Memory.bound().max * 1024.0;
    scenario.device.memory = Bytes::from_mib((spare.ceil() + 1.0).clamp(512.0, most));
    scenario
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_fewest_gpus_are_the_first_that_fit_when_all_are_tried(
        scenario in any_scenario(), groups in 1_u32..=40, batch in 1_u32..=8,
    ) {
        let scenario = with_memory_for(scenario.with_batch(batch), groups);
        is_the_first_that_fits(&scenario)?;
    }

    #[test]
    fn the_fewest_gpus_are_the_first_that_fit_where_experts_or_weights_are_shared_by_a_few(
        scenario in any_scenario(), groups in 1_u32..=40, experts in 1_u32..=16, reshard in 0_u32..=16,
        context in 1_u32..=4, engine in 0_usize..4,
    ) {
        let mut scenario = Scenario { method: Method::Ledger, ..scenario };
        scenario.cluster.zero = ZeroStage::Stage3;
        scenario.cluster.engine = [Engine::Torch, Engine::Torchtitan, Engine::Megatron, Engine::DeepSpeed][engine];
        scenario.cluster.expert_parallel = experts;
        scenario.cluster.reshard = reshard;
        scenario.cluster.context_parallel = context;
        scenario.cluster.tensor_parallel = 1;
        scenario.cluster.pipeline_parallel = 1;
        scenario.recipe.batch = 1;
        is_the_first_that_fits(&with_memory_for(scenario, groups))?;
    }

    #[test]
    fn the_fewest_gpus_are_the_first_that_fit_where_more_of_them_keep_more_logits(
        scenario in any_scenario(), groups in 1_u32..=40, sequences in 1_u32..=400, batch in 0_u32..=8, steps in 0_u32..=6,
        zero in 0_usize..4, length in 1_u32..=2_048,
    ) {
        let mut scenario = Scenario { method: Method::Ledger, ..scenario }.with_batch(1);
        scenario.recipe.sequence = length;
        // Evaluations are counted on data-parallel GPUs.
        scenario.cluster.tensor_parallel = 1;
        scenario.cluster.pipeline_parallel = 1;
        scenario.cluster.context_parallel = 1;
        scenario.cluster.zero = ZeroStage::ALL[zero];
        scenario.outside.evaluation = Evaluation::Logits;
        scenario.outside.eval_sequences = sequences;
        scenario.outside.eval_batch = batch;
        scenario.outside.eval_steps = steps;
        is_the_first_that_fits(&with_memory_for(scenario, groups))?;
    }
}

#[test]
fn a_group_that_fits_alone_is_enough_though_two_of_them_would_not_fit() {
    // A second group brings buffers for the communication of 1.25 GiB in this scenario, and under ZeRO 0 it
    // shares nothing: what a GPU needs then is more by that much.
    let row = catalogue::model("llama-3.2-1b").expect("a row of the catalogue");
    let mut scenario = row.apply(Scenario { method: Method::Ledger, ..Scenario::workshop() });
    scenario.cluster.zero = ZeroStage::Stage0;
    scenario.device.communication = Bytes::from_gib(1.25);
    let scenario = with_memory_for(scenario.with_batch(1), 1);
    assert!(fits(&scenario, 1) && !fits(&scenario, 2));
    assert_eq!(fewest_gpus(&scenario, 1), Some(1));
    let mut one = scenario;
    one.cluster.gpus = 1;
    assert!(b_max(&one).batch().is_some());
    // Not even one fits on half of that, whatever their number.
    let mut half = scenario;
    half.device.memory = Bytes::new(half.device.memory.get() / 2.0);
    assert_eq!(fewest_gpus(&half, 1), None);
}

/// Kept logits come from all GPUs, so that more of them may need more, and each number is tried. What the step alone
/// leaves out is not.
#[test]
fn an_evaluation_that_keeps_logits_needs_no_fewer_gpus_than_the_step_alone() {
    let asked = "v=3&model=llama-3.1-8b&gpu=a100-40&b=1&s=512&eval_n=40&eval_b=4&recompute=full";
    let [alone, kept] = [asked.to_owned(), format!("{asked}&eval=logits")].map(|link| link::decode(&link).scenario);
    let fewest = by_trying(&kept).expect("some number is enough");
    assert_eq!(fewest_gpus(&kept, kept.recipe.batch), Some(fewest));
    assert!(by_trying(&alone).is_some_and(|alone| (2..=fewest).contains(&alone)));
}

/// Llama 3.2 1B under ZeRO 3, with an evaluation that keeps the logits of two batches of 512 tokens a sequence on each GPU,
/// and gathers those of all.
fn keeps_logits(batch: u32) -> Scenario {
    let row = catalogue::model("llama-3.2-1b").expect("listed");
    let mut scenario = row.apply(Scenario { method: Method::Ledger, ..Scenario::workshop() });
    scenario.recipe.sequence = 512;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.outside.evaluation = Evaluation::Logits;
    scenario.outside.eval_sequences = 4_000;
    scenario.outside.eval_batch = batch;
    scenario.outside.eval_steps = 2;
    scenario.with_batch(1)
}

#[test]
fn a_few_gpus_are_found_where_many_would_gather_more_logits_than_fit() {
    // Three GPUs divide 16 bytes of each of 1.24·10⁹ parameters, 18.4 GiB. Logits of 512 × 128,256 numbers are 250 MiB a
    // sequence in fp32, so that 48 GPUs gather 23 GiB of them and more. The batch is named, or that of the step.
    for batch in [2, 0] {
        let scenario = with_memory_for(keeps_logits(batch), 3);
        assert!(!fits(&scenario, GROUPS) && !fits(&scenario, 131_072), "{batch}");
        assert_eq!(by_trying(&scenario), Some(3), "{batch}");
        assert_eq!(fewest_gpus(&scenario, 1), Some(3), "{batch}");
    }
}

#[test]
fn a_gpu_more_is_found_where_logits_fill_what_the_step_alone_leaves() {
    // A fifth GPU takes a twentieth of 18.4 GiB off the others, 0.9 GiB, and adds logits of 0.5 GiB.
    let scenario = with_memory_for(keeps_logits(1), 5);
    let mut alone = scenario;
    alone.outside.evaluation = Evaluation::Off;
    assert_eq!((by_trying(&alone), by_trying(&scenario)), (Some(4), Some(5)));
    assert_eq!(fewest_gpus(&scenario, 1), Some(5));
}

#[test]
fn a_group_that_shares_its_weights_is_found_though_every_larger_number_keeps_a_copy_of_them() {
    // Beside frozen weights there are hardly any other states. Eight GPUs, four groups of two that share a sequence, hold an
    // eighth of the weights each. More of them hold less, and beside it a copy of an eighth between the passes.
    let row = catalogue::model("llama-3.1-8b").expect("listed");
    let mut scenario = row.apply(Scenario { method: Method::Ledger, ..Scenario::workshop() });
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.adapter = Adapter::Lora;
    scenario.recipe.dropout = Switch::Off;
    scenario.recipe.sequence = 128;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.cluster.reshard = 8;
    scenario.cluster.context_parallel = 2;
    let scenario = with_memory_for(scenario.with_batch(1), 4);
    assert!(fits(&scenario, 8) && [2, 4, 6, 10, 12, 40].iter().all(|gpus| !fits(&scenario, *gpus)));
    assert_eq!(fewest_gpus(&scenario, 1), Some(8));
}
