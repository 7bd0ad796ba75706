//! EleutherAI's `calc_transformer_mem.py`, of the cookbook that goes with "Transformer Math 101". It prints GiB.
//!
//! Its own count of parameters has both embeddings, a table of positions and LayerNorms. Weights are divided by T·P, and
//! under ZeRO-3 by all GPUs once more; gradients and optimizer state by all GPUs from their stage on, and by nothing
//! before. Activations are those of Korthikanti et al. on one GPU, with or without the scores.

use super::{Covers, Largest, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::input::Input;
use crate::{GradientType, Optimizer, Precision, Recomputation, Scenario, ZeroStage, setting};

/// `--optimizer` takes these.
static OPTIMIZER: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::OPTIMIZER),
    is_asked: |s| !matches!(s.recipe.optimizer, Optimizer::AdamW | Optimizer::Muon | Optimizer::Momentum),
};

/// Elements of the all-gather bucket, `--zero-allgather-bucket-size`, and the parameters that ZeRO-3 keeps,
/// `--zero3-max-live-params`, at their defaults.
const BUCKET: f64 = 5e8;
const LIVE: f64 = 1e9;

pub(super) static OTHER: Other = Other {
    key: "eleuther",
    name: "EleutherAI cookbook",
    origin: Origin {
        url: "https://github.com/EleutherAI/cookbook",
        place: "calc/calc_transformer_mem.py: calc_mem",
        commit: "827ee3b293a63f14403f1467d08c91fda213f4e6",
        date: "2026-03-15",
    },
    printed: Some(Printed { unit: Unit::Gib, label: "GiB" }),
    covers: Covers::Step,
    why: "It shards by all GPUs instead of the data-parallel ones, leaves gradients and optimizer state whole under \
          tensor and pipeline parallelism, takes full recomputation for the selective one, and counts no logits.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::SHARED_EXPERTS,
        &inputs::DENSE_LAYERS,
        &inputs::LATENT,
        &inputs::CONTEXT,
        &OPTIMIZER,
        &inputs::PURE,
        &inputs::OFFLOAD,
        &inputs::FINER_RECOMPUTATION,
    ],
    ignores: &[
        &inputs::RECIPE,
        &inputs::TIED,
        &inputs::HEAD_DIM,
        &inputs::RESHARD,
        &inputs::VIRTUAL,
        &inputs::FLASH_UNLESS_RECOMPUTED,
        &inputs::NO_DROPOUT,
        &inputs::LOSS,
    ],
    count,
    largest: Some(|scenario| Largest::within(scenario, count)),
};

fn count(scenario: &Scenario) -> Memory {
    let (model, recipe, cluster) = (&scenario.model, &scenario.recipe, &scenario.cluster);
    let [h, layers, n, k, v] =
        [model.hidden, model.layers, model.heads, model.kv_heads, model.vocabulary].map(f64::from);
    let [s, b] = [recipe.sequence, recipe.batch].map(f64::from);
    let [t, p, gpus] = [cluster.tensor_parallel, cluster.pipeline_parallel, cluster.gpus].map(|x| f64::from(x.max(1)));

    let (experts, width) = match model.experts.count {
        0 => (1.0, model.feed_forward),
        count => (f64::from(count) / f64::from(cluster.expert_parallel.max(1)), model.expert_width()),
    };
    let attention = (2.0 * (1.0 + k / n) * layers * h * h).floor();
    let mlp = f64::from(model.mlp.matrices()) * layers * h * f64::from(width);
    let others = 2.0 * v * h + h * s + 8.0 * h * layers + 2.0 * h;
    let parameters = others + attention + experts * mlp;

    // --disable-mixed-precision changes the weights alone: activations stay at the low precision’s bytes.
    let weight_bytes = if recipe.precision == Precision::Fp32 { 4.0 } else { 2.0 };
    let gradient_bytes = match (recipe.precision, recipe.gradients) {
        (Precision::Bf16 | Precision::Fp16, GradientType::Half) => 2.0,
        _ => 4.0,
    };
    let state_bytes = if recipe.optimizer == Optimizer::AdamW { 12.0 } else { 8.0 };
    let from = |stage: ZeroStage| if cluster.zero >= stage { gpus } else { 1.0 };
    let buffers = match cluster.zero {
        _ if gpus == 1.0 => 0.0,
        ZeroStage::Stage0 => 0.0,
        ZeroStage::Stage1 | ZeroStage::Stage2 => BUCKET,
        ZeroStage::Stage3 => BUCKET + LIVE,
    };
    let scores = match recipe.recomputation {
        Recomputation::None => 5.0 * n * s / h,
        _ => 0.0,
    };
    // --partition-activations divides them by T; sequence parallelism is the nearest to it here.
    let partitions = if cluster.sequence_parallel.is_on() { t } else { 1.0 };
    Memory::sum(vec![
        part("Activations", s * b * h * layers * (34.0 + scores) / partitions),
        part("Weights", parameters * weight_bytes / (t * p) / from(ZeroStage::Stage3)),
        part("Gradients", parameters * gradient_bytes / from(ZeroStage::Stage2)),
        part("Optimizer state", parameters * state_bytes / from(ZeroStage::Stage1)),
        part("Communication", buffers * weight_bytes),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    /// Every part and the total in GiB, to a hundredth, as the program prints them.
    fn printed(query: &str, width: u32) -> Vec<String> {
        let read = link::decode(query);
        assert_eq!(read.notices, [], "{query}");
        let mut scenario = read.scenario;
        scenario.model.feed_forward = width;
        let memory = OTHER.row(&scenario).memory.expect("it has all inputs");
        let sizes = memory.parts.iter().map(|part| part.bytes).chain([memory.total]);
        sizes.map(|bytes| format!("{:.2}", bytes.gib())).collect()
    }

    #[test]
    fn it_prints_what_the_program_prints_for_its_own_examples() {
        // The examples of the README, run at the commit: activations, model, gradients, optimizer, communication, and
        // "Per-GPU Memory Required for Training". Its defaults are a vocabulary of 51,200 and fp32 gradients.
        let own = "model=own&mlp=gelu&vocab=51200&precision=bf16&grad=32&zero=1";
        let pythia = "&s=2048&layers=32&heads=32&kv=32&hidden=4096&head_dim=128&b=8&recompute=full&sp=on&tp=2&gpus=128";
        let expected = ["34.00", "6.40", "25.60", "0.60", "0.93", "67.53"];
        assert_eq!(printed(&format!("{own}{pythia}"), 16_384), expected);
        let neox = "&s=2048&layers=44&heads=64&kv=64&hidden=6144&head_dim=96&b=1&recompute=full&gpus=1";
        let expected = ["17.53", "38.32", "76.65", "229.95", "0.00", "362.45"];
        assert_eq!(printed(&format!("{own}{neox}"), 24_576), expected);
        let llama = "&s=4096&layers=32&heads=32&kv=32&hidden=4096&head_dim=128&b=1&recompute=none&gpus=1";
        let expected = ["97.00", "11.81", "23.63", "70.89", "0.00", "203.33"];
        assert_eq!(printed(&format!("{own}{llama}"), 14_336), expected);
    }

    #[test]
    fn it_prints_what_the_program_prints_for_experts() {
        // The program with --ffn-expansion-factor=3.5 --num-mlp-linears=3 --kv-size-ratio=0.25 --num-experts=8
        // --expert-parallelism=2 --zero-stage=3 --num-gpus=8 --vocab-size=32000 and 4,096 tokens.
        let mixtral = "model=mixtral-8x7b&s=4096&b=1&precision=bf16&grad=32&recompute=none&zero=3&gpus=8&ep=2";
        let expected = ["97.00", "5.63", "11.26", "33.77", "2.79", "150.44"];
        assert_eq!(printed(mixtral, 14_336), expected);
    }
}
