//! The step as a program: what a training step asks of PyTorch's allocator, event by event, and what follows from it.
//!
//! It stands beside the ledger and does not answer for the page yet: [`Program::of`] says which configurations it plays.

use super::bounds::Field;
use super::choice::Segments;
use super::counters::Caching;
use super::engines::{self, Pipeline, Plan};
use super::scenario::Scenario;
use super::search;
use super::step::{Depth, Steps, Trace, play};

pub use super::counters::{Alive, OutOfMemory, Peak, Replayed};
pub use super::engines::Unsaid;
pub use super::models::NotCounted;
pub use super::operators::{Kind, Owner, Part, Place, Stream, Tensor};
pub use super::step::{Event, Moment};
pub use super::units::DType;

/// The training step of a scenario as operators.
#[derive(Clone, Debug)]
pub struct Program {
    plan: Plan,
    batch: u64,
}

impl Program {
    /// The step of a scenario, or what of it is not played yet; that of the rank that needs most where there is a pipeline.
    pub fn of(scenario: &Scenario) -> Result<Self, NotCounted> {
        let mut ranks = Self::of_ranks(scenario)?;
        let needs = |rank: &Self| if rank.plan.pipeline.is_some() { rank.steady().peak().bytes } else { 0 };
        let fullest = ranks.iter().enumerate().max_by_key(|(_, rank)| needs(rank)).map_or(0, |(place, _)| place);
        Ok(ranks.swap_remove(fullest))
    }

    /// The steps of those ranks of a pipeline that may need most. Without a pipeline there is one.
    fn of_ranks(scenario: &Scenario) -> Result<Vec<Self>, NotCounted> {
        let first = Self::of_run(scenario, Unsaid::default())?;
        let others = first.plan.pipeline.map_or(Vec::new(), Pipeline::fullest_behind);
        let others = others.into_iter().map(|rank| Self::of_run(scenario, Unsaid { rank, ..Unsaid::default() }));
        std::iter::once(Ok(first)).chain(others).collect()
    }

    /// The step of a run of which it is known what no input says.
    pub fn of_run(scenario: &Scenario, unsaid: Unsaid) -> Result<Self, NotCounted> {
        let plan = engines::wrapped(scenario, unsaid)?;
        let batch = u64::from(scenario.recipe.batch).saturating_mul(plan.task.sequences);
        Ok(Self { plan, batch })
    }

    /// The number of weights of the trained model that the device has, adapters among them.
    pub fn parameters(&self) -> u64 {
        let trained = self.plan.task.networks.iter().filter(|network| network.is_updated);
        trained.map(|network| network.model.parameters()).fold(0, u64::saturating_add)
    }

    /// A step that finds the optimizer's state there.
    pub fn steady(&self) -> Played<'_> {
        Played { program: self, trace: play(&self.plan, Depth::Folded, Steps::Steady) }
    }

    /// The first steps in full, from building the model on.
    pub fn first_steps(&self, steps: u32) -> Played<'_> {
        Played { program: self, trace: play(&self.plan, Depth::Whole, Steps::First(steps)) }
    }
}

/// The largest micro-batch whose live memory in a scenario's step is within a budget in bytes; 0 where that of one sequence
/// is not. It does not see what the allocator reserves.
pub fn largest_micro_batch(scenario: &Scenario, budget: u64) -> Result<u32, NotCounted> {
    let of = |batch| {
        let mut scenario = *scenario;
        scenario.recipe.batch = batch;
        Program::of_ranks(&scenario)
    };
    // Attention that copies the heads of several sequences does not copy those of one: the step is another program then.
    let alone = of(1)?;
    if alone.iter().any(|rank| rank.plan.task.is_of_one_batch) {
        let is_within = |rank: &Program| rank.steady().peak().bytes <= budget;
        let fits = |batch| of(batch).is_ok_and(|ranks| ranks.iter().all(is_within));
        return Ok(search::largest(Field::Batch.bound().max as u32, scenario.recipe.batch, fits));
    }
    let several = of(2)?;
    let [alone, several] = [&alone, &several].map(|ranks| ranks.iter().map(Program::steady).collect::<Vec<_>>());
    let fits = |batch: u32| {
        let ranks = if batch == 1 { &alone } else { &several };
        let is_within = |played: &Played<'_>| {
            let sequences = u64::from(batch).saturating_mul(played.program.plan.task.sequences);
            played.peak_at(sequences).bytes <= budget
        };
        ranks.iter().all(is_within)
    };
    Ok(search::largest(Field::Batch.bound().max as u32, scenario.recipe.batch, fits))
}

/// A program that was played.
#[derive(Clone, Debug)]
pub struct Played<'p> {
    program: &'p Program,
    trace: Trace,
}

impl Played<'_> {
    /// The peak of live memory of the last step.
    pub fn peak(&self) -> Peak {
        self.peak_at(self.program.batch)
    }

    fn peak_at(&self, batch: u64) -> Peak {
        Peak::of(&self.trace, &self.program.plan.widths(), batch)
    }

    /// Who is alive at the peak, the largest first.
    pub fn alive(&self) -> Vec<Alive> {
        Alive::at(&self.trace, &self.program.plan.widths(), self.program.batch, self.peak())
    }

    /// What PyTorch's allocator finds of the last step with so much memory. The steps must have been played in full.
    pub fn replay(&self, segments: Segments, limit: u64) -> Result<Replayed, OutOfMemory> {
        Caching::replay(&self.trace, &self.program.plan.widths(), self.program.batch, segments, limit)
    }

    /// What PyTorch's allocator finds of what stands outside the step, where there is any. The steps must have been played in
    /// full.
    pub fn replay_outside(&self, segments: Segments, limit: u64) -> Option<Result<Replayed, OutOfMemory>> {
        let (widths, batch) = (self.program.plan.widths(), self.program.batch);
        let begin = self.trace.outside()?;
        Some(Caching::replay_from(begin, &self.trace, &widths, batch, segments, limit))
    }

    /// What the allocator is asked, in order, with the bytes that are asked for; what has no bytes is left out.
    pub fn requests(&self) -> impl Iterator<Item = Request> {
        let widths = self.program.plan.widths().at(self.program.batch);
        let registry = &self.trace.registry;
        let mut numbers = vec![0; self.trace.storages];
        let mut count = 0;
        self.trace.events.iter().filter_map(move |event| match *event {
            Event::Allocate(id, storage) => {
                let tensor = *registry.tensor(id);
                let bytes = registry.bytes(id, &widths);
                (bytes > 0).then(|| {
                    numbers[storage.0 as usize] = count;
                    count += 1;
                    Request::Allocate { bytes, tensor }
                })
            }
            Event::Free(id, storage) => {
                let is_there = registry.bytes(id, &widths) > 0;
                is_there.then(|| Request::Free { number: numbers[storage.0 as usize] })
            }
            Event::Mark(moment) => Some(Request::Mark(moment)),
            Event::EmptyCache | Event::Repeat(_) | Event::Again => None,
        })
    }
}

/// What the allocator is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Memory for a tensor.
    Allocate {
        /// The bytes that are asked for.
        bytes: u64,
        /// The tensor that they are for.
        tensor: Tensor,
    },
    /// An allocation goes back, by its number from 0 in the order of allocations.
    Free {
        /// Its number.
        number: usize,
    },
    /// A moment begins.
    Mark(Moment),
}
