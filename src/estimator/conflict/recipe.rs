//! What a recipe asks of its model.

use super::Conflicts;
use crate::estimator::text::{counted, grouped};
use crate::{Adapter, Field, Precision, Recomputation, Scenario, setting::Word};

impl Conflicts {
    pub(super) fn recipe(&mut self, scenario: &Scenario) {
        let (recipe, layers) = (&scenario.recipe, longest_stage(scenario));
        let every = recipe.every;
        let whole = layers == scenario.model.layers;
        match recipe.recomputation {
            Recomputation::EveryK if every > layers => {
                let there = if whole { "The model has" } else { "A stage has" };
                let there = format!("{there} {}", counted(layers, "layer", "layers"));
                let message =
                    format!("{there}, so that no {every} can be computed again together.", every = grouped(every));
                self.number(Field::Every, layers, message);
            }
            Recomputation::KthLayer if every > layers => {
                let of_stage = if whole { "" } else { " of a stage" };
                let message = format!(
                    "Of {}{of_stage} none is number {every}, so that nothing would be computed again.",
                    counted(layers, "layer", "layers"),
                    every = grouped(every)
                );
                self.number(Field::Every, layers, message);
            }
            Recomputation::Block if recipe.recomputed_layers > layers => {
                let first = recipe.recomputed_layers;
                let what = if whole { "model" } else { "stage" };
                let all = counted(layers, "layer", "layers");
                let message = format!(
                    "A {what} of {all} has no first {first}; all of them is {layers}.",
                    first = grouped(first),
                    layers = grouped(layers)
                );
                self.number(Field::RecomputedLayers, layers, message);
            }
            _ => {}
        }
        let sixteen = matches!(recipe.precision, Precision::Bf16 | Precision::Fp16 | Precision::PureBf16);
        if recipe.adapter == Adapter::LoraFp32 && sixteen {
            let message = "Frozen weights in fp32 cannot be multiplied with 16-bit activations unless autocast casts \
                           them; LoRA on 16-bit weights can.";
            self.word(Word::Adapter(Adapter::Lora), message);
        }
    }
}

/// Layers of the pipeline stage that has most of them; all without pipeline.
fn longest_stage(scenario: &Scenario) -> u32 {
    let (cluster, layers) = (&scenario.cluster, scenario.model.layers);
    let stages = cluster.pipeline_parallel.clamp(1, layers.max(1));
    if stages == 1 {
        return layers;
    }
    let named = [cluster.first_stage_layers, cluster.last_stage_layers];
    let others = stages - named.iter().filter(|layers| **layers > 0).count() as u32;
    let left = layers.saturating_sub(named.iter().sum());
    let of_others = if others > 0 { left.div_ceil(others).max(1) } else { 0 };
    named.into_iter().fold(of_others, u32::max).min(layers)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::Change;

    #[test]
    fn no_more_layers_are_recomputed_than_there_are() {
        let mut scenario = ledger();
        scenario.recipe.every = 33;
        scenario.recipe.recomputed_layers = 40;
        assert_eq!(scenario.conflicts(), []);
        for recomputation in [Recomputation::EveryK, Recomputation::KthLayer] {
            scenario.recipe.recomputation = recomputation;
            assert_eq!(only(scenario).mend, Change::Number(Field::Every, 32.0), "{recomputation:?}");
        }
        scenario.recipe.recomputation = Recomputation::Block;
        assert_eq!(only(scenario).mend, Change::Number(Field::RecomputedLayers, 32.0));
    }

    #[test]
    fn no_more_layers_are_recomputed_than_a_stage_has() {
        // 32 layers on four stages are eight each, or 5, 9, 9 and 9.
        let mut scenario = ledger();
        scenario.cluster.zero = crate::ZeroStage::Stage1;
        scenario.cluster.pipeline_parallel = 4;
        scenario.recipe.micro_batches = 4;
        scenario.recipe.every = 9;
        scenario.recipe.recomputation = Recomputation::KthLayer;
        let conflict = only(scenario);
        assert_eq!(conflict.mend, Change::Number(Field::Every, 8.0));
        assert!(conflict.message.contains("Of 8 layers of a stage none is number 9"), "{}", conflict.message);
        scenario.cluster.first_stage_layers = 5;
        assert_eq!(scenario.conflicts(), []);
        scenario.recipe.recomputation = Recomputation::Block;
        scenario.recipe.recomputed_layers = 10;
        assert_eq!(only(scenario).mend, Change::Number(Field::RecomputedLayers, 9.0));
    }

    #[test]
    fn fp32_weights_under_a_16_bit_recipe_are_led_to_16_bits() {
        let mut scenario = ledger();
        scenario.recipe.adapter = Adapter::LoraFp32;
        assert_eq!(only(scenario).mend, Change::Word(Word::Adapter(Adapter::Lora)));
        scenario.recipe.precision = Precision::Autocast;
        assert_eq!(scenario.conflicts(), []);
    }
}
