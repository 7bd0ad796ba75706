//! llm-analysis: `LLMAnalysis.training`, its `estimated_peak_memory_per_gpu` and `max_batch_size_per_gpu`. It reports
//! bytes, and takes a GPU of 80 GB for one of 80 · 1024³.
//!
//! Weights take 2 bytes, Adam's states with the master weights 12, gradients 4. The peak is weights, optimizer state,
//! the larger of activations and gradients, and the larger of two prefetched layers and the gradient of the logits. The
//! largest batch is that of which activations and the larger of prefetched weights and the logits' gradient fit beside
//! weights and optimizer state; gradients are not in that condition.

use super::{Covers, Largest, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::input::Input;
use crate::{AttentionKernel, Optimizer, Recomputation, Scenario, ZeroStage, setting};

/// An optimizer is given by the bytes of its state for each parameter, which these do not have.
static OPTIMIZER: inputs::Absent =
    inputs::Absent { input: Input::Word(&setting::OPTIMIZER), is_asked: |s| state_bytes(s.recipe.optimizer).is_none() };

pub(super) static OTHER: Other = Other {
    key: "llm-analysis",
    name: "llm-analysis",
    origin: Origin {
        url: "https://github.com/cli99/llm-analysis",
        place: "llm_analysis/analysis.py: LLMAnalysis.training",
        commit: "d841e40aec8c84b9e76ba9cfbce67418adb172bd",
        date: "2024-11-13",
    },
    printed: Some(Printed { unit: Unit::Power1024, label: "GB" }),
    covers: Covers::Step,
    why: "It counts two of a gated block’s three inner tensors, no working set of a recomputed layer and 4 bytes a \
          logit, leaves gradients out of the condition on the largest batch, and knows neither context nor \
          fragmentation.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::SHARED_EXPERTS,
        &inputs::DENSE_LAYERS,
        &inputs::LATENT,
        &inputs::CONTEXT,
        &OPTIMIZER,
        &inputs::NOT_MIXED,
        &inputs::OFFLOAD,
        &inputs::FINER_RECOMPUTATION,
    ],
    ignores: &[
        &inputs::RECIPE,
        &inputs::HALF_GRADIENTS,
        &inputs::UNTIED,
        &inputs::HEAD_DIM,
        &inputs::RESHARD,
        &inputs::VIRTUAL,
        &inputs::FIRST_STAGE,
        &inputs::LAST_STAGE,
        &inputs::NO_DROPOUT,
        &inputs::LOSS,
    ],
    count: |scenario| Counted::of(scenario).memory(),
    largest: Some(|scenario| Largest::search(scenario, |scenario| Counted::of(scenario).fits(scenario))),
};

/// `other_op_bytes`: what an optimizer keeps for a parameter beside its master weight.
const fn state_bytes(optimizer: Optimizer) -> Option<f64> {
    match optimizer {
        Optimizer::AdamW => Some(8.0),
        Optimizer::Lion | Optimizer::Momentum => Some(4.0),
        Optimizer::Adam8bit => Some(2.0),
        Optimizer::Sgd => Some(0.0),
        _ => None,
    }
}

/// The program's summary of one GPU, in bytes.
struct Counted {
    weights: f64,
    gradients: f64,
    optimizer: f64,
    activations: f64,
    /// Embedding and one layer, gathered for the forward pass.
    forward_prefetch: f64,
    /// Two layers, gathered for the backward pass.
    backward_prefetch: f64,
    /// The gradient of the logits.
    loss: f64,
}

impl Counted {
    fn memory(&self) -> Memory {
        let total = self.optimizer
            + self.weights
            + self.activations.max(self.gradients)
            + self.backward_prefetch.max(self.loss);
        Memory::total(
            total,
            vec![
                part("Weights", self.weights),
                part("Gradients", self.gradients),
                part("Optimizer state", self.optimizer),
                part("Activations", self.activations),
                part("Prefetched layers", self.backward_prefetch),
                part("Gradient of the logits", self.loss),
            ],
        )
    }

    fn fits(&self, scenario: &Scenario) -> bool {
        let prefetch = self.forward_prefetch.max(self.backward_prefetch);
        let left = scenario.device.memory.get() - self.weights - self.optimizer;
        prefetch.max(self.loss) + self.activations <= left
    }

    fn of(scenario: &Scenario) -> Self {
        let (model, cluster) = (&scenario.model, &scenario.cluster);
        let [h, n, k, v] = [model.hidden, model.heads, model.kv_heads, model.vocabulary].map(f64::from);
        let [t, p] = [cluster.tensor_parallel, cluster.pipeline_parallel].map(|size| f64::from(size.max(1)));
        let data_parallel = f64::from(cluster.data_parallel());
        // Without experts there is one, and every token visits it.
        let (experts, width, expert_parallel) = match model.experts.count {
            0 => (1.0, f64::from(model.feed_forward), 1.0),
            count => (f64::from(count), f64::from(model.expert_width()), f64::from(cluster.expert_parallel.max(1))),
        };

        let kv_heads = (k / t).max(1.0) * t;
        let attention = 2.0 * h * h + 2.0 * h * (h * kv_heads / n);
        let mlp = (if model.mlp.is_gated() { 3.0 } else { 2.0 }) * h * width * experts;
        let router = if experts > 1.0 { h * experts } else { 0.0 };
        let norms = 2.0 * h;
        // Input and output embedding are one matrix to it.
        let embedding = v * h;

        let shards = |from: ZeroStage| if cluster.zero >= from { data_parallel } else { 1.0 };
        // Experts are whole on a part of the data-parallel GPUs only.
        let of_experts = |shards: f64| if shards > 1.0 { shards / expert_parallel } else { shards };
        let layer_weights = |shards: f64| {
            let mlp = (mlp / expert_parallel + router) / t / of_experts(shards);
            2.0 * (attention / t / shards + mlp + norms / shards)
        };
        let layers_here = (f64::from(model.layers) / p).floor();
        let gathered = layer_weights(1.0);

        let weight_shards = shards(ZeroStage::Stage3);
        let weights = (2.0 * embedding / t + 2.0 * h / t) / weight_shards + layers_here * layer_weights(weight_shards);

        let states = 4.0 + state_bytes(scenario.recipe.optimizer).unwrap_or(8.0);
        let state_shards = shards(ZeroStage::Stage1);
        let layer_states =
            mlp / expert_parallel / t / of_experts(state_shards) + ((attention + router) / t + norms) / state_shards;
        let optimizer = states * (layer_states * layers_here + (embedding + h) / t / state_shards);

        let gradient_shards = shards(ZeroStage::Stage2);
        let layer_gradients = mlp / expert_parallel / t / of_experts(gradient_shards)
            + (attention + router + norms) / t / gradient_shards;
        let gradients = 4.0 * (layer_gradients * layers_here + (embedding + h) / t / gradient_shards);

        Self {
            weights,
            gradients,
            optimizer,
            activations: activations(scenario),
            forward_prefetch: 2.0 * embedding / t + gathered,
            backward_prefetch: 2.0 * gathered,
            loss: tokens(scenario) * v * 2.0 / t,
        }
    }
}

/// s·b.
fn tokens(scenario: &Scenario) -> f64 {
    f64::from(scenario.recipe.sequence) * f64::from(scenario.recipe.batch)
}

/// `activation_memory_per_gpu`: that of all layers, whatever the pipeline, since the first stage holds as many
/// micro-batches as there are stages.
fn activations(scenario: &Scenario) -> f64 {
    let (model, recipe, cluster) = (&scenario.model, &scenario.recipe, &scenario.cluster);
    let tokens = tokens(scenario);
    let [h, n, v] = [model.hidden, model.heads, model.vocabulary].map(f64::from);
    let t = f64::from(cluster.tensor_parallel.max(1));
    let split = if cluster.sequence_parallel.is_on() { t } else { 1.0 };
    let norm = 4.0 * tokens * h / split;

    let layer = if recipe.recomputation == Recomputation::Full {
        2.0 * tokens * h / t
    } else {
        let scores = n * f64::from(recipe.sequence) * tokens;
        let compute = match (recipe.recomputation, recipe.attention) {
            (Recomputation::Selective, _) => 0.0,
            (_, AttentionKernel::Flash) => 2.0 * (2.0 * tokens * h + 4.0 * n * tokens) / t,
            // The mask of the softmax’s dropout is an option of its own, off by default.
            (_, AttentionKernel::Eager) => {
                2.0 * 2.0 * scores / t + if recipe.dropout.is_on() { scores / t } else { 0.0 }
            }
        };
        // The mask of the dropout behind attention is always there.
        let attention = 2.0 * (tokens * h / split + 4.0 * tokens * h / t) + compute + tokens * h / split;
        let mlp = if model.experts.count > 1 {
            let active = f64::from(model.experts.active);
            let inner = f64::from(model.expert_width());
            2.0 * 2.0 * tokens * h / split
                + 2.0 * tokens * h * active
                + 2.0 * tokens * active
                + 2.0 * tokens * h * active / split
                + 2.0 * 2.0 * inner * tokens * active / t
        } else {
            2.0 * tokens * h / split + 2.0 * 2.0 * f64::from(model.feed_forward) * tokens / t
        };
        attention + mlp + 2.0 * norm
    };
    let embedding = 2.0 * tokens * h / t;
    let logits = 2.0 * tokens * v / t;
    layer * f64::from(model.layers) + embedding + logits + norm
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    /// Weights, gradients, optimizer state, activations and peak in bytes, and the largest batch.
    fn printed(query: &str) -> ([f64; 5], Largest) {
        let read = link::decode(query);
        assert_eq!(read.notices, [], "{query}");
        let row = OTHER.row(&read.scenario);
        let memory = row.memory.expect("it has all inputs");
        let [weights, gradients, optimizer, activations] =
            [0, 1, 2, 3].map(|part: usize| memory.parts[part].bytes.get());
        ([weights, gradients, optimizer, activations, memory.total.get()], row.largest.expect("it solves for it"))
    }

    fn fits(batch: u32) -> Largest {
        Largest::Fits { batch, capped: false }
    }

    #[test]
    fn it_reports_what_the_program_reports() {
        // `LLMAnalysis.training` at the commit, called with these models (Llama 2 7B with a feed-forward width of
        // 11,008, Llama 3.1 8B with 8 key/value heads, Mixtral 8x7B with 2 of 8 experts; all gated), a100-sxm-80gb and
        // w16a16e16: weight_memory_per_gpu, gradient_memory_per_gpu, optimizer_state_memory_per_gpu,
        // activation_memory_per_gpu, estimated_peak_memory_per_gpu, max_batch_size_per_gpu.
        let llama2 = "model=llama-2-7b&gpu=a100-80&s=2048&b=4&gpus=8&zero=3&precision=bf16";
        let states = [1_651_835_904.0, 3_303_671_808.0, 9_911_015_424.0];
        let with = |states: [f64; 3], activations, peak| [states[0], states[1], states[2], activations, peak];
        assert_eq!(
            printed(&format!("{llama2}&recompute=none&attn=flash")),
            (with(states, 39_178_993_664.0, 51_551_378_432.0), fits(7))
        );
        assert_eq!(
            printed(&format!("{llama2}&recompute=full")),
            (with(states, 2_873_098_240.0, 15_676_056_576.0), fits(87))
        );
        let llama3 = "model=llama-3.1-8b&gpu=a100-80&s=4096&precision=bf16";
        let states = [7_505_186_816.0, 15_009_849_344.0, 11_257_780_224.0];
        assert_eq!(
            printed(&format!("{llama3}&b=2&gpus=8&tp=2&zero=1&recompute=selective&attn=eager&sp=on")),
            (with(states, 19_941_818_368.0, 39_755_458_560.0), fits(6))
        );
        // softmax_dropout=True, sp_size=1.
        assert_eq!(
            printed(&format!("{llama3}&b=1&gpus=8&tp=2&zero=1&recompute=none&attn=eager&dropout=on&sp=off")),
            (with(states, 56_443_797_504.0, 75_732_101_120.0), fits(1))
        );
        // other_op_bytes=4, on 2 · 2 · 4 GPUs.
        let states = [2_270_302_208.0, 2_270_236_672.0, 4_540_604_416.0];
        let pipeline = "&b=1&gpus=16&tp=2&pp=4&zero=2&accum=4&recompute=none&attn=flash&sp=on&optimizer=lion";
        assert_eq!(
            printed(&format!("{llama3}{pipeline}")),
            (with(states, 11_061_428_224.0, 18_397_671_424.0), fits(6))
        );
        let mixtral = "model=mixtral-8x7b&gpu=a100-80&s=4096&b=1&gpus=64&ep=8&zero=3&precision=bf16&recompute=none";
        let states = [1_455_595_648.0, 2_910_732_544.0, 8_732_197_632.0];
        assert_eq!(printed(mixtral), (with(states, 34_219_753_472.0, 45_280_125_824.0), fits(2)));
    }

    #[test]
    fn gradients_do_not_stand_in_the_way_of_a_batch() {
        // 70 billion parameters on 16 GPUs under ZeRO-1: gradients alone are 280 GB, and it still fits some batch on a
        // GPU of 256 GiB, which 140 GB of weights and 53 of optimizer state leave room in.
        let scenario = link::decode("v=3&model=70b&gpus=16&zero=1&mem=256&recompute=full&precision=bf16").scenario;
        let row = OTHER.row(&scenario);
        assert!(row.memory.expect("it has all inputs").total > scenario.device.memory);
        assert!(matches!(row.largest.expect("it solves for it"), Largest::Fits { .. }));
    }
}
