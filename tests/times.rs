//! Operations and times as the sources print them.
//!
//! The formulas of the papers and of torchtitan are written out here with the sources' own symbols, so
//! that the library is held to them and not to itself.

use bmax::{
    Adapter, Bias, Choice, Encoder, Experts, Latent, LossHead, Mlp, Model, Norm, Packing, Position, Precision, QkNorm,
    Recomputation, Scenario, Softmax, Switch, Weights, catalogue,
    cost::{Speed, Work, bubble, cost, extra_work, flops_per_token},
};

fn on(slug: &str, sequence: u32) -> Scenario {
    let row = catalogue::model(slug).unwrap_or_else(|| panic!("{slug} is listed"));
    let mut scenario = row.apply(Scenario::workshop());
    scenario.recipe.sequence = sequence;
    scenario.recipe.recomputation = Recomputation::None;
    scenario
}

fn near(found: f64, expected: f64, part: f64) -> bool {
    (found / expected - 1.0).abs() <= part
}

/// Weights that a token of this model is multiplied with.
fn multiplied(model: &Model) -> f64 {
    let weights = Weights::of(model);
    (weights.multiplied_in_layers(model) + weights.multiplied_by_head()) as f64
}

/// Chowdhery et al. 2022, arXiv 2204.02311, table 1 and section 2: multi-query attention, SwiGLU, shared
/// embeddings of 256,000 entries. Its n·d of 48 · 256 is not its H.
fn palm() -> Model {
    Model {
        parameters: 540_350_000_000,
        hidden: 18_432,
        layers: 118,
        heads: 48,
        kv_heads: 1,
        head_dim: 256,
        feed_forward: 73_728,
        vocabulary: 256_000,
        tied_embeddings: Switch::On,
        mlp: Mlp::Gated,
        norm: Norm::RmsNorm,
        norms: 1,
        qk_norm: QkNorm::Off,
        soft_cap: Switch::Off,
        bias: Bias::None,
        position: Position::Rotary,
        parallel: Switch::On,
        packing: Packing::Separate,
        softmax: Softmax::Full,
        positions: 0,
        spare_positions: 0,
        experts: Experts::NONE,
        latent: Latent::NONE,
        encoder: Encoder::NONE,
        vision: bmax::Vision::NONE,
        origin: bmax::Origin::Own,
    }
}

#[test]
fn palm_s_utilization_is_46_2_percent_with_attention_and_45_7_without() {
    // Appendix B: 238.3 thousand tokens a second on 6,144 chips of 275 TFLOP/s, of 6·N + 12·L·H·Q·T operations
    // each, where H is the number of heads and Q their width.
    let scenario = Scenario { model: palm(), ..on("7b", 2_048) };
    assert!(near(scenario.model.derived_parameters() as f64, 540.35e9, 1e-4));
    let share = |flops: f64| 100.0 * 238.3e3 * flops / (6_144.0 * 275e12);
    assert_eq!((share(flops_per_token(&scenario)) * 10.0).round(), 462.0);
    assert_eq!((share(6.0 * multiplied(&scenario.model)) * 10.0).round(), 457.0);
}

#[test]
fn gpt_3_takes_the_operations_of_narayanan_s_equation_3() {
    // Equation 3 of arXiv 2104.04473, for one token: 96·l·h²·(1 + s/6h + V/16lh), every layer forward twice.
    let [l, h, s, v] = [96.0, 12_288.0, 2_048.0, 50_257.0];
    let mut scenario = on("gpt-3-175b", 2_048);
    scenario.recipe.recomputation = Recomputation::Full;
    let work = Work::of(&scenario);
    let expected = 96.0 * l * h * h * (1.0 + s / (6.0 * h) + v / (16.0 * l * h));
    assert!(near(work.once() + work.again, expected, 1e-12), "{} {expected}", work.once() + work.again);
    // Without recomputation it is Korthikanti et al. 2022, appendix A: 72·l·h²·(1 + s/6h + v/12lh).
    let once = 72.0 * l * h * h * (1.0 + s / (6.0 * h) + v / (12.0 * l * h));
    assert!(near(flops_per_token(&scenario), once, 1e-12));
    // Section 5.1: 300 billion tokens at 140 TFLOP/s on each of 1,024 GPUs take 34 days.
    let days = (work.once() + work.again) * 300e9 / (1_024.0 * 140e12) / 86_400.0;
    assert!((33.5..35.0).contains(&days), "{days}");
}

#[test]
fn full_recomputation_costs_a_third_of_what_the_layers_take() {
    let mut scenario = on("gpt-3-175b", 2_048);
    scenario.recipe.recomputation = Recomputation::Full;
    // A head is not repeated; without one it is a third to the last operation.
    scenario.recipe.loss = LossHead::Classifier;
    assert_eq!(extra_work(&scenario), 1.0 / 3.0);
}

#[test]
fn selective_recomputation_costs_what_its_help_prints() {
    let extra = |slug: &str, sequence: u32| {
        let mut scenario = on(slug, sequence);
        scenario.recipe.recomputation = Recomputation::Selective;
        // 4·n·d·S of 72·H² + 12·H·S a layer, which is below S/18H.
        assert!(extra_work(&scenario) < f64::from(sequence) / (18.0 * f64::from(scenario.model.hidden)));
        100.0 * extra_work(&scenario)
    };
    let help = Recomputation::Selective.effect();
    assert!(help.contains(&format!("{:.1} % for GPT-3", extra("gpt-3-175b", 2_048))), "{help}");
    assert!(help.contains(&format!("{:.0} % for 7B at 8,192 tokens", extra("7b", 8_192))), "{help}");
}

#[test]
fn llama_takes_the_operations_of_torchtitan_s_formula() {
    // torchtitan/models/utils.py at b5bcd76: 6·(parameters − embedding) + 6·L·n·(d of queries + d of values)·S.
    // Its parameters have the norms, which multiply nothing: 2 in each of 32 layers and one at the end.
    let scenario = on("llama-3.1-8b", 8_192);
    let titan = 6.0 * (8_030_261_248.0 - 128_256.0 * 4_096.0) + 6.0 * 32.0 * 32.0 * (128.0 + 128.0) * 8_192.0;
    assert_eq!(flops_per_token(&scenario), titan - 6.0 * 65.0 * 4_096.0);
    assert!(near(flops_per_token(&scenario), titan, 1e-4));
}

#[test]
fn a_shared_embedding_is_a_product_and_no_table_is_one() {
    // GPT-2: 12·H² a layer and V·H of the head; neither the look-ups nor the positions.
    let model = on("gpt2", 1_024).model;
    assert_eq!(multiplied(&model), 12.0 * 12.0 * 768.0 * 768.0 + 50_257.0 * 768.0);
    let untied = on("pythia-160m", 1_024).model;
    assert_eq!(multiplied(&untied), 12.0 * 12.0 * 768.0 * 768.0 + 50_304.0 * 768.0);
}

#[test]
fn latent_attention_multiplies_wider_queries_than_values() {
    // DeepSeek-V3: 128 heads, queries and keys of 128 + 64, values of 128.
    let [short, long] = [4_096, 8_192].map(|sequence| flops_per_token(&on("deepseek-v3", sequence)));
    assert_eq!(long - short, 6.0 * 61.0 * 128.0 * (192.0 + 128.0) * 4_096.0);
}

#[test]
fn experts_cost_what_the_sources_call_active() {
    // Billions, by the model cards and reports; those that count the input embedding say so here.
    for (slug, active, with_embedding) in [
        ("mixtral-8x7b", 12.9, true),
        ("deepseek-v3", 37.0, false),
        ("qwen3-30b-a3b", 3.3, true),
        ("qwen3-235b-a22b", 22.0, true),
        ("llama-4-scout", 17.0, true),
        ("llama-4-maverick", 17.0, true),
        ("gpt-oss-20b", 3.61, false),
        ("gpt-oss-120b", 5.13, false),
    ] {
        let model = on(slug, 1).model;
        let embedding = if with_embedding { f64::from(model.vocabulary) * f64::from(model.hidden) } else { 0.0 };
        let found = (multiplied(&model) + embedding) / 1e9;
        assert!(near(found, active, 0.02), "{slug}: {found}");
    }
}

#[test]
fn frozen_weights_take_4_of_6_operations_and_attention_all_of_its_own() {
    let whole = on("llama-3.1-8b", 8_192);
    let mut frozen = whole;
    frozen.recipe.adapter = Adapter::Lora;
    let weights = multiplied(&whole.model);
    let attention = 12.0 * 32.0 * 4_096.0 * 8_192.0;
    // Rank 16 beside all seven matrices of a layer: (rows + columns) each.
    let adapters = 16.0 * 32.0 * (4.0 * 4_096.0 + 2.0 * (4_096.0 + 1_024.0) + 3.0 * (4_096.0 + 14_336.0));
    assert_eq!(flops_per_token(&whole), 6.0 * weights + attention);
    assert_eq!(flops_per_token(&frozen), 4.0 * weights + attention + 6.0 * adapters);
    // Computing the layers again is half of a step then.
    frozen.recipe.recomputation = Recomputation::Full;
    assert!((0.4..0.5).contains(&extra_work(&frozen)), "{}", extra_work(&frozen));
}

#[test]
fn the_bubble_of_narayanan_s_figures_is_three_eighths_and_half_of_that_interleaved() {
    // Section 2.2 of arXiv 2104.04473, figures 3 and 4: four devices, eight micro-batches, two chunks each.
    assert_eq!((bubble(4, 1, 8), bubble(4, 2, 8)), (3.0 / 8.0, 3.0 / 16.0));
    assert_eq!((bubble(1, 1, 8), bubble(0, 0, 0)), (0.0, 0.0));
}

#[test]
fn every_time_of_a_pipeline_has_its_bubble() {
    const ONE: Speed = Speed::from_peak(100.0, 31.5);
    let alone = on("llama-3.1-8b", 2_048);
    let mut staged = alone;
    staged.cluster.pipeline_parallel = 4;
    for micro_batches in [1, 4, 8, 64] {
        let [one, four] = [alone, staged].map(|scenario| cost(&scenario, micro_batches, ONE));
        let filled = 1.0 + 3.0 / f64::from(micro_batches);
        assert!(near(four.compute_seconds, one.compute_seconds / 4.0 * filled, 1e-12), "{micro_batches}");
        assert_eq!(four.bubble, 3.0 / f64::from(micro_batches));
    }
    // A single micro-batch goes through one stage after the other: four devices are as fast as one.
    let [one, four] = [alone, staged].map(|scenario| cost(&scenario, 1, ONE).compute_seconds);
    assert!(near(four, one, 1e-12));
    // The same in what an update and a run take, beside the optimizer's step.
    let update = |scenario: &Scenario| bmax::course::updates::update(scenario, 8, 1e9).seconds;
    let own = cost(&staged, 8, catalogue::speed(&staged)).compute_seconds;
    assert!(update(&staged) >= own && update(&staged) < own * 1.02);
}

#[test]
fn fp32_training_takes_as_much_longer_as_the_data_sheets_say() {
    // The page prints both for these: 125 and 15.7, 312 and 19.5.
    for (slug, half, single) in [("v100-16", 125.0, 15.7), ("a100-80", 312.0, 19.5)] {
        let scenario = catalogue::device(slug).expect("listed").apply(on("llama-3.1-8b", 2_048));
        let mut full = scenario;
        full.recipe.precision = Precision::Fp32;
        let [half_seconds, full_seconds] =
            [scenario, full].map(|with| cost(&with, 1, catalogue::speed(&with)).compute_seconds);
        assert!(near(full_seconds / half_seconds, half / single, 1e-12), "{slug}");
    }
    let a100 = catalogue::device("a100-80").and_then(|row| row.peaks).expect("listed");
    assert_eq!((a100.half, a100.tf32, a100.fp32), (312.0, Some(156.0), 19.5));
}
