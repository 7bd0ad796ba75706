//! Pipelines of PyTorch 2.15 (torch/distributed/pipelining): which layers a rank has, and what it does in which order.
//!
//! A schedule is a list of acts. Beside the passes it says when buffers for what is received are asked for, and when the
//! schedule lets go of what it has sent or received, because memory hangs on that as much as on the passes.

mod interleaved;
mod one_forward_one_backward;
mod task;

use std::ops::Range;

use crate::estimator::choice::Engine;
use crate::estimator::models::Model;
use crate::estimator::scenario::Scenario;

/// Micro-batches of a step that is played in full, beyond which all do the same.
const MANY: u32 = 64;

/// A rank of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Ranks.
    pub ranks: u32,
    /// Runs of layers that each rank has: those of one go round the ranks before the next begins.
    pub chunks: u32,
    /// The rank, from 0.
    pub rank: u32,
    /// Micro-batches of a step.
    pub micro_batches: u32,
    /// Layers of the first rank and of the last; 0 for as many as the others.
    ends: [u32; 2],
    /// Whether chunks are cut as if the embedding and the head were a layer each.
    counts_ends: bool,
    /// Whether `schedule.step` gives the outputs of all micro-batches back (`return_outputs`).
    pub keeps_outputs: bool,
    /// Whether the trainer makes one loss of those of all micro-batches, which it keeps until the step is over.
    pub sums_losses: bool,
}

/// What a rank does with a micro-batch of one of its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionKind {
    /// Asks for a buffer for the hidden state (`get_fwd_recv_ops` of stage.py).
    Receive,
    /// Runs forward, and computes the loss in the last chunk.
    Forward,
    /// Lets go of the hidden state that it has sent (`release_fwd_send_outputs`).
    Sent,
    /// Asks for a buffer for the gradient of what it has sent (`get_bwd_recv_ops`).
    ReceiveGradient,
    /// Runs backward.
    Backward,
    /// Lets go of that buffer.
    DropGradient,
    /// Lets go of the gradient of what it has received, which it has sent.
    SentGradient,
    /// Has all weights of the chunk gathered.
    Gather,
    /// Gives them back.
    GiveBack,
    /// Sums the gradients of the chunk over devices (`perform_reduce_grad`).
    Reduce,
}

/// An act for a micro-batch of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// What is done.
    pub kind: ActionKind,
    /// The chunk, from 0.
    pub chunk: u32,
    /// The micro-batch, from 0.
    pub micro_batch: u32,
}

impl Action {
    const fn of(kind: ActionKind, chunk: u32, micro_batch: u32) -> Self {
        Self { kind, chunk, micro_batch }
    }
}

impl Pipeline {
    /// The first rank of a scenario's pipeline, where it has one. A pipeline is given at least as many micro-batches as it has
    /// ranks, without which 1F1B does not run, and one of several chunks as many as make equal rounds.
    pub fn of(scenario: &Scenario) -> Option<Self> {
        let (cluster, layers) = (&scenario.cluster, scenario.model.layers.max(1));
        let ranks = cluster.pipeline_parallel.clamp(1, layers);
        let chunks = cluster.virtual_stages.clamp(1, layers.div_ceil(ranks));
        let given = scenario.recipe.micro_batches.max(ranks);
        let is_titan = cluster.engine == Engine::Torchtitan;
        let is_even = chunks == 1 || given % (given / ranks) == 0;
        (ranks > 1).then(|| Self {
            ranks,
            chunks,
            rank: 0,
            micro_batches: if is_even { given } else { given.next_multiple_of(ranks) },
            ends: [cluster.first_stage_layers, cluster.last_stage_layers].map(|given| given.min(layers)),
            counts_ends: is_titan,
            // `forward_backward_step` in torchtitan/train.py.
            keeps_outputs: !is_titan,
            sums_losses: is_titan,
        })
    }

    /// The same pipeline on another rank, or on the last one.
    pub fn at(self, rank: u32) -> Self {
        Self { rank: rank.min(self.ranks - 1), ..self }
    }

    /// The ranks behind the first that may need more than it: the second, which has the most in flight of those between, and
    /// the last, which has the head.
    pub fn fullest_behind(self) -> Vec<u32> {
        let mut ranks = vec![1, self.ranks - 1];
        ranks.dedup();
        ranks
    }

    /// The parts of a model that the rank has, one for each chunk; `None` where it is not known how the model is cut.
    fn parts(self, model: &Model) -> Option<Vec<Model>> {
        let last = self.ranks * self.chunks - 1;
        let parts = (0..self.chunks).map(|chunk| {
            let stage = chunk * self.ranks + self.rank;
            model.part(self.layers(model.depth(), stage), stage == 0, stage == last)
        });
        parts.collect()
    }

    /// Whether a chunk is the first of the whole pipeline.
    pub const fn is_first(self, chunk: u32) -> bool {
        self.rank == 0 && chunk == 0
    }

    /// Whether a chunk is the last of the whole pipeline.
    pub const fn is_last(self, chunk: u32) -> bool {
        self.rank + 1 == self.ranks && chunk + 1 == self.chunks
    }

    /// The layers of a stage, of which there is one for each chunk of each rank.
    fn layers(self, depth: u32, stage: u32) -> Range<u32> {
        let is_counted = self.counts_ends && self.is_split_by_counting_ends(depth);
        let of_stage = |stage: u32| match stage {
            stage if is_counted => self.counting_ends(depth, stage),
            stage => share(self.of_rank(depth, stage % self.ranks), self.chunks, stage / self.ranks),
        };
        let begin = (0..stage).map(of_stage).fold(0, u32::saturating_add).min(depth);
        begin..begin.saturating_add(of_stage(stage)).min(depth)
    }

    /// Layers of a stage where the embedding and the head count as a layer each (`generate_llm_fqn_per_model_part` in
    /// torchtitan/distributed/pipeline_parallel.py, 0.2.2).
    fn counting_ends(self, depth: u32, stage: u32) -> u32 {
        let stages = self.ranks * self.chunks;
        let ends = u32::from(stage == 0) + u32::from(stage + 1 == stages);
        share(depth.saturating_add(2), stages, stage).saturating_sub(ends)
    }

    /// Whether ranks have as many layers as they have by that.
    fn is_split_by_counting_ends(self, depth: u32) -> bool {
        let of_rank = |rank: u32| {
            (0..self.chunks)
                .map(|chunk| self.counting_ends(depth, chunk * self.ranks + rank))
                .fold(0, u32::saturating_add)
        };
        (0..self.ranks).all(|rank| of_rank(rank) == self.of_rank(depth, rank))
    }

    /// Layers of a rank. What is not given for the first and the last is shared evenly, and the first of the others have one more.
    fn of_rank(self, depth: u32, rank: u32) -> u32 {
        let [first, last] = self.ends;
        let (is_first, is_last) = (rank == 0 && first > 0, rank + 1 == self.ranks && last > 0);
        if is_first || is_last {
            return if is_first { first } else { last };
        }
        let named = u32::from(first > 0) + u32::from(last > 0);
        let place = rank - u32::from(first > 0);
        share(depth.saturating_sub(first.saturating_add(last)), self.ranks.saturating_sub(named), place)
    }

    /// What the rank does in a step of so many micro-batches.
    pub fn actions(self, micro_batches: u32) -> Vec<Action> {
        if self.chunks > 1 {
            interleaved::actions(self, micro_batches)
        } else {
            one_forward_one_backward::actions(self, micro_batches)
        }
    }

    /// Whether there are so many chunks that their order is not worked out.
    const fn is_long(self) -> bool {
        self.chunks > 1 && self.ranks * self.ranks > interleaved::MOST / self.chunks
    }

    /// Whether the schedule says itself when weights are gathered.
    pub const fn gathers_stages(self) -> bool {
        self.chunks > 1
    }

    /// Whether a name of the schedule has the hidden state that was received last until the step is over.
    pub const fn names_received(self) -> bool {
        self.chunks == 1
    }

    /// Whether the schedule holds gradients that it has sent until the step is over.
    pub const fn holds_gradients(self) -> bool {
        self.chunks > 1
    }

    /// How many of a step's micro-batches are played; all others do what those of a steady state do. As few as show
    /// that state are those that the rank has in flight, and two more, or where a rank has several chunks four rounds: it
    /// has less than two in flight.
    pub fn played(self, are_many: bool) -> u32 {
        let (few, of) = if self.chunks > 1 { (4, interleaved::round(self)) } else { (self.ranks - self.rank + 2, 1) };
        let most = if are_many { few.max(MANY.div_ceil(of)) } else { few };
        self.micro_batches.min(most.saturating_mul(of))
    }
}

/// The share of one of `of` who divide evenly, where the first have one more.
fn share(whole: u32, of: u32, place: u32) -> u32 {
    let of = of.max(1);
    whole / of + u32::from(place < whole % of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipeline(ranks: u32, chunks: u32, micro_batches: u32) -> Pipeline {
        Pipeline {
            ranks,
            chunks,
            rank: 0,
            micro_batches,
            ends: [0; 2],
            counts_ends: false,
            keeps_outputs: true,
            sums_losses: false,
        }
    }

    /// Passes whose backward is still to come, at most.
    fn most_in_flight(actions: &[Action]) -> u32 {
        let (mut now, mut most) = (0, 0);
        for action in actions {
            match action.kind {
                ActionKind::Forward => now += 1,
                ActionKind::Backward => now -= 1,
                _ => {}
            }
            most = most.max(now);
        }
        most
    }

    #[test]
    fn a_rank_has_as_many_passes_in_flight_as_the_papers_say() {
        for rank in 0..4 {
            assert_eq!(most_in_flight(&pipeline(4, 1, 8).at(rank).actions(8)), 4 - rank);
            // 2(P − r − 1) + (v − 1)·P, and the one that runs (Narayanan et al. 2021, section 2.2.2).
            assert_eq!(most_in_flight(&pipeline(4, 3, 16).at(rank).actions(16)), 2 * (3 - rank) + 2 * 4 + 1);
        }
    }

    #[test]
    fn every_micro_batch_passes_every_chunk_once_and_nothing_is_held_in_the_end() {
        for (ranks, chunks, micro_batches) in [(2, 1, 2), (4, 1, 9), (2, 2, 4), (3, 4, 8), (4, 3, 10)] {
            for rank in 0..ranks {
                let pipeline = pipeline(ranks, chunks, micro_batches).at(rank);
                let actions = pipeline.actions(micro_batches);
                for (chunk, micro_batch) in
                    (0..chunks).flat_map(|chunk| (0..micro_batches).map(move |one| (chunk, one)))
                {
                    let is_own = |one: &&Action| {
                        let is_of_weights =
                            matches!(one.kind, ActionKind::Gather | ActionKind::GiveBack | ActionKind::Reduce);
                        (one.chunk, one.micro_batch) == (chunk, micro_batch) && !is_of_weights
                    };
                    let own = actions.iter().filter(is_own);
                    let own: Vec<_> = own.map(|action| action.kind).collect();
                    let place = |kind| own.iter().position(|own| *own == kind);
                    let order = |first, second| assert!(place(first) < place(second), "{own:?}");
                    let is_first = pipeline.is_first(chunk);
                    let is_last = pipeline.is_last(chunk);
                    assert_eq!(own.len(), 2 + if is_first { 0 } else { 2 } + if is_last { 0 } else { 3 }, "{own:?}");
                    order(ActionKind::Forward, ActionKind::Backward);
                    if !is_first {
                        order(ActionKind::Receive, ActionKind::Forward);
                        order(ActionKind::Backward, ActionKind::SentGradient);
                    }
                    if !is_last {
                        order(ActionKind::Forward, ActionKind::Sent);
                        order(ActionKind::ReceiveGradient, ActionKind::Backward);
                        order(ActionKind::Backward, ActionKind::DropGradient);
                    }
                }
            }
        }
    }

    #[test]
    fn ranks_have_every_layer_once_and_the_first_of_those_between_have_one_more() {
        let layers = |pipeline: Pipeline, depth| {
            let stages = pipeline.ranks * pipeline.chunks;
            let ranges: Vec<_> = (0..stages).map(|stage| pipeline.layers(depth, stage)).collect();
            assert!(ranges.windows(2).all(|two| two[0].end == two[1].start), "{ranges:?}");
            assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, depth));
            ranges.iter().map(|range| range.end - range.start).collect::<Vec<_>>()
        };
        assert_eq!(layers(pipeline(4, 1, 8), 30), [8, 8, 7, 7]);
        let uneven = Pipeline { ends: [8, 7], ..pipeline(4, 1, 8) };
        assert_eq!(layers(uneven, 32), [8, 9, 8, 7]);
        assert_eq!(layers(Pipeline { chunks: 2, ..uneven }, 32), [4, 5, 4, 4, 4, 4, 4, 3]);
        let counted = Pipeline { ends: [5, 5], counts_ends: true, ..pipeline(2, 2, 8) };
        assert_eq!(layers(counted, 10), [2, 3, 3, 2]);
    }
}
