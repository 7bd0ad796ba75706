//! gpu_poor, "Can my GPU run this LLM?" (rahulschand.github.io/gpu_poor), in its training mode. It divides by 1024² and
//! prints MB.
//!
//! Everything is 16 bits wide: weights, gradients and both moments, without master weights. Gradient checkpointing
//! leaves 0.15 of the activations. LoRA has rank 8 on four H × H matrices, and quantized weights bring an addition that
//! was fitted.

use super::{Covers, Largest, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::input::Input;
use crate::{Adapter, AdapterTargets, Optimizer, Precision, Recomputation, Scenario, setting};

/// The choice has Adam, and SGD without a velocity.
static OPTIMIZER: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::OPTIMIZER),
    is_asked: |s| !matches!(s.recipe.optimizer, Optimizer::AdamW | Optimizer::Sgd),
};

/// The rank is 8.
static RANK: inputs::Absent = inputs::Absent {
    input: Input::Number(crate::Field::Rank),
    is_asked: |s| s.recipe.adapter != Adapter::None && s.recipe.rank != 8,
};

/// The targets are four matrices.
static TARGETS: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::TARGETS),
    is_asked: |s| s.recipe.adapter != Adapter::None && s.recipe.targets != AdapterTargets::Attention,
};

/// Where the fp32 copy of the weights is: nowhere.
static MASTER: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::PRECISION),
    is_asked: |s| s.recipe.adapter == Adapter::None && s.recipe.precision != Precision::PureBf16,
};

/// "cuda + other overhead", in MiB.
const OVERHEAD: f64 = 650.0;

pub(super) static OTHER: Other = Other {
    key: "gpu-poor",
    name: "gpu_poor",
    origin: Origin {
        url: "https://github.com/RahulSChand/gpu_poor",
        place: "src/App.js: getAllComputedData",
        commit: "ad2fc0ef0e6ceeb7684363504eecc3342a5e7dc4",
        date: "2024-12-03",
    },
    printed: Some(Printed { unit: Unit::Mib, label: "MB" }),
    covers: Covers::Step,
    why: "It keeps eight bytes a score, six tensors of the feed-forward width and fifteen of the hidden size in every \
          layer, takes checkpointing for 0.15 of that, has no master weights, and counts no logits.",
    lacks: &[
        &inputs::FP32_ADAPTER,
        &inputs::EXPERTS,
        &inputs::LATENT,
        &inputs::TENSOR,
        &inputs::PIPELINE,
        &inputs::CONTEXT,
        &inputs::SHARDED,
        &OPTIMIZER,
        &inputs::FP32,
        &inputs::OFFLOAD,
        &inputs::PARTIAL_RECOMPUTATION,
    ],
    ignores: &[
        &RANK,
        &TARGETS,
        &MASTER,
        &inputs::GRADIENTS,
        &inputs::TIED,
        &inputs::GROUPS,
        &inputs::HEAD_DIM,
        &inputs::NO_GATE,
        &inputs::FLASH,
        &inputs::DROPOUT,
        &inputs::LOSS,
    ],
    count,
    largest: Some(|scenario| Largest::within(scenario, count)),
};

fn count(scenario: &Scenario) -> Memory {
    let (model, recipe) = (&scenario.model, &scenario.recipe);
    let [h, f, layers, n, v] =
        [model.hidden, model.feed_forward, model.layers, model.heads, model.vocabulary].map(f64::from);
    let [s, b] = [recipe.sequence, recipe.batch].map(f64::from);
    let parameters = 2.0 * v * h + layers * (4.0 * h * h + 3.0 * f * h);

    let half = 2.0 * parameters;
    // `convertToMBModelSize`: 6 % for what quantization adds, and for QLoRA a little less than a quarter.
    let weights = match recipe.adapter {
        Adapter::Lora8 => half / 2.0 + 0.06 * half,
        Adapter::Qlora => half / 4.0 - 2.0 * parameters / 64.0 + 0.06 * half,
        Adapter::None | Adapter::Lora | Adapter::LoraFp32 => half,
    };

    // `getActivationMemory`, whose type is always 2 bytes, with an fp32 copy of the scores.
    let attention = 2.0 * 8.0 * s * h + (2.0 + 4.0 + 2.0) * s * s * n;
    let feed_forward = 2.0 * 2.0 * s * h + 2.0 * 6.0 * s * f;
    let norms = 8.0 * s + 2.0 * 6.0 * s * h;
    let kept = if recipe.recomputation == Recomputation::None { 1.0 } else { 0.15 };
    let activations = kept * b * layers * (attention + feed_forward + norms);

    // `getExtraMemory`: 50 tokens, times the root of how many times as long a sequence is.
    let length = (s / 50.0).max(1.0).sqrt();
    let common = (15.0 * h + 6.0 * f) * layers * 50.0 * length;
    // Gradients and the two moments.
    let tensors = if recipe.optimizer == Optimizer::AdamW { 3.0 } else { 1.0 };
    let rank_8 = layers * 8.0 * h;
    let states = match recipe.adapter {
        Adapter::None => tensors * 2.0 * parameters,
        Adapter::Lora | Adapter::LoraFp32 => rank_8 * 2.0 * 4.0 * tensors * 2.0,
        Adapter::Lora8 => rank_8 * 2.0 * 4.0 * tensors + 0.75 * 1.25 * common * b,
        Adapter::Qlora => rank_8 * 0.5 * 4.0 * tensors + 0.75 * common * b,
    };
    Memory::sum(vec![
        part("Model size", weights),
        part("Activation memory", activations),
        part("Gradients and optimizer", states),
        part("CUDA and other overhead", OVERHEAD * 1_048_576.0),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    /// Model size, activations, gradients and optimizer, and the total, in whole MiB upwards, as the page prints them.
    fn printed(query: &str) -> [f64; 4] {
        let read = link::decode(&format!("model=llama-2-7b&gpus=1&{query}"));
        assert_eq!(read.notices, [], "{query}");
        let memory = OTHER.row(&read.scenario).memory.expect("it has all inputs");
        let [model, activations, states] = [0, 1, 2].map(|part: usize| memory.parts[part].bytes);
        // The smallest part of a MiB may come from the order of additions.
        [model, activations, states, memory.total].map(|bytes| (bytes.mib() - 1e-6).ceil())
    }

    #[test]
    fn it_prints_what_the_page_prints() {
        // The functions of the file, run for Llama 2 7B: vocabulary 32,000, hidden size 4,096, 32 heads, 32 layers,
        // intermediate size 11,008.
        let expected = [12_852.0, 49_217.0, 38_556.0, 101_275.0];
        assert_eq!(printed("s=2048&b=1&recompute=none"), expected);
        let expected = [12_852.0, 14_765.0, 12_852.0, 41_119.0];
        assert_eq!(printed("s=2048&b=2&recompute=full&optimizer=sgd"), expected);
        let expected = [12_852.0, 49_217.0, 48.0, 62_767.0];
        assert_eq!(printed("s=2048&b=1&recompute=none&adapter=lora"), expected);
        let expected = [7_198.0, 1_849.0, 1_192.0, 10_887.0];
        assert_eq!(printed("s=512&b=2&recompute=full&adapter=lora-8bit"), expected);
        let expected = [3_784.0, 925.0, 473.0, 5_831.0];
        assert_eq!(printed("s=512&b=1&recompute=full&adapter=qlora"), expected);
        let expected = [3_784.0, 196_866.0, 3_737.0, 205_037.0];
        assert_eq!(printed("s=2048&b=4&recompute=none&adapter=qlora&optimizer=sgd"), expected);
    }
}
