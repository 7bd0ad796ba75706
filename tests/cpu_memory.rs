//! The memory of the machine as what limits the micro-batch, against numbers worked out by hand.

use bmax::{
    Answer, AttentionKernel, Balance, Bytes, Evaluation, Field, Gather, Offload, Optimizer, Outside, Precision,
    Recomputation, Reference, Scenario, Shortage, TaskKind, ZeroStage, b_max, estimate,
    inverse::{least_memory, longest_sequence},
    range::range,
    sweep,
};

use crate::support::alone::alone;

/// Llama 3.1 8B in bf16 with layer inputs in CPU memory. 32 inputs of 4,096 numbers of 2 bytes are 256 KiB a token.
fn swapped() -> Scenario {
    let mut scenario = alone("llama-3.1-8b", Recomputation::Full);
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.optimizer = Optimizer::Sgd;
    scenario.recipe.offload = Offload::Activations;
    scenario.recipe.attention = AttentionKernel::Flash;
    scenario
}

fn with_host_memory(scenario: Scenario, gib: f64) -> Scenario {
    scenario.with_number(Field::HostMemory, gib).expect("in range")
}

#[test]
fn what_a_sequence_more_takes_of_the_gpu_is_said_where_the_machine_is_the_limit() {
    let scenario = with_host_memory(swapped(), 1.0);
    let Answer::Fits(room) = b_max(&scenario) else { panic!("four sequences of 256 MiB fit into 1 GiB") };
    assert!(room.by_host);
    let [four, five] = [4, 5].map(|batch| estimate(&scenario.with_batch(batch)).peak().bytes.get());
    assert!((room.per_sequence.get() - (five - four)).abs() < 1.0, "{:?}", room.per_sequence);
}

#[test]
fn a_curve_over_lengths_ends_where_the_machine_has_no_room() {
    // 1 GiB holds 4,096 tokens of 256 KiB.
    let lengths = [512, 1_024, 2_048, 4_096, 8_192];
    let expected = [Some(8), Some(4), Some(2), Some(1), None];
    assert_eq!(sweep::b_max_by_sequence(&with_host_memory(swapped(), 1.0), &lengths), expected);
}

#[test]
fn the_largest_entry_that_a_machine_lacks_room_for_is_named() {
    let mut scenario = swapped();
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.optimizer = Optimizer::AdamW;
    scenario.recipe.offload = Offload::Optimizer;
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = ZeroStage::Stage3;
    let Answer::Infeasible(reason) = b_max(&with_host_memory(scenario, 1.0)) else { panic!("128 GB fit into 1 GiB") };
    assert_eq!(reason.shortage, Shortage::HostMemory);
    // Two moments in fp32 are 8 bytes a weight; master weights and gradients are 4 each.
    assert_eq!(reason.largest.name, "Optimizer state");
}

#[test]
fn an_evaluation_is_not_the_reason_where_the_step_does_not_fit_without_it_either() {
    let mut scenario = swapped();
    scenario.recipe.offload = Offload::None;
    scenario.outside.evaluation = Evaluation::Logits;
    scenario.outside.eval_sequences = 4_096;
    // Weights and gradients of 8·10⁹ parameters are 2 + 2 bytes each.
    let scenario = scenario.with_number(Field::Memory, 24.0).expect("in range");
    let mut alone = scenario;
    alone.outside = Outside::OFF;
    assert_eq!(b_max(&alone).batch(), None);
    let Answer::Infeasible(reason) = b_max(&scenario) else { panic!("32 GB fit into 24 GiB") };
    assert!(reason.instant.is_outside(), "{}", reason.instant.name);
    assert_eq!((reason.shortage, reason.training, reason.mend), (Shortage::ModelStates, None, None));
    let lacks = estimate(&scenario.with_batch(1)).peak().bytes - scenario.usable();
    assert_eq!(reason.over, lacks);
}

/// Matrix weights of one layer of Llama 3.1 8B.
const LAYER: f64 = 2.0 * 4096.0 * 4096.0 + 2.0 * 4096.0 * 1024.0 + 3.0 * 4096.0 * 14_336.0;

/// 25 layers in a pipeline of three stages with paged moments, so many layers on the first stage and on the last.
fn in_three_stages(first: u32, last: u32) -> Scenario {
    let mut scenario = swapped();
    scenario.recipe.optimizer = Optimizer::PagedAdam8bit;
    scenario.recipe.micro_batches = 3;
    scenario.model.layers = 25;
    (scenario.cluster.gpus, scenario.cluster.pipeline_parallel) = (3, 3);
    (scenario.cluster.first_stage_layers, scenario.cluster.last_stage_layers) = (first, last);
    scenario
}

#[test]
fn the_fullest_stage_of_a_pipeline_is_the_one_that_takes_the_most_bytes() {
    // 25 layers: eight on the first and on the last of three stages, and nine between them. An embedding or a head of
    // 128,256 × 4,096 weights is larger than two layers, so that the ends are fuller than the middle.
    let mut scenario = in_three_stages(8, 8);
    scenario.recipe.offload = Offload::None;
    let paged = estimate(&scenario).host.total_at(1).get();
    // Two moments of a byte, in a machine with three GPUs.
    assert!((paged - 3.0 * 2.0 * (128_256.0 * 4096.0 + 8.0 * LAYER)).abs() < 1.0, "{paged}");
}

#[test]
fn which_stage_is_the_fullest_depends_on_the_micro_batch_where_inputs_of_layers_are_in_cpu_memory() {
    let mut scenario = in_three_stages(4, 12);
    let input = 2.0 * 1024.0 * 4096.0;
    let training = |batch| estimate(&scenario.with_batch(batch)).host.total_at(1).get();
    // The last of three stages has most weights, and one micro-batch on its way.
    let last = 3.0 * (2.0 * (128_256.0 * 4096.0 + 12.0 * LAYER) + 12.0 * input);
    assert!((training(1) - last).abs() < 1.0, "{} is not {last}", training(1));
    // The middle one has two, of nine layers each.
    let middle = 3.0 * (2.0 * 9.0 * LAYER + 2.0 * 9.0 * 100.0 * input);
    assert!((training(100) - middle).abs() < 1.0, "{} is not {middle}", training(100));
    // A machine with just that has room for a hundred sequences, and its GPUs have room for more.
    scenario.device.memory = Bytes::from_gib(4_096.0);
    let limited = with_host_memory(scenario, (middle + 1.0) / f64::from(1 << 30));
    let Answer::Fits(room) = b_max(&limited) else { panic!("a hundred fit") };
    assert_eq!((room.batch, room.by_host), (100, true));
}

#[test]
fn a_machine_lacks_memory_only_where_it_is_known_and_too_small() {
    // Four sequences take just 1 GiB.
    let [four, five] = [4, 5].map(|batch| swapped().with_batch(batch));
    assert_eq!(estimate(&four).host.lacks(), None);
    assert_eq!(estimate(&with_host_memory(four, 1.0)).host.lacks(), None);
    let five = estimate(&with_host_memory(five, 1.0));
    assert_eq!(five.host.lacks(), Some(Bytes::from_mib(256.0)));
    // The GPU would have room for it, which is not said to be enough.
    assert_eq!((five.balance(), five.fits()), (Balance::LacksHost(Bytes::from_mib(256.0)), false));
}

#[test]
fn a_teacher_without_a_size_of_its_own_is_as_large_as_the_model() {
    let mut scenario = swapped();
    scenario.recipe.offload = Offload::None;
    scenario.task.kind = TaskKind::Distil;
    scenario.task.reference = Reference::Offloaded;
    // Llama 3.1 8B has 8,030,261,248 weights of 2 bytes.
    assert_eq!(estimate(&scenario).host.total_at(1), Bytes::new(2.0 * 8_030_261_248.0));
}

#[test]
fn the_safe_answer_has_room_in_cpu_memory_for_processes_and_a_copy_of_the_weights() {
    // Sequences of 256 MiB. Weights are 8,030,261,248 of 2 bytes, and a process may have 2,271 MiB.
    let beside = 2.0 * 8_030_261_248.0 / f64::from(1 << 30) + 2_271.0 / 1_024.0;
    let mut scenario = with_host_memory(swapped(), beside + 1.0 + 0.01);
    scenario.device.memory = Bytes::from_gib(4_096.0);
    let told = range(&scenario);
    assert_eq!(told.safe.batch(), Some(4));
    assert!(told.safe.by_host() && told.likely.by_host());
    // 18.17 GiB hold 72 of them.
    assert_eq!((told.likely.batch(), told.optimistic.batch()), (Some(72), Some(72)));
    // One that is too small for these has no safe answer, and says why.
    let Answer::Infeasible(reason) = range(&with_host_memory(swapped(), beside)).safe else {
        panic!("no room is left")
    };
    assert_eq!(reason.shortage, Shortage::HostMemory);
}

#[test]
fn a_state_dict_that_is_gathered_in_cpu_memory_is_there_once_for_the_machine() {
    let mut scenario = swapped();
    scenario.recipe.offload = Offload::None;
    (scenario.cluster.gpus, scenario.cluster.zero) = (8, ZeroStage::Stage3);
    assert!(estimate(&scenario).host.entries.is_empty());
    scenario.outside.gather = Gather::Cpu;
    assert_eq!(estimate(&scenario).host.peak().bytes, Bytes::new(2.0 * 8_030_261_248.0));
    // Nobody gathers what nobody divides.
    scenario.cluster.zero = ZeroStage::Stage2;
    assert!(estimate(&scenario).host.entries.is_empty());
}

#[test]
fn a_question_turned_around_is_answered_by_what_cpu_memory_has_room_for_too() {
    // 4,096 tokens of 256 KiB are 1 GiB.
    let scenario = with_host_memory(swapped(), 1.0);
    assert_eq!(longest_sequence(&scenario, 1), Some(4_096));
    // No larger GPU has more CPU memory.
    assert!(least_memory(&scenario.with_batch(4), 4).is_some());
    assert_eq!(least_memory(&scenario.with_batch(5), 5), None);
}
