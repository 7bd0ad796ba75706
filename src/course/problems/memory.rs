//! Of the page on memory: moments of a step, bytes per parameter, number formats.

use super::{Problem, bucket, changed, paper, states, take};
use crate::course::formats::{BF16, FP32, Regime};
use crate::{Bucket, Bytes, Percent, Precision, Recomputation, Scenario};

/// A model that passes its first step and not its second: Adam's averages appear in the first update.
pub(super) fn second_step() -> Problem {
    let scenario = paper(|scenario| {
        take(scenario, "1b");
        scenario.recipe.precision = Precision::Fp32;
        scenario.recipe.batch = 1;
        scenario.cluster.gpus = 1;
        scenario.device.memory = Bytes::from_gib(16.0);
        scenario.device.headroom = Percent::new(0.0);
    });
    let of = |kind| bucket(&scenario, kind).gib();
    let [weights, gradients, moments, activations] =
        [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer, Bucket::Activations].map(of);
    let room = scenario.usable().gib();
    let second = weights + moments + activations;
    Problem::new(
        "second-step",
        scenario,
        &[
            ("room", room),
            ("weights", weights),
            ("moments", moments),
            ("activations", activations),
            ("first-forward", weights + activations),
            ("update", weights + gradients + moments),
            ("second-forward", second),
            ("over", second - room),
            ("all", weights + gradients + moments + activations),
        ],
        &[],
    )
}

/// A sum in which the master copy is there twice.
pub(super) fn counted_twice() -> Problem {
    let scenario = paper(|scenario| {
        take(scenario, "13b");
        scenario.cluster.gpus = 1;
    });
    let regime = Regime::of(Precision::Bf16, scenario.recipe.gradients);
    let parameters = scenario.model.parameters as f64;
    let master = Bytes::new(parameters * regime.master);
    let right = states(&scenario);
    Problem::new(
        "counted-twice",
        scenario,
        &[
            ("wrong-bytes", regime.with_adam() + regime.master),
            ("wrong", (right + master).gb()),
            ("bytes", regime.with_adam()),
            ("right", right.gb()),
            ("twice", master.gb()),
        ],
        &[2.0, 4.0, 12.0, 13.0],
    )
}

/// Updates of a thousandth that bf16 rounds away.
pub(super) fn lost_update() -> Problem {
    let scenario = changed(|scenario| scenario.recipe.precision = Precision::PureBf16);
    let update = 0.001;
    // From a power of two on, the next number of the format is this far away.
    let gap = |from: f64| from * crate::course::formats::power_of_two(-(BF16.fraction_bits as i32));
    let moves = |weight: f64| BF16.after_updates(weight, update, 1) - weight;
    // The powers of two from 2 down: the first one from which an update counts.
    let mut edge = 2.0;
    while moves(edge) == 0.0 {
        edge /= 2.0;
    }
    Problem::new(
        "lost-update",
        scenario,
        &[
            ("gap-high", gap(1.0)),
            ("half-high", gap(1.0) / 2.0),
            ("stuck", BF16.after_updates(1.5, update, 1_000)),
            ("fp32", FP32.after_updates(1.5, update, 1_000)),
            ("gap-low", gap(0.25)),
            ("half-low", gap(0.25) / 2.0),
            ("moved", moves(0.375)),
            ("half-middle", gap(0.5) / 2.0),
            // Weights of the power of two above it are lost still.
            ("edge", 2.0 * edge),
        ],
        &[0.001, 0.25, 0.375, 0.5, 1.0, 1.5, 2.0, 7.0, 1_000.0],
    )
}

/// What becomes of the paper's 34 and 5 in fp32.
pub(super) fn not_quite_half() -> Problem {
    let of = |precision, recomputation| {
        paper(|scenario| {
            scenario.recipe.precision = precision;
            scenario.recipe.recomputation = recomputation;
            scenario.recipe.batch = 1;
        })
    };
    let kept = |scenario: &Scenario| bucket(scenario, Bucket::Activations).gib();
    let scenario = of(Precision::Bf16, Recomputation::None);
    let [sum, sum_fp32] = [Precision::Bf16, Precision::Fp32].map(|one| kept(&of(one, Recomputation::None)));
    let [linear, linear_fp32] = [Precision::Bf16, Precision::Fp32].map(|one| kept(&of(one, Recomputation::Selective)));
    let [scores, scores_fp32] = [sum - linear, sum_fp32 - linear_fp32];
    Problem::new(
        "not-quite-half",
        scenario,
        &[
            ("linear", linear),
            ("scores", scores),
            ("linear-bytes", 34.0 * linear_fp32 / linear),
            ("score-bytes", 5.0 * scores_fp32 / scores),
            ("linear-fp32", linear_fp32),
            ("scores-fp32", scores_fp32),
            ("sum", sum),
            ("sum-fp32", sum_fp32),
            ("factor", sum_fp32 / sum),
        ],
        &[1.0, 2.0, 4.0, 5.0, 7.0, 16.0, 34.0, 2_048.0],
    )
}
