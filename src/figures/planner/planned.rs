//! A plan for one configuration, and what is said about it.

use bmax::planner::{Accumulation, plan};
use bmax::{Answer, BatchUnit, Bytes, Field, Goal, Method, Scenario, Unit, estimate, largest_micro_batch, number};

use crate::site::format;

/// The plans for one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan that is shown.
    pub chosen: Accumulation,
    /// The one that can be shown instead, where hitting the target exactly takes more steps than
    /// reaching it.
    pub hidden: Option<Accumulation>,
    /// GPUs that share one micro-batch; 1 without tensor parallelism.
    pub group: u32,
    /// The target in what the micro-batch counts.
    pub target: u32,
    /// What that is.
    pub counts: Unit,
    /// The unit in which the target was given.
    pub unit: BatchUnit,
    /// Tokens in one of these.
    pub sequence: u32,
    /// The largest micro-batch.
    pub b_max: u32,
    /// Targets below and above that every full round reaches exactly, in the given unit; none when this
    /// one is.
    pub nearby: [Option<u32>; 2],
    /// What the nearby targets are multiples of, in sequences.
    pub round: u64,
    /// What the plan's micro-batch takes.
    pub peak: Bytes,
}

impl Planned {
    /// Plans the scenario's target; the reason when nothing can be planned. With `other` the plan is
    /// shown that is not preferred.
    #[inline(never)]
    pub fn of(scenario: &Scenario, answer: &Answer, other: bool) -> Result<Self, String> {
        let Some(mut b_max) = answer.batch() else {
            return Err(format::shortage(answer, scenario.unit()).unwrap_or_default());
        };
        let data_parallel = scenario.data_parallel();
        let (sequence, target) = (length(scenario), scenario.target());
        // Under the ledger the sums are an entry that is there while the next micro-batch runs, so that
        // accumulating may leave less room than a single one has.
        let mut accumulating = *scenario;
        if plan(target, data_parallel, b_max).preferred().steps > 1 {
            accumulating.recipe.micro_batches = accumulating.recipe.micro_batches.max(2);
            b_max = largest_micro_batch(&accumulating).unwrap_or(b_max);
        }
        let plans = plan(target, data_parallel, b_max);
        let preferred = plans.preferred();
        let alternative = if preferred == plans.at_least { plans.exact } else { Some(plans.at_least) };
        let (chosen, hidden) = match alternative.filter(|plan| *plan != preferred) {
            Some(alternative) if other => (alternative, Some(preferred)),
            alternative => (preferred, alternative),
        };
        let round = round(target, data_parallel, b_max);
        let unit = scenario.goal.unit;
        let size = if unit == BatchUnit::Tokens { u64::from(sequence) } else { 1 };
        Ok(Self {
            chosen,
            hidden,
            group: if scenario.method == Method::Workshop { 1 } else { scenario.cluster.group() },
            target,
            counts: scenario.unit(),
            unit,
            sequence,
            b_max,
            nearby: neighbours(target, round).map(|sequences| in_range(sequences?, size)),
            round,
            peak: estimate(&accumulating.with_batch(chosen.micro_batch)).peak().bytes,
        })
    }

    /// Sequences of the plan beyond the target.
    pub fn over(&self) -> u64 {
        self.chosen.global_batch().saturating_sub(self.target.into())
    }

    /// The button that shows the plan that is not shown.
    pub fn other_plan_text(&self) -> Option<String> {
        let hidden = self.hidden?;
        let gain = if hidden.steps < self.chosen.steps { "With fewer steps" } else { "Exactly the target" };
        Some(format!("{gain}: {}", equation(hidden)))
    }

    /// A number of what the micro-batch counts: “1 sequence”, “3 pairs”.
    pub fn counted(&self, count: u64) -> String {
        format!("{} {}", grouped(count), if count == 1 { self.counts.one() } else { self.counts.many() })
    }

    /// What processes different data at the same time.
    pub fn replicas(&self) -> String {
        let count = self.chosen.data_parallel;
        match self.group {
            0 | 1 => format::counted(count, "data-parallel GPU", "data-parallel GPUs"),
            group => {
                format!("{} of {group} GPUs", format::counted(count, "data-parallel group", "data-parallel groups"))
            }
        }
    }

    /// What the nearby targets do.
    pub fn share(&self) -> String {
        let replica = if self.group > 1 { "group" } else { "GPU" };
        if self.round == u64::from(self.chosen.data_parallel) {
            format!("give every {replica} the same")
        } else {
            format!("fill every {replica} with {}", self.counted(self.b_max.into()))
        }
    }
}

/// What a target should be a multiple of: of D to be reached exactly at all, and then of b_max · D to
/// be reached with full micro-batches.
fn round(target: u32, data_parallel: u32, b_max: u32) -> u64 {
    if target.is_multiple_of(data_parallel.max(1)) {
        u64::from(data_parallel) * u64::from(b_max)
    } else {
        data_parallel.into()
    }
}

/// The multiples of `round` below and above; none when the target is one.
fn neighbours(target: u32, round: u64) -> [Option<u64>; 2] {
    let target = u64::from(target);
    let round = round.max(1);
    if target.is_multiple_of(round) {
        return [None; 2];
    }
    let below = target / round * round;
    [Some(below).filter(|below| *below > 0), Some(below + round)]
}

/// A number of sequences in the unit of the target, if the target can be that.
fn in_range(sequences: u64, size: u64) -> Option<u32> {
    let target = u32::try_from(sequences.checked_mul(size)?).ok()?;
    Field::GlobalBatch.check(target.into()).is_ok().then_some(target)
}

/// The scenario with its target counted in `unit`; the amount stays, up to the rounding to whole
/// sequences and the end of the range.
pub fn in_unit(mut scenario: Scenario, unit: BatchUnit) -> Scenario {
    let (sequence, sequences) = (length(&scenario), scenario.target());
    let target = match unit {
        _ if unit == scenario.goal.unit => scenario.goal.global_batch,
        BatchUnit::Sequences => sequences,
        BatchUnit::Tokens => sequences.saturating_mul(sequence).min(Field::GlobalBatch.bound().max as u32),
    };
    scenario.goal = Goal { global_batch: target, unit };
    scenario
}

/// "256 = 4 · 8 · 8".
pub fn equation(plan: Accumulation) -> String {
    let [micro_batch, data_parallel, steps] = [plan.micro_batch, plan.data_parallel, plan.steps].map(format::count);
    format!("{} = {micro_batch} · {data_parallel} · {steps}", grouped(plan.global_batch()))
}

/// A count with thousands commas.
pub fn grouped(count: u64) -> String {
    number::grouped(count as f64)
}

/// Tokens in one of what the micro-batch counts.
fn length(scenario: &Scenario) -> u32 {
    scenario.recipe.sequence.saturating_mul(scenario.unit().sequences())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::b_max;

    fn workshop() -> Scenario {
        Scenario { method: Method::Workshop, ..Scenario::workshop() }
    }

    fn planned(scenario: &Scenario) -> Planned {
        Planned::of(scenario, &b_max(scenario), false).expect("something fits")
    }

    #[test]
    fn the_workshop_example_is_four_by_eight_by_eight() {
        let scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
        let planned = planned(&scenario);
        assert_eq!(equation(planned.chosen), "256 = 4 · 8 · 8");
        assert_eq!(planned.over(), 0);
    }

    #[test]
    fn tensor_parallel_groups_count_as_one_in_the_plan() {
        let mut scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
        scenario.cluster.tensor_parallel = 4;
        let planned = planned(&scenario);
        assert_eq!(planned.chosen.data_parallel, 2);
        assert_eq!(planned.replicas(), "2 data-parallel groups of 4 GPUs");
        scenario.method = Method::Workshop;
        assert_eq!(self::planned(&scenario).chosen.data_parallel, 8);
    }

    #[test]
    fn the_first_view_offers_the_plan_with_fewer_steps_beside_the_exact_one() {
        let scenario = workshop();
        let first = planned(&scenario);
        assert_eq!(equation(first.chosen), "256 = 2 · 8 · 16");
        assert!(first.other_plan_text().is_some_and(|text| text.ends_with("264 = 3 · 8 · 11")));
        let other = Planned::of(&scenario, &b_max(&scenario), true).expect("something fits");
        assert_eq!(equation(other.chosen), "264 = 3 · 8 · 11");
        assert_eq!(other.over(), 8);
        assert!(other.other_plan_text().is_some_and(|text| text == "Exactly the target: 256 = 2 · 8 · 16"));
    }

    #[test]
    fn targets_nearby_are_multiples_on_both_sides() {
        let mut scenario = workshop();
        assert_eq!(planned(&scenario).nearby, [Some(240), Some(264)]);
        scenario.goal.global_batch = 250;
        assert_eq!(planned(&scenario).nearby, [Some(248), Some(256)]);
        scenario.goal.global_batch = 240;
        assert_eq!(planned(&scenario).nearby, [None; 2]);
        scenario.goal.global_batch = 5;
        assert_eq!(planned(&scenario).nearby, [None, Some(8)]);
    }

    #[test]
    fn a_target_in_tokens_is_offered_its_neighbours_in_tokens() {
        let goal = Goal { global_batch: 500_000, unit: BatchUnit::Tokens };
        let scenario = Scenario { goal, ..workshop() };
        let planned = planned(&scenario);
        assert_eq!(planned.target, 245);
        assert_eq!(planned.nearby, [Some(240 * 2_048), Some(248 * 2_048)]);
    }

    #[test]
    fn changing_the_unit_and_back_keeps_the_target() {
        let scenario = Scenario::workshop();
        let tokens = in_unit(scenario, BatchUnit::Tokens);
        assert_eq!(tokens.goal, Goal { global_batch: 524_288, unit: BatchUnit::Tokens });
        assert_eq!(in_unit(tokens, BatchUnit::Tokens), tokens);
        assert_eq!(in_unit(tokens, BatchUnit::Sequences), scenario);
        let huge = in_unit(scenario.with_number(Field::GlobalBatch, 1e9).expect("in range"), BatchUnit::Tokens);
        assert_eq!(huge.goal.global_batch, 1_000_000_000);
    }

    #[test]
    fn without_a_micro_batch_there_is_a_reason_and_no_plan() {
        let alone = workshop().with_number(Field::Gpus, 1.0).expect("in range");
        let reason = Planned::of(&alone, &b_max(&alone), false).expect_err("nothing fits");
        assert!(reason.contains("leave no room"), "{reason}");
    }

    #[test]
    fn the_largest_target_neither_overflows_nor_leaves_the_range() {
        let mut scenario = Scenario::workshop();
        scenario.goal.global_batch = 999_999_999;
        let planned = planned(&scenario);
        assert!(planned.chosen.global_batch() >= 999_999_999);
        assert!(planned.nearby.iter().flatten().all(|target| Field::GlobalBatch.check((*target).into()).is_ok()));
    }

    #[test]
    fn under_the_ledger_the_sums_take_their_place_beside_the_activations() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.zero = bmax::ZeroStage::Stage0;
        scenario.recipe.gradients = bmax::GradientType::Half;
        scenario.model.layers = 12;
        let once = b_max(&scenario).batch().expect("something fits");
        let planned = planned(&scenario);
        assert!(planned.b_max <= once && planned.chosen.steps > 1);
        scenario.recipe.micro_batches = planned.chosen.steps;
        assert_eq!(b_max(&scenario).batch(), Some(planned.b_max));
    }
}
