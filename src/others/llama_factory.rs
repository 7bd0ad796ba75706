//! LLaMA-Factory's table "Hardware Requirement", which calls itself estimated: so many GB for a model of x billion
//! parameters, by the way of training. Its GB are 10⁹ bytes, since x billion parameters of 18 bytes are 18·x of them.
//!
//! The last column has the rule, `18x`GB to `x/4`GB, which is recomputed here. The numbers of the other columns are
//! rounded, by up to a third: 7B has 120 GB in full training for 126, 16 for 14 with LoRA, 6 for 3.5 with QLoRA.

use super::{Covers, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::input::Input;
use crate::{Adapter, Optimizer, Precision, Scenario, setting};

/// Beside Adam the table names GaLore and APOLLO, in the row of LoRA.
static OPTIMIZER: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::OPTIMIZER),
    is_asked: |s| s.recipe.optimizer != Optimizer::AdamW && !s.recipe.optimizer.projects(),
};

pub(super) static OTHER: Other = Other {
    key: "llama-factory",
    name: "LLaMA-Factory’s table",
    origin: Origin {
        url: "https://github.com/hiyouga/LlamaFactory",
        place: "README.md: Hardware Requirement",
        commit: "ff6d4d12eeb035d6ce06805a5733dd7b29f2ac30",
        date: "2026-08-18",
    },
    printed: Some(Printed { unit: Unit::Gb, label: "GB" }),
    covers: Covers::Step,
    why: "It has one number of bytes a parameter for each way of training, with any batch, length, rank and \
          recomputation.",
    lacks: &[
        &inputs::FP32_ADAPTER,
        &inputs::TENSOR,
        &inputs::PIPELINE,
        &inputs::CONTEXT,
        &inputs::EXPERT_PARALLEL,
        &inputs::SHARDED,
        &OPTIMIZER,
        &inputs::FP32,
        &inputs::OFFLOAD,
    ],
    ignores: &[&inputs::RECIPE, &inputs::HALF_GRADIENTS, &inputs::RECOMPUTATION, &inputs::FLASH, &inputs::LOSS],
    count,
    largest: None,
};

fn count(scenario: &Scenario) -> Memory {
    let bytes = match (scenario.recipe.adapter, scenario.recipe.precision) {
        (Adapter::None, _) if scenario.recipe.optimizer.projects() => 2.0,
        (Adapter::None, Precision::PureBf16) => 8.0,
        (Adapter::None, _) => 18.0,
        (Adapter::Lora | Adapter::LoraFp32, _) => 2.0,
        (Adapter::Lora8, _) => 1.0,
        (Adapter::Qlora, _) => 0.5,
    };
    Memory::sum(vec![part("All of it", bytes * scenario.model.parameters as f64)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    #[test]
    fn it_prints_the_last_column_of_the_table() {
        // `18x`, `8x`, `2x`, `x` and `x/2` GB for x = 70.
        let expected = [
            ("precision=bf16", 1_260.0),
            ("precision=bf16-pure", 560.0),
            ("adapter=lora", 140.0),
            ("precision=bf16-pure&optimizer=galore", 140.0),
            ("precision=bf16-pure&optimizer=apollo", 140.0),
            ("adapter=lora-8bit", 70.0),
            ("adapter=qlora", 35.0),
        ];
        for (query, gb) in expected {
            let scenario = link::decode(&format!("model=70b&gpus=1&{query}")).scenario;
            let memory = OTHER.row(&scenario).memory.expect("it has all inputs");
            assert_eq!(memory.total.gb(), gb, "{query}");
        }
    }
}
