//! The VRAM calculator of vram.asmirnov.xyz, in its training mode. It divides by 2²⁰ and prints MiB, or by 2³⁰ and GiB.
//!
//! In mixed precision weights take 6 bytes a parameter, gradients 4, and each moment 4. FSDP divides these by the GPUs
//! and nothing else. Logits and their softmax are in fp32, on the first GPU.

use super::{Covers, Largest, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::input::Input;
use crate::{Optimizer, Precision, Scenario, ZeroStage, setting};

/// The switch is FSDP or not.
static MIDDLE_STAGES: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::ZERO),
    is_asked: |s| s.cluster.zero != ZeroStage::Stage3 && inputs::is_sharded(s),
};

/// The choice has Adam, and SGD with or without momentum.
static OPTIMIZER: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::OPTIMIZER),
    is_asked: |s| !matches!(s.recipe.optimizer, Optimizer::AdamW | Optimizer::Momentum | Optimizer::Sgd),
};

/// What the first use of CUDA takes, in MiB.
const CUDA: f64 = 1_000.0;

pub(super) static OTHER: Other = Other {
    key: "vram-calculator",
    name: "vram.asmirnov.xyz",
    origin: Origin {
        url: "https://github.com/furiousteabag/vram-calculator",
        place: "app/_lib/index.ts: estimateResult",
        commit: "ea7ab041c6c1995e1b1985f16b7175092601112e",
        date: "2024-03-26",
    },
    printed: Some(Printed { unit: Unit::Mib, label: "MiB" }),
    covers: Covers::Step,
    why: "It has 6 + 4 + 8 bytes a parameter, keeps all scores with any attention kernel, two of a gated block’s \
          inner tensors, no fp32 copies in norms, and adds all of it up as if it were there at once.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::EXPERTS,
        &inputs::LATENT,
        &inputs::TENSOR,
        &inputs::PIPELINE,
        &inputs::CONTEXT,
        &MIDDLE_STAGES,
        &OPTIMIZER,
        &inputs::PURE,
        &inputs::OFFLOAD,
        &inputs::RECOMPUTATION,
    ],
    ignores: &[
        &inputs::HALF_GRADIENTS,
        &inputs::HEAD_DIM,
        &inputs::RESHARD,
        &inputs::FLASH,
        &inputs::GATE,
        &inputs::NO_DROPOUT,
        &inputs::LOSS,
    ],
    count,
    largest: Some(|scenario| Largest::within(scenario, count)),
};

fn count(scenario: &Scenario) -> Memory {
    let (model, recipe, cluster) = (&scenario.model, &scenario.recipe, &scenario.cluster);
    let [h, f, layers, n, k, v] =
        [model.hidden, model.feed_forward, model.layers, model.heads, model.kv_heads, model.vocabulary].map(f64::from);
    let [s, b] = [recipe.sequence, recipe.batch].map(f64::from);
    let (weights, element) = if recipe.precision == Precision::Fp32 { (4.0, 4.0) } else { (6.0, 2.0) };
    let parameters = model.parameters as f64;
    let shards = if cluster.zero == ZeroStage::Stage3 { f64::from(cluster.gpus.max(1)) } else { 1.0 };

    let tokens = s * b;
    let head_dim = h / n;
    let scores = (2.0 * element + 1.0) * n * s * tokens;
    let attention = element * tokens * (h + head_dim * (n + k + k + n)) + tokens * h + scores;
    let feed_forward = element * tokens * (h + 2.0 * f) + tokens * h;
    let norms = 2.0 * element * tokens * h;

    let states = |bytes: f64| bytes * parameters / shards;
    let mut parts = vec![
        part("CUDA kernels", CUDA * 1_048_576.0),
        part("Parameters", states(weights)),
        part("Activations", layers * (attention + feed_forward + norms)),
        part("Gradients", states(4.0)),
    ];
    if recipe.optimizer != Optimizer::Sgd {
        parts.push(part("First moments", states(4.0)));
    }
    if recipe.optimizer == Optimizer::AdamW {
        parts.push(part("Second moments", states(4.0)));
    }
    parts.push(part("Output", 2.0 * 4.0 * tokens * v));
    Memory::sum(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, link};

    fn memory(query: &str) -> Memory {
        let read = link::decode(query);
        assert_eq!(read.notices, [], "{query}");
        OTHER.row(&read.scenario).memory.expect("it has all inputs")
    }

    #[test]
    fn it_prints_the_number_that_stands_on_its_page() {
        // "Total VRAM usage is 27836 MiB": Phi-1.5 with 1.418 billion parameters, 24 layers, a vocabulary of 51,200, 4
        // sequences of 512 tokens, SGD with momentum in mixed precision on one GPU. Every part is rounded before they
        // are added up.
        let page = "model=phi-1.5&params=1.418&s=512&b=4&gpus=1&recompute=none&precision=bf16&optimizer=momentum";
        let memory = memory(page);
        let whole = |bytes: Bytes| bytes.mib().round();
        assert_eq!(memory.parts.iter().map(|part| whole(part.bytes)).sum::<f64>(), 27_836.0);
        // By hand, in MiB: 1,000 + 6·1.418e9 + 24·(204 + 76 + 16) + 4·1.418e9 + 4·1.418e9 + 800.
        let parts: Vec<f64> = memory.parts.iter().map(|part| whole(part.bytes)).collect();
        assert_eq!(parts, [1_000.0, 8_114.0, 7_104.0, 5_409.0, 5_409.0, 800.0]);
    }

    #[test]
    fn fsdp_divides_model_states_and_nothing_else() {
        // Mistral 7B of the page's presets has 7.51 billion parameters: 18 · 7.51e9 / 8 bytes, once on one of 8 GPUs.
        let query = "model=mistral-7b&params=7.51&s=512&b=1&recompute=none&precision=bf16";
        let [one, eight] = ["gpus=1", "gpus=8&zero=3"].map(|gpus| memory(&format!("{query}&{gpus}")));
        let saved = (one.total - eight.total).get();
        assert!((saved - 18.0 * 7.51e9 * 7.0 / 8.0).abs() < 1.0, "{saved}");
    }
}
