//! What a pipeline asks for.

use super::{Conflicts, common_divisor, nearest_divisor};
use crate::estimator::text::{counted, grouped};
use crate::{Change, Engine, Field, Scenario, ZeroStage, setting::Word};

impl Conflicts {
    pub(super) fn pipeline(&mut self, scenario: &Scenario) {
        let (cluster, layers) = (&scenario.cluster, scenario.model.layers);
        let stages = cluster.pipeline_parallel;
        if stages == 1 {
            return self.without_pipeline(scenario);
        }
        if stages > layers {
            let message = format!(
                "{} cannot make {stages} pipeline stages, only {layers}.",
                counted(layers, "layer", "layers"),
                stages = grouped(stages),
                layers = grouped(layers)
            );
            return self.number(Field::PipelineParallel, layers, message);
        }
        if cluster.engine == Engine::DeepSpeed && cluster.zero >= ZeroStage::Stage2 {
            let message = "DeepSpeed’s pipeline works with ZeRO 1 at most, because its stages add gradients up whole; \
                           stage 1 is what it has.";
            self.word(Word::Zero(ZeroStage::Stage1), message);
        } else if cluster.zero == ZeroStage::Stage3 {
            let message = "ZeRO 3 gathers every layer again for every micro-batch of a pipeline, which undoes it; \
                           with a pipeline stage 1 is used.";
            self.uncounted(Word::Zero(ZeroStage::Stage1), message);
        }
        self.micro_batches(scenario);
        self.uneven_stages(scenario);
        self.chunks(scenario);
    }

    fn without_pipeline(&mut self, scenario: &Scenario) {
        let cluster = &scenario.cluster;
        for (field, given, none, what) in [
            (Field::VirtualStages, cluster.virtual_stages, 1, "stages that could hold several chunks"),
            (Field::FirstStageLayers, cluster.first_stage_layers, 0, "first stage"),
            (Field::LastStageLayers, cluster.last_stage_layers, 0, "last stage"),
        ] {
            if given != none {
                let message =
                    format!("Without a pipeline there is no {what}.").replace("is no stages", "are no stages");
                self.number(field, none, message);
            }
        }
    }

    fn micro_batches(&mut self, scenario: &Scenario) {
        let (stages, given) = (scenario.cluster.pipeline_parallel, scenario.recipe.micro_batches);
        if given < stages {
            let batches = counted(given, "micro-batch", "micro-batches");
            let message = format!(
                "{batches} per step cannot keep {stages} pipeline stages busy: the answer is for {stages}, which can.",
                stages = grouped(stages)
            );
            self.uncounted(Change::Number(Field::MicroBatches, stages.into()), message);
        } else if scenario.cluster.virtual_stages > 1 && given % stages != 0 && has_chunks(scenario) {
            self.rounds(scenario);
        }
    }

    /// Interleaved schedules take micro-batches in rounds: Megatron-LM in rounds of P
    /// (`forward_backward_pipelining_with_interleaving` in megatron/core/pipeline_parallel/schedules.py,
    /// d98e8a64ddf3), PyTorch in as many equal ones as P allows (`ScheduleInterleaved1F1B` in
    /// torch/distributed/pipelining/schedules.py, 2.15).
    fn rounds(&mut self, scenario: &Scenario) {
        let (stages, given) = (scenario.cluster.pipeline_parallel, scenario.recipe.micro_batches);
        let of_torch = scenario.cluster.engine.is_torch();
        let rounds = given / stages;
        if of_torch && given % rounds == 0 {
            return;
        }
        let whole = given.next_multiple_of(stages);
        let up = if of_torch { whole.min(given.next_multiple_of(rounds)) } else { whole };
        // At the end of the range there is only the way down.
        let nearest = if Field::MicroBatches.check(up.into()).is_ok() { up } else { given - given % stages };
        let message = if of_torch {
            format!(
                "An interleaved pipeline of {stages} stages takes micro-batches in equal rounds of {stages} or more, \
                 and {given} make no {rounds} equal ones; {nearest} would do.",
                stages = grouped(stages),
                given = grouped(given),
                rounds = grouped(rounds),
                nearest = grouped(nearest)
            )
        } else {
            format!(
                "An interleaved pipeline of {stages} stages takes micro-batches in rounds of {stages}, and {given} make \
                 no whole rounds; {nearest} do.",
                stages = grouped(stages),
                given = grouped(given),
                nearest = grouped(nearest)
            )
        };
        self.number(Field::MicroBatches, nearest, message);
    }

    /// What the first and the last stage take must leave at least a layer for every other, and as many for
    /// each.
    fn uneven_stages(&mut self, scenario: &Scenario) {
        let (cluster, layers) = (&scenario.cluster, scenario.model.layers);
        let (first, last) = (cluster.first_stage_layers, cluster.last_stage_layers);
        let named = [first, last].iter().filter(|layers| **layers > 0).count() as u32;
        let others = cluster.pipeline_parallel - named;
        if named == 0 {
            return self.even_stages(scenario);
        }
        // PyTorch's and DeepSpeed's pipelines take stages of any length, and the longest is counted.
        let is_uneven = cluster.engine != Engine::Megatron;
        let fits = |first: u32, last: u32| {
            let left = layers.checked_sub(first.saturating_add(last));
            left.is_some_and(
                |left| if others == 0 { left == 0 } else { left >= others && (is_uneven || left % others == 0) },
            )
        };
        if fits(first, last) {
            return;
        }
        // The first stage is mended where it is named, or else the last.
        let (field, given) = if first > 0 { (Field::FirstStageLayers, first) } else { (Field::LastStageLayers, last) };
        let tried = |size: u32| if first > 0 { fits(size, last) } else { fits(first, size) };
        let nearest = (1..layers).filter(|size| tried(*size)).min_by_key(|size| size.abs_diff(given));
        let total = first.saturating_add(last);
        match nearest {
            Some(nearest) => {
                let stage = if first > 0 { "first" } else { "last" };
                let message = format!(
                    "With {} on the named stages, {} in all leave no even number for the other {others}; {nearest} on the \
                     {stage} stage do.",
                    counted(total, "layer", "layers"),
                    counted(layers, "layer", "layers"),
                    others = grouped(others),
                    nearest = grouped(nearest)
                );
                self.number(field, nearest, message);
            }
            None => {
                let message = format!(
                    "{} cannot be divided with {total} on the named stages.",
                    counted(layers, "layer", "layers"),
                    total = grouped(total)
                );
                self.number(field, 0, message);
            }
        }
    }

    /// Megatron-LM divides layers into equal stages unless the first or the last is named
    /// (`num_layers_in_last_pipeline_stage`, megatron/core/transformer/transformer_config.py, d98e8a64ddf3);
    /// PyTorch's and DeepSpeed's pipelines take stages of any length.
    fn even_stages(&mut self, scenario: &Scenario) {
        let (stages, layers) = (scenario.cluster.pipeline_parallel, scenario.model.layers);
        if scenario.cluster.engine != Engine::Megatron || layers % stages == 0 {
            return;
        }
        let others = stages - 1;
        let divides = |last: &u32| (layers - last).is_multiple_of(others);
        let even = layers / stages;
        if let Some(last) = (1..layers).filter(divides).min_by_key(|last| last.abs_diff(even)) {
            let message = format!(
                "{} cannot make {stages} equal stages, which Megatron-LM asks for; with {last} on the last stage the others \
                 are equal.",
                counted(layers, "layer", "layers"),
                stages = grouped(stages),
                last = grouped(last)
            );
            self.number(Field::LastStageLayers, last, message);
        }
    }

    /// v must divide the layers of every stage.
    fn chunks(&mut self, scenario: &Scenario) {
        let (cluster, layers) = (&scenario.cluster, scenario.model.layers);
        let (stages, chunks) = (cluster.pipeline_parallel, cluster.virtual_stages);
        if chunks == 1 {
            return;
        }
        if !has_chunks(scenario) {
            let message = "DeepSpeed’s pipeline has no interleaved schedule: each stage holds one chunk of layers.";
            return self.number(Field::VirtualStages, 1, message.to_owned());
        }
        let named = [cluster.first_stage_layers, cluster.last_stage_layers];
        let named = named.into_iter().filter(|layers| *layers > 0);
        let others = stages - named.clone().count() as u32;
        let left = layers.saturating_sub(named.clone().sum());
        if others > 0 && left % others != 0 {
            // Stages of different lengths hold as many chunks as the shortest has layers.
            let most = (left / others).max(1);
            if chunks > most {
                let message = format!(
                    "{} on {stages} stages cannot make {chunks} chunks of each, only {most}.",
                    counted(layers, "layer", "layers"),
                    stages = grouped(stages),
                    chunks = grouped(chunks),
                    most = grouped(most)
                );
                self.number(Field::VirtualStages, most, message);
            }
            return;
        }
        let of_others = left.checked_div(others);
        let own = named.chain(of_others).fold(0, common_divisor);
        if own % chunks != 0 {
            let nearest = nearest_divisor(own, chunks, Field::VirtualStages);
            let is_even = cluster.first_stage_layers == 0 && cluster.last_stage_layers == 0;
            let message = if is_even {
                format!(
                    "{} of a stage cannot make {chunks} equal chunks, only {nearest}.",
                    counted(own, "layer", "layers"),
                    chunks = grouped(chunks),
                    nearest = grouped(nearest)
                )
            } else {
                format!(
                    "The layers of these uneven stages cannot all make {chunks} equal chunks; {nearest} can be made.",
                    chunks = grouped(chunks),
                    nearest = grouped(nearest)
                )
            };
            self.number(Field::VirtualStages, nearest, message);
        }
    }
}

/// Whether the engine has a schedule with several chunks on a stage: DeepSpeed has `TrainSchedule` alone
/// (deepspeed/runtime/pipe/schedule.py, edaa7221267243).
fn has_chunks(scenario: &Scenario) -> bool {
    scenario.cluster.engine != Engine::DeepSpeed
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::Change;

    fn pipeline(stages: u32) -> Scenario {
        let mut scenario = ledger();
        scenario.cluster.zero = ZeroStage::Stage1;
        scenario.cluster.pipeline_parallel = stages;
        scenario.recipe.micro_batches = 8;
        scenario
    }

    #[test]
    fn zero_3_with_a_pipeline_is_led_to_stage_1() {
        let mut scenario = pipeline(2);
        scenario.cluster.zero = ZeroStage::Stage3;
        assert_eq!(only(scenario).mend, Change::Word(Word::Zero(ZeroStage::Stage1)));
        scenario.cluster.zero = ZeroStage::Stage2;
        assert_eq!(scenario.conflicts(), []);
        scenario.cluster.engine = Engine::DeepSpeed;
        assert_eq!(only(scenario).mend, Change::Word(Word::Zero(ZeroStage::Stage1)));
    }

    #[test]
    fn fewer_micro_batches_than_stages_are_said_to_be_answered_for_as_many() {
        let mut scenario = pipeline(4);
        scenario.recipe.micro_batches = 1;
        let conflict = only(scenario);
        assert_eq!(conflict.mend, Change::Number(Field::MicroBatches, 4.0));
        assert!(conflict.message.starts_with("1 micro-batch per step"), "{}", conflict.message);
        assert!(conflict.message.contains("the answer is for 4"), "{}", conflict.message);
    }

    #[test]
    fn chunks_that_do_not_divide_a_stage_are_led_to_the_nearest_that_do() {
        // 32 layers over 4 stages are 8 each.
        let mut scenario = pipeline(4);
        scenario.cluster.virtual_stages = 3;
        assert_eq!(only(scenario).mend, Change::Number(Field::VirtualStages, 2.0));
        scenario.cluster.virtual_stages = 8;
        assert_eq!(scenario.conflicts(), []);
        // PyTorch runs ten micro-batches in two rounds of five, Megatron-LM in none.
        scenario.recipe.micro_batches = 10;
        assert_eq!(scenario.conflicts(), []);
        scenario.recipe.micro_batches = 9;
        assert_eq!(only(scenario).mend, Change::Number(Field::MicroBatches, 10.0));
        scenario.cluster.engine = Engine::Megatron;
        assert_eq!(only(scenario).mend, Change::Number(Field::MicroBatches, 12.0));
    }

    #[test]
    fn uneven_stages_leave_an_even_number_of_layers_for_the_others() {
        // 32 − 5 over three stages are 9 each; 32 − 6 are none. PyTorch takes them all the same.
        let mut scenario = pipeline(4);
        scenario.cluster.first_stage_layers = 6;
        assert_eq!(scenario.conflicts(), []);
        scenario.cluster.engine = Engine::Megatron;
        scenario.cluster.first_stage_layers = 5;
        assert_eq!(scenario.conflicts(), []);
        scenario.cluster.first_stage_layers = 6;
        assert_eq!(only(scenario).mend, Change::Number(Field::FirstStageLayers, 5.0));
        assert!(only(scenario).message.contains("5 on the first stage do"), "{}", only(scenario).message);
        scenario.cluster.first_stage_layers = 0;
        scenario.cluster.last_stage_layers = 6;
        assert!(only(scenario).message.contains("5 on the last stage do"), "{}", only(scenario).message);
        scenario.cluster.last_stage_layers = 40;
        assert_eq!(only(scenario).mend, Change::Number(Field::LastStageLayers, 29.0));
        scenario.cluster.first_stage_layers = 31;
        assert_eq!(scenario.conflicts().len(), 1);
    }

    #[test]
    fn megatron_is_told_of_a_last_stage_beside_which_the_others_are_equal() {
        let mut scenario = pipeline(4);
        scenario.cluster.engine = Engine::Megatron;
        // 31 − 7 over three stages are 8 each; 8 on the last leave 23.
        scenario.model.layers = 31;
        assert_eq!(only(scenario).mend, Change::Number(Field::LastStageLayers, 7.0));
        // PyTorch takes stages of any length.
        scenario.cluster.engine = Engine::Torch;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn chunks_of_uneven_stages_divide_every_one_of_them() {
        // 4 + 8 + 8 + 12 layers: three chunks divide only the last.
        let mut scenario = pipeline(4);
        scenario.cluster.engine = Engine::Megatron;
        scenario.cluster.first_stage_layers = 4;
        scenario.cluster.last_stage_layers = 12;
        scenario.cluster.virtual_stages = 3;
        assert_eq!(only(scenario).mend, Change::Number(Field::VirtualStages, 2.0));
        scenario.cluster.virtual_stages = 4;
        assert_eq!(scenario.conflicts(), []);
        // Of 33 layers on four stages the shortest has eight.
        let mut scenario = pipeline(4);
        scenario.model.layers = 33;
        scenario.cluster.virtual_stages = 8;
        assert_eq!(scenario.conflicts(), []);
        scenario.cluster.virtual_stages = 9;
        assert_eq!(only(scenario).mend, Change::Number(Field::VirtualStages, 8.0));
    }

    #[test]
    fn chunks_are_refused_in_the_words_of_even_stages_or_of_uneven_ones() {
        let mut scenario = pipeline(4);
        scenario.cluster.virtual_stages = 3;
        assert!(only(scenario).message.starts_with("8 layers of a stage cannot make 3 equal chunks"));
        // 5 and three times 9 layers, of which only one chunk divides all.
        for (first, last) in [(5, 0), (0, 5)] {
            (scenario.cluster.first_stage_layers, scenario.cluster.last_stage_layers) = (first, last);
            let conflict = only(scenario);
            assert_eq!(conflict.mend, Change::Number(Field::VirtualStages, 1.0));
            assert!(conflict.message.starts_with("The layers of these uneven stages"), "{}", conflict.message);
        }
        // Two stages that are both named leave no layers for others.
        let mut named = pipeline(2);
        (named.cluster.first_stage_layers, named.cluster.last_stage_layers) = (20, 12);
        named.cluster.virtual_stages = 2;
        assert_eq!(named.conflicts(), []);
    }

    #[test]
    fn at_the_end_of_the_range_rounds_are_led_to_fewer_micro_batches() {
        let most = Field::MicroBatches.bound().max as u32;
        let mut scenario = pipeline(3);
        (scenario.cluster.gpus, scenario.model.layers) = (3, 30);
        scenario.cluster.engine = Engine::Megatron;
        scenario.cluster.virtual_stages = 2;
        scenario.recipe.micro_batches = most;
        // A million is 1 more than a multiple of three, and the next one is out of range.
        assert_eq!(most, 1_000_000);
        assert_eq!(only(scenario).mend, Change::Number(Field::MicroBatches, 999_999.0));
    }

    #[test]
    fn deepspeed_has_no_chunks() {
        let mut scenario = pipeline(4);
        scenario.cluster.engine = Engine::DeepSpeed;
        scenario.cluster.virtual_stages = 2;
        scenario.recipe.micro_batches = 9;
        assert_eq!(only(scenario).mend, Change::Number(Field::VirtualStages, 1.0));
    }

    #[test]
    fn stages_of_megatron_are_equal_unless_one_is_named() {
        // 30 layers on four stages: 8, 8, 8 and 6, or 7, 7, 7 and 9, of which 6 is nearer to 30 / 4 rounded down.
        let mut scenario = pipeline(4);
        scenario.model.layers = 30;
        assert_eq!(scenario.conflicts(), []);
        scenario.cluster.engine = Engine::Megatron;
        assert_eq!(only(scenario).mend, Change::Number(Field::LastStageLayers, 6.0));
    }

    #[test]
    fn what_only_a_pipeline_has_is_not_asked_of_one_stage() {
        let mut scenario = ledger();
        scenario.cluster.virtual_stages = 2;
        assert_eq!(only(scenario).mend, Change::Number(Field::VirtualStages, 1.0));
        scenario.cluster.virtual_stages = 1;
        scenario.cluster.last_stage_layers = 3;
        assert_eq!(only(scenario).mend, Change::Number(Field::LastStageLayers, 0.0));
    }
}
