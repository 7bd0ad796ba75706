//! What more GPUs give: memory by sharding, speed as far as communication lets it.

use crate::{Bucket, Bytes, GradientType, Precision, Scenario, Weights, ZeroStage, catalogue, cost, estimate};

/// The four stages, in order.
pub const STAGES: [ZeroStage; 4] = [ZeroStage::Stage0, ZeroStage::Stage1, ZeroStage::Stage2, ZeroStage::Stage3];

/// The scenario at a ZeRO stage (Rajbhandari et al. 2020, arXiv 1910.02054), with gradients that are being
/// added up: a single micro-batch frees them before the peak, and a bar would not show them.
pub fn at_stage(scenario: &Scenario, stage: ZeroStage) -> Scenario {
    let mut sharded = *scenario;
    sharded.cluster.zero = stage;
    sharded.recipe.micro_batches = sharded.recipe.micro_batches.max(2);
    sharded
}

/// The parts of a scenario's memory at its peak: parameters, gradients, optimizer state, activations, and
/// all the rest together.
pub fn parts(scenario: &Scenario) -> [Bytes; 5] {
    let estimate = estimate(scenario);
    let states = [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer, Bucket::Activations];
    let [parameters, gradients, optimizer, activations] = states.map(|bucket| estimate.bucket(bucket));
    let rest = estimate.peak().bytes - parameters - gradients - optimizer - activations;
    [parameters, gradients, optimizer, activations, rest]
}

/// What well-made data-parallel training keeps of perfect scaling, lowest and highest, from 0 to 1: 90 to
/// 95 % with 2 to 8 GPUs and 80 to 90 % up to 64, on NVLink or InfiniBand. Beyond 64 the source gives no
/// number. Source: the Batch Size Optimizer, "Multi-GPU Scaling Considerations", a rule of thumb
/// that names no measurement; its own answer on 2 GPUs, a speed-up of 1.8 to 1.95, reaches to 97.5 %.
///
/// ```
/// use bmax::course::scaling::usual_efficiency;
/// assert_eq!(usual_efficiency(8), Some((0.90, 0.95)));
/// assert_eq!(usual_efficiency(128), None);
/// ```
pub fn usual_efficiency(gpus: u32) -> Option<(f64, f64)> {
    match gpus {
        0 | 1 => Some((1.0, 1.0)),
        2 => Some((0.90, 0.975)),
        3..=8 => Some((0.90, 0.95)),
        9..=64 => Some((0.80, 0.90)),
        _ => None,
    }
}

/// Seconds of an all-reduce of `bytes` over a ring of `gpus`, each of which sends at `bytes_per_second`:
/// every GPU sends 2·(n−1)/n of them (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms
/// for clusters of workstations", JPDC 69(2)). Latency is not counted.
///
/// ```
/// use bmax::{Bytes, course::scaling::all_reduce_seconds};
/// // 14 GB of gradients of 7 billion parameters, 8 GPUs, 25 GB/s: 0.98 s.
/// assert!((all_reduce_seconds(Bytes::from_gb(14.0), 8, 25e9) - 0.98).abs() < 1e-9);
/// ```
pub fn all_reduce_seconds(bytes: Bytes, gpus: u32, bytes_per_second: f64) -> f64 {
    2.0 * seconds_around(bytes, gpus, bytes_per_second)
}

/// Half of that: a reduce-scatter or an all-gather.
fn seconds_around(bytes: Bytes, gpus: u32, bytes_per_second: f64) -> f64 {
    let others = f64::from(gpus.max(1) - 1) / f64::from(gpus.max(1));
    others * bytes.get() / bytes_per_second
}

/// How the time of one update divides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// Seconds of computing.
    pub compute: f64,
    /// Seconds of sending and receiving.
    pub communicate: f64,
    /// The part of those that no computing hides, between its two extremes: all of it waits, or as much
    /// as can be is hidden.
    pub exposed: [f64; 2],
}

impl Exchange {
    /// What is left of perfect scaling, from 0 to 1: when everything waits, and when all is hidden that
    /// can be.
    pub fn efficiency(&self) -> [f64; 2] {
        self.exposed.map(|exposed| self.compute / (self.compute + exposed))
    }
}

/// One update of the scenario on `gpus` data-parallel GPUs (or groups of T·P·C) of its micro-batch each,
/// over a link on which each sends `bytes_per_second`.
///
/// Volumes are those of Rajbhandari et al. 2020, section 7, with Ψ parameters: twice Ψ without ZeRO and at
/// stages 1 and 2, and three times Ψ at stage 3, which gathers parameters forward and backward. When
/// micro-batches are accumulated, gradients that are whole on each GPU (stages 0 and 1) wait for the last
/// one; sharded ones (2 and 3) are reduced after each, and so are stage 3's parameters gathered. Gradients
/// can hide behind the backward pass that makes them, two thirds of the work; what stage 3 gathers behind
/// all of it. Latency and contention are not counted.
pub fn exchange(scenario: &Scenario, gpus: u32, bytes_per_second: f64) -> Exchange {
    let micro_batches = scenario.recipe.micro_batches.max(1);
    let compute = cost(scenario, micro_batches, catalogue::speed(scenario)).seconds();
    let share = Weights::of(&scenario.model).total() as f64 / f64::from(scenario.cluster.group().max(1));
    let around = |bytes: f64| seconds_around(Bytes::new(share * bytes), gpus, bytes_per_second);
    let (weight, gradient) = (around(bytes_sent(scenario, false)), around(bytes_sent(scenario, true)));
    let many = f64::from(micro_batches);
    let (communicate, behind) = match scenario.cluster.zero {
        ZeroStage::Stage0 => (2.0 * gradient, 2.0 / 3.0 / many),
        // The gathering of updated parameters follows the optimizer step.
        ZeroStage::Stage1 => (gradient + weight, 2.0 / 3.0 / many),
        ZeroStage::Stage2 => (many * gradient + weight, 2.0 / 3.0),
        ZeroStage::Stage3 => (many * (gradient + 2.0 * weight), 1.0),
    };
    Exchange { compute, communicate, exposed: [communicate, (communicate - behind * compute).max(0.0)] }
}

/// Bytes in which an element is sent: weights in the type they are computed in, gradients in theirs.
fn bytes_sent(scenario: &Scenario, gradient: bool) -> f64 {
    let recipe = &scenario.recipe;
    let wide = recipe.precision == Precision::Fp32 || (gradient && recipe.gradients == GradientType::Full);
    if wide { 4.0 } else { 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;

    #[test]
    fn the_parts_of_a_bar_make_its_peak_and_only_states_shrink() {
        let scenario = Scenario { method: Method::Paper, ..Scenario::default() };
        let before = parts(&at_stage(&scenario, ZeroStage::Stage0));
        for stage in STAGES {
            let sharded = at_stage(&scenario, stage);
            let parts = parts(&sharded);
            let sum: f64 = parts.iter().map(|part| part.get()).sum();
            assert!((sum - estimate(&sharded).peak().bytes.get()).abs() < 1.0);
            assert_eq!(parts[3], before[3], "activations are never sharded");
        }
        let last = parts(&at_stage(&scenario, ZeroStage::Stage3));
        assert!((last[0].get() * 8.0 / before[0].get() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_gpu_has_nothing_to_send() {
        for stage in STAGES {
            let mut scenario = Scenario::default();
            scenario.cluster.zero = stage;
            let alone = exchange(&scenario, 1, 25e9);
            assert_eq!((alone.communicate, alone.efficiency()), (0.0, [1.0, 1.0]));
        }
    }

    #[test]
    fn stage_three_sends_half_as_much_again() {
        let at = |stage| {
            let mut scenario = Scenario::default();
            scenario.cluster.zero = stage;
            exchange(&scenario, 8, 25e9).communicate
        };
        let [none, one, two, three] = STAGES.map(at);
        assert!((one - none).abs() < 1e-9 && (two - none).abs() < 1e-9 && (three / none - 1.5).abs() < 1e-9);
    }

    #[test]
    fn efficiency_falls_with_more_gpus_and_rises_with_faster_links_and_larger_batches() {
        let scenario = Scenario::default();
        let at = |scenario: &Scenario, gpus, link| exchange(scenario, gpus, link).efficiency()[0];
        assert!(at(&scenario, 2, 25e9) > at(&scenario, 64, 25e9));
        assert!(at(&scenario, 8, 300e9) > at(&scenario, 8, 25e9));
        assert!(at(&scenario.with_batch(16), 8, 25e9) > at(&scenario, 8, 25e9));
    }

    #[test]
    fn accumulating_sends_whole_gradients_once() {
        let mut scenario = Scenario::default();
        scenario.cluster.zero = ZeroStage::Stage0;
        let once = exchange(&scenario, 8, 25e9);
        scenario.recipe.micro_batches = 16;
        let many = exchange(&scenario, 8, 25e9);
        assert!((many.communicate - once.communicate).abs() < 1e-12);
        assert!((many.compute / once.compute - 16.0).abs() < 1e-9);
    }
}
