//! `Schedule1F1B` of PyTorch 2.15 (torch/distributed/pipelining/schedules.py): one forward pass, one backward.

use super::{Action, ActionKind, Pipeline};

/// What a rank does in a step (`_step_microbatches`): as many forward passes as there are ranks from here on, then a backward and a
/// forward pass in turn.
pub fn actions(pipeline: Pipeline, micro_batches: u32) -> Vec<Action> {
    let ahead = (pipeline.ranks - pipeline.rank).min(micro_batches);
    let (is_first, is_last) = (pipeline.is_first(0), pipeline.is_last(0));
    let mut actions = Vec::new();
    let mut put = |is_done: bool, kind, micro_batch| {
        if is_done {
            actions.push(Action::of(kind, 0, micro_batch));
        }
    };
    for next in 0..ahead {
        put(!is_first, ActionKind::Receive, next);
        put(true, ActionKind::Forward, next);
        put(!is_last && next > 0, ActionKind::Sent, next.saturating_sub(1));
    }
    for back in 0..micro_batches {
        let next = back.saturating_add(ahead);
        let is_steady = next <= micro_batches;
        put(!is_last, ActionKind::ReceiveGradient, back);
        put(!is_last && is_steady, ActionKind::Sent, next - 1);
        // While nothing runs forward any more, a name has the last buffer until there is another.
        put(!is_last && next > micro_batches + 1, ActionKind::DropGradient, back.saturating_sub(1));
        put(true, ActionKind::Backward, back);
        put(!is_last && is_steady, ActionKind::DropGradient, back);
        put(!is_first && back > 0, ActionKind::SentGradient, back.saturating_sub(1));
        put(!is_first && next < micro_batches, ActionKind::Receive, next);
        put(next < micro_batches, ActionKind::Forward, next);
    }
    let last = micro_batches.saturating_sub(1);
    put(true, ActionKind::Reduce, last);
    put(!is_last && ahead > 1, ActionKind::DropGradient, last);
    put(!is_first, ActionKind::SentGradient, last);
    actions
}
