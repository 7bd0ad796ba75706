//! Of the page on making room: length, recomputation, swapping.

use super::{Problem, bucket, changed, paper, take};
use crate::course::{
    length::{crossover_of, parts},
    recomputing::{self, smooth_best},
    swapping::{Layer, Swapped},
};
use crate::{AttentionKernel, Bucket, Bytes, Recomputation, Scenario, catalogue, cost::Speed};

/// Where stored scores outgrow the rest, with wide and with narrow heads.
pub(super) fn overtake() -> Problem {
    let with = |heads| {
        paper(|scenario| {
            scenario.model.heads = heads;
            scenario.model.kv_heads = heads;
            scenario.model.head_dim = scenario.model.hidden / heads;
            scenario.recipe.attention = AttentionKernel::Eager;
            scenario.recipe.recomputation = Recomputation::None;
        })
    };
    let [few, many] = [with(32), with(64)];
    let crossing = |scenario: &Scenario| crossover_of(scenario).unwrap_or(0.0);
    // Beside the 34 bytes of a token and a number of its width, at the length of the configuration.
    let bytes = |scenario: &Scenario| {
        let parts = parts(scenario);
        34.0 * parts.quadratic.get() / parts.linear.get()
    };
    Problem::new(
        "overtake",
        many,
        &[
            ("few", crossing(&few)),
            ("many", crossing(&many)),
            ("few-bytes", bytes(&few)),
            ("few-share", 100.0 * parts(&few).share()),
            ("many-bytes", bytes(&many)),
            ("many-share", 100.0 * parts(&many).share()),
        ],
        &[5.0, 32.0, 34.0, 64.0, 2_048.0, 4_096.0],
    )
}

/// What full recomputation keeps, and the layer that is rebuilt beside it.
pub(super) fn only_inputs() -> Problem {
    let with = |recomputation, layers: Option<u32>| {
        paper(|scenario| {
            take(scenario, "13b");
            scenario.model.layers = layers.unwrap_or(scenario.model.layers);
            scenario.recipe.sequence = 4_096;
            scenario.recipe.batch = 2;
            scenario.recipe.recomputation = recomputation;
        })
    };
    let kept = |recomputation, layers| bucket(&with(recomputation, layers), Bucket::Activations);
    // Without stored scores nothing but the linear part is there, which is what selective recomputation leaves.
    let all = kept(Recomputation::Selective, None);
    let [inputs, layer] = [kept(Recomputation::Full, None), kept(Recomputation::Selective, Some(1))];
    let saved = |of: Bytes| 100.0 * (1.0 - of.get() / all.get());
    Problem::new(
        "only-inputs",
        with(Recomputation::Full, None),
        &[
            ("all", all.gib()),
            ("inputs", inputs.gib()),
            ("layer", layer.gib()),
            ("together", (inputs + layer).gib()),
            ("inputs-saved", saved(inputs)),
            ("saved", saved(inputs + layer)),
        ],
        &[2.0, 13.0, 16.0, 17.0, 34.0, 40.0, 4_096.0, 5_120.0],
    )
}

/// How far apart checkpoints should be where a layer's inside is 17 of its inputs.
pub(super) fn distance() -> Problem {
    let scenario = changed(|scenario| {
        take(scenario, "gpt2-xl");
        scenario.recipe.sequence = 1_024;
        scenario.cluster.gpus = 1;
        scenario.recipe.recomputation = Recomputation::EveryK;
        scenario.recipe.every = 2;
    });
    let layers = scenario.model.layers;
    // The sizes of Korthikanti et al. 2022 in inputs of a layer: 2·S·b·H bytes at its boundary, 34·S·b·H inside.
    let layer = recomputing::Layer { input: Bytes::new(2.0), inside: Bytes::new(34.0) };
    let inside = layer.inside.get() / layer.input.get();
    let kept = |every: f64| f64::from(layers) / every + every * inside;
    let mut best = 1.0;
    for every in (1..=layers).map(f64::from) {
        if kept(every) < kept(best) {
            best = every;
        }
    }
    Problem::new(
        "distance",
        scenario,
        &[
            ("one", kept(1.0)),
            ("two", kept(2.0)),
            ("three", kept(3.0)),
            ("four", kept(4.0)),
            ("eight", kept(8.0)),
            ("best", best),
            ("smooth", smooth_best(layers, layer)),
            ("root", kept(f64::from(layers).sqrt().round())),
        ],
        &[1.0, 2.0, 3.0, 4.0, 7.0, 8.0, 17.0, 48.0],
    )
}

/// A layer of 7B on an A100: which copies hide behind its forward pass.
pub(super) fn swap_or_recompute() -> Problem {
    let scenario = changed(|scenario| scenario.recipe.batch = 1);
    let layer = Layer::of(&scenario);
    let speed = catalogue::speed(&scenario);
    let link = speed.host_bytes_per_second;
    let input = layer.swap(Swapped::Input, link);
    // All that the layer keeps, by the paper's count.
    let kept = bucket(
        &paper(|scenario| {
            scenario.model.layers = 1;
            scenario.recipe.batch = 1;
        }),
        Bucket::Activations,
    );
    let copy = kept.get() / link;
    Problem::new(
        "swap-or-recompute",
        scenario,
        &[
            ("gflop", layer.forward * speed.flops_per_second / 1e9),
            ("speed", speed.flops_per_second / 1e12),
            ("forward", 1e3 * layer.forward),
            ("input", input.bytes.gb() * 1e3),
            ("input-copy", 1e3 * input.copy),
            ("times", layer.forward / input.copy),
            ("kept", kept.gb() * 1e3),
            ("kept-copy", 1e3 * copy),
            ("late", 1e3 * (copy - layer.forward)),
        ],
        &[
            2.0,
            4.0,
            7.0,
            12.0,
            34.0,
            2_048.0,
            4_096.0,
            100.0 * Speed::UTILIZATION,
            speed.flops_per_second / Speed::UTILIZATION / 1e12,
            link / 1e9,
        ],
    )
}
