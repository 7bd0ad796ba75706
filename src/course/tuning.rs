//! The tuning procedure, step by step, on one scenario.
//!
//! The runtime lecture (section 18) tries what costs least first: run the target as it is, accumulate
//! smaller micro-batches, compute activations again, swap to the host, and only then use more devices.
//! The rungs of [`crate::strategy::cheapest_plan`] are the same ladder; here every candidate is worked out, so that
//! a reader sees what the ones not taken would have given.

use super::updates::{Update, update};
use crate::{
    Adapter, Answer, Bytes, Change, Entry, Infeasible, Instant, Method, Offload, Recomputation, Scenario, Switch,
    ZeroStage, b_max, catalogue, estimate,
    setting::Word,
    strategy::{Rung, rung},
};

/// Layers between checkpoints in the candidate that computes several together. A transformer's best
/// distance is one or two ([`super::recomputing::best`]); one is full recomputation.
pub const EVERY: u32 = 2;

/// A micro-batch that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Try {
    /// Sequences at once on each GPU.
    pub batch: u32,
    /// The peak with it, beside the gradient sums where several are added up.
    pub peak: Bytes,
    /// Whether that fits.
    pub fits: bool,
}

/// What a run takes under one candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// The update and the run.
    pub update: Update,
    /// Seconds of one update that the GPU waits for the host.
    pub stall: f64,
}

/// The procedure, as far as it goes without a budget of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// Sequences of one update.
    pub target: u32,
    /// Sequences that each data-parallel GPU sees in an update.
    pub share: u32,
    /// The first of them is the target as it is; each has half the sequences of the one before, and the
    /// last one fits or is a single sequence.
    pub tries: Vec<Try>,
    /// The instant that needs most in the first try, and the largest entry then.
    pub binding: (&'static Instant, Entry),
    /// Every candidate in the order of its cost: as it is, computing more and more again, swapping more
    /// and more.
    pub candidates: Vec<Rung>,
    /// The first candidate with which one sequence fits.
    pub chosen: Option<usize>,
    /// Why nothing fits with the last candidate, where nothing does.
    pub lacking: Option<Infeasible>,
}

/// The scenario as the procedure begins: nothing computed again, nothing on the host, one micro-batch.
pub fn start(scenario: &Scenario) -> Scenario {
    let mut start = *scenario;
    start.recipe.recomputation = Recomputation::None;
    start.recipe.offload = Offload::None;
    start.recipe.micro_batches = 1;
    start
}

/// The same job on a single device.
///
/// ```
/// use bmax::{Scenario, course::tuning::alone};
/// assert_eq!(alone(&Scenario::workshop()).data_parallel(), 1);
/// ```
pub fn alone(scenario: &Scenario) -> Scenario {
    let mut alone = *scenario;
    let cluster = &mut alone.cluster;
    cluster.gpus = 1;
    cluster.tensor_parallel = 1;
    cluster.pipeline_parallel = 1;
    cluster.context_parallel = 1;
    cluster.expert_parallel = 1;
    cluster.sequence_parallel = Switch::Off;
    cluster.zero = ZeroStage::Stage0;
    alone
}

/// Runs the procedure on a scenario, whatever it recomputes and swaps now.
///
/// ```
/// use bmax::{Scenario, course::tuning::tune};
/// let tuning = tune(&Scenario::workshop());
/// // 256 sequences on 8 GPUs: 32 each, halved until they fit.
/// assert_eq!((tuning.share, tuning.tries[1].batch), (32, 16));
/// assert_eq!(tuning.chosen, Some(0));
/// ```
pub fn tune(scenario: &Scenario) -> Tuning {
    let start = start(scenario);
    let speed = catalogue::speed(scenario);
    let target = start.target().max(1);
    let share = target.div_ceil(start.data_parallel().max(1));
    let direct = estimate(&start.with_batch(share));
    // A ledger always has its model states, so the list is never empty.
    let binding = (direct.peak().instant, *direct.largest()[0]);
    let candidates: Vec<Rung> =
        candidates(&start).into_iter().map(|(measure, with)| rung(measure, &with, speed)).collect();
    let chosen = candidates.iter().position(|rung| rung.accumulation.is_some());
    let lacking = match candidates.last().map(|rung| b_max(&rung.scenario)) {
        Some(Answer::Infeasible(reason)) if chosen.is_none() => Some(reason),
        _ => None,
    };
    Tuning { target, share, tries: tries(&start, share), binding, candidates, chosen, lacking }
}

/// Micro-batches from `share` down by halves, rounded up.
fn tries(start: &Scenario, share: u32) -> Vec<Try> {
    let mut tries = Vec::new();
    let mut batch = share;
    loop {
        let mut at = start.with_batch(batch);
        at.recipe.micro_batches = share.div_ceil(batch.max(1));
        let estimate = estimate(&at);
        let fits = estimate.fits();
        tries.push(Try { batch, peak: estimate.peak().bytes, fits });
        if fits || batch <= 1 {
            return tries;
        }
        batch = batch.div_ceil(2);
    }
}

/// The settings to try, in the order of their cost.
fn candidates(start: &Scenario) -> Vec<(Option<Change>, Scenario)> {
    use Recomputation::{EveryK, Full, Operators, Selective};
    let counts = start.method == Method::Ledger;
    let mut all = vec![(None, *start)];
    for recomputation in [Selective, Operators, Full, EveryK] {
        // The other two methods know neither of these.
        if counts || !matches!(recomputation, Operators | EveryK) {
            let mut with = *start;
            with.recipe.recomputation = recomputation;
            with.recipe.every = if recomputation == EveryK { EVERY } else { start.recipe.every };
            all.push((Some(Word::Recomputation(recomputation).into()), with));
        }
    }
    // Nor any host memory; and beside frozen weights there is hardly any optimizer state.
    if counts && start.recipe.adapter == Adapter::None {
        for offload in [Offload::Optimizer, Offload::Activations, Offload::Both] {
            let mut with = *start;
            with.recipe.recomputation = Full;
            with.recipe.offload = offload;
            all.push((Some(Word::Offload(offload).into()), with));
        }
    }
    all
}

/// What a run of `tokens` tokens takes under a candidate; `None` where nothing fits.
pub fn job(rung: &Rung, tokens: f64) -> Option<Job> {
    let (plan, cost) = (rung.accumulation?, rung.cost?);
    Some(Job { update: update(&rung.scenario, plan.steps, tokens), stall: cost.stall_seconds })
}

/// GPUs that would finish in `allowed` seconds what takes `seconds` on `gpus`, if nothing were lost to
/// communication: the fewest that can be enough.
///
/// ```
/// use bmax::course::tuning::gpus_for;
/// assert_eq!(gpus_for(100.0, 24.0, 8), 34.0);
/// ```
pub fn gpus_for(seconds: f64, allowed: f64, gpus: u32) -> f64 {
    (f64::from(gpus) * seconds / allowed).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::cheapest_plan;

    #[test]
    fn it_takes_what_the_cheapest_plan_takes() {
        for gpus in [1, 2, 4, 8, 64] {
            for &method in <Method as crate::Choice>::ALL {
                let mut scenario = Scenario { method, ..Scenario::workshop() };
                scenario.cluster.gpus = gpus;
                let tuning = tune(&scenario);
                let strategy = cheapest_plan(&start(&scenario), catalogue::speed(&scenario));
                match (tuning.chosen, strategy.chosen()) {
                    (Some(chosen), Some(rung)) => assert_eq!(&tuning.candidates[chosen], rung, "{method:?} {gpus}"),
                    // More devices are no candidate on the devices that are there.
                    (None, Some(rung)) => {
                        assert!(rung.measure.is_some_and(|change| change.key() == "gpus"), "{method:?} {gpus}")
                    }
                    (None, None) => {}
                    (Some(_), None) => panic!("{method:?} {gpus}"),
                }
                assert_eq!(tuning.chosen.is_none(), tuning.lacking.is_some());
            }
        }
    }

    #[test]
    fn tries_halve_until_one_fits() {
        for target in [1, 64, 100, 256, 100_000] {
            let mut scenario = Scenario::workshop();
            scenario.goal.global_batch = target;
            let tuning = tune(&scenario);
            assert_eq!(tuning.tries[0].batch, target.div_ceil(8));
            for pair in tuning.tries.windows(2) {
                assert!(!pair[0].fits && pair[1].batch == pair[0].batch.div_ceil(2));
            }
            let last = tuning.tries.last().expect("the target is tried");
            assert!(last.fits || last.batch == 1);
            // The largest micro-batch that fits is at least as large as the largest power that does.
            let exact = tuning.candidates[0].b_max;
            assert!(!last.fits || exact >= Some(last.batch), "{exact:?} {last:?}");
        }
    }

    #[test]
    fn a_single_device_is_one_and_does_not_shard() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.tensor_parallel = 2;
        scenario.cluster.pipeline_parallel = 2;
        let alone = alone(&scenario);
        assert_eq!((alone.cluster.gpus, alone.cluster.group()), (1, 1));
        assert!(alone.conflicts().is_empty());
    }

    #[test]
    fn computing_again_takes_longer_and_never_fits_less() {
        let tuning = tune(&Scenario::workshop());
        let seconds = |rung: &Rung| job(rung, 1e9).map(|job| job.update.run_seconds()).unwrap_or(f64::INFINITY);
        let [none, selective, operators, full] =
            [0, 1, 2, 3].map(|position| (tuning.candidates[position].b_max, seconds(&tuning.candidates[position])));
        assert!(none.0 <= selective.0 && selective.0 <= operators.0 && operators.0 <= full.0);
        assert!(none.1 < selective.1 && selective.1 < operators.1 && operators.1 < full.1);
    }

    #[test]
    fn what_is_chosen_fits() {
        for gpus in [1, 8] {
            let mut scenario = Scenario::workshop();
            scenario.cluster.gpus = gpus;
            let tuning = tune(&scenario);
            let chosen = &tuning.candidates[tuning.chosen.expect("swapping makes room on one GPU")];
            assert!(estimate(&chosen.scenario).peak().bytes <= chosen.scenario.usable());
            let plan = chosen.accumulation.expect("a plan");
            assert!(plan.global_batch() >= tuning.target.into());
        }
    }
}
