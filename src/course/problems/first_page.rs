//! Of the first page: the four buckets, the division, the length of a sequence, accumulation.

use super::{Problem, bucket, fits, left, workshop};
use crate::division::division;
use crate::{Bucket, Precision, Recomputation, Scenario, course::formats::Regime, planner};

/// The workshop's 7B on four GPUs instead of eight.
pub(super) fn four_gpus() -> Problem {
    let scenario = workshop(|scenario| scenario.cluster.gpus = 4);
    let line = division(&scenario);
    Problem::new(
        "four-gpus",
        scenario,
        &[
            ("states-gb", line.fixed.gb()),
            ("states", line.fixed.gib()),
            ("usable", line.usable.gib()),
            ("left", left(&line).gib()),
            ("sequence", line.per_sequence.gib()),
            ("quotient", line.quotient()),
            ("fits", fits(&scenario)),
            ("with-eight", fits(&workshop(|_| ()))),
        ],
        &[2.0, 4.0, 7.0, 9.0, 10.0, 16.0, 32.0, 34.0, 80.0, 2_048.0, 4_096.0],
    )
}

/// Half the length while all scores are stored.
pub(super) fn half_the_length() -> Problem {
    let at = |sequence, recomputation| {
        workshop(|scenario| {
            scenario.recipe.sequence = sequence;
            scenario.recipe.recomputation = recomputation;
            scenario.recipe.batch = 1;
        })
    };
    let kept = |scenario: &Scenario| bucket(scenario, Bucket::Activations).gib();
    let [short, long] = [1_024, 2_048].map(|sequence| at(sequence, Recomputation::None));
    let [linear, long_linear] = [1_024, 2_048].map(|sequence| kept(&at(sequence, Recomputation::Selective)));
    let line = division(&short);
    Problem::new(
        "half-the-length",
        short,
        &[
            ("long-linear", long_linear),
            ("long-scores", kept(&long) - long_linear),
            ("long-sequence", kept(&long)),
            ("linear", linear),
            ("scores", kept(&short) - linear),
            ("sequence", kept(&short)),
            ("usable", line.usable.gib()),
            ("left", left(&line).gib()),
            ("quotient", line.quotient()),
            ("fits", fits(&short)),
            ("long-fits", fits(&long)),
        ],
        &[1_024.0, 2_048.0],
    )
}

/// Eight billion parameters in mixed precision, of which somebody counts half.
pub(super) fn no_saving() -> Problem {
    let on = |gpus| {
        workshop(|scenario| {
            super::take(scenario, "llama-3.1-8b");
            scenario.model.parameters = 8_000_000_000;
            scenario.cluster.gpus = gpus;
        })
    };
    let scenario = on(2);
    let [alone, shared] = [on(1), scenario].map(|scenario| division(&scenario));
    let regime = Regime::of(Precision::Bf16, scenario.recipe.gradients);
    let [parameters, half] = [scenario.model.parameters as f64, regime.with_adam() / 2.0];
    Problem::new(
        "no-saving",
        scenario,
        &[
            ("wrong", crate::Bytes::new(parameters * half).gib()),
            ("bytes", regime.with_adam()),
            ("whole", alone.fixed.gib()),
            ("usable", alone.usable.gib()),
            ("over", (alone.fixed - alone.usable).gib()),
            ("gpus", f64::from(scenario.cluster.gpus)),
            ("share", shared.fixed.gib()),
            ("left", left(&shared).gib()),
        ],
        &[2.0, 3.1, 4.0, 8.0, 80.0],
    )
}

/// 256 sequences on eight GPUs that hold three each.
pub(super) fn exactly_256() -> Problem {
    let target = 256;
    let scenario = workshop(|scenario| {
        scenario.goal.global_batch = target;
        scenario.recipe.batch = 2;
    });
    let (gpus, most) = (scenario.cluster.gpus, fits(&scenario));
    let plan = planner::plan(target, gpus, most as u32);
    let exact = plan.exact.unwrap_or(plan.at_least);
    let fewest = plan.at_least;
    Problem::new(
        "exactly-256",
        scenario,
        &[
            ("most", most),
            ("each", f64::from(target / gpus)),
            ("batch", f64::from(exact.micro_batch)),
            ("steps", f64::from(exact.steps)),
            ("fewest-steps", f64::from(fewest.steps)),
            ("reached", fewest.global_batch() as f64),
            ("extra", (fewest.global_batch() - u64::from(target)) as f64),
        ],
        &[8.0, 256.0],
    )
}
