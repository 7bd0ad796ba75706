//! The memory widget of the Ultra-Scale Playbook, and nanotron's predict_memory Space, from which it comes: a treemap of
//! activations and model states. It divides by 1024 as often as it can and prints MB, GB or TB.
//!
//! The file was read in a repository whose history begins with the Playbook's own commits; the commit is the last of
//! these that changed it, on the day of the Playbook's release.

use super::{Covers, Largest, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::input::Input;
use crate::{Mlp, Optimizer, Precision, Recomputation, Scenario, ZeroStage, setting};

/// An optimizer is the slider k, the bytes of its state for each parameter, which these do not have.
static OPTIMIZER: inputs::Absent =
    inputs::Absent { input: Input::Word(&setting::OPTIMIZER), is_asked: |s| state_bytes(s.recipe.optimizer).is_none() };

pub(super) static OTHER: Other = Other {
    key: "playbook",
    name: "Ultra-Scale Playbook",
    origin: Origin {
        url: "https://huggingface.co/spaces/nanotron/ultrascale-playbook",
        place: "src/memory.js: activationMemory, paramGradsOpt; read in \
                https://github.com/shivam-raval96/idyll-js, whose history has it",
        commit: "926e54139489345b739a4c7dfdc400e964dc1f7c",
        date: "2025-02-19",
    },
    printed: Some(Printed { unit: Unit::Power1024, label: "GB" }),
    covers: Covers::Step,
    why: "It counts the weights of a GPT with no place for the feed-forward width and the heads, leaves them whole \
          under tensor parallelism, keeps all scores unless they are recomputed, and has no working set of a recomputed \
          layer.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::EXPERTS,
        &inputs::PIPELINE,
        &inputs::CONTEXT,
        &OPTIMIZER,
        &inputs::PURE,
        &inputs::OFFLOAD,
        &inputs::FINER_RECOMPUTATION,
    ],
    ignores: &[
        &inputs::RECIPE,
        &inputs::GRADIENTS,
        &inputs::LATENT,
        &inputs::UNTIED,
        &inputs::GROUPS,
        &inputs::HEAD_DIM,
        &inputs::RESHARD,
        &inputs::FLASH_UNLESS_RECOMPUTED,
        &inputs::NO_DROPOUT,
        &inputs::LOSS,
    ],
    count,
    largest: Some(|scenario| Largest::within(scenario, count)),
};

/// The slider k.
const fn state_bytes(optimizer: Optimizer) -> Option<f64> {
    match optimizer {
        Optimizer::AdamW => Some(8.0),
        Optimizer::Lion | Optimizer::Momentum => Some(4.0),
        Optimizer::Adam8bit => Some(2.0),
        // The slider begins at 1.
        _ => None,
    }
}

fn count(scenario: &Scenario) -> Memory {
    let (model, recipe, cluster) = (&scenario.model, &scenario.recipe, &scenario.cluster);
    let [h, f, layers, n, v] =
        [model.hidden, model.feed_forward, model.layers, model.heads, model.vocabulary].map(f64::from);
    let [s, b] = [recipe.sequence, recipe.batch].map(f64::from);
    let t = f64::from(cluster.tensor_parallel.max(1));
    let is_mixed = recipe.precision != Precision::Fp32;
    let element = if is_mixed { 2.0 } else { 4.0 };
    // What sequence parallelism divides.
    let split = if cluster.sequence_parallel.is_on() { t } else { 1.0 };
    let tokens = s * b;

    let scores = match (recipe.recomputation, cluster.sequence_parallel.is_on()) {
        (Recomputation::Selective, _) => 0.0,
        // With sequence parallelism the program leaves the scores whole.
        (_, true) => (2.0 * element + 1.0) * n * s * tokens,
        (_, false) => (2.0 * element + 1.0) * n * s * tokens / t,
    };
    let attention = tokens * h * (element * 4.0 / t + (element + 1.0) / split) + scores;
    let inner = match model.mlp {
        Mlp::Relu => 1.0,
        Mlp::Gelu | Mlp::GeluTanh => 2.0,
        Mlp::Gated | Mlp::GatedGeluTanh => 4.0,
    };
    let feed_forward = tokens * h * (element + 1.0) / split + inner * tokens * f * element / t;
    let norms = 2.0 * tokens * h * element / split;
    let mut parts = match recipe.recomputation {
        Recomputation::Full => vec![part("Layer inputs", tokens * h * element * layers)],
        _ => vec![
            part("Attention", attention * layers),
            part("Feed-forward", feed_forward * layers),
            part("LayerNorm", norms * layers),
        ],
    };
    let parameters = h * (v + s) + layers * (12.0 * h * h + 13.0 * h) + 2.0 * h;
    let states = state_bytes(recipe.optimizer).unwrap_or(8.0) + if is_mixed { 4.0 } else { 0.0 };
    let shards = |from: ZeroStage| if cluster.zero >= from { f64::from(cluster.data_parallel()) } else { 1.0 };
    parts.extend([
        part("Dropout of the input", tokens * h / split),
        part("Last LayerNorm", tokens * h * element / split),
        part("Projection", tokens * h * element / split),
        part("Cross entropy", 4.0 * tokens * v / split),
        part("Parameters", element * parameters / shards(ZeroStage::Stage3)),
        part("Gradients", element * parameters / shards(ZeroStage::Stage2)),
        part("Optimizer state", states * parameters / shards(ZeroStage::Stage1)),
    ]);
    Memory::sum(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    /// Activations, and the whole treemap, in bytes.
    fn printed(query: &str) -> (f64, f64) {
        let read = link::decode(query);
        assert_eq!(read.notices, [], "{query}");
        let memory = OTHER.row(&read.scenario).memory.expect("it has all inputs");
        let is_state = |name: &str| ["Parameters", "Gradients", "Optimizer state"].contains(&name);
        let activations = memory.parts.iter().filter(|part| !is_state(part.name)).map(|part| part.bytes.get());
        (activations.sum(), memory.total.get())
    }

    #[test]
    fn it_prints_what_the_widget_prints_for_its_presets() {
        // The functions of the file, run with the arguments of its presets "Llama 3 Tiny", "Llama 3 8B" and
        // "Llama 3 70B": the sum of activationMemory, and that with paramGradsOpt, which are 0.66, 158.99 and 413.83
        // "GB" on its root.
        let own = "model=own&vocab=30522&precision=bf16&grad=16&dropout=on&zero=1&recompute=none";
        let tiny = "&heads=16&kv=16&head_dim=64&b=3&hidden=1024&ffn=4096&layers=1&s=7&mlp=gelu&gpus=1";
        assert_eq!(printed(&format!("{own}{tiny}")), (3_414_264.0, 705_173_752.0));
        let eight = "&heads=32&kv=32&head_dim=128&b=32&hidden=4096&ffn=16384&layers=32&s=256&mlp=gated";
        assert_eq!(printed(&format!("{own}{eight}&gpus=1")), (65_592_426_496.0, 170_716_102_656.0));
        let seventy = "&heads=64&kv=64&head_dim=128&b=32&hidden=8192&ffn=32768&layers=80&s=256&mlp=gated&tp=8&gpus=64";
        assert_eq!(printed(&format!("{own}{seventy}")), (88_577_212_416.0, 444_345_696_256.0));
    }

    #[test]
    fn it_prints_what_the_widget_prints_for_other_ways() {
        let own = "model=own&vocab=30522&dropout=on&heads=32&kv=32&head_dim=128&hidden=4096&ffn=16384&layers=32&s=256";
        // tp 4, dp 8, ZeRO-3, fp32, k 4, ReLU, selective, sequence parallel.
        let selective = "&b=2&mlp=relu&precision=fp32&optimizer=lion&zero=3&recompute=selective&sp=on&tp=4&gpus=32";
        assert_eq!(printed(&format!("{own}{selective}")), (859_206_656.0, 10_714_551_296.0));
        // dp 4, ZeRO-2, SwiGLU, full.
        let full = "&b=32&mlp=gated&precision=bf16&zero=2&recompute=full&gpus=4";
        assert_eq!(printed(&format!("{own}{full}")), (3_315_400_704.0, 39_451_664_384.0));
    }
}
