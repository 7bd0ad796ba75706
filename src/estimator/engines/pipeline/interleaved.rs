//! `ScheduleInterleaved1F1B` of PyTorch 2.15 (torch/distributed/pipelining/schedules.py): a rank has several chunks of layers.

use std::collections::{HashSet, VecDeque};

use super::{Action, ActionKind, Pipeline};

/// Chunks of all ranks for each micro-batch of a round, beyond which an interleaved order is not worked out.
pub const MOST: u32 = 1 << 16;

/// Stages of a rank whose weights are there at once under FSDP (`max_active_stages`).
const ACTIVE_STAGES: usize = 3;

/// Micro-batches that pass a chunk before the next begins (`microbatches_per_round`).
pub fn round(pipeline: Pipeline) -> u32 {
    pipeline.micro_batches / (pipeline.micro_batches / pipeline.ranks).max(1)
}

/// What a rank does in a step, run by `_PipelineScheduleRuntime`: what was sent forward is held until the micro-batch
/// comes back, and what was sent back until the end (`_add_wait_send`).
pub fn actions(pipeline: Pipeline, micro_batches: u32) -> Vec<Action> {
    let orders = (0..pipeline.ranks).map(|rank| turns(pipeline.at(rank), micro_batches)).collect();
    let mut actions = Vec::new();
    let mut sent = Vec::new();
    for Turn { kind, stage, micro_batch } in
        received(orders, pipeline.ranks * pipeline.chunks).swap_remove(pipeline.rank as usize)
    {
        let mut put = |kind| actions.push(Action::of(kind, stage / pipeline.ranks, micro_batch));
        put(kind);
        if kind == ActionKind::Backward {
            if stage + 1 < pipeline.ranks * pipeline.chunks {
                put(ActionKind::DropGradient);
                put(ActionKind::Sent);
            }
            if stage > 0 {
                sent.push(Action::of(ActionKind::SentGradient, stage / pipeline.ranks, micro_batch));
            }
        }
    }
    actions.append(&mut sent);
    actions
}

/// The passes of the rank in order (`_get_1f1b_rank_ops`), with turns of other acts between them.
fn turns(pipeline: Pipeline, micro_batches: u32) -> VecDeque<Option<Turn>> {
    let (round, passes) = (round(pipeline).max(1), pipeline.chunks * micro_batches);
    let ahead = ((pipeline.chunks - 1) * round + 2 * (pipeline.ranks - 1 - pipeline.rank)).min(passes);
    let mut counts = [ActionKind::Forward, ActionKind::Backward].map(|kind| (kind, vec![0; pipeline.chunks as usize]));
    let mut passed = Vec::new();
    for place in 0..passes + ahead {
        let chunk = |place: u32| place / round % pipeline.chunks;
        let forward = (place < passes).then(|| chunk(place));
        let backward = place.checked_sub(ahead).map(|place| pipeline.chunks - 1 - chunk(place));
        for (chunk, (kind, counts)) in [forward, backward].into_iter().zip(&mut counts) {
            let Some(chunk) = chunk else { continue };
            let micro_batch = counts[chunk as usize];
            counts[chunk as usize] += 1;
            passed.push(Turn { kind: *kind, stage: chunk * pipeline.ranks + pipeline.rank, micro_batch });
        }
    }
    with_other_turns(&passed, micro_batches)
}

/// A pass of a stage, or a buffer that it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Turn {
    kind: ActionKind,
    stage: u32,
    micro_batch: u32,
}

/// The turns that FSDP's gathering and giving back of stages take (`_add_unshard_reshard`), and the sums of gradients behind
/// the last backward pass of a stage (`_add_reduce_grad`). They are there without FSDP as well, and do nothing then.
fn with_other_turns(passed: &[Turn], micro_batches: u32) -> VecDeque<Option<Turn>> {
    let mut turns = VecDeque::new();
    let mut active: Vec<u32> = Vec::new();
    for (place, turn) in passed.iter().enumerate() {
        let mut next: Vec<u32> = Vec::new();
        for later in &passed[place..] {
            if !next.contains(&later.stage) {
                next.push(later.stage);
            }
            if next.len() == ACTIVE_STAGES {
                break;
            }
        }
        let other = |kind: ActionKind| move |&stage: &u32| Some(Turn { kind, stage, micro_batch: 0 });
        let evicted = active.iter().filter(|stage| !next.contains(stage));
        turns.extend(evicted.map(other(ActionKind::GiveBack)));
        active.retain(|stage| next.contains(stage));
        next.retain(|stage| !active.contains(stage));
        turns.extend(next.iter().map(other(ActionKind::Gather)));
        active.append(&mut next);
        turns.push_back(Some(*turn));
        if turn.kind == ActionKind::Backward && turn.micro_batch + 1 == micro_batches {
            turns.extend([Some(Turn { kind: ActionKind::Reduce, ..*turn }), None]);
        }
    }
    turns
}

/// The turns of each rank with the buffers that it asks for: a rank that sends has the one that receives ask next
/// (`_add_send_recv`).
fn received(mut orders: Vec<VecDeque<Option<Turn>>>, stages: u32) -> Vec<Vec<Turn>> {
    let ranks = orders.len();
    let mut taken = vec![Vec::new(); ranks];
    let mut asked = HashSet::new();
    let mut goes_on = true;
    while std::mem::take(&mut goes_on) {
        for rank in 0..ranks {
            let Some(&turn) = orders[rank].front() else { continue };
            if let Some(turn) = turn {
                let Turn { kind, stage, micro_batch } = turn;
                let (from_outside, to, receives) = match kind {
                    ActionKind::Gather | ActionKind::GiveBack | ActionKind::Reduce => (true, None, ActionKind::Receive),
                    ActionKind::Forward => {
                        (stage == 0, stage.checked_add(1).filter(|to| *to < stages), ActionKind::Receive)
                    }
                    _ => (stage + 1 == stages, stage.checked_sub(1), ActionKind::ReceiveGradient),
                };
                if !from_outside && !asked.contains(&Turn { kind: receives, ..turn }) {
                    continue;
                }
                taken[rank].push(turn);
                if let Some(to) = to {
                    let ask = Turn { kind: receives, stage: to, micro_batch };
                    taken[to as usize % ranks].push(ask);
                    asked.insert(ask);
                }
            }
            orders[rank].pop_front();
            goes_on = true;
        }
    }
    taken
}
