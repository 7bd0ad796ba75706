//! Of the page on more GPUs: ZeRO's stages, the all-reduce, the pipeline.

use super::{Problem, changed, fits, left, paper, states, take};
use crate::course::scaling::{Exchange, STAGES, all_reduce_seconds};
use crate::division::division;
use crate::{Bucket, Bytes, Recomputation, Scenario, ZeroStage, cost::bubble, estimate};

/// The lowest ZeRO stage with which two sequences of 13B fit on each of 16 GPUs.
pub(super) fn lowest_stage() -> Problem {
    let at = |stage| {
        paper(|scenario| {
            take(scenario, "13b");
            scenario.cluster.gpus = 16;
            scenario.cluster.zero = stage;
            scenario.recipe.batch = 2;
        })
    };
    let stages = STAGES.map(at);
    let wanted = f64::from(stages[0].recipe.batch);
    let lowest = stages.iter().position(|scenario| fits(scenario) >= wanted).unwrap_or(STAGES.len());
    let [whole, first, second, third] = stages.map(|scenario| states(&scenario));
    let [_, left_first, left_second, left_third] = stages.map(|scenario| left(&division(&scenario)).gib());
    Problem::new(
        "lowest-stage",
        stages[lowest.min(3)],
        &[
            ("sequence", division(&stages[0]).per_sequence.gib()),
            ("whole-gb", whole.gb()),
            ("whole", whole.gib()),
            ("first-gb", first.gb()),
            ("first", first.gib()),
            ("first-left", left_first),
            ("first-fits", fits(&stages[1])),
            ("second-gb", second.gb()),
            ("second", second.gib()),
            ("second-left", left_second),
            ("second-fits", fits(&stages[2])),
            ("third-gb", third.gb()),
            ("third", third.gib()),
            ("third-left", left_third),
            ("third-fits", fits(&stages[3])),
            ("lowest", lowest as f64),
        ],
        &[0.0, 1.0, 2.0, 3.0, 4.0, 12.0, 13.0, 14.0, 16.0, 72.0, 80.0],
    )
}

/// An all-reduce of 14 GB among eight GPUs, and what it leaves of their speed.
pub(super) fn ring() -> Problem {
    let scenario = changed(|scenario| {
        scenario.cluster.zero = ZeroStage::Stage0;
        scenario.recipe.recomputation = Recomputation::None;
    });
    let gpus = scenario.cluster.gpus;
    let (gradients, link, compute) = (Bytes::from_gb(14.0), 25e9, 2.0);
    let backward = 2.0 / 3.0 * compute;
    let sent = all_reduce_seconds(gradients, gpus, link);
    let exchange = Exchange { compute, communicate: sent, exposed: [sent, (sent - backward).max(0.0)] };
    let [slow, fast] = exchange.efficiency().map(|efficiency| efficiency * f64::from(gpus));
    let many = all_reduce_seconds(gradients, 64, link);
    Problem::new(
        "ring",
        scenario,
        &[
            ("sent", sent * link / 1e9),
            ("seconds", sent),
            ("slow", slow),
            ("backward", backward),
            ("fast", fast),
            ("many-sent", many * link / 1e9),
            ("many-seconds", many),
        ],
        &[2.0, 7.0, 8.0, 14.0, 25.0, 63.0, 64.0],
    )
}

/// How long the stages of a pipeline wait, and how many micro-batches its first one keeps.
pub(super) fn in_flight() -> Problem {
    let with = |micro_batches| {
        changed(|scenario| {
            scenario.cluster.pipeline_parallel = 4;
            scenario.cluster.zero = ZeroStage::Stage1;
            scenario.recipe.micro_batches = micro_batches;
            scenario.recipe.batch = 1;
        })
    };
    let [few, many] = [with(4), with(16)];
    let stages = few.cluster.pipeline_parallel;
    let wait = |scenario: &Scenario| bubble(stages, 1, scenario.recipe.micro_batches);
    // Of a step, which lasts as long as computing and waiting together.
    let idle = |scenario: &Scenario| 100.0 * wait(scenario) / (1.0 + wait(scenario));
    Problem::new(
        "in-flight",
        many,
        &[
            ("few-wait", 100.0 * wait(&few)),
            ("many-wait", 100.0 * wait(&many)),
            ("few-idle", idle(&few)),
            ("many-idle", idle(&many)),
            ("kept", f64::from(stages) * first_stage(&many) / first_stage(&few)),
            ("chunks-wait", 100.0 * bubble(stages, 2, many.recipe.micro_batches)),
        ],
        &[1.0, 2.0, 3.0, 4.0, 16.0, 100.0],
    )
}

/// Activations of the first stage while the pipeline is full, in bytes.
fn first_stage(scenario: &Scenario) -> f64 {
    let estimate = estimate(scenario);
    let full = estimate.instants.iter().position(|instant| instant.name == "first stage: pipeline full");
    full.map_or(0.0, |position| estimate.bucket_at(Bucket::Activations, position).get())
}
