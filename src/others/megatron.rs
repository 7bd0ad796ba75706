//! The report that Megatron-LM prints when training begins, `--log-memory-to-tensorboard` or not: "Theoretical memory
//! footprints". It calls MiB MB.
//!
//! With N weights on the fullest GPU, model states are 18·N bytes, or (6 + 12/D)·N under the distributed optimizer. Of
//! the activations there are two formulas. With sequence parallelism *and* selective recomputation it is that of
//! Korthikanti et al., s·b·h·(18 + 4f/h) a layer, divided by T. In all other cases it is s·b·h·(10 + 24/T) a layer and
//! 5 % more for all of it: with no recomputation as with full.

use super::{Covers, Largest, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::input::Input;
use crate::{Norm, Recomputation, Scenario, ZeroStage, setting};

/// `use_distributed_optimizer` is the first stage; the formula knows no other.
static LATER_STAGES: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::ZERO),
    is_asked: |s| s.cluster.zero > ZeroStage::Stage1 && s.cluster.data_parallel() > 1,
};

/// Recomputation other than the selective one that the formula has is the same to it as none.
static RECOMPUTATION: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::RECOMPUTATION),
    is_asked: |s| s.recipe.recomputation != Recomputation::None && !is_selective(s),
};

/// Rows of the embedding are padded to a multiple of this and T: `make_vocab_size_divisible_by`, at its default
/// (`megatron/training/vocab_utils.py`).
const ROWS: u64 = 128;

pub(super) static OTHER: Other = Other {
    key: "megatron",
    name: "Megatron-LM",
    origin: Origin {
        url: "https://github.com/NVIDIA/Megatron-LM",
        place: "megatron/training/theoretical_memory_usage.py: report_theoretical_memory",
        commit: "1bcb3b9e0b029c6109d8d32872645bd540052963",
        date: "2026-06-15",
    },
    printed: Some(Printed { unit: Unit::Mib, label: "MB" }),
    covers: Covers::Step,
    why: "Without sequence parallelism and selective recomputation together it takes 34 bytes a token and hidden \
          element, plus 5 %, with no recomputation as with full, and 2 bytes a logit; grouped keys, gates and experts \
          change the weights only.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::CONTEXT,
        &LATER_STAGES,
        &inputs::OPTIMIZER,
        &inputs::NOT_MIXED,
        &inputs::OFFLOAD,
    ],
    ignores: &[
        &RECOMPUTATION,
        &inputs::FLASH_UNLESS_RECOMPUTED,
        &inputs::NO_DROPOUT,
        &inputs::HALF_GRADIENTS,
        &inputs::LOSS,
        &inputs::FIRST_STAGE,
        &inputs::LAST_STAGE,
    ],
    count,
    largest: Some(|scenario| Largest::within(scenario, count)),
};

fn count(scenario: &Scenario) -> Memory {
    let activations = if is_selective(scenario) { selective(scenario) } else { any_other(scenario) };
    Memory::sum(vec![part("Weights, gradients and optimizer", states(scenario)), part("Activations", activations)])
}

/// Whether the first of the two formulas of activations is taken. Megatron-LM turns sequence parallelism off on a
/// single tensor-parallel GPU.
fn is_selective(scenario: &Scenario) -> bool {
    let cluster = &scenario.cluster;
    scenario.recipe.recomputation == Recomputation::Selective
        && cluster.tensor_parallel > 1
        && cluster.sequence_parallel.is_on()
}

fn padded_vocabulary(scenario: &Scenario) -> f64 {
    let multiple = ROWS * u64::from(scenario.cluster.tensor_parallel.max(1));
    (u64::from(scenario.model.vocabulary).div_ceil(multiple) * multiple) as f64
}

/// `compute_weight_and_optimizer_memory`.
fn states(scenario: &Scenario) -> f64 {
    let (model, cluster) = (&scenario.model, &scenario.cluster);
    let [h, f, n, k, d] =
        [model.hidden, model.feed_forward, model.heads, model.kv_heads, model.head_dim].map(f64::from);
    let [t, p] = [cluster.tensor_parallel, cluster.pipeline_parallel].map(|size| f64::from(size.max(1)));
    let gate = if model.mlp.is_gated() { 1.5 } else { 1.0 };
    let norm_size = match model.norm {
        Norm::RmsNorm | Norm::RmsNormFull | Norm::LayerNormFull => 1.0,
        Norm::LayerNorm | Norm::Plain => 2.0,
    };
    let latent = [model.latent.query_rank, model.latent.kv_rank, model.latent.rope_dim].map(f64::from);
    let attention = match latent {
        [_, 0.0, _] => 2.0 * h * n * d * (1.0 + k / n),
        [query_rank, kv_rank, rope] => {
            let queries =
                if query_rank == 0.0 { h * n * (d + rope) } else { query_rank * (h + n * (d + rope) + norm_size) };
            queries + kv_rank * (h + n * (d + d) + norm_size) + h * rope + n * d * h
        }
    };
    let dense_mlp = 2.0 * h * f * gate;
    let norms = 2.0 * h * norm_size;
    let experts = &model.experts;
    let layers = f64::from(model.layers);
    let (dense_layers, expert_layers) = if experts.count > 0 {
        let dense = f64::from(experts.dense_layers.min(model.layers));
        (dense, layers - dense)
    } else {
        (layers, 0.0)
    };
    let [count, width, shared] = [experts.count, model.expert_width(), experts.shared_width].map(f64::from);
    let shared_experts = 2.0 * h * shared * gate;
    let routed_experts = 2.0 * h * width * count * gate;
    let bias = if model.bias == crate::Bias::All { 1.0 } else { 0.0 };
    let router = h * count + bias * count;

    let embedding = h * padded_vocabulary(scenario);
    let mut split = (attention + dense_mlp) * dense_layers + (attention + shared_experts) * expert_layers;
    let replicated = (norms * dense_layers + (norms + router) * expert_layers + norm_size * h) / p;
    // The fullest GPU has its part of the layers and one embedding; without a pipeline the head as well.
    split = split / p + embedding;
    if p == 1.0 && !model.tied_embeddings.is_on() {
        split += embedding;
    }
    split /= t;
    // Experts are divided over tensor-parallel GPUs as everything else: expert_tensor_parallel_size is T by default.
    let expert_group = t * f64::from(cluster.expert_parallel.max(1));
    let routed = routed_experts * expert_layers / p / expert_group;
    let bytes = |data_parallel: f64| match cluster.zero {
        ZeroStage::Stage0 => 18.0,
        _ => 6.0 + 12.0 / data_parallel,
    };
    let expert_data_parallel = (f64::from(cluster.gpus) / (expert_group * p)).floor().max(1.0);
    (split + replicated) * bytes(f64::from(cluster.data_parallel())) + routed * bytes(expert_data_parallel)
}

/// s·b, h, L, T and P.
fn sizes(scenario: &Scenario) -> [f64; 5] {
    let tokens = f64::from(scenario.recipe.sequence) * f64::from(scenario.recipe.batch);
    let cluster = &scenario.cluster;
    let [t, p] = [cluster.tensor_parallel, cluster.pipeline_parallel].map(|size| f64::from(size.max(1)));
    [tokens, f64::from(scenario.model.hidden), f64::from(scenario.model.layers), t, p]
}

/// What of the micro-batches that the first stage may hold it does hold, over one of every layer.
fn in_flight(scenario: &Scenario) -> f64 {
    let [.., p] = sizes(scenario);
    let chunks = f64::from(scenario.cluster.virtual_stages);
    if p == 1.0 {
        1.0
    } else if chunks > 1.0 {
        1.0 + (p - 1.0) / (p * chunks)
    } else {
        (f64::from(scenario.recipe.micro_batches) / p).min(1.0)
    }
}

/// `compute_activation_memory`: table 2 of Korthikanti et al. for selective recomputation with sequence parallelism.
fn selective(scenario: &Scenario) -> f64 {
    let [tokens, h, layers, t, p] = sizes(scenario);
    let layer = tokens * h * (18.0 + 4.0 * f64::from(scenario.model.feed_forward) / h);
    // The token ids that the embedding reads, at 8 bytes, and the mask of its dropout.
    let blocks = (layer * layers + 8.0 * tokens * p + tokens * h * p) * in_flight(scenario);
    let head = if p == 1.0 { tokens * h * 4.0 * (1.0 + padded_vocabulary(scenario) / h) } else { 0.0 };
    (blocks + head) / t
}

/// `compute_activation_memory_without_sp`.
fn any_other(scenario: &Scenario) -> f64 {
    let [tokens, h, layers, t, p] = sizes(scenario);
    let layer = tokens * h * (10.0 + 24.0 / t);
    let blocks = (layer * layers + 8.0 * tokens * p + tokens * h * p) * in_flight(scenario);
    let head = if p == 1.0 { 2.0 * (tokens * padded_vocabulary(scenario) / t + tokens * h) } else { 0.0 };
    1.05 * (blocks + head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    /// Both parts in MiB, to a hundredth, as the program prints them.
    fn printed(query: &str) -> [String; 2] {
        let read = link::decode(query);
        assert_eq!(read.notices, [], "{query}");
        let row = OTHER.row(&read.scenario);
        let memory = row.memory.expect("it has all inputs");
        [0, 1].map(|part: usize| format!("{:.2}", memory.parts[part].bytes.mib()))
    }

    #[test]
    fn it_prints_what_the_program_prints() {
        // `report_theoretical_memory` at the commit, called with these arguments. Llama 3.1 8B has 128,256 rows, which
        // 128·T divides.
        let llama = "model=llama-3.1-8b&s=4096&b=1&precision=bf16";
        assert_eq!(printed(&format!("{llama}&recompute=none&gpus=8&zero=1")), ["57436.90", "19380.93"]);
        let selective = format!("{llama}&recompute=selective&sp=on&tp=2");
        assert_eq!(printed(&format!("{selective}&gpus=8&zero=1")), ["34463.29", "9234.02"]);
        let pipeline = format!("{selective}&pp=4&gpus=16&zero=0&accum=8&vpp=2");
        assert_eq!(printed(&pipeline), ["19486.14", "11308.09"]);
        let without = format!("{llama}&recompute=selective&sp=off&tp=2&pp=4&gpus=16&zero=0&accum=2");
        assert_eq!(printed(&without), ["19486.14", "5947.27"]);
        let mixtral = "model=mixtral-8x7b&s=4096&b=1&precision=bf16&recompute=full&ep=8&gpus=64&zero=1";
        assert_eq!(printed(mixtral), ["49794.63", "18591.33"]);
        // With latent attention and a dense first layer.
        let deepseek = "model=deepseek-v2&s=4096&b=1&precision=bf16&recompute=full&ep=8&gpus=64&zero=1";
        assert_eq!(printed(deepseek), ["275977.16", "43743.03"]);
    }

    #[test]
    fn the_programs_own_test_of_experts_holds() {
        // tests/unit_tests/training/test_weight_and_optimizer_memory.py at d98e8a64ddf3, its first test, with the
        // experts' T that a scenario has: 2 for its 4, so that EDP = 64 / 2 / 2 / 2 = 8. H 8, 2 layers, one of them
        // with experts, P 2, T 2, EP 2, D 16.
        let mut scenario = link::decode("v=3&precision=bf16&zero=1&gpus=64&tp=2&pp=2&ep=2&recompute=none").scenario;
        scenario.model = crate::Model {
            hidden: 8,
            layers: 2,
            heads: 2,
            kv_heads: 2,
            head_dim: 4,
            feed_forward: 16,
            vocabulary: 32,
            mlp: crate::Mlp::Gelu,
            norm: Norm::RmsNorm,
            bias: crate::Bias::None,
            tied_embeddings: crate::Switch::On,
            experts: crate::Experts { count: 4, active: 1, width: 16, shared_width: 8, dense_layers: 1 },
            latent: crate::Latent::NONE,
            ..scenario.model
        };
        // The 32 rows are padded to 256 = 128·T here, where the test gives the padded number: 8·256 = 2048.
        let split = ((256.0 + 256.0 + 256.0 + 128.0) / 2.0 + 2048.0) / 2.0;
        let replicated = (16.0 + 16.0 + 32.0 + 8.0) / 2.0;
        let experts = 1024.0 / 2.0 / (2.0 * 2.0);
        let expected = (split + replicated) * (6.0 + 12.0 / 16.0) + experts * (6.0 + 12.0 / 8.0);
        assert_eq!(states(&scenario), expected);
    }

    #[test]
    fn no_recomputation_and_full_recomputation_are_the_same_to_it() {
        let of = |recompute| printed(&format!("model=llama-3.1-8b&b=3&precision=bf16&zero=1&recompute={recompute}"));
        assert_eq!(of("none"), of("full"));
    }
}
