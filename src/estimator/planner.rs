//! Gradient accumulation: reaching a global batch with micro-batches that fit.

use serde::Serialize;

use super::choice::Method;
use super::scenario::Scenario;

/// One way to reach a global batch: B = b · D · steps.
///
/// ```
/// use bmax::planner::Accumulation;
/// // The workshop's example: 4 sequences on each of 8 GPUs, 8 accumulation steps.
/// let plan = Accumulation { micro_batch: 4, data_parallel: 8, steps: 8 };
/// assert_eq!(plan.global_batch(), 256);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Accumulation {
    /// b: sequences a GPU processes at once.
    pub micro_batch: u32,
    /// D: data-parallel GPUs.
    pub data_parallel: u32,
    /// Micro-batches whose gradients are added up before the optimizer steps.
    pub steps: u32,
}

impl Accumulation {
    /// Sequences the optimizer step sees.
    pub fn global_batch(&self) -> u64 {
        u64::from(self.micro_batch) * u64::from(self.data_parallel) * u64::from(self.steps)
    }
}

/// The plans for one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// The plan that hits the target exactly with the fewest steps, if the target is a multiple of D.
    pub exact: Option<Accumulation>,
    /// The plan with the fewest steps that reaches at least the target; it may overshoot.
    pub at_least: Accumulation,
}

impl Plan {
    /// The plan to show first: the exact one unless it needs more than twice the steps.
    pub fn preferred(&self) -> Accumulation {
        match self.exact {
            Some(exact) if exact.steps <= self.at_least.steps.saturating_mul(2) => exact,
            _ => self.at_least,
        }
    }
}

/// Plans `target` sequences a step on `data_parallel` GPUs of at most `b_max` sequences each.
/// Zero in any of them is taken as one.
pub fn plan(target: u32, data_parallel: u32, b_max: u32) -> Plan {
    let (target, data_parallel, b_max) = (target.max(1), data_parallel.max(1), b_max.max(1));
    let per_gpu = target.div_ceil(data_parallel);
    let steps = per_gpu.div_ceil(b_max);
    let at_least = Accumulation { micro_batch: per_gpu.div_ceil(steps), data_parallel, steps };
    let exact = (target % data_parallel == 0).then(|| {
        let micro_batch = largest_divisor(per_gpu, b_max);
        Accumulation { micro_batch, data_parallel, steps: per_gpu / micro_batch }
    });
    Plan { exact, at_least }
}

/// The plan to show first for the scenario's global batch, in micro-batches of at most `b_max`.
///
/// A pipeline is given at least as many micro-batches as it has stages: PyTorch’s 1F1B refuses fewer
/// (torch/distributed/pipelining/schedules.py, `Schedule1F1B`), and the estimate is that of a full one. An interleaved one
/// takes rounds of P (`forward_backward_pipelining_with_interleaving` in megatron/core/pipeline_parallel/schedules.py at
/// d98e8a64ddf3; `ScheduleInterleaved1F1B` of PyTorch).
pub fn filled(scenario: &Scenario, b_max: u32) -> Accumulation {
    let (cluster, target, data_parallel) = (&scenario.cluster, scenario.target(), scenario.data_parallel());
    let stages = if scenario.method == Method::Ledger { cluster.pipeline_parallel.max(1) } else { 1 };
    let filling = target.div_ceil(data_parallel.saturating_mul(stages)).max(1);
    let most = if stages > 1 { b_max.min(filling) } else { b_max };
    let planned = plan(target, data_parallel, most).preferred();
    let steps = match (stages, cluster.virtual_stages) {
        (1, _) => planned.steps,
        (_, 1) => planned.steps.max(stages),
        _ => planned.steps.checked_next_multiple_of(stages).unwrap_or(planned.steps),
    };
    Accumulation { steps, ..planned }
}

/// The largest divisor of `whole` that is at most `limit`; 1 divides everything.
fn largest_divisor(whole: u32, limit: u32) -> u32 {
    let mut best = 1;
    let mut small = 1;
    // Divisors come in pairs, one of them at most the square root.
    while u64::from(small) * u64::from(small) <= u64::from(whole) {
        if whole.is_multiple_of(small) {
            for divisor in [small, whole / small] {
                if divisor <= limit {
                    best = best.max(divisor);
                }
            }
        }
        small += 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workshop_example_of_256_takes_8_steps_of_4_on_8_gpus() {
        let plan = plan(256, 8, 4);
        assert_eq!(plan.exact, Some(Accumulation { micro_batch: 4, data_parallel: 8, steps: 8 }));
        assert_eq!(plan.preferred(), plan.at_least);
    }

    #[test]
    fn a_plan_never_exceeds_b_max_and_always_reaches_the_target() {
        for target in 1..200 {
            for gpus in [1, 2, 3, 8] {
                for b_max in [1, 3, 4, 7, 64] {
                    let plan = plan(target, gpus, b_max);
                    assert!(plan.at_least.micro_batch <= b_max);
                    assert!(plan.at_least.global_batch() >= u64::from(target));
                    // One step fewer would not reach it.
                    assert!(u64::from(plan.at_least.steps - 1) * u64::from(gpus * b_max) < u64::from(target));
                    assert_eq!(plan.exact.is_some(), target % gpus == 0);
                    if let Some(exact) = plan.exact {
                        assert_eq!(exact.global_batch(), u64::from(target));
                        assert!(exact.micro_batch <= b_max);
                    }
                }
            }
        }
    }

    #[test]
    fn a_prime_target_prefers_to_overshoot_rather_than_to_crawl() {
        // 257 on one GPU: exactly only one by one; with 64 at a time five steps of 52 do.
        let plan = plan(257, 1, 64);
        assert_eq!(plan.exact.map(|exact| exact.steps), Some(257));
        assert_eq!(plan.preferred(), Accumulation { micro_batch: 52, data_parallel: 1, steps: 5 });
    }

    #[test]
    fn zeros_are_taken_as_ones() {
        assert_eq!(plan(0, 0, 0).preferred().global_batch(), 1);
    }
}
