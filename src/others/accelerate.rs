//! `accelerate estimate-memory`, and the Space hf-accelerate/model-memory-usage, which shows the same table: "Training
//! using Adam", for a model that transformers' `AutoModel` loads, which has no output head. The program divides by
//! 1024 as often as it can and prints MB, GB or TB.
//!
//! With M bytes of weights in fp32 it has, in fp32, a model of M, gradients of M, an optimizer of 2·M and a step of 4·M;
//! at 16 bits a model of M, gradients of 1.5·M, an optimizer of 2·M and a step of 2·M. It prints the largest of the four.

use super::{Covers, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::{Precision, Scenario, Weights};

pub(super) static OTHER: Other = Other {
    key: "accelerate",
    name: "accelerate estimate-memory",
    origin: Origin {
        url: "https://github.com/huggingface/accelerate",
        place: "src/accelerate/commands/estimate.py: estimate_training_usage, estimate_command",
        commit: "7ed69be06304b0b8833e0faf877a1df60b4b623e",
        date: "2026-02-27",
    },
    printed: Some(Printed { unit: Unit::Power1024, label: "GB" }),
    covers: Covers::ModelStates,
    why: "It takes the largest of weights, gradients, optimizer state and step instead of their sum, which leaves 8 \
          bytes a parameter at 16 bits, and has no place for a batch, a length or a second GPU.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::TENSOR,
        &inputs::PIPELINE,
        &inputs::CONTEXT,
        &inputs::EXPERT_PARALLEL,
        &inputs::SHARDED,
        &inputs::OPTIMIZER,
        &inputs::PURE,
        &inputs::OFFLOAD,
    ],
    ignores: &[&inputs::GRADIENTS],
    count,
    largest: None,
};

fn count(scenario: &Scenario) -> Memory {
    let weights = Weights::of(&scenario.model);
    let model = 4.0 * (weights.total() - weights.head) as f64;
    training(model, scenario.recipe.precision == Precision::Fp32)
}

/// `estimate_training_usage` of a model of so many bytes in fp32, and the largest of what it returns.
fn training(model: f64, is_full: bool) -> Memory {
    let (gradients, step) = if is_full { (model, 4.0 * model) } else { (1.5 * model, 2.0 * model) };
    let parts =
        vec![part("Model", model), part("Gradients", gradients), part("Optimizer", 2.0 * model), part("Step", step)];
    // The step is never the smallest of them, and at 16 bits as large as the optimizer.
    Memory::total(step, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    #[test]
    fn it_prints_the_table_of_the_documentation() {
        // docs/source/usage_guides/model_size_estimator.md: bert-base-cased, 413.18 MB in fp32, needs 1.61 GB in fp32
        // and 826.36 MB at 16 bits.
        let bert = 413.18 * 1_048_576.0;
        assert_eq!(format!("{:.2}", training(bert, true).total.gib()), "1.61");
        assert_eq!(format!("{:.2}", training(bert, false).total.mib()), "826.36");
    }

    #[test]
    fn the_loaded_model_has_no_head() {
        // Llama 2 7B: 6,738,415,616 weights, 32,000 · 4,096 of them in the head; 8 bytes each for the others.
        let scenario = link::decode("v=3&model=llama-2-7b&gpus=1").scenario;
        let memory = OTHER.row(&scenario).memory.expect("it has all inputs");
        assert_eq!(memory.total.get(), 8.0 * (6_738_415_616_u64 - 32_000 * 4_096) as f64);
    }

    #[test]
    fn it_cannot_say_anything_of_sharded_states_nor_of_a_batch() {
        let row = |query: &str| OTHER.row(&link::decode(query).scenario);
        assert_eq!(row("gpus=8&zero=3").memory.expect_err("it has no GPUs").input.key(), "zero");
        // Replicas are all the same, so that one of eight is as the only one.
        assert!(row("gpus=8&zero=0").memory.is_ok());
        assert_eq!(row("gpus=1").largest.expect_err("it has no batch").input.key(), "b");
    }
}
