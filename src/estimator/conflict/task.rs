//! What the trainers of tasks have not.

use super::Conflicts;
use crate::estimator::text::{counted, grouped};
use crate::{Adapter, Engine, Field, LossHead, Method, Reference, Scenario, TaskKind, choice::Choice, setting::Word};

impl Conflicts {
    /// A task is counted by the ledger alone, as trl runs it.
    pub(super) fn task(&mut self, scenario: &Scenario) {
        let (task, recipe, cluster) = (&scenario.task, &scenario.recipe, &scenario.cluster);
        let kind = task.kind;
        if kind == TaskKind::Train {
            return;
        }
        let name = kind.label();
        if scenario.method != Method::Ledger {
            let message = format!(
                "The workshop’s and the paper’s methods know one training step and nothing beside it; the ledger \
                 counts {name}."
            );
            self.uncounted(Word::Method(Method::Ledger), message);
            return;
        }
        self.divides_data_alone(scenario, &format!("{name} is counted as trl runs it, on data-parallel GPUs"));
        if !matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed) {
            let message = "trl runs on PyTorch’s data parallelism and on DeepSpeed; tasks on torchtitan and Megatron-LM \
                           are not counted.";
            self.uncounted(Word::Engine(Engine::Torch), message);
        }
        let is_counted = match recipe.loss {
            LossHead::Plain => true,
            LossHead::Tiled => kind.has_tiled_head(),
            _ => kind == TaskKind::Reward,
        };
        if !is_counted {
            let message = "A task has a loss of its own, which trl makes of plain logits, or for DPO and GRPO tile by tile; \
                           fused, chunked and other heads of it are not counted.";
            self.uncounted(Word::Loss(LossHead::Plain), message);
        }
        let reads = !matches!(kind, TaskKind::Reward);
        if reads
            && task.reference == Reference::Adapter
            && (recipe.adapter == Adapter::None || kind == TaskKind::Distil)
        {
            let message = if kind == TaskKind::Distil {
                "A teacher is another model than the one that is trained."
            } else {
                "Without adapters there are none to switch off: the reference is a copy."
            };
            self.word(Word::Reference(Reference::Copy), message);
        }
        if kind == TaskKind::Distil && task.reference == Reference::None {
            self.word(Word::Reference(Reference::Copy), "Distillation has no target without a teacher.");
        }
        if kind.generates() && task.completion > recipe.sequence {
            let message = format!(
                "A completion of {} does not fit into a sequence of {}; at most all of it is one.",
                counted(task.completion, "token", "tokens"),
                grouped(recipe.sequence)
            );
            self.number(Field::Completion, recipe.sequence, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::Change;

    fn dpo() -> Scenario {
        let mut scenario = ledger();
        scenario.task.kind = TaskKind::Dpo;
        scenario
    }

    #[test]
    fn every_task_goes_with_the_defaults() {
        for kind in TaskKind::ALL {
            let mut scenario = ledger();
            scenario.task.kind = *kind;
            assert_eq!(scenario.conflicts(), [], "{kind}");
        }
    }

    #[test]
    fn the_older_accounts_refuse_a_task_and_lead_to_the_ledger() {
        for method in [Method::Workshop, Method::Paper] {
            let conflict = only(Scenario { method, ..dpo() });
            assert_eq!(conflict.mend, Change::Word(Word::Method(Method::Ledger)));
            assert!(conflict.message.contains("counts DPO"), "{}", conflict.message);
        }
    }

    #[test]
    fn a_pipeline_is_refused_for_a_task_in_words() {
        let mut scenario = dpo();
        scenario.cluster.zero = crate::ZeroStage::Stage1;
        scenario.cluster.pipeline_parallel = 4;
        scenario.recipe.micro_batches = 4;
        let conflict = only(scenario);
        assert_eq!(conflict.mend, Change::Number(Field::PipelineParallel, 1.0));
        assert!(conflict.message.contains("not counted over 4 pipeline stages"), "{}", conflict.message);
    }

    #[test]
    fn a_head_that_trl_has_no_loss_for_is_refused() {
        let mut scenario = dpo();
        scenario.recipe.loss = LossHead::Fused;
        assert_eq!(only(scenario).mend, Change::Word(Word::Loss(LossHead::Plain)));
        scenario.task.kind = TaskKind::Reward;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn adapters_are_switched_off_only_where_there_are_some() {
        let mut scenario = dpo();
        scenario.task.reference = Reference::Adapter;
        assert_eq!(only(scenario).mend, Change::Word(Word::Reference(Reference::Copy)));
        assert!(only(scenario).message.starts_with("Without adapters"), "{}", only(scenario).message);
        scenario.recipe.adapter = Adapter::Lora;
        assert_eq!(scenario.conflicts(), []);
        scenario.task.kind = TaskKind::Distil;
        assert_eq!(only(scenario).mend, Change::Word(Word::Reference(Reference::Copy)));
        assert!(only(scenario).message.starts_with("A teacher is another model"), "{}", only(scenario).message);
    }

    #[test]
    fn a_completion_is_no_longer_than_its_sequence() {
        let mut scenario = Scenario { task: crate::Task { kind: TaskKind::Grpo, ..dpo().task }, ..dpo() };
        scenario.task.completion = scenario.recipe.sequence + 1;
        assert_eq!(only(scenario).mend, Change::Number(Field::Completion, scenario.recipe.sequence.into()));
        scenario.task.kind = TaskKind::Dpo;
        assert_eq!(scenario.conflicts(), []);
    }
}
