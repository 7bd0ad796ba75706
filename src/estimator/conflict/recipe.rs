//! What a recipe asks of its model.

use super::Conflicts;
use crate::{Adapter, Field, Precision, Recomputation, Scenario, setting};

impl Conflicts {
    pub(super) fn recipe(&mut self, scenario: &Scenario) {
        let (recipe, layers) = (&scenario.recipe, scenario.model.layers);
        let every = recipe.every;
        match recipe.recomputation {
            Recomputation::EveryK if every > layers => {
                let message = format!("There are {layers} layers, so that no {every} can be computed again together.");
                self.number(Field::Every, layers, message);
            }
            Recomputation::KthLayer if every > layers => {
                let message =
                    format!("Of {layers} layers none is the {every}th, so that nothing would be computed again.");
                self.number(Field::Every, layers, message);
            }
            Recomputation::Block if recipe.recomputed_layers > layers => {
                let first = recipe.recomputed_layers;
                let message = format!("A model of {layers} layers has no first {first}; {layers} are all of them.");
                self.number(Field::RecomputedLayers, layers, message);
            }
            _ => {}
        }
        let sixteen = matches!(recipe.precision, Precision::Bf16 | Precision::Fp16 | Precision::PureBf16);
        if recipe.adapter == Adapter::LoraFp32 && sixteen {
            let message = "Frozen weights in fp32 cannot be multiplied with 16-bit activations unless autocast casts \
                           them; LoRA on 16-bit weights can.";
            self.word(&setting::ADAPTER, "lora", message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Mend;
    use super::super::tests::{ledger, only};
    use super::*;

    #[test]
    fn no_more_layers_are_recomputed_than_there_are() {
        let mut scenario = ledger();
        scenario.recipe.every = 33;
        scenario.recipe.recomputed_layers = 40;
        assert_eq!(scenario.conflicts(), []);
        for recomputation in [Recomputation::EveryK, Recomputation::KthLayer] {
            scenario.recipe.recomputation = recomputation;
            assert_eq!(only(scenario).mend, Mend::Number(Field::Every, 32.0), "{recomputation:?}");
        }
        scenario.recipe.recomputation = Recomputation::Block;
        assert_eq!(only(scenario).mend, Mend::Number(Field::RecomputedLayers, 32.0));
    }

    #[test]
    fn fp32_weights_under_a_16_bit_recipe_are_led_to_16_bits() {
        let mut scenario = ledger();
        scenario.recipe.adapter = Adapter::LoraFp32;
        assert_eq!(only(scenario).mend, Mend::Word(&setting::ADAPTER, "lora"));
        scenario.recipe.precision = Precision::Autocast;
        assert_eq!(scenario.conflicts(), []);
    }
}
