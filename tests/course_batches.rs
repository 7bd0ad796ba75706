//! The numbers that the sources print on batches, accumulation, convergence and more GPUs.

use bmax::course::convergence::{doubled, examples, in_examples, rates, scheduled, steps};
use bmax::course::scaling::{all_reduce_seconds, at_stage, exchange, parts, usual_efficiency};
use bmax::course::updates::steps_to_goal;
use bmax::planner::{Accumulation, plan};
use bmax::{Adapter, BatchUnit, Bytes, Goal, Method, Precision, Scenario, ZeroStage, b_max, catalogue};

#[test]
fn four_sequences_on_eight_gpus_reach_256_in_8_steps() {
    assert_eq!(plan(256, 8, 4).preferred(), Accumulation { micro_batch: 4, data_parallel: 8, steps: 8 });
    assert_eq!(steps_to_goal(&Scenario::workshop().with_batch(4)), 8);
}

#[test]
fn imagenet_in_an_hour_gave_each_of_256_gpus_32_images() {
    assert_eq!(plan(8_192, 256, 32).preferred(), Accumulation { micro_batch: 32, data_parallel: 256, steps: 1 });
    // Goyal et al. 2017: the rate 0.1 of 256 images, 32 times larger, after five epochs.
    let scaled = rates(0.1, 8_192.0 / 256.0).1;
    assert!((scaled - 3.2).abs() < 1e-12);
    assert!((scheduled(0.1, scaled, 5.0) - 3.2).abs() < 1e-12);
}

#[test]
fn four_million_tokens_at_8k_a_pass_take_512_passes() {
    let mut scenario = Scenario::workshop().with_batch(1);
    scenario.cluster.gpus = 1;
    scenario.recipe.sequence = 8_192;
    scenario.goal = Goal { global_batch: 4_194_304, unit: BatchUnit::Tokens };
    assert_eq!(steps_to_goal(&scenario), 512);
    // The other reading of "4 million" with "8K" as 8,000: 500.
    scenario.recipe.sequence = 8_000;
    scenario.goal.global_batch = 4_000_000;
    assert_eq!(steps_to_goal(&scenario), 500);
}

#[test]
fn at_the_critical_batch_both_prices_are_twice_their_least() {
    for critical in [256.0, 2_048.0, 65_536.0] {
        assert_eq!((steps(critical, critical), examples(critical, critical)), (2.0, 2.0));
        // Far below, doubling nearly halves the steps; far above, it still saves a little.
        assert!((doubled(critical / 1_000.0, critical) - 0.5).abs() < 0.001);
        let above = doubled(critical * 10.0, critical);
        assert!(above < 1.0 && above > 0.95);
    }
    // 65,536 tokens are 32 sequences of 2,048.
    assert_eq!(in_examples(65_536.0, true, 2_048), 32.0);
    assert_eq!(in_examples(65_536.0, false, 2_048), 65_536.0);
}

#[test]
fn doubling_the_batch_asks_for_a_rate_between_the_root_of_two_and_two() {
    let (low, high) = rates(1.0, 2.0);
    assert!((low - 2.0_f64.sqrt()).abs() < 1e-12 && (high - 2.0).abs() < 1e-12);
}

#[test]
fn two_gpus_give_1_8_to_1_95_and_larger_jobs_the_printed_bands() {
    let speed_up =
        |gpus: u32| usual_efficiency(gpus).map(|(low, high)| (f64::from(gpus) * low, f64::from(gpus) * high));
    assert_eq!(speed_up(2), Some((1.8, 1.95)));
    assert_eq!(usual_efficiency(8), Some((0.90, 0.95)));
    assert_eq!(usual_efficiency(64), Some((0.80, 0.90)));
    assert_eq!(usual_efficiency(65), None);
}

#[test]
fn a_ring_sends_twice_the_bytes_less_one_share() {
    // Patarasuk and Yuan 2009: 2·(n−1)/n.
    for (gpus, factor) in [(1, 0.0), (2, 1.0), (4, 1.5), (8, 1.75)] {
        assert!((all_reduce_seconds(Bytes::from_gb(1.0), gpus, 1e9) - factor).abs() < 1e-12);
    }
}

#[test]
fn stage_three_communicates_three_psi_where_the_others_communicate_two() {
    // Rajbhandari et al. 2020, section 7.
    let at = |zero| {
        let mut scenario = Scenario::workshop();
        scenario.cluster.zero = zero;
        exchange(&scenario, 1_024, 50e9).communicate
    };
    assert!((at(ZeroStage::Stage3) / at(ZeroStage::Stage2) - 1.5).abs() < 1e-9);
    assert!((at(ZeroStage::Stage1) / at(ZeroStage::Stage0) - 1.0).abs() < 1e-9);
}

#[test]
fn the_four_stages_take_120_31_4_16_6_and_1_9_gb_of_states() {
    // Rajbhandari et al. 2020, figure 1: 7.5 billion parameters on 64 GPUs.
    let mut scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
    scenario.model.parameters = 7_500_000_000;
    scenario.cluster.gpus = 64;
    for (stage, expected) in
        [(ZeroStage::Stage0, 120.0), (ZeroStage::Stage1, 31.4), (ZeroStage::Stage2, 16.6), (ZeroStage::Stage3, 1.9)]
    {
        let states: f64 = parts(&at_stage(&scenario, stage))[..3].iter().map(|part| part.gb()).sum();
        assert!((states - expected).abs() < 0.06, "{states}");
    }
}

#[test]
fn seven_billion_weights_do_not_train_whole_on_24_gb_but_adapters_do() {
    let alone = |adapter, sequence| {
        let mut scenario = catalogue::device("rtx-4090").expect("listed").apply(Scenario::workshop());
        scenario.cluster.gpus = 1;
        scenario.recipe.adapter = adapter;
        scenario.recipe.sequence = sequence;
        scenario
    };
    // Even in pure bf16, with 8 bytes a parameter.
    let mut whole = alone(Adapter::None, 512);
    assert_eq!(b_max(&whole).batch(), None);
    whole.recipe.precision = Precision::PureBf16;
    assert_eq!(b_max(&whole).batch(), None);
    // With adapters beside frozen weights the printed micro-batch of 1 to 2 is right.
    for sequence in [1_024, 2_048] {
        let batch = b_max(&alone(Adapter::Lora, sequence)).batch().unwrap_or(0);
        assert!((1..=2).contains(&batch), "{batch} at {sequence} tokens");
    }
}
