//! A range instead of a figure: what b_max is if the unknowns turn out well, as expected, or badly.

use super::answer::{Answer, FewestGpus, Refusal, answer_of};
use super::choice::{Kernels, Method};
use super::counted::{self, Allocator};
use super::ledger::Ledger;
use super::runtime::{COMMUNICATION, CUDA_CONTEXT, fragmentation};
use super::scenario::Scenario;

/// How the unknowns turn out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// Little of every unknown.
    Optimistic,
    /// Every unknown as the scenario has it.
    Likely,
    /// Much of every unknown: more fragmentation than nine of ten simulated runs had, with segments as the scenario
    /// gets them, the context with all its kernels, and pools of streams that nothing else can use.
    Safe,
}

/// b_max under each outlook. The three differ in named unknowns only, never by a factor.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Range {
    /// Lazy context, small buffers, little fragmentation, fused kernels.
    pub optimistic: Answer,
    /// As the scenario says: what [`b_max`](crate::b_max) answers.
    pub likely: Answer,
    /// Full context, large buffers, much fragmentation, eager operations, pools of streams apart.
    pub safe: Answer,
}

/// b_max with the CUDA context, the communication buffers, the fragmentation, the kernels and the
/// allocator's pools at their best, as expected and at their worst.
///
/// A value that the reader set beyond the usual bounds stays what it is, so that safe ≤ likely ≤
/// optimistic always. The workshop's and the paper's method know no unknowns: all three are equal.
///
/// ```
/// use bmax::{Scenario, range::range};
/// let range = range(&Scenario::workshop());
/// let [safe, likely, optimistic] = [range.safe, range.likely, range.optimistic].map(|answer| answer.batch());
/// assert!(safe <= likely && likely <= optimistic);
/// ```
pub fn range(scenario: &Scenario) -> Range {
    let refused = Refusal::of(scenario);
    let fewest = FewestGpus::default();
    let under = |outlook: Outlook| answer_of(scenario, &outlook.ledger(scenario), &refused, &fewest);
    let likely = under(Outlook::Likely);
    // Compiled, a loss over chunks of logits may need more than its eager operations do, so that fused kernels
    // are not the better case for every scenario.
    let (optimistic, safe) = (under(Outlook::Optimistic), under(Outlook::Safe));
    Range {
        optimistic: if most(&optimistic) < most(&likely) { likely.clone() } else { optimistic },
        safe: if most(&safe) > most(&likely) { likely.clone() } else { safe },
        likely,
    }
}

/// b_max, or what it would be.
const fn most(answer: &Answer) -> Option<u32> {
    match answer {
        Answer::Fits(room) => Some(room.batch),
        Answer::Infeasible(_) => None,
        Answer::Refused(refusal) => refusal.would_be,
    }
}

impl Outlook {
    /// The scenario with its unknowns as this outlook has them.
    pub fn of(self, scenario: &Scenario) -> Scenario {
        let mut seen = *scenario;
        let device = &mut seen.device;
        let lost = fragmentation(device.segments);
        match self {
            Self::Likely => {}
            Self::Optimistic => {
                device.cuda_context = device.cuda_context.min(CUDA_CONTEXT.optimistic);
                device.communication = device.communication.min(COMMUNICATION.optimistic);
                if device.fragmentation > lost.optimistic {
                    device.fragmentation = lost.optimistic;
                }
                seen.recipe.kernels = Kernels::Fused;
            }
            Self::Safe => {
                device.cuda_context = device.cuda_context.max(CUDA_CONTEXT.safe);
                device.communication = device.communication.max(COMMUNICATION.safe);
                if device.fragmentation < lost.safe {
                    device.fragmentation = lost.safe;
                }
                seen.recipe.kernels = Kernels::Eager;
            }
        }
        seen
    }

    fn ledger(self, scenario: &Scenario) -> Ledger {
        let seen = self.of(scenario);
        match (scenario.method, self) {
            (Method::Ledger, Self::Safe) => counted::careful_ledger(&seen),
            (Method::Ledger, _) => counted::ledger(&seen, Allocator::Live),
            _ => Ledger::of(scenario),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, LossHead, Precision, Recomputation, Switch, ZeroStage, catalogue};

    #[test]
    fn no_outlook_is_better_than_one_that_is_more_optimistic_though_compiled_chunks_may_need_more() {
        let mut scenario = catalogue::model("gemma-3-1b").expect("listed").apply(Scenario::workshop());
        scenario.cluster.gpus = 1;
        scenario.cluster.zero = ZeroStage::Stage0;
        scenario.recipe.precision = Precision::PureBf16;
        scenario.recipe.recomputation = Recomputation::Full;
        scenario.recipe.dropout = Switch::Off;
        scenario.recipe.loss = LossHead::Chunked;
        // One chunk is all logits at once.
        scenario.recipe.chunks = 1;
        // The same with every other unknown as bad as it may turn out.
        let mut bad = scenario;
        bad.device.cuda_context = CUDA_CONTEXT.safe;
        bad.device.communication = COMMUNICATION.safe;
        bad.device.fragmentation = fragmentation(bad.device.segments).safe;
        for mut scenario in [scenario, bad] {
            let [eager, fused] = [Kernels::Eager, Kernels::Fused].map(|kernels| {
                scenario.recipe.kernels = kernels;
                let Range { optimistic, likely, safe } = range(&scenario);
                assert!(safe.batch() <= likely.batch() && likely.batch() <= optimistic.batch(), "{kernels}");
                likely.batch()
            });
            assert!(fused < eager, "the case needs kernels that are no better when they are fused");
        }
    }

    #[test]
    fn each_outlook_says_its_own_peak_where_all_hold_as_many_sequences() {
        // Long sequences, so that a few GiB more or less make no other number of them.
        let mut scenario = catalogue::model("llama-3.2-1b").expect("listed").apply(Scenario::workshop());
        scenario.cluster.gpus = 1;
        scenario.cluster.zero = ZeroStage::Stage0;
        scenario.recipe.recomputation = Recomputation::Full;
        scenario.recipe.loss = LossHead::Fused;
        scenario.recipe.sequence = 262_144;
        scenario.device.memory = Bytes::from_gib(95.0);
        let Range { optimistic, likely, safe } = range(&scenario);
        let [Answer::Fits(optimistic), Answer::Fits(likely), Answer::Fits(safe)] = [optimistic, likely, safe] else {
            panic!("one sequence fits")
        };
        assert_eq!((optimistic.batch, safe.batch), (likely.batch, likely.batch), "the case needs one number");
        assert!(optimistic.peak < likely.peak && likely.peak < safe.peak);
    }
}
