//! DeepSpeed's `estimate_zero2_model_states_mem_needs` and `estimate_zero3_model_states_mem_needs`: the model states of
//! stages 2 and 3, and nothing else. They divide by 2³⁰ and print GB.
//!
//! P parameters on N GPUs: stage 2 has 2·P + 18·P/N bytes, or 2·P with the optimizer in the host's memory. Stage 3 has
//! 4 bytes for each parameter of the largest layer, and beside them 18·P/N, or 2·P/N with the optimizer in the host's
//! memory, or nothing with the parameters there as well. A layer is a module without its children.

use super::{Covers, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::input::Input;
use crate::{Bias, Offload, Packing, Scenario, Weights, ZeroStage, setting};

/// There is no function for stage 1, and none is needed for stage 0.
static EARLIER_STAGES: inputs::Absent =
    inputs::Absent { input: Input::Word(&setting::ZERO), is_asked: |s| s.cluster.zero < ZeroStage::Stage2 };

/// Only the function for stage 3 has parameters in the host's memory.
static OFFLOADED_PARAMETERS: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::OFFLOAD),
    is_asked: |s| s.recipe.offload.takes_parameters() && s.cluster.zero < ZeroStage::Stage3,
};

pub(super) static OTHER: Other = Other {
    key: "deepspeed",
    name: "DeepSpeed",
    origin: Origin {
        url: "https://github.com/deepspeedai/DeepSpeed",
        place: "deepspeed/runtime/zero/stage_1_and_2.py and stage3.py: estimate_zero2_model_states_mem_needs, \
                estimate_zero3_model_states_mem_needs",
        commit: "edaa7221267243c7be7fb49c5d5f5c4fb97b4641",
        date: "2026-08-22",
    },
    printed: Some(Printed { unit: Unit::Gib, label: "GB" }),
    covers: Covers::ModelStates,
    why: "It counts model states alone, 2 + 18 bytes a parameter with gradients in 16 bits and in fp32 at once, and \
          leaves activations, logits and buckets to the reader.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::TENSOR,
        &inputs::PIPELINE,
        &inputs::CONTEXT,
        &inputs::EXPERT_PARALLEL,
        &EARLIER_STAGES,
        &OFFLOADED_PARAMETERS,
        &inputs::OPTIMIZER,
        &inputs::NOT_MIXED,
    ],
    ignores: &[&inputs::RECIPE, &inputs::GRADIENTS, &inputs::RESHARD, &inputs::OFFLOADED_ACTIVATIONS],
    count,
    largest: None,
};

fn count(scenario: &Scenario) -> Memory {
    let parameters = scenario.model.derived_parameters() as f64;
    let gpus = f64::from(scenario.cluster.gpus.max(1));
    states(scenario.cluster.zero, scenario.recipe.offload, parameters, largest_layer(scenario), gpus)
}

/// The two functions, for so many parameters, so many of them in the largest layer, on so many GPUs.
fn states(stage: ZeroStage, offload: Offload, parameters: f64, largest_layer: f64, gpus: f64) -> Memory {
    // Both functions cut what is left of a division to whole bytes.
    let shard = |bytes: f64| (bytes * parameters / gpus).floor();
    let layer = part("Largest layer", 4.0 * largest_layer);
    Memory::sum(match (stage, offload.takes_optimizer()) {
        (ZeroStage::Stage3, _) if offload.takes_parameters() => vec![layer],
        (ZeroStage::Stage3, true) => vec![layer, part("Weights, sharded", shard(2.0))],
        (ZeroStage::Stage3, false) => vec![layer, part("Model states, sharded", shard(18.0))],
        (_, true) => vec![part("Weights", 2.0 * parameters)],
        (_, false) => {
            vec![part("Weights", 2.0 * parameters), part("Gradients and optimizer state, sharded", shard(18.0))]
        }
    })
}

/// The weights of the largest module, its children left out: an embedding, a matrix with its bias, or the
/// experts of a layer, which transformers 5 keeps as two stacks in one module.
fn largest_layer(scenario: &Scenario) -> f64 {
    let model = &scenario.model;
    let [h, f, d, n, k] =
        [model.hidden, model.feed_forward, model.head_dim, model.heads, model.kv_heads].map(u64::from);
    let weights = Weights::of(model);
    let query = n * d;
    let projection = match model.packing {
        Packing::Packed | Packing::PackedGate => query + 2 * k * d,
        Packing::Separate => query,
    };
    let with_bias = |rows: u64, columns: u64, biased: bool| rows * columns + if biased { columns } else { 0 };
    let attention = with_bias(h, projection, model.bias != Bias::None);
    let mlp = if weights.dense_layers > 0 { with_bias(h, f, model.bias == Bias::All) } else { 0 };
    let experts = if weights.expert_layers > 0 { weights.experts * weights.expert } else { 0 };
    weights.embedding.max(weights.positions).max(attention).max(mlp).max(experts) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, link};

    #[test]
    fn it_prints_the_numbers_of_the_documentation() {
        // docs/code-docs/source/memory.rst: t5-3b with 2,851 million parameters, 32 million in its largest layer, on
        // 8 GPUs.
        let of = |stage, offload| format!("{:.2}", states(stage, offload, 2_851e6, 32e6, 8.0).total.gib());
        assert_eq!(of(ZeroStage::Stage3, Offload::None), "6.09");
        assert_eq!(of(ZeroStage::Stage3, Offload::Optimizer), "0.78");
        assert_eq!(of(ZeroStage::Stage3, Offload::Parameters), "0.12");
        assert_eq!(of(ZeroStage::Stage2, Offload::Optimizer), "5.31");
        // The documentation still prints 15.93, by the rule before pull request 5099. The code: 2 · 2,851e6 +
        // 18 · 2,851e6 / 8 = 12,116,750,000 bytes.
        assert_eq!(of(ZeroStage::Stage2, Offload::None), "11.28");
    }

    #[test]
    fn it_prints_the_worked_example_of_the_documentation() {
        // The same page works t5-large out on 4 GPUs, cut to whole MiB: of 737.67 million parameters 32.90 are in the
        // largest layer; 3291 MB with everything on the GPUs, 477 MB with the optimizer on the host.
        let of = |offload| states(ZeroStage::Stage3, offload, 737.67e6, 32.90e6, 4.0).total.mib().floor();
        assert_eq!([of(Offload::None), of(Offload::Optimizer)], [3_291.0, 477.0]);
    }

    #[test]
    fn of_a_model_it_takes_the_weights_and_the_largest_matrix() {
        // The functions themselves, called with 6,738,415,616 parameters and 32,000 · 4,096 in the largest layer.
        let of = |query: &str| {
            let scenario = link::decode(&format!("model=llama-2-7b&gpus=8&{query}")).scenario;
            OTHER.row(&scenario).memory.expect("it has all inputs").total.gib()
        };
        assert_eq!(of("zero=3"), 14.608468055725098);
        assert_eq!(of("zero=3&offload=optimizer"), 2.0571908950805664);
        assert_eq!(of("zero=2"), 26.67146396636963);
        assert_eq!(of("zero=2&offload=optimizer"), 12.551277160644531);
    }

    #[test]
    fn parameters_on_the_host_leave_the_largest_layer_at_stage_3_and_are_unknown_to_stage_2() {
        let of = |query: &str| {
            let scenario = link::decode(&format!("model=llama-2-7b&gpus=8&engine=deepspeed&{query}")).scenario;
            OTHER.row(&scenario).memory
        };
        // 4 · 32,000 · 4,096 bytes.
        for offload in ["parameters", "everything"] {
            assert_eq!(of(&format!("zero=3&offload={offload}")).expect("it has").total.get(), 524_288_000.0);
        }
        assert_eq!(of("zero=2&offload=parameters").expect_err("it has not").input.key(), "offload");
    }

    #[test]
    fn it_has_no_function_for_stage_1() {
        let scenario = Scenario { model: crate::catalogue::DEFAULT_MODEL.model, ..link::decode("v=3&zero=1").scenario };
        assert_eq!(OTHER.row(&scenario).memory.expect_err("there is none").input.key(), "zero");
    }
}
