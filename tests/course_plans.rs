//! The numbers that the sources print on optimizer state, swapping and the tuning procedure.

use bmax::course::states::{State, states};
use bmax::course::swapping::{Layer, Swapped, TIERS, break_even};
use bmax::course::tuning::{alone, gpus_for, job, tune};
use bmax::{
    Bytes, Offload, Optimizer, Precision, Recomputation, Scenario, Weights, ZeroStage, catalogue, estimate,
    setting::Word,
};

fn preset(slug: &str) -> Scenario {
    catalogue::model(slug).unwrap_or_else(|| panic!("{slug} is listed")).apply(Scenario::workshop())
}

fn of(scenario: &Scenario, optimizer: Optimizer) -> State {
    *states(scenario).iter().find(|state| state.optimizer == optimizer).expect("every optimizer is listed")
}

fn near(found: f64, expected: f64, part: f64) -> bool {
    (found / expected - 1.0).abs() <= part
}

#[test]
fn a_billion_parameters_at_16_bits_are_2_gb() {
    assert_eq!(Bytes::new(1e9 * f64::from(Precision::Bf16.element_bytes())).gb(), 2.0);
    assert_eq!(Bytes::new(175e9 * f64::from(Precision::Bf16.element_bytes())).gb(), 350.0);
    assert_eq!(Bytes::new(175e9 * f64::from(Precision::Fp32.element_bytes())).gb(), 700.0);
}

#[test]
fn adam_on_125_million_weights_remembers_1_gb_and_momentum_half() {
    let scenario = preset("gpt-3-125m");
    let [adam, momentum] = [Optimizer::AdamW, Optimizer::Momentum].map(|kind| of(&scenario, kind));
    assert_eq!((adam.per_weight, momentum.per_weight), (8.0, 4.0));
    // 12 layers of 768 and GPT's vocabulary make 125 million weights to one part in a hundred.
    assert!(near(adam.whole.gb(), 1.0, 0.01), "{}", adam.whole.gb());
    assert!(near(momentum.whole.gb(), 0.5, 0.01));
}

#[test]
fn twelve_bytes_of_gpt_3_s_parameters_are_2100_gb_of_which_adam_remembers_1400() {
    let mut scenario = preset("gpt-3-175b");
    scenario.recipe.precision = Precision::Fp32;
    let adam = of(&scenario, Optimizer::AdamW);
    let weights = Weights::of(&scenario.model).total() as f64;
    // The model has 174.6 billion weights and is sold as 175.
    assert!(near(weights, 175e9, 0.003), "{weights}");
    assert!(near(adam.whole.gb(), 1_400.0, 0.003), "{}", adam.whole.gb());
    assert!(near(adam.whole.gb() + 4.0 * weights / 1e9, 2_100.0, 0.003));
    // Under mixed precision the same twelve are master copy and moments.
    scenario.recipe.precision = Precision::Bf16;
    scenario.cluster.gpus = 1;
    let adam = of(&scenario, Optimizer::AdamW);
    assert!(near((adam.per_gpu + adam.master).gb(), 2_100.0, 0.003));
}

#[test]
fn adafactor_keeps_32_kib_of_a_square_matrix_whose_moments_take_128_mib() {
    let (rows, columns) = (4_096.0, 4_096.0);
    assert_eq!(Bytes::new(4.0 * (rows + columns)).get(), 32.0 * 1_024.0);
    assert_eq!(Bytes::new(8.0 * rows * columns).mib(), 128.0);
    // The same by the ledger, over the real matrices of the 7B preset: two embedding tables of 32,000 rows at
    // most, four matrices of H × H and two of H × 4H in each of 32 layers, and their vectors whole.
    let scenario = preset("7b");
    let model = &scenario.model;
    let [h, f, v] = [model.hidden, model.feed_forward, model.vocabulary].map(f64::from);
    let tables = if model.tied_embeddings.is_on() { 1.0 } else { 2.0 };
    let matrices = tables * (v + h) + 32.0 * (4.0 * 2.0 * h + 2.0 * (h + f));
    let weights = Weights::of(model);
    let vectors = 32 * (weights.biases + weights.norms) + weights.final_norm;
    let found = of(&scenario, Optimizer::Adafactor).whole.get();
    assert!(near(found, 4.0 * (matrices + vectors as f64), 0.01), "{found}");
}

#[test]
fn eight_bit_adam_takes_two_bytes_and_two_scales_for_256_weights() {
    let found = of(&preset("70b"), Optimizer::Adam8bit).per_weight;
    assert!((found - (2.0 + 2.0 * 4.0 / 256.0)).abs() < 0.002, "{found}");
}

#[test]
fn the_tiers_are_those_of_the_figure() {
    let printed = [(19e12, 20e6), (1.5e12, 40e9), (12.8e9, 1e12)];
    assert_eq!(TIERS.map(|tier| (tier.bandwidth, tier.capacity)), printed);
    // One channel of DDR4-1600.
    assert_eq!(8.0 * 1.6e9, TIERS[2].bandwidth);
}

#[test]
fn a_checkpoint_of_5_12_gb_takes_0_4_s_over_one_channel() {
    // GPT-3 2.7B, a million tokens of 2,560 at 16 bits.
    let bytes = 1e6 * 2_560.0 * 2.0;
    assert!((bytes / TIERS[2].bandwidth - 0.4).abs() < 1e-12);
    assert!((bytes / 31.5e9 - 0.1625).abs() < 1e-4);
}

#[test]
fn a_layer_input_is_swapped_by_hand_as_by_the_library() {
    // H = 4096, 3 sequences of 2048: 2·b·S·H bytes over 31.5 GB/s, and 24·H² + 4·S·H operations a token at 40 %
    // of 312 TFLOP/s.
    let (h, s, b) = (4_096.0, 2_048.0, 3.0);
    let swap = Layer::of(&preset("7b").with_batch(3)).swap(Swapped::Input, 31.5e9);
    assert!(near(swap.bytes.get(), 2.0 * b * s * h, 1e-12));
    assert!(near(swap.copy, 2.0 * b * s * h / 31.5e9, 1e-12));
    let by_hand = b * s * (24.0 * h * h + 4.0 * s * h) / (0.4 * 312e12);
    assert!(near(swap.hidden_by, by_hand, 0.002), "{} {by_hand}", swap.hidden_by);
    assert_eq!(swap.wait, 0.0);
}

#[test]
fn weights_are_worth_an_operation_a_byte_for_each_token() {
    let mut scenario = preset("7b");
    scenario.cluster.zero = ZeroStage::Stage0;
    let layer = Layer::of(&scenario.with_batch(1));
    let worth = layer.swap(Swapped::Weights, 31.5e9).flops_per_byte;
    // 2 operations a weight and token over 2 bytes a weight; attention's own products add a twelfth here.
    assert!(near(worth, 2_048.0 * (1.0 + 1.0 / 12.0), 0.01), "{worth}");
}

#[test]
fn computing_outgrew_the_link_thirtyfold_from_the_p100_to_the_b200() {
    let peaks = ["p100-16", "b200"].map(|slug| {
        let scenario = catalogue::device(slug).expect("listed").apply(Scenario::workshop());
        let speed = catalogue::speed(&scenario);
        (speed.flops_per_second, speed.host_bytes_per_second, catalogue::memory_bandwidth(&scenario))
    });
    let [old, new] = peaks;
    assert!(near(new.0 / old.0, 120.0, 0.01) && near(new.1 / old.1, 4.0, 0.01) && near(new.2 / old.2, 11.0, 0.02));
    assert!(near(break_even(new.0, new.1) / break_even(old.0, old.1), 30.0, 0.01));
}

#[test]
fn sixty_four_sequences_are_tried_as_64_32_16_8_on_one_device() {
    let mut scenario = alone(&preset("1b"));
    scenario.goal.global_batch = 64;
    let tuning = tune(&scenario);
    let tried: Vec<u32> = tuning.tries.iter().map(|one| one.batch).collect();
    assert_eq!(tried[..2], [64, 32]);
    assert!(tried.windows(2).all(|pair| pair[1] * 2 == pair[0]));
    let chosen = &tuning.candidates[tuning.chosen.expect("a billion weights fit 80 GiB")];
    assert_eq!(chosen.measure, None);
    assert_eq!(chosen.accumulation.map(|plan| plan.global_batch()), Some(64));
}

#[test]
fn a_model_whose_states_alone_are_too_large_is_saved_by_the_host_only() {
    // 16 bytes for each of 6.6 billion weights are 105 GB: no micro-batch and no recomputation help.
    let tuning = tune(&alone(&preset("7b")));
    let chosen = &tuning.candidates[tuning.chosen.expect("12 of 16 bytes go to the host")];
    assert_eq!(chosen.measure, Some(Word::Offload(Offload::Optimizer).into()));
    assert_eq!(chosen.scenario.recipe.recomputation, Recomputation::Full);
    assert!(estimate(&chosen.scenario).peak().bytes <= chosen.scenario.usable());
    // A billion tokens take more than a day: one device is not enough for that.
    let run = job(chosen, 1e9).expect("it can be timed").update.run_seconds();
    assert!(run > 24.0 * 3_600.0);
    assert!(gpus_for(run, 24.0 * 3_600.0, 1) >= 2.0);
}

#[test]
fn gpt_3_fits_no_single_device_and_the_reason_is_named() {
    let tuning = tune(&alone(&preset("gpt-3-175b")));
    assert_eq!(tuning.chosen, None);
    let lacking = tuning.lacking.expect("a reason");
    // 350 GB of weights and as much of gradients, on 80 GiB.
    assert!(lacking.over.gb() > 500.0, "{}", lacking.over.gb());
}
