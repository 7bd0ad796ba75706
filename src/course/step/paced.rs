//! One training step over the work it takes: what makes steps with and without recomputation comparable.
//!
//! The curve of two steps shows the order of things, so that the same instant stands at the same place whatever is chosen.
//! Here the same curve is stretched to the floating-point operations of each pass ([`Work`]), in units of one forward pass:
//! 1 forward, about 2 backward, and what is computed again.

use super::{PARTS, Timeline, UPDATE, timeline};
use crate::{Bytes, Instant, Scenario, cost::Work};

/// Room for the optimizer step on the axis, in forward passes. It moves memory and computes next to nothing, so that its
/// width says nothing.
pub const UPDATE_ROOM: f64 = 0.25;

/// Where in a micro-batch the forward pass and the head end, as a part of it.
const FORWARD_END: f64 = 0.36;
/// Where in a micro-batch the backward pass ends, as a part of it: behind the moment at which every gradient is there.
const BACKWARD_END: f64 = 0.97;

/// A pass of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The forward pass with the head and the loss.
    Forward,
    /// The backward pass, with what it computes again.
    Backward,
    /// The optimizer step.
    Update,
}

/// A named moment of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named {
    /// Where it stands, in forward passes from the beginning of the step.
    pub at: f64,
    /// The instant.
    pub instant: &'static Instant,
    /// From 1 to the number that is drawn.
    pub micro_batch: u32,
    /// What is alive.
    pub held: Bytes,
}

/// The second of two steps, when the optimizer's state is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Paced {
    /// What is alive, over forward passes from the beginning of the step; straight lines lie between.
    pub points: Vec<(f64, Bytes)>,
    /// The named moments in their order.
    pub named: Vec<Named>,
    /// The highest moment.
    pub peak: Named,
    /// Micro-batches that are drawn.
    pub drawn: u32,
    /// Work of a micro-batch backward, with what is computed again, in forward passes.
    pub backward: f64,
    /// What of that is computed again.
    pub again: f64,
}

impl Paced {
    /// The step of a scenario.
    ///
    /// ```
    /// use bmax::course::step::Paced;
    /// use bmax::{Recomputation, Scenario, estimate};
    /// let mut scenario = Scenario::workshop();
    /// scenario.recipe.recomputation = Recomputation::Full;
    /// let step = Paced::of(&scenario);
    /// assert!((step.peak.held.gib() - estimate(&scenario).peak().bytes.gib()).abs() < 1e-9);
    /// // All but the head runs forward twice.
    /// assert!(step.again > 0.9 && step.again < 1.0);
    /// ```
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let work = Work::of(scenario);
        let forward = work.forward.max(1.0);
        let (again, backward) = (work.again / forward, (work.backward + work.again) / forward);
        let timeline = timeline(scenario);
        let name = |moment: &super::Moment, at: f64| {
            let instant = timeline.instants[moment.instant?];
            Some(Named { at, instant, micro_batch: moment.micro_batch, held: moment.held.total() })
        };
        let highest = timeline.highest(2);
        if timeline.moments.len() < 3 {
            // A method that knows one instant has no curve.
            let length = 1.0 + backward + UPDATE_ROOM;
            let held = highest.held.total();
            let instant = timeline.instants[highest.instant.unwrap_or(0)];
            let peak = Named { at: 0.0, instant, micro_batch: 1, held };
            let points = vec![(0.0, held), (length, held)];
            return Self { points, named: vec![peak], peak, drawn: 1, backward, again };
        }
        let place = |at: f64| place(&timeline, at, backward);
        let moments: Vec<_> = timeline.moments.iter().filter(|moment| moment.step == 2).collect();
        let named: Vec<_> = moments.iter().filter_map(|moment| name(moment, place(moment.at))).collect();
        let at_peak = place(highest.at);
        let first = timeline.instants[0];
        let unnamed = Named { at: at_peak, instant: first, micro_batch: 1, held: highest.held.total() };
        Self {
            points: moments.iter().map(|moment| (place(moment.at), moment.held.total())).collect(),
            peak: name(highest, at_peak).unwrap_or(unnamed),
            named,
            drawn: timeline.drawn,
            backward,
            again,
        }
    }

    /// The end of the step, in forward passes.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.work() + UPDATE_ROOM
    }

    /// The work of the step, in forward passes, without the optimizer step.
    #[must_use]
    pub fn work(&self) -> f64 {
        f64::from(self.drawn) * (1.0 + self.backward)
    }

    /// What is alive at a place; nothing once the step is over.
    #[must_use]
    pub fn at(&self, at: f64) -> Option<Bytes> {
        let next = self.points.iter().position(|point| point.0 > at).unwrap_or(self.points.len());
        let before = self.points.get(next.checked_sub(1)?)?;
        match self.points.get(next) {
            Some(later) => {
                let part = (at - before.0) / (later.0 - before.0);
                Some(Bytes::new(before.1.get() + (later.1.get() - before.1.get()) * part))
            }
            None => (at <= before.0).then_some(before.1),
        }
    }

    /// The pass that a place is in; nothing once the step is over.
    #[must_use]
    pub fn pass(&self, at: f64) -> Option<Pass> {
        if at > self.length() {
            return None;
        }
        if at >= self.work() {
            return Some(Pass::Update);
        }
        Some(if at % (1.0 + self.backward) < 1.0 { Pass::Forward } else { Pass::Backward })
    }
}

/// A place of the two steps as one of the second, in forward passes.
fn place(timeline: &Timeline, at: f64, backward: f64) -> f64 {
    let (drawn, passes) = (f64::from(timeline.drawn), f64::from(PARTS - UPDATE));
    let at = at - f64::from(PARTS);
    if at >= passes {
        return drawn * (1.0 + backward) + (at - passes) / f64::from(UPDATE) * UPDATE_ROOM;
    }
    let width = f64::from((PARTS - UPDATE) / timeline.drawn);
    // What does not divide evenly stands before the first micro-batch.
    let at = (at - (passes - drawn * width)).max(0.0);
    let turn = (at / width).floor();
    let part = at / width - turn;
    let within = if part <= FORWARD_END {
        part / FORWARD_END
    } else {
        1.0 + ((part - FORWARD_END) / (BACKWARD_END - FORWARD_END)).min(1.0) * backward
    };
    turn * (1.0 + backward) + within
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, Method, Recomputation, catalogue, estimate};

    fn scenarios() -> Vec<Scenario> {
        let mut all = Vec::new();
        for slug in ["1b", "7b", "llama-3.1-8b", "gpt2"] {
            for &recomputation in Recomputation::ALL {
                for micro_batches in [1, 2, 3, 4, 7] {
                    let mut scenario = catalogue::model(slug).expect("a row").apply(Scenario::workshop());
                    scenario.recipe.recomputation = recomputation;
                    scenario.recipe.micro_batches = micro_batches;
                    all.push(scenario);
                    scenario.cluster.pipeline_parallel = 2;
                    all.push(scenario);
                }
            }
        }
        all
    }

    #[test]
    fn the_highest_point_is_the_peak_of_the_estimate_and_time_never_runs_back() {
        for scenario in scenarios() {
            let step = Paced::of(&scenario);
            let peak = estimate(&scenario).peak().bytes.get();
            let highest = step.points.iter().map(|point| point.1.get()).fold(0.0, f64::max);
            assert!((highest - peak).abs() <= 1e-9 * peak && (step.peak.held.get() - peak).abs() <= 1e-9 * peak);
            assert!(step.points.is_sorted_by(|a, b| a.0 <= b.0), "{scenario:?}");
            assert_eq!(step.points.first().map(|point| point.0), Some(0.0));
            let end = step.points.last().map_or(0.0, |point| point.0);
            assert!((end - step.length()).abs() < 1e-9, "{end} and {}", step.length());
        }
    }

    /// Full recomputation runs every layer forward once more (Chen et al. 2016, section 3): with full fine-tuning 4 passes
    /// in place of 3, less the head, which is not repeated. Without it nothing is computed again.
    #[test]
    fn a_step_with_full_recomputation_takes_a_forward_pass_more_and_none_takes_none() {
        let mut scenario = Scenario::workshop();
        let length = |scenario: &Scenario| Paced::of(scenario).work();
        scenario.recipe.recomputation = Recomputation::None;
        assert!((length(&scenario) - 3.0).abs() < 1e-12);
        scenario.recipe.recomputation = Recomputation::Full;
        let more = length(&scenario) - 3.0;
        // 7B: the head is 2·4096·32000 of 2·(12·32·4096² + 4096·32000) and attention's share, 2 %.
        assert!((0.97..0.99).contains(&more), "{more}");
        scenario.recipe.recomputation = Recomputation::Selective;
        assert!((0.0..0.1).contains(&(length(&scenario) - 3.0)));
    }

    #[test]
    fn the_pass_of_a_named_moment_is_that_of_its_name() {
        for scenario in scenarios() {
            let step = Paced::of(&scenario);
            for named in &step.named {
                let pass = step.pass(named.at).expect("within the step");
                let expected = match named.instant.name {
                    name if name.contains("backward") => Some(Pass::Backward),
                    name if name.contains("optimizer step") => Some(Pass::Update),
                    _ => None,
                };
                assert!(expected.is_none_or(|expected| expected == pass), "{} in {pass:?}", named.instant.name);
                assert!((step.at(named.at).expect("within the step").get() - named.held.get()).abs() < 1.0);
            }
            assert_eq!((step.pass(-0.0), step.pass(step.length() + 0.01)), (Some(Pass::Forward), None));
            assert_eq!(step.at(step.length() + 0.01), None);
        }
    }

    #[test]
    fn a_method_without_moments_is_flat() {
        let scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        let step = Paced::of(&scenario);
        assert_eq!(step.points.len(), 2);
        assert_eq!(step.points[0].1, step.points[1].1);
        assert!((step.peak.held.get() - estimate(&scenario).peak().bytes.get()).abs() < 1.0);
    }
}
