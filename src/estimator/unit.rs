//! What a micro-batch counts: sequences, unless a task hands over pairs or completions, or documents fill rows.

use super::choice::{Batching, Method, TaskKind};
use super::scenario::Scenario;

/// What a micro-batch counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Sequences, which the model is trained on one by one.
    Sequences,
    /// A chosen and a rejected answer: two sequences of one pass.
    Pairs,
    /// Prompts with what was generated for them.
    Completions,
    /// Rows of S tokens, which documents fill.
    Rows,
}

impl Unit {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::Sequences, Self::Pairs, Self::Completions, Self::Rows];

    /// One of them.
    pub const fn one(self) -> &'static str {
        match self {
            Self::Sequences => "sequence",
            Self::Pairs => "pair",
            Self::Completions => "completion",
            Self::Rows => "row",
        }
    }

    /// Several of them.
    pub const fn many(self) -> &'static str {
        match self {
            Self::Sequences => "sequences",
            Self::Pairs => "pairs",
            Self::Completions => "completions",
            Self::Rows => "rows",
        }
    }

    /// The word behind a number of them.
    pub const fn word(self, number: u64) -> &'static str {
        if number == 1 { self.one() } else { self.many() }
    }

    /// Sequences of S tokens of one of them that go through the model.
    pub const fn sequences(self) -> u32 {
        match self {
            Self::Pairs => 2,
            Self::Sequences | Self::Completions | Self::Rows => 1,
        }
    }
}

impl TaskKind {
    /// What the micro-batch of its trainer counts: `per_device_train_batch_size` in trl 1.10.0, by the collator of
    /// trl/trainer/dpo_trainer.py and reward_trainer.py, and by grpo_trainer.py and experimental/ppo/ppo_trainer.py.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Dpo | Self::Reward => Unit::Pairs,
            Self::Ppo | Self::Grpo => Unit::Completions,
            Self::Train | Self::Distil => Unit::Sequences,
        }
    }
}

impl Scenario {
    /// What its micro-batch counts. The workshop's and the paper's method know no tasks.
    ///
    /// Documents are packed into rows before a batch is made of them, so that `per_device_train_batch_size` counts the
    /// rows (`pack_dataset` in trl/data_utils.py, 1.10.0).
    ///
    /// ```
    /// use bmax::{Batching, Scenario, TaskKind, Unit};
    /// let mut scenario = Scenario::workshop();
    /// assert_eq!(scenario.unit(), Unit::Sequences);
    /// scenario.task.kind = TaskKind::Dpo;
    /// assert_eq!(scenario.unit(), Unit::Pairs);
    /// scenario.task.kind = TaskKind::Train;
    /// scenario.lengths.batching = Batching::Packed;
    /// assert_eq!(scenario.unit(), Unit::Rows);
    /// ```
    pub fn unit(&self) -> Unit {
        match self.method {
            _ if self.batching() == Batching::Packed => Unit::Rows,
            Method::Ledger => self.task.kind.unit(),
            Method::Workshop | Method::Paper => Unit::Sequences,
        }
    }

    /// The same run as next-token training of as many sequences: what a layer keeps, whatever stands beside the step.
    pub fn without_task(&self) -> Self {
        let mut plain = *self;
        plain.recipe.batch = plain.recipe.batch.saturating_mul(self.unit().sequences());
        plain.task.kind = TaskKind::Train;
        plain
    }

    /// The target in what the micro-batch counts; of tokens it is as many as hold them, rounded up.
    pub fn target(&self) -> u32 {
        self.goal.sequences(self.recipe.sequence.saturating_mul(self.unit().sequences()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchUnit, Choice, Goal};

    #[test]
    fn a_pair_takes_the_tokens_of_two_sequences_of_a_target() {
        let goal = Goal { global_batch: 2048 * 64, unit: BatchUnit::Tokens };
        let mut scenario = Scenario { goal, ..Scenario::workshop() };
        assert_eq!(scenario.target(), 64);
        scenario.task.kind = TaskKind::Dpo;
        assert_eq!(scenario.target(), 32);
        scenario.task.kind = TaskKind::Grpo;
        assert_eq!(scenario.target(), 64);
        scenario.goal = Goal { global_batch: 64, unit: BatchUnit::Sequences };
        scenario.task.kind = TaskKind::Reward;
        assert_eq!(scenario.target(), 64);
    }

    #[test]
    fn pairs_are_twice_as_many_sequences_of_a_plain_run() {
        let mut scenario = Scenario::workshop().with_batch(3);
        scenario.task.kind = TaskKind::Dpo;
        assert_eq!(scenario.without_task(), Scenario::workshop().with_batch(6));
        scenario.task.kind = TaskKind::Grpo;
        assert_eq!(scenario.without_task(), Scenario::workshop().with_batch(3));
    }

    #[test]
    fn packed_lengths_count_rows_where_they_are_counted() {
        let mut scenario = Scenario::workshop();
        scenario.lengths.batching = Batching::Flattened;
        assert_eq!(scenario.unit(), Unit::Sequences);
        scenario.lengths.batching = Batching::Packed;
        for method in Method::ALL {
            assert_eq!(Scenario { method: *method, ..scenario }.unit(), Unit::Rows, "{method}");
        }
        // Tasks are counted with equal lengths, and so is context parallelism.
        scenario.task.kind = TaskKind::Dpo;
        assert_eq!(scenario.unit(), Unit::Pairs);
        scenario.task.kind = TaskKind::Train;
        scenario.cluster.context_parallel = 2;
        assert_eq!(scenario.unit(), Unit::Sequences);
    }

    #[test]
    fn a_method_that_knows_no_tasks_counts_sequences() {
        let mut scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        scenario.task.kind = TaskKind::Dpo;
        assert_eq!(scenario.unit(), Unit::Sequences);
    }
}
