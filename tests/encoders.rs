//! What an encoder before the decoder takes, against numbers worked out by hand from the sizes of models and what
//! saved-tensor hooks showed of transformers 5.23.0.

use bmax::{
    AttentionKernel, Bytes, Encoder, Field, Mlp, Position, Precision, Recomputation, Scenario, TaskKind, Weights,
    b_max, catalogue, cost, estimate, link,
};
use proptest::prelude::*;

use crate::support::alone::alone;
use crate::support::any_scenario;
use crate::support::held::{at, exactly};

/// A model on one GPU, in fp32, with nothing recomputed and no dropout.
fn on_one_gpu(slug: &str) -> Scenario {
    let mut scenario = alone(slug, Recomputation::None);
    scenario.recipe.precision = Precision::Fp32;
    scenario.recipe.sequence = 512;
    scenario.recipe.batch = 8;
    scenario
}

#[test]
fn published_models_have_their_published_weights() {
    // t5-base 222.9 million, flan-t5-xl 2.85 billion, bart-large 406.3 million, whisper-large-v3 1.5435 billion.
    let count = |slug| catalogue::model(slug).expect("listed").model.parameters;
    assert_eq!(count("t5-base"), 222_903_552);
    assert_eq!(count("flan-t5-xl"), 2_849_757_184);
    assert_eq!(count("bart-large"), 406_291_456);
    assert_eq!(count("whisper-large-v3"), 1_543_490_560);
}

#[test]
fn a_layer_of_t5_base_has_seven_million_weights_in_the_encoder_and_two_more_where_it_attends_to_it() {
    let weights = Weights::of(&catalogue::model("t5-base").expect("listed").model);
    // 4·768² + 2·768·3,072 in each of twelve layers.
    assert_eq!(weights.encoder, 12 * 7_077_888);
    // 4·768², and a norm.
    assert_eq!((weights.cross, weights.cross_small), (2_359_296, 768));
    // Thirty-two distances for each of twelve heads, twice.
    assert_eq!((weights.positions, weights.encoder_positions), (384, 384));
}

#[test]
fn the_sound_of_whisper_large_passes_two_convolutions_of_5_4_million_weights() {
    let model = catalogue::model("whisper-large-v3").expect("listed").model;
    let silent = bmax::Model { encoder: Encoder { mels: 0, ..model.encoder }, ..model };
    // 3·128·1,280 + 1,280 and 3·1,280·1,280 + 1,280.
    assert_eq!(model.derived_parameters() - silent.derived_parameters(), 492_800 + 4_916_480);
}

#[test]
fn keys_and_values_of_the_source_are_as_long_as_the_source() {
    // Keys and values of 12 layers, 8 · 1,024 positions · 768 · 4 bytes.
    let mut scenario = on_one_gpu("t5-base");
    scenario.recipe.source = 1024;
    let kept = at(&estimate(&scenario), "Keys and values of the encoder’s output", "loss, backward");
    exactly(kept, 2.0 * 12.0 * 8.0 * 1024.0 * 768.0 * 4.0);
    // As many as the target where nothing is said.
    scenario.recipe.source = 0;
    let kept = at(&estimate(&scenario), "Keys and values of the encoder’s output", "loss, backward");
    exactly(kept, 2.0 * 12.0 * 8.0 * 512.0 * 768.0 * 4.0);
}

#[test]
fn eager_attention_to_the_encoder_keeps_scores_of_both_lengths() {
    let mut scenario = on_one_gpu("bart-large");
    scenario.recipe.attention = AttentionKernel::Eager;
    (scenario.recipe.sequence, scenario.recipe.source) = (256, 1024);
    let kept = at(&estimate(&scenario), "Softmax of the scores to the encoder", "loss, backward");
    exactly(kept, 12.0 * 8.0 * 16.0 * 256.0 * 1024.0 * 4.0);
}

#[test]
fn under_autocast_each_layer_keeps_two_casts_of_the_encoder_s_output() {
    let mut scenario = on_one_gpu("bart-large");
    scenario.recipe.precision = Precision::Autocast;
    scenario.recipe.source = 1024;
    let name = "Encoder’s output, read by keys and values";
    exactly(at(&estimate(&scenario), name, "loss, backward"), 12.0 * 2.0 * 8.0 * 1024.0 * 1024.0 * 2.0);
    scenario.recipe.precision = Precision::PureBf16;
    exactly(at(&estimate(&scenario), name, "loss, backward"), 0.0);
    // One tensor of 16 bits for all of them.
    exactly(at(&estimate(&scenario), "Output of the encoder", "loss, backward"), 8.0 * 1024.0 * 1024.0 * 2.0);
}

#[test]
fn t5_s_bias_does_not_grow_with_the_micro_batch() {
    let mut scenario = on_one_gpu("t5-base");
    for batch in [1, 64] {
        scenario.recipe.batch = batch;
        // 12 layers in each stack, 12 heads, 512² pairs, 4 bytes.
        let mask = at(&estimate(&scenario), "Position bias as a mask", "loss, backward");
        exactly(mask, 2.0 * 12.0 * 12.0 * 512.0 * 512.0 * 4.0);
    }
}

#[test]
fn sdpa_puts_out_a_gradient_of_t5_s_bias_for_every_sequence() {
    let mut scenario = on_one_gpu("t5-base");
    (scenario.recipe.sequence, scenario.recipe.batch) = (2048, 2);
    let estimate = estimate(&scenario);
    // 12 heads, 2,048² pairs, 4 bytes; the kernel's for two sequences, and the sum over the layers for one.
    let one = 12.0 * 2048.0 * 2048.0 * 4.0;
    for instant in ["backward, first layer", "encoder: backward, first layer"] {
        exactly(at(&estimate, "Gradient of the mask, for each sequence", instant), 2.0 * one);
    }
    exactly(at(&estimate, "Gradient of the decoder’s position bias", "backward, first layer"), one);
    exactly(at(&estimate, "Gradient of the encoder’s position bias", "encoder: backward, first layer"), one);
    exactly(at(&estimate, "Gradient of the encoder’s position bias", "end of backward"), 0.0);
}

#[test]
fn attention_in_fp32_copies_no_output_however_its_queries_lie() {
    let query = "v=3&model=pythia-1.4b&gpus=1&zero=0&b=1&s=512&recompute=none&attn=flash&dropout=off";
    for (precision, copies) in [("fp32", 0.0), ("bf16-pure", 24.0 * 512.0 * 2048.0 * 2.0)] {
        let scenario = link::decode(&format!("{query}&precision={precision}")).scenario;
        exactly(at(&estimate(&scenario), "Input of the output projection", "loss, backward"), copies);
    }
}

#[test]
fn the_encoder_s_activations_wait_for_the_decoder() {
    let estimate = estimate(&on_one_gpu("bart-large"));
    // The inputs of two norms in each of twelve layers, 8 · 512 · 1,024 · 4 bytes each; three in the decoder.
    let one = 8.0 * 512.0 * 1024.0 * 4.0;
    exactly(at(&estimate, "Inputs of the norms", "loss, backward"), (24.0 + 36.0) * one);
    exactly(at(&estimate, "Inputs of the norms", "backward, first layer"), (24.0 + 3.0) * one);
    exactly(at(&estimate, "Inputs of the norms", "encoder: backward, last layer"), 24.0 * one);
    exactly(at(&estimate, "Inputs of the norms", "encoder: backward, first layer"), 2.0 * one);
    exactly(at(&estimate, "Inputs of the norms", "end of backward"), 0.0);
}

#[test]
fn a_table_of_sines_is_a_weight_without_gradient_and_state() {
    let estimate = estimate(&on_one_gpu("whisper-small"));
    let named: Vec<f64> = estimate
        .entries
        .iter()
        .filter(|entry| entry.name.starts_with("Positions of the encoder"))
        .map(|entry| entry.bytes.get())
        .collect();
    assert_eq!(named, [1_500.0 * 768.0 * 4.0]);
}

#[test]
fn whisper_hears_thirty_seconds_whatever_source_is_typed() {
    let mut scenario = on_one_gpu("whisper-small");
    let before = estimate(&scenario).peak().bytes;
    scenario.recipe.source = 100;
    assert_eq!(scenario.source(), 1500);
    assert_eq!(estimate(&scenario).peak().bytes, before);
}

#[test]
fn an_encoder_s_work_is_shared_out_among_the_tokens_of_the_decoder() {
    // With as many tokens in both, each weight beside the embedding and the norms is multiplied with once a token, and
    // so is the head: 6 operations, and 12·S·n·d for each of 36 attentions.
    let scenario = on_one_gpu("t5-base");
    let matrices = 12.0 * 7_077_888.0 + 12.0 * (7_077_888.0 + 2_359_296.0) + 32_128.0 * 768.0;
    let expected = 6.0 * matrices + 12.0 * 512.0 * 768.0 * 36.0;
    exactly(cost::flops_per_token(&scenario), expected);
}

#[test]
fn a_source_twice_as_long_doubles_the_encoder_s_work_and_not_that_of_the_queries_to_it() {
    let mut scenario = on_one_gpu("t5-base");
    let short = cost::flops_per_token(&scenario);
    scenario.recipe.source = 1_024;
    // Once more for each token: the encoder's matrices, and the keys and values that twelve layers make of its output,
    // 2·768² each.
    let matrices = 12.0 * 7_077_888.0 + 12.0 * 1_179_648.0;
    // Twelve attentions to 512 positions more; in the encoder 2 tokens that attend to 1,024 in place of 1 to 512.
    let attention = 12.0 * 512.0 + 12.0 * (2.0 * 1_024.0 - 512.0);
    exactly(cost::flops_per_token(&scenario) - short, 6.0 * matrices + 12.0 * 768.0 * attention);
}

#[test]
fn a_link_carries_an_encoder_and_comes_back() {
    let mut scenario = on_one_gpu("flan-t5-xl");
    scenario.recipe.source = 1024;
    assert_eq!((scenario.model.mlp, scenario.model.position), (Mlp::GatedGeluTanh, Position::Relative));
    assert_eq!(link::decode(&link::encode(&scenario)).scenario, scenario);
    let own = link::decode("?v=3&model=own&enc_layers=6&enc_positions=512&source=300").scenario;
    assert_eq!((own.model.encoder, own.recipe.source), (Encoder { layers: 6, positions: 512, mels: 0 }, 300));
}

/// Any scenario with an encoder before its decoder.
fn any_encoder() -> impl Strategy<Value = Scenario> {
    (any_scenario::any_scenario(), 1..64_u32, 0..4096_u32, 0..128_u32).prop_map(
        |(mut scenario, layers, source, mels)| {
            scenario.model.encoder = Encoder { layers, positions: source, mels };
            scenario.recipe.source = source;
            scenario
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn more_layers_and_a_longer_source_never_take_less(scenario in any_encoder()) {
        let mut scenario = scenario;
        scenario.task.kind = TaskKind::Train;
        scenario.model.encoder.mels = 0;
        let peak = |scenario: &Scenario| estimate(scenario).peak().bytes;
        let before = peak(&scenario);
        let mut longer = scenario;
        longer.recipe.source = scenario.source() + 64;
        let mut deeper = scenario;
        deeper.model.encoder.layers += 1;
        // Beyond the largest numbers of a double nothing is told apart.
        let enough = |after: Bytes| after.get() >= before.get() * (1.0 - 1e-12);
        prop_assert!(enough(peak(&longer)) && enough(peak(&deeper)));
    }

    #[test]
    fn without_layers_nothing_else_of_an_encoder_is_read(scenario in any_encoder()) {
        let mut without = scenario;
        without.model.encoder.layers = 0;
        let mut none = without;
        none.model.encoder = Encoder::NONE;
        none.recipe.source = 0;
        prop_assert_eq!(estimate(&without).peak().bytes, estimate(&none).peak().bytes);
        prop_assert_eq!(without.model.derived_parameters(), none.model.derived_parameters());
    }

    #[test]
    fn the_answer_is_the_largest_that_fits(scenario in any_encoder()) {
        if let bmax::Answer::Fits(room) = b_max(&scenario)
            && Field::Batch.check(f64::from(room.batch)).is_ok()
        {
            prop_assert!(estimate(&scenario.with_batch(room.batch)).peak().bytes <= scenario.usable());
        }
    }
}
