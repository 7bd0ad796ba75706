//! The cheapest way to a global batch, tried in the order of what it costs: accumulate, recompute,
//! swap to the host, use more devices.

use super::answer::{Refusal, fewest_gpus, largest_micro_batch};
use super::bounds::Field;
use super::change::Change;
use super::choice::{Adapter, Method, Offload, Recomputation};
use super::cost::{Cost, Speed, cost};
use super::planner::{Accumulation, filled};
use super::scenario::Scenario;
use super::setting::Word;

/// One rung: the measures up to it, and what they lead to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rung {
    /// What it adds to the rung before; nothing where micro-batches that fit are added up.
    pub measure: Option<Change>,
    /// The scenario with it, at the micro-batch of the plan.
    pub scenario: Scenario,
    /// b_max there.
    pub b_max: Option<u32>,
    /// How the global batch is reached, if anything fits.
    pub accumulation: Option<Accumulation>,
    /// What a step costs then.
    pub cost: Option<Cost>,
}

/// The rungs that were tried, and the first that holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Strategy {
    /// In the order of cost; the last is the first that holds, if any does. None where the scenario has no answer.
    pub rungs: Vec<Rung>,
    /// Whether the last rung reaches the global batch.
    pub reached: bool,
}

impl Strategy {
    /// The rung that holds.
    pub fn chosen(&self) -> Option<&Rung> {
        self.rungs.last().filter(|_| self.reached)
    }
}

/// The cheapest plan that reaches the scenario's global batch.
///
/// Each rung keeps the measures before it. Accumulating costs no work at all, so that it is the
/// answer whenever one sequence fits as things are.
///
/// ```
/// use bmax::{Scenario, cost::Speed, strategy::cheapest_plan};
/// let strategy = cheapest_plan(&Scenario::workshop(), Speed::from_peak(312.0, 25.0));
/// let chosen = strategy.chosen().expect("one sequence of the default fits");
/// assert!(chosen.accumulation.expect("a plan").global_batch() >= 256);
/// ```
pub fn cheapest_plan(scenario: &Scenario, speed: Speed) -> Strategy {
    if Refusal::of(scenario).is_some() {
        return Strategy { rungs: Vec::new(), reached: false };
    }
    let mut at = *scenario;
    let first = rung(None, &at, speed);
    let mut strategy = Strategy { reached: first.accumulation.is_some(), rungs: vec![first] };
    for recomputation in [Recomputation::Selective, Recomputation::Operators, Recomputation::Full] {
        let known = scenario.method == Method::Ledger || recomputation != Recomputation::Operators;
        if known && is_stronger(recomputation, at.recipe.recomputation) {
            at = strategy.tried(at, Word::Recomputation(recomputation).into(), speed);
        }
    }
    // The other two methods know no host memory.
    if scenario.method == Method::Ledger && scenario.recipe.adapter == Adapter::None {
        for offload in [Offload::Optimizer, Offload::Both] {
            if at.recipe.offload != Offload::Both && at.recipe.offload != offload {
                at = strategy.tried(at, Word::Offload(offload).into(), speed);
            }
        }
    }
    if !strategy.reached {
        at.recipe.offload = scenario.recipe.offload;
        if let Some(gpus) = fewest_gpus(&at, 1).filter(|gpus| *gpus > at.cluster.gpus) {
            strategy.tried(at, Change::Number(Field::Gpus, gpus.into()), speed);
        }
    }
    strategy
}

/// Whether `next` keeps less than `now`.
fn is_stronger(next: Recomputation, now: Recomputation) -> bool {
    let strength = |recomputation| match recomputation {
        Recomputation::None => 0,
        Recomputation::Selective => 1,
        Recomputation::KthLayer | Recomputation::Block => 2,
        Recomputation::Operators => 3,
        Recomputation::EveryK => 4,
        Recomputation::Full => 5,
    };
    strength(next) > strength(now)
}

impl Strategy {
    /// One measure more, unless the global batch is reached without it or it leads to another contradiction; the scenario
    /// with what was taken.
    fn tried(&mut self, at: Scenario, measure: Change, speed: Speed) -> Scenario {
        let with = measure.apply(at);
        if self.reached || with.conflicts().len() > at.conflicts().len() {
            return at;
        }
        let rung = rung(Some(measure), &with, speed);
        self.reached = rung.accumulation.is_some();
        self.rungs.push(rung);
        with
    }
}

/// The plan that accumulates the largest micro-batches that fit up to the global batch, with the
/// scenario's settings as they are. A recipe that cannot add micro-batches up has no plan of several.
pub fn rung(measure: Option<Change>, scenario: &Scenario, speed: Speed) -> Rung {
    let asked = *scenario;
    let mut scenario = asked;
    let mut b_max = largest_micro_batch(&scenario);
    let mut accumulation = b_max.map(|b_max| filled(&scenario, b_max));
    // With more than one micro-batch gradients stay alive, so that less may fit beside them.
    if let Some(several) = accumulation.filter(|plan| plan.steps > 1)
        && scenario.recipe.micro_batches == 1
    {
        scenario.recipe.micro_batches = several.steps;
        b_max = largest_micro_batch(&scenario);
        accumulation = b_max.map(|b_max| filled(&scenario, b_max));
    }
    if let Some(plan) = accumulation {
        scenario.recipe.batch = plan.micro_batch;
        scenario.recipe.micro_batches = plan.steps;
    }
    if scenario.conflicts().len() > asked.conflicts().len() {
        (scenario, accumulation) = (asked, None);
    }
    let cost = accumulation.map(|plan| cost(&scenario, plan.steps, speed));
    Rung { measure, scenario, b_max, accumulation, cost }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A100: Speed = Speed::from_peak(312.0, 25.0);

    #[test]
    fn what_fits_is_accumulated_and_nothing_else_changes() {
        let mut scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        // The workshop's example: 256 sequences, 8 GPUs.
        scenario.goal.global_batch = 256;
        let strategy = cheapest_plan(&scenario, A100);
        assert_eq!(strategy.rungs.len(), 1);
        let chosen = strategy.chosen().expect("three sequences fit");
        assert_eq!(chosen.measure, None);
        assert_eq!(chosen.b_max, Some(3));
    }

    #[test]
    fn measures_are_tried_in_the_order_of_their_cost() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.gpus = 1;
        scenario.recipe.recomputation = Recomputation::None;
        let strategy = cheapest_plan(&scenario, A100);
        let order: Vec<usize> = strategy
            .rungs
            .iter()
            .map(|rung| match rung.measure {
                None => 0,
                Some(Change::Word(Word::Recomputation(_))) => 1,
                Some(Change::Word(Word::Offload(_))) => 2,
                Some(_) => 3,
            })
            .collect();
        assert!(order.is_sorted() && order.len() > 2, "{order:?}");
        assert!(strategy.reached);
    }

    #[test]
    fn a_plan_that_is_chosen_fits() {
        for gpus in [1, 2, 8, 64] {
            for &method in <Method as crate::Choice>::ALL {
                let mut scenario = Scenario { method, ..Scenario::workshop() };
                scenario.cluster.gpus = gpus;
                if let Some(chosen) = cheapest_plan(&scenario, A100).chosen() {
                    let peak = crate::estimate(&chosen.scenario).peak().bytes;
                    assert!(peak <= chosen.scenario.usable(), "{method:?} on {gpus}");
                }
            }
        }
    }

    #[test]
    fn methods_that_know_no_cpu_memory_go_from_recomputation_to_more_gpus() {
        // 16 bytes of each of 7·10⁹ parameters are more than an A100 has, whatever is computed again.
        let mut scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        scenario.cluster.gpus = 1;
        let strategy = cheapest_plan(&scenario, A100);
        assert!(strategy.reached);
        let measures: Vec<_> = strategy.rungs.iter().filter_map(|rung| rung.measure).collect();
        assert!(measures.iter().all(|measure| !matches!(measure, Change::Word(Word::Offload(_)))), "{measures:?}");
        // Two GPUs share 104.3 GiB of states.
        assert_eq!(measures.last(), Some(&Change::Number(Field::Gpus, 2.0)));
    }
}
