//! The numbers that the workshop and the papers print, computed by the library.

use bmax::{
    Answer, Bucket, Bytes, Field, Method, Precision, Recomputation, Scenario, Shortage, Switch, ZeroStage, b_max,
    catalogue, estimate, fewest_gpus,
};

fn preset(slug: &str, gpus: u32, method: Method) -> Scenario {
    let row = catalogue::model(slug).expect("a workshop preset");
    let mut scenario = row.apply(Scenario { method, ..Scenario::workshop() });
    scenario.cluster.gpus = gpus;
    scenario.recipe.sequence = 2048;
    scenario.device.memory = Bytes::from_gib(80.0);
    scenario
}

fn b_max_none_selective_full(scenario: Scenario) -> [u32; 3] {
    [Recomputation::None, Recomputation::Selective, Recomputation::Full].map(|recomputation| {
        let mut scenario = scenario;
        scenario.recipe.recomputation = recomputation;
        b_max(&scenario).batch().unwrap_or(0)
    })
}

fn close(bytes: Bytes, expected: f64, tolerance: f64, unit: fn(Bytes) -> f64) {
    assert!((unit(bytes) - expected).abs() <= tolerance, "{} is not {expected}", unit(bytes));
}

#[test]
fn the_workshop_presets_hold_the_published_micro_batches() {
    for (slug, gpus, expected) in [
        ("1b", 1, [2, 8, 304]),
        ("3b", 1, [0, 2, 86]),
        ("7b", 8, [1, 3, 117]),
        ("13b", 64, [0, 2, 88]),
        ("70b", 64, [0, 0, 22]),
    ] {
        assert_eq!(b_max_none_selective_full(preset(slug, gpus, Method::Workshop)), expected, "{slug}");
    }
}

#[test]
fn the_paper_counts_about_twice_as_many_sequences_as_the_workshop() {
    assert_eq!(b_max_none_selective_full(preset("1b", 1, Method::Paper)), [5, 17, 304]);
    assert_eq!(b_max_none_selective_full(preset("7b", 8, Method::Paper)), [2, 6, 117]);
}

#[test]
fn seven_billion_parameters_on_one_gpu_are_infeasible_because_of_their_states() {
    let scenario = preset("7b", 1, Method::Workshop);
    let fixed: Bytes = [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer]
        .map(|bucket| estimate(&scenario).bucket(bucket))
        .into_iter()
        .sum();
    close(fixed, 104.31, 0.005, Bytes::gib);
    let Answer::Infeasible(reason) = b_max(&scenario) else { panic!("104 GiB fit into 72 GiB") };
    assert_eq!(reason.shortage, Shortage::ModelStates);
    assert_eq!(reason.largest.bucket, Bucket::Optimizer);
    assert!(reason.over > Bytes::from_gib(104.31 - 72.0));
}

#[test]
fn eight_billion_parameters_take_29_8_29_8_and_59_6_gib_together_119_2() {
    let mut scenario = preset("7b", 1, Method::Workshop);
    scenario.model.parameters = 8_000_000_000;
    let estimate = estimate(&scenario);
    close(estimate.bucket(Bucket::Parameters), 29.8, 0.05, Bytes::gib);
    close(estimate.bucket(Bucket::Gradients), 29.8, 0.05, Bytes::gib);
    close(estimate.bucket(Bucket::Optimizer), 59.6, 0.05, Bytes::gib);
    let states = Bucket::ALL[..3].iter().map(|bucket| estimate.bucket(*bucket)).sum();
    close(states, 119.2, 0.05, Bytes::gib);
}

#[test]
fn zero_divides_7_5_billion_parameters_over_64_gpus_as_published() {
    // Rajbhandari et al. 2020, figure 1.
    let mut scenario = preset("7b", 64, Method::Paper);
    scenario.model.parameters = 7_500_000_000;
    for (stage, expected) in
        [(ZeroStage::Stage0, 120.0), (ZeroStage::Stage1, 31.4), (ZeroStage::Stage2, 16.6), (ZeroStage::Stage3, 1.9)]
    {
        scenario.cluster.zero = stage;
        let estimate = estimate(&scenario);
        close(Bucket::ALL[..3].iter().map(|bucket| estimate.bucket(*bucket)).sum(), expected, 0.05, Bytes::gb);
    }
}

#[test]
fn sixteen_bytes_a_parameter_make_16_112_and_1120_gb() {
    for (slug, expected) in [("1b", 16.0), ("7b", 112.0), ("70b", 1120.0)] {
        for method in [Method::Workshop, Method::Paper] {
            let estimate = estimate(&preset(slug, 1, method));
            close(Bucket::ALL[..3].iter().map(|bucket| estimate.bucket(*bucket)).sum(), expected, 1e-9, Bytes::gb);
        }
    }
}

#[test]
fn layer_boundaries_of_gpt_3_take_the_published_sizes() {
    // 3.2 million tokens as 1600 sequences of 2000; one layer, then all 96.
    let mut scenario = preset("7b", 64, Method::Paper);
    scenario.recipe.recomputation = Recomputation::Full;
    scenario.recipe.sequence = 2000;
    scenario.recipe.batch = 1600;
    scenario.model.hidden = 12_288;
    scenario.model.layers = 1;
    close(estimate(&scenario).bucket(Bucket::Activations), 78.6, 0.05, Bytes::gb);
    scenario.model.layers = 96;
    close(estimate(&scenario).bucket(Bucket::Activations), 7550.0, 0.5, Bytes::gb);

    // GPT-3 2.7B with a million tokens.
    scenario.recipe.sequence = 1000;
    scenario.recipe.batch = 1000;
    scenario.model.hidden = 2560;
    scenario.model.layers = 32;
    close(estimate(&scenario).bucket(Bucket::Activations), 152.59, 0.005, Bytes::gib);
}

/// Activation bytes of one layer by the paper, in units of S·b·H, for a = 64, s = 2048, h = 8192.
fn per_layer(change: impl Fn(&mut Scenario)) -> f64 {
    let mut scenario = preset("70b", 64, Method::Paper);
    scenario.recipe.recomputation = Recomputation::None;
    scenario.recipe.batch = 1;
    scenario.model.layers = 1;
    change(&mut scenario);
    estimate(&scenario).bucket(Bucket::Activations).get() / (2048.0 * 8192.0)
}

#[test]
fn the_paper_coefficients_are_34_32_66_and_10_plus_24_over_t() {
    // a·s/h of this shape is 16.
    let scores = 16.0;
    let selective = |scenario: &mut Scenario| scenario.recipe.recomputation = Recomputation::Selective;
    assert_eq!(per_layer(|_| {}), 34.0 + 5.0 * scores);
    assert_eq!(per_layer(selective), 34.0);
    assert_eq!(per_layer(|s| s.recipe.recomputation = Recomputation::Full), 2.0);
    assert_eq!(
        per_layer(|s| {
            selective(s);
            s.recipe.dropout = Switch::Off;
        }),
        32.0
    );
    assert_eq!(per_layer(|s| s.recipe.precision = Precision::Fp32), 66.0 + 9.0 * scores);
    assert_eq!(per_layer(|s| s.cluster.tensor_parallel = 8), 10.0 + 24.0 / 8.0 + 5.0 * scores / 8.0);
    assert_eq!(
        per_layer(|s| {
            s.cluster.tensor_parallel = 8;
            s.cluster.sequence_parallel = Switch::On;
        }),
        (34.0 + 5.0 * scores) / 8.0,
    );
}

#[test]
fn the_workshop_doubles_what_the_paper_counts_at_16_bits() {
    for recomputation in [Recomputation::None, Recomputation::Selective] {
        let mut scenario = preset("7b", 8, Method::Workshop);
        scenario.recipe.recomputation = recomputation;
        let doubled = estimate(&scenario).bucket(Bucket::Activations);
        scenario.method = Method::Paper;
        let counted = estimate(&scenario).bucket(Bucket::Activations);
        assert_eq!(doubled.get(), 2.0 * counted.get());
    }
}

#[test]
fn the_fewest_gpus_are_enough_and_one_fewer_is_not() {
    for slug in ["7b", "13b", "70b"] {
        for recomputation in [Recomputation::Selective, Recomputation::Full] {
            let mut scenario = preset(slug, 1, Method::Workshop);
            scenario.recipe.recomputation = recomputation;
            let Some(gpus) = fewest_gpus(&scenario, 1) else { continue };
            let on = |gpus: u32| b_max(&scenario.with_number(Field::Gpus, gpus.into()).expect("in range")).batch();
            assert!(on(gpus).is_some(), "{slug} on {gpus}");
            assert!(gpus == 1 || on(gpus - 1).is_none(), "{slug} on {}", gpus - 1);
        }
    }
}

#[test]
fn more_gpus_do_not_help_when_activations_alone_are_too_large() {
    let mut scenario = preset("70b", 64, Method::Workshop);
    scenario.recipe.recomputation = Recomputation::None;
    let Answer::Infeasible(reason) = b_max(&scenario) else { panic!("85 GiB of scores fit into 72 GiB") };
    assert_eq!(reason.shortage, Shortage::FirstSequence);
    assert_eq!(reason.fewest_gpus, None);
}
