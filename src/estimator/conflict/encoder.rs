//! What no program here does with an encoder before the decoder.

use super::Conflicts;
use crate::{Change, Engine, Field, LossHead, Method, Scenario, Switch, TaskKind, choice::Choice, setting::Word};

impl Conflicts {
    /// An encoder with a decoder is counted by the ledger alone, as transformers runs it.
    pub(super) fn encoder(&mut self, scenario: &Scenario) {
        let (recipe, cluster) = (&scenario.recipe, &scenario.cluster);
        if !scenario.model.encoder.is_there() {
            return;
        }
        if scenario.method != Method::Ledger {
            let message = "The workshop’s and the paper’s methods know one stack of layers; the ledger counts an \
                           encoder with its decoder.";
            return self.uncounted(Word::Method(Method::Ledger), message);
        }
        if scenario.task.kind != TaskKind::Train {
            let message = format!(
                "{} is counted as trl runs it, which trains decoders; an encoder before one is not counted there.",
                scenario.task.kind.label()
            );
            self.uncounted(Word::Task(TaskKind::Train), message);
        }
        for (field, size, message) in [
            (
                Field::PipelineParallel,
                cluster.pipeline_parallel,
                "Where a pipeline is cut between encoder and decoder is the program’s own choice; Megatron-LM’s for T5 \
                 is not counted.",
            ),
            (
                Field::ContextParallel,
                cluster.context_parallel,
                "Two sequences of different lengths are not divided over GPUs by any program that is counted here.",
            ),
            (
                Field::Experts,
                scenario.model.experts.count.saturating_add(1),
                "Experts in an encoder with a decoder, as in Switch Transformers, are not counted.",
            ),
            (
                Field::KvRank,
                scenario.model.latent.kv_rank.saturating_add(1),
                "Latent attention to an encoder is not counted.",
            ),
        ] {
            if size > 1 {
                let nearest = u32::from(!matches!(field, Field::Experts | Field::KvRank));
                self.uncounted(Change::Number(field, nearest.into()), message);
            }
        }
        if cluster.sequence_parallel == Switch::On && cluster.tensor_parallel > 1 {
            let message = "Sequence parallelism of an encoder with a decoder is not counted.";
            self.uncounted(Word::SequenceParallel(Switch::Off), message);
        }
        if !matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed) {
            let message = "torchtitan has no encoder with a decoder, and Megatron-LM’s T5 is not counted; transformers \
                           runs on PyTorch and on DeepSpeed.";
            self.uncounted(Word::Engine(Engine::Torch), message);
        }
        if matches!(recipe.loss, LossHead::MaskedLm | LossHead::Classifier) {
            let message = "A decoder behind an encoder predicts each next token; masked words and classes are heads of \
                           an encoder alone.";
            self.word(Word::Loss(LossHead::Plain), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::{Change, catalogue};

    fn t5() -> Scenario {
        catalogue::model("t5-base").expect("listed").apply(ledger())
    }

    #[test]
    fn an_encoder_with_a_decoder_goes_with_the_defaults() {
        for slug in ["t5-base", "flan-t5-xl", "bart-large", "whisper-large-v3"] {
            let mut scenario = catalogue::model(slug).expect("listed").apply(ledger());
            // As many as Whisper has learned; BART has 1,024, and T5 learns none.
            scenario.recipe.sequence = 448;
            assert_eq!(scenario.conflicts(), [], "{slug}");
        }
    }

    #[test]
    fn the_older_accounts_refuse_it_and_lead_to_the_ledger() {
        for method in [Method::Workshop, Method::Paper] {
            let conflict = only(Scenario { method, ..t5() });
            assert_eq!(conflict.mend, Change::Word(Word::Method(Method::Ledger)));
        }
    }

    #[test]
    fn a_pipeline_is_refused_in_words() {
        let mut scenario = t5();
        scenario.cluster.zero = crate::ZeroStage::Stage1;
        scenario.cluster.pipeline_parallel = 4;
        scenario.recipe.micro_batches = 4;
        let conflict = only(scenario);
        assert_eq!(conflict.mend, Change::Number(Field::PipelineParallel, 1.0));
        assert!(conflict.message.contains("Megatron-LM"), "{}", conflict.message);
    }

    #[test]
    fn tasks_engines_heads_and_experts_that_are_not_counted_are_refused() {
        let mut scenario = t5();
        scenario.task.kind = TaskKind::Dpo;
        assert_eq!(only(scenario).mend, Change::Word(Word::Task(TaskKind::Train)));
        let mut scenario = t5();
        scenario.cluster.engine = Engine::Torchtitan;
        assert_eq!(only(scenario).mend, Change::Word(Word::Engine(Engine::Torch)));
        let mut scenario = t5();
        scenario.recipe.loss = LossHead::Classifier;
        assert_eq!(only(scenario).mend, Change::Word(Word::Loss(LossHead::Plain)));
        let mut scenario = t5();
        scenario.model.experts = crate::Experts { count: 8, active: 1, ..crate::Experts::NONE };
        assert_eq!(only(scenario).mend, Change::Number(Field::Experts, 0.0));
    }
}
