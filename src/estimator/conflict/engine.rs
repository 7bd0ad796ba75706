//! What the engines have and have not.

use super::{Conflicts, nearest_divisor};
use crate::{Adapter, Engine, Field, Precision, Scenario, ZeroStage, setting::Word};

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
            let message = format!("{shares} GPUs do not divide into groups of {group}; groups of {nearest} would do.");
            self.number(Field::Reshard, nearest, message);
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
