//! What is not counted outside the step, or not there.

use super::Conflicts;
use crate::estimator::counted::outside::{can_evaluate, can_generate, divides_weights, is_counted_with};
use crate::{
    Adapter, Engine, Evaluation, Gather, Gathered, Load, LossHead, Merge, Method, Resume, Save, Scenario, Switch,
    TaskKind, choice::Choice, setting::Word,
};

impl Conflicts {
    /// Evaluation, checkpoints and merging are counted by the ledger alone, on data-parallel devices.
    pub(super) fn outside(&mut self, scenario: &Scenario) {
        let outside = &scenario.outside;
        if !outside.is_on() {
            return;
        }
        if scenario.method != Method::Ledger {
            let message = "The workshop’s and the paper’s methods know one training step and nothing outside it; the \
                           ledger counts evaluation, checkpoints and merging.";
            return self.uncounted(Word::Method(Method::Ledger), message);
        }
        if !is_counted_with(scenario) {
            let message = "Outside the step only data-parallel GPUs under PyTorch and DeepSpeed are counted, without \
                           tensor, pipeline and context parallelism: leave it out here.";
            for (is_on, word) in [
                (outside.evaluation != Evaluation::Off, Word::Evaluation(Evaluation::Off)),
                (outside.gather != Gather::Off, Word::Gather(Gather::Off)),
                (outside.save != Save::Off, Word::Save(Save::Off)),
                (outside.load != Load::Off, Word::Load(Load::Off)),
                (outside.resume != Resume::Off, Word::Resume(Resume::Off)),
                (outside.merge != Merge::Off, Word::Merge(Merge::Off)),
            ] {
                if is_on {
                    self.uncounted(word, message);
                }
            }
            return;
        }
        self.evaluation(scenario);
        self.checkpoints(scenario);
    }

    fn evaluation(&mut self, scenario: &Scenario) {
        let (outside, recipe) = (&scenario.outside, &scenario.recipe);
        if outside.evaluation == Evaluation::Off {
            return;
        }
        if scenario.task.kind != TaskKind::Train {
            let name = scenario.task.kind.label();
            let message = format!("{name} is evaluated in a way of its own, which is not counted.");
            return self.uncounted(Word::Evaluation(Evaluation::Off), message);
        }
        if !can_evaluate(scenario) {
            let message = "transformers evaluates with plain logits or with Liger’s head; other heads are not counted \
                           without gradients.";
            return self.uncounted(Word::Evaluation(Evaluation::Off), message);
        }
        if outside.eval_generate == Switch::On && !can_generate(scenario) {
            let message = "Only a model that predicts the next token generates.";
            self.word(Word::EvalGenerate(Switch::Off), message);
        }
        if outside.evaluation == Evaluation::Logits && recipe.loss == LossHead::Classifier {
            let message = "A classifier puts out one number for each class, which takes no room worth counting.";
            self.uncounted(Word::Evaluation(Evaluation::Loss), message);
        }
    }

    fn checkpoints(&mut self, scenario: &Scenario) {
        let (outside, adapter) = (&scenario.outside, scenario.recipe.adapter);
        if scenario.cluster.engine == Engine::DeepSpeed {
            if outside.gather == Gather::Gpu {
                let message = "DeepSpeed gathers module by module and moves each to CPU memory.";
                self.word(Word::Gather(Gather::Cpu), message);
            }
            if outside.gather != Gather::Off && outside.gathered == Gathered::All {
                let message = "DeepSpeed gathers no optimizer state: each GPU writes its own part.";
                self.word(Word::Gathered(Gathered::Weights), message);
            }
            if matches!(outside.resume, Resume::Gpu | Resume::Init) {
                let message = "DeepSpeed reads each GPU’s part of the state by way of CPU memory.";
                self.word(Word::Resume(Resume::Cpu), message);
            }
        }
        if outside.load == Load::Gpu && adapter.is_quantized() {
            let message = "Quantized weights are made matrix by matrix as they are read; a whole checkpoint beside \
                           them is not counted.";
            self.uncounted(Word::Load(Load::Cpu), message);
        }
        if outside.merge == Merge::Off {
            return;
        }
        if adapter == Adapter::None {
            self.word(Word::Merge(Merge::Off), "Without adapters there is nothing to merge.");
        } else if divides_weights(scenario) {
            let message = "peft merges into whole matrices; weights that GPUs divide are merged after training, on one \
                           of them.";
            self.word(Word::Merge(Merge::Off), message);
        } else if outside.merge == Merge::Whole && !adapter.is_quantized() {
            self.word(Word::Merge(Merge::On), "Weights that are not quantized need not be dequantized.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::{Change, Field};

    fn evaluated() -> Scenario {
        let mut scenario = ledger();
        scenario.outside.evaluation = Evaluation::Logits;
        scenario
    }

    #[test]
    fn every_switch_goes_with_the_defaults_that_have_what_it_needs() {
        let mut scenario = evaluated();
        scenario.outside.eval_generate = Switch::On;
        scenario.outside.gather = Gather::Gpu;
        scenario.outside.gathered = Gathered::All;
        scenario.outside.save = Save::Async;
        scenario.outside.load = Load::Gpu;
        scenario.outside.resume = Resume::Init;
        assert_eq!(scenario.conflicts(), []);
        scenario.recipe.adapter = Adapter::Lora;
        scenario.cluster.zero = crate::ZeroStage::Stage0;
        scenario.outside.merge = Merge::Safe;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn the_older_accounts_lead_to_the_ledger() {
        let scenario = Scenario { method: Method::Paper, ..evaluated() };
        assert_eq!(only(scenario).mend, Change::Word(Word::Method(Method::Ledger)));
    }

    #[test]
    fn a_pipeline_is_refused_for_each_switch_that_is_on() {
        let mut scenario = evaluated();
        scenario.cluster.zero = crate::ZeroStage::Stage1;
        scenario.cluster.pipeline_parallel = 4;
        scenario.recipe.micro_batches = 4;
        assert_eq!(only(scenario).mend, Change::Word(Word::Evaluation(Evaluation::Off)));
        scenario.outside.save = Save::Sync;
        let found = scenario.conflicts();
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|conflict| conflict.message.contains("data-parallel")));
    }

    #[test]
    fn tasks_evaluate_in_their_own_way_and_save_as_others_do() {
        let mut scenario = evaluated();
        scenario.task.kind = TaskKind::Grpo;
        assert_eq!(only(scenario).mend, Change::Word(Word::Evaluation(Evaluation::Off)));
        scenario.outside.evaluation = Evaluation::Off;
        scenario.outside.save = Save::Sync;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn what_has_nothing_to_merge_is_refused() {
        let mut scenario = ledger();
        scenario.outside.merge = Merge::On;
        assert!(only(scenario).message.contains("nothing to merge"));
        scenario.recipe.adapter = Adapter::Lora;
        scenario.cluster.zero = crate::ZeroStage::Stage3;
        assert!(only(scenario).message.contains("whole matrices"));
        scenario.cluster.zero = crate::ZeroStage::Stage0;
        scenario.outside.merge = Merge::Whole;
        assert_eq!(only(scenario).mend, Change::Word(Word::Merge(Merge::On)));
    }

    #[test]
    fn deepspeed_is_led_to_what_it_does() {
        let mut scenario = ledger();
        scenario.cluster.engine = Engine::DeepSpeed;
        scenario.outside.gather = Gather::Gpu;
        assert_eq!(only(scenario).mend, Change::Word(Word::Gather(Gather::Cpu)));
        scenario.outside.gather = Gather::Off;
        scenario.outside.resume = Resume::Init;
        assert_eq!(only(scenario).mend, Change::Word(Word::Resume(Resume::Cpu)));
    }

    #[test]
    fn a_scenario_with_all_switches_off_has_no_conflict_of_its_numbers() {
        let scenario = ledger().with_number(Field::EvalSteps, 3.0).expect("in range");
        assert_eq!(scenario.conflicts(), []);
    }
}
