//! What lengths that vary do not go together with.

use super::Conflicts;
use crate::estimator::text::{counted, grouped};
use crate::{
    AttentionKernel, Batching, Engine, Field, LossHead, Method, Scenario, TaskKind, choice::Choice, setting::Word,
};

impl Conflicts {
    /// Lengths that vary are counted as collators of transformers and trl make them into a micro-batch.
    pub(super) fn lengths(&mut self, scenario: &Scenario) {
        let Scenario { lengths, recipe, cluster, .. } = scenario;
        let batching = lengths.batching;
        if batching == Batching::Equal {
            return;
        }
        if lengths.median > lengths.p95 {
            let message = format!(
                "Half of the sequences cannot be longer than the 95th percentile of {}; it is at least the median.",
                counted(lengths.p95, "token", "tokens")
            );
            self.number(Field::LengthP95, lengths.median, message);
        }
        let most = lengths.p95.max(lengths.median);
        if lengths.longest > 0 && most > lengths.longest {
            let message = format!(
                "The longest sequence of {} is shorter than others of {most}; it is at least as long.",
                counted(lengths.longest, "token", "tokens"),
                most = grouped(most)
            );
            self.number(Field::LengthMax, most, message);
        }
        let equal = Word::Lengths(Batching::Equal);
        let kind = scenario.task.kind;
        if kind != TaskKind::Train {
            let message = format!(
                "Lengths that vary are counted for training on the next token; {} is counted with equal lengths, of \
                 which S is the longest.",
                kind.label()
            );
            self.uncounted(equal, message);
            return;
        }
        if scenario.method != Method::Ledger {
            return;
        }
        if cluster.context_parallel > 1 {
            self.word(equal, "GPUs that share the tokens of a sequence need one length; S is the longest then.");
        } else if !matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed) {
            self.word(
                equal,
                "Megatron-LM and torchtitan train on rows of S tokens, which documents fill: that is equal lengths.",
            );
        } else if cluster.pipeline_parallel > 1 && batching != Batching::Packed {
            self.word(
                equal,
                "The stages of a pipeline send tensors of one shape, which only equal or packed rows have.",
            );
        } else if batching.is_flat() && matches!(recipe.loss, LossHead::Classifier | LossHead::MaskedLm) {
            let message =
                "A classifier and BERT’s head read a row for each sequence; one row of several is not counted.";
            self.uncounted(Word::Lengths(Batching::Padded), message);
        } else if batching.is_flat() && recipe.attention == AttentionKernel::Eager {
            let message = "Eager attention would store the scores of every token of the row against every other. Only \
                           kernels that know where a document begins take one row of several.";
            self.word(Word::Attention(AttentionKernel::Flash), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::Change;

    fn varied(batching: Batching) -> Scenario {
        let mut scenario = ledger();
        scenario.lengths.batching = batching;
        scenario
    }

    const VARIED: [Batching; 4] = [Batching::Padded, Batching::Bucketed, Batching::Flattened, Batching::Packed];

    #[test]
    fn every_way_goes_with_the_defaults() {
        for batching in Batching::ALL {
            assert_eq!(varied(*batching).conflicts(), [], "{batching}");
        }
    }

    #[test]
    fn percentiles_are_in_order() {
        let mut scenario = varied(Batching::Padded);
        scenario.lengths.median = 2_000;
        assert_eq!(only(scenario).mend, Change::Number(Field::LengthP95, 2_000.0));
        scenario.lengths.median = 256;
        scenario.lengths.longest = 500;
        assert_eq!(only(scenario).mend, Change::Number(Field::LengthMax, 640.0));
        scenario.lengths.batching = Batching::Equal;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn what_needs_one_shape_is_led_to_equal_lengths() {
        for batching in VARIED {
            let equal = Change::Word(Word::Lengths(Batching::Equal));
            let mut scenario = varied(batching);
            scenario.cluster.context_parallel = 2;
            assert_eq!(only(scenario).mend, equal, "{batching}");
            let mut scenario = varied(batching);
            scenario.cluster.engine = Engine::Torchtitan;
            assert!(scenario.conflicts().iter().any(|conflict| conflict.mend == equal), "{batching}");
            let mut scenario = varied(batching);
            scenario.task.kind = TaskKind::Dpo;
            assert_eq!(only(scenario).mend, equal, "{batching}");
            let mut scenario = varied(batching);
            scenario.cluster.zero = crate::ZeroStage::Stage1;
            scenario.cluster.pipeline_parallel = 4;
            scenario.recipe.micro_batches = 4;
            if batching == Batching::Packed {
                assert_eq!(scenario.conflicts(), []);
            } else {
                assert_eq!(only(scenario).mend, equal, "{batching}");
            }
        }
    }

    #[test]
    fn one_row_of_several_documents_needs_a_kernel_that_knows_them() {
        for batching in VARIED {
            let mut scenario = varied(batching);
            scenario.recipe.attention = AttentionKernel::Eager;
            if batching.is_flat() {
                let conflict = only(scenario);
                assert_eq!(conflict.mend, Change::Word(Word::Attention(AttentionKernel::Flash)));
                let [with, without] = [conflict.mend.apply(scenario), scenario];
                assert_eq!(crate::largest_micro_batch(&without), crate::largest_micro_batch(&with));
            } else {
                assert_eq!(scenario.conflicts(), []);
            }
            let mut scenario = varied(batching);
            scenario.recipe.loss = LossHead::Classifier;
            if batching.is_flat() {
                assert_eq!(only(scenario).mend, Change::Word(Word::Lengths(Batching::Padded)));
            }
        }
    }
}
