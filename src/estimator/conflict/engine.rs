//! What the engines have and have not.

use super::{Conflicts, nearest_divisor};
use crate::estimator::text::grouped;
use crate::{Adapter, Engine, Field, Precision, Scenario, Switch, ZeroStage, setting::Word};

impl Conflicts {
    pub(super) fn engine(&mut self, scenario: &Scenario) {
        let (cluster, recipe) = (&scenario.cluster, &scenario.recipe);
        let shares = cluster.data_parallel().saturating_mul(cluster.context_parallel);
        match cluster.engine {
            Engine::Torchtitan if cluster.zero == ZeroStage::Stage1 && shares > 1 => {
                let message = "torchtitan shards with FSDP, which has no ZeRO 1: weights and gradients are divided as \
                               well. Stage 2 keeps gathered weights from the forward to the backward pass.";
                self.word(Word::Zero(ZeroStage::Stage2), message);
            }
            Engine::DeepSpeed if recipe.precision == Precision::Mixed => {
                let message = "“mixed” is what FSDP does, with fp32 weights and nothing else; DeepSpeed keeps 16-bit \
                               weights and an fp32 copy.";
                self.word(Word::Precision(Precision::Bf16), message);
            }
            _ => {}
        }
        // PyTorch’s autocast holds its casts until the forward pass ends (aten/src/ATen/autocast_mode.cpp), and FSDP
        // lets go of the weights they were made of.
        let of_torch = cluster.engine.is_torch();
        let gathers = cluster.zero == ZeroStage::Stage3 && shares > 1;
        if of_torch && gathers && recipe.precision == Precision::Autocast && recipe.adapter == Adapter::None {
            let message = "Autocast keeps a 16-bit copy of every weight until the forward pass ends, though ZeRO 3 has \
                           let go of the weights; FSDP’s own “mixed” casts what it gathers and keeps none.";
            self.word(Word::Precision(Precision::Mixed), message);
        }
        let group = cluster.reshard;
        if gathers && group > 1 && group < shares && shares % group != 0 {
            let nearest = nearest_divisor(shares, group, Field::Reshard);
            let message = format!(
                "{shares} GPUs do not divide into groups of {group}; groups of {nearest} would do.",
                shares = grouped(shares),
                group = grouped(group),
                nearest = grouped(nearest)
            );
            self.number(Field::Reshard, nearest, message);
        }
        if cluster.engine == Engine::DeepSpeed {
            self.deepspeed(scenario);
        }
    }

    /// How DeepSpeed divides matrices and sequences: by its AutoTP and by Ulysses.
    fn deepspeed(&mut self, scenario: &Scenario) {
        let cluster = &scenario.cluster;
        let (divides_matrices, context) = (cluster.tensor_parallel > 1, cluster.context_parallel);
        // `_configure_tensor_parallel_states` in deepspeed/runtime/engine.py: an assertion on the stage up to 0.19.3, which
        // pull request 8168 took away. The pipeline goes with stage 1 at most and says so itself.
        if divides_matrices && cluster.zero == ZeroStage::Stage3 && cluster.pipeline_parallel == 1 {
            let message = "DeepSpeed before 0.19.4 refuses tensor parallelism beside ZeRO 3, and what later versions hold \
                           then is not counted; stage 2 goes with it in all of them.";
            // Weights in CPU memory want stage 3, so that there tensor parallelism gives way.
            if scenario.recipe.offload.takes_parameters() {
                self.number(Field::TensorParallel, 1, message.to_owned());
            } else {
                self.word(Word::Zero(ZeroStage::Stage2), message);
            }
        }
        // `LinearLayer` and `LinearAllreduce` of deepspeed/module_inject/layers.py, 0.19.8, take and give whole tensors.
        if divides_matrices && cluster.sequence_parallel == Switch::On {
            let message = "DeepSpeed’s tensor parallelism does not divide what lies between the matrices; Megatron-LM’s and \
                           torchtitan’s do.";
            self.word(Word::SequenceParallel(Switch::Off), message);
        }
        if context == 1 {
            return;
        }
        // AutoTP puts its own groups in the place of those that Ulysses passes as `mpu` (`self.mpu = groups` in
        // runtime/engine.py, 0.19.8), and a pipeline takes none (`assert mpu is None` in deepspeed/__init__.py).
        if divides_matrices || cluster.pipeline_parallel > 1 {
            let message = "DeepSpeed divides sequences by Ulysses, which goes with neither its tensor parallelism nor its \
                           pipeline.";
            self.number(Field::ContextParallel, 1, message.to_owned());
            return;
        }
        // `_validate_zero3_moe_compatibility` in runtime/engine.py, 0.19.8.
        if cluster.expert_parallel > 1 && cluster.zero == ZeroStage::Stage3 && scenario.model.experts.count > 0 {
            let message = "DeepSpeed divides experts or sequences under ZeRO 3, and not both.";
            self.number(Field::ContextParallel, 1, message.to_owned());
            return;
        }
        // `UlyssesSPAttentionHF` in runtime/sequence_parallel/ulysses_sp.py, 0.19.8.
        let heads = scenario.model.heads;
        if !heads.is_multiple_of(context) {
            let nearest = nearest_divisor(heads, context, Field::ContextParallel);
            let message = format!(
                "DeepSpeed’s Ulysses hands whole heads to the GPUs that share a sequence; {heads} do not divide over \
                 {context}, and over {nearest} they do.",
                heads = grouped(heads),
                context = grouped(context),
                nearest = grouped(nearest)
            );
            self.number(Field::ContextParallel, nearest, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::Change;

    #[test]
    fn an_engine_is_led_to_a_zero_stage_that_it_has() {
        let mut scenario = ledger();
        scenario.cluster.engine = Engine::Torchtitan;
        scenario.cluster.zero = ZeroStage::Stage1;
        assert_eq!(only(scenario).mend, Change::Word(Word::Zero(ZeroStage::Stage2)));
        scenario.cluster.gpus = 1;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn deepspeed_is_led_to_a_precision_that_it_has() {
        let mut scenario = ledger();
        scenario.cluster.engine = Engine::DeepSpeed;
        scenario.recipe.precision = Precision::Mixed;
        assert_eq!(only(scenario).mend, Change::Word(Word::Precision(Precision::Bf16)));
    }

    #[test]
    fn deepspeed_divides_matrices_beside_zero_2_at_most_and_nothing_between_them() {
        let mut scenario = ledger();
        scenario.cluster.engine = Engine::DeepSpeed;
        scenario.cluster.tensor_parallel = 2;
        assert_eq!(only(scenario).mend, Change::Word(Word::Zero(ZeroStage::Stage2)));
        for stage in [ZeroStage::Stage0, ZeroStage::Stage1, ZeroStage::Stage2] {
            scenario.cluster.zero = stage;
            assert_eq!(scenario.conflicts(), []);
        }
        scenario.cluster.sequence_parallel = Switch::On;
        assert_eq!(only(scenario).mend, Change::Word(Word::SequenceParallel(Switch::Off)));
        // FSDP does all of it.
        scenario.cluster.engine = Engine::Torch;
        scenario.cluster.zero = ZeroStage::Stage3;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn deepspeed_divides_sequences_by_whole_heads_and_nothing_beside_them() {
        let mut scenario = ledger();
        scenario.cluster.engine = Engine::DeepSpeed;
        scenario.cluster.context_parallel = 2;
        assert_eq!(scenario.conflicts(), []);
        let one = Change::Number(Field::ContextParallel, 1.0);
        let mut both = scenario;
        both.cluster.zero = ZeroStage::Stage2;
        both.cluster.tensor_parallel = 2;
        assert_eq!(only(both).mend, one);
        let mut staged = scenario;
        staged.cluster.zero = ZeroStage::Stage1;
        staged.cluster.pipeline_parallel = 2;
        staged.recipe.micro_batches = 2;
        assert_eq!(only(staged).mend, one);
        let mut experts = scenario;
        experts.model.experts = crate::Experts { count: 8, active: 2, ..crate::Experts::NONE };
        experts.cluster.expert_parallel = 2;
        assert_eq!(only(experts).mend, one);
        experts.cluster.zero = ZeroStage::Stage2;
        assert_eq!(experts.conflicts(), []);
        scenario.model.heads = 9;
        scenario.model.kv_heads = 9;
        scenario.recipe.sequence = 2_048;
        assert_eq!(only(scenario).mend, one);
    }

    #[test]
    fn autocast_beside_fsdp_is_led_to_fsdp_s_own_casts() {
        let mut scenario = ledger();
        scenario.recipe.precision = Precision::Autocast;
        assert_eq!(only(scenario).mend, Change::Word(Word::Precision(Precision::Mixed)));
        // Nothing of frozen 16-bit weights is cast.
        scenario.recipe.adapter = Adapter::Lora;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn groups_of_resharding_divide_the_gpus() {
        let mut scenario = ledger();
        scenario.cluster.reshard = 3;
        assert_eq!(only(scenario).mend, Change::Number(Field::Reshard, 2.0));
        scenario.cluster.reshard = 4;
        assert_eq!(scenario.conflicts(), []);
    }
}
