//! George614's gpu-mem-calculator, a Hugging Face Space and a command line. It divides by 2³⁰ and prints GB.
//!
//! Activations are 16 bytes for each token, hidden element and layer, times 0.2 when all is recomputed; a fifth of
//! everything comes on top. Model states follow the engine: those of DeepSpeed's stage 3 have 20 bytes a parameter,
//! FSDP's 16. ZeRO-1 without DeepSpeed has no engine of its own and is given DeepSpeed's.

use super::{Covers, Largest, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::input::Input;
use crate::{Engine, Optimizer, Precision, Scenario, ZeroStage, setting};

/// The choice has Adam, Adam in 8 bits, and SGD with momentum. The engines other than plain data parallelism and
/// Megatron-LM have Adam, whatever is chosen.
static OPTIMIZER: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::OPTIMIZER),
    is_asked: |s| match Sharing::of(s) {
        Sharing::Replicas | Sharing::Megatron => {
            !matches!(s.recipe.optimizer, Optimizer::AdamW | Optimizer::Adam8bit | Optimizer::Momentum)
        }
        Sharing::DeepSpeed | Sharing::Fsdp | Sharing::Both => s.recipe.optimizer != Optimizer::AdamW,
    },
};

/// Types other than 16 bits are read by the same two engines.
static PRECISION: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::PRECISION),
    is_asked: |s| match s.recipe.precision {
        Precision::PureBf16 => true,
        Precision::Fp32 => !matches!(Sharing::of(s), Sharing::Replicas | Sharing::Megatron),
        _ => false,
    },
};

/// Only DeepSpeed's engine puts the optimizer into the host's memory, and the parameters only at its stage 3.
static OFFLOAD: inputs::Absent = inputs::Absent {
    input: Input::Word(&setting::OFFLOAD),
    is_asked: |s| {
        s.recipe.offload.takes_activations()
            || s.recipe.offload.takes_optimizer() && !matches!(Sharing::of(s), Sharing::DeepSpeed | Sharing::Both)
            || s.recipe.offload.takes_parameters() && !keeps_one_layer(s)
    },
};

pub(super) static OTHER: Other = Other {
    key: "gpu-mem-calculator",
    name: "gpu-mem-calculator",
    origin: Origin {
        url: "https://github.com/George614/gpu-mem-calculator",
        place: "src/gpu_mem_calculator/core/formulas.py and engines/",
        commit: "2f345d1dcc3c173e09efe47a1e00ca149a2cd785",
        date: "2026-01-26",
    },
    printed: Some(Printed { unit: Unit::Gib, label: "GB" }),
    covers: Covers::Step,
    why: "It takes 16 bytes a token, hidden element and layer for all activations, without scores, feed-forward width \
          or logits, a fifth of these for full recomputation, and a fifth of everything for what it does not count.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::CONTEXT,
        &inputs::EXPERT_PARALLEL,
        &OPTIMIZER,
        &PRECISION,
        &OFFLOAD,
        &inputs::PARTIAL_RECOMPUTATION,
    ],
    ignores: &[
        &inputs::RECIPE,
        &inputs::GRADIENTS,
        &inputs::SHARED_EXPERTS,
        &inputs::DENSE_LAYERS,
        &inputs::LATENT,
        &inputs::GROUPS,
        &inputs::HEAD_DIM,
        &inputs::WIDTH,
        &inputs::GATE,
        &inputs::RESHARD,
        &inputs::VIRTUAL,
        &inputs::FLASH,
        &inputs::NO_DROPOUT,
        &inputs::LOSS,
    ],
    count,
    largest: Some(|scenario| Largest::within(scenario, count)),
};

/// The engine that a user would choose.
#[derive(Clone, Copy, PartialEq)]
enum Sharing {
    /// `pytorch_ddp`.
    Replicas,
    /// `deepspeed`.
    DeepSpeed,
    /// `fsdp`.
    Fsdp,
    /// `megatron_lm`.
    Megatron,
    /// `megatron_deepspeed`.
    Both,
}

impl Sharing {
    fn of(scenario: &Scenario) -> Self {
        let cluster = &scenario.cluster;
        let is_split =
            cluster.tensor_parallel > 1 || cluster.pipeline_parallel > 1 || cluster.engine == Engine::Megatron;
        match (is_split, cluster.zero) {
            (true, ZeroStage::Stage0) => Self::Megatron,
            (true, _) => Self::Both,
            (false, ZeroStage::Stage0) => Self::Replicas,
            (false, ZeroStage::Stage1) => Self::DeepSpeed,
            (false, _) if cluster.engine == Engine::DeepSpeed => Self::DeepSpeed,
            (false, _) => Self::Fsdp,
        }
    }
}

/// Whether it is DeepSpeed's stage 3, of which parameters and optimizer in the host's memory leave one layer.
fn keeps_one_layer(scenario: &Scenario) -> bool {
    Sharing::of(scenario) == Sharing::DeepSpeed && scenario.cluster.zero == ZeroStage::Stage3
}

fn count(scenario: &Scenario) -> Memory {
    let (model, recipe, cluster) = (&scenario.model, &scenario.recipe, &scenario.cluster);
    let parameters = model.parameters as f64;
    let [h, layers, s, b] = [model.hidden, model.layers, recipe.sequence, recipe.batch].map(f64::from);
    let [t, p, gpus] = [cluster.tensor_parallel, cluster.pipeline_parallel, cluster.gpus].map(|x| f64::from(x.max(1)));
    let element = if recipe.precision == Precision::Fp32 { 4.0 } else { 2.0 };
    let on_host = recipe.offload.takes_optimizer();
    let adam = if on_host { 0.0 } else { 12.0 };
    let chosen = match recipe.optimizer {
        Optimizer::Adam8bit => 2.0,
        Optimizer::Momentum => 4.0,
        _ => 12.0,
    };
    // 4 bytes for each weight of the largest layer, which are 4·H² to it, or two matrices of one expert.
    let largest_layer =
        4.0 * if model.experts.count > 0 { 2.0 * h * f64::from(model.expert_width()) } else { 4.0 * h * h };
    let [weights, gradients, optimizer] = match (Sharing::of(scenario), cluster.zero) {
        (Sharing::Replicas, _) => [element, element, chosen].map(|bytes| bytes * parameters),
        // Whole weights are counted, which its stages do not have in common.
        (Sharing::Megatron, _) => [element, element, chosen].map(|bytes| bytes * (parameters / t).floor()),
        (Sharing::Both, stage) => {
            let group = t * p;
            let data_parallel = f64::from(cluster.data_parallel());
            let over = |from: ZeroStage| parameters / group / if stage >= from { data_parallel } else { 1.0 };
            [2.0 * over(ZeroStage::Stage3), 2.0 * over(ZeroStage::Stage2), adam * over(ZeroStage::Stage1)]
        }
        (Sharing::DeepSpeed, ZeroStage::Stage3) if recipe.offload.takes_parameters() => [largest_layer, 0.0, 0.0],
        (Sharing::DeepSpeed, ZeroStage::Stage3) => {
            // The shard of the weights is in what the overhead is a fifth of, and not in the sum.
            let states = if on_host { 0.0 } else { 16.0 };
            [largest_layer, 2.0 * parameters / gpus, states * parameters / gpus]
        }
        (Sharing::Fsdp, ZeroStage::Stage3) => {
            [largest_layer + 2.0 * parameters / gpus, 2.0 * parameters / gpus, 12.0 * parameters / gpus]
        }
        (Sharing::DeepSpeed, ZeroStage::Stage1) => [2.0 * parameters, 2.0 * parameters, adam * parameters / gpus],
        (Sharing::DeepSpeed | Sharing::Fsdp, _) => {
            [2.0 * parameters, 2.0 * parameters / gpus, adam * parameters / gpus]
        }
    };

    let mut activations = 16.0 * b * s * layers * h / t * active_share(scenario);
    if recipe.recomputation != crate::Recomputation::None {
        activations *= 0.2;
    }
    if matches!(Sharing::of(scenario), Sharing::Megatron | Sharing::Both) {
        activations /= p;
        if cluster.sequence_parallel.is_on() {
            activations /= t;
        }
    }
    let uncounted = match (Sharing::of(scenario), cluster.zero) {
        (Sharing::DeepSpeed, ZeroStage::Stage3) if !recipe.offload.takes_parameters() => 2.0 * parameters / gpus,
        _ => 0.0,
    };
    let counted = weights + gradients + optimizer + activations + uncounted;
    Memory::sum(vec![
        part("Model parameters", weights),
        part("Gradients", gradients),
        part("Optimizer states", optimizer),
        part("Activations", activations),
        part("Overhead", 0.2 * counted),
    ])
}

/// What experts leave of the activations: those that a token visits and a tenth for the router, at most all, times half
/// their width in hidden sizes, at most twice.
fn active_share(scenario: &Scenario) -> f64 {
    let experts = &scenario.model.experts;
    if experts.count < 2 {
        return 1.0;
    }
    let active = (f64::from(experts.active) / f64::from(experts.count) + 0.1).min(1.0);
    let width = f64::from(scenario.model.expert_width()) / (2.0 * f64::from(scenario.model.hidden));
    active * width.min(2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    /// The total in its GB.
    fn printed(query: &str) -> f64 {
        let own = "model=own&layers=32&hidden=4096&heads=32&kv=32&head_dim=128&ffn=16384&vocab=32000&mlp=gelu";
        let mut asked = format!("{own}&s=4096&b=4&{query}");
        for (key, value) in [("recompute", "none"), ("precision", "bf16")] {
            if !query.contains(key) {
                asked.push_str(&format!("&{key}={value}"));
            }
        }
        let read = link::decode(&asked);
        assert_eq!(read.notices, [], "{query}");
        OTHER.row(&read.scenario).memory.expect("it has all inputs").total.gib()
    }

    #[test]
    fn it_prints_what_the_program_prints() {
        // `GPUMemoryCalculator(...).calculate()` at the commit for the model of the README: 7 billion parameters, 32
        // layers of 4,096, 4 sequences of 4,096 tokens, 8 GPUs. The first is the example of the README.
        let expected = [
            ("params=7&engine=deepspeed&zero=3&offload=optimizer", 40.981740307807925),
            ("params=7&engine=deepspeed&zero=3&offload=parameters", 38.7),
            ("params=7&engine=deepspeed&zero=3", 56.627959561347964),
            ("params=7&engine=deepspeed&zero=2", 67.73666110038758),
            ("params=7&engine=deepspeed&zero=1&recompute=full", 50.70710294723511),
            ("params=7&zero=0", 163.56975402832032),
            ("params=7&zero=0&precision=fp32&optimizer=adam8bit", 116.6310962677002),
            ("params=7&zero=3", 54.34621925354004),
            ("params=7&zero=2", 67.73666110038758),
            ("params=7&zero=0&engine=megatron&tp=2&pp=2&sp=on", 67.38487701416015),
        ];
        for (query, gib) in expected {
            let printed = printed(&format!("{query}&gpus=8"));
            assert!((printed / gib - 1.0).abs() < 1e-12, "{query}: {printed} for {gib}");
        }
        // `megatron_deepspeed` on 2 · 2 · 2 GPUs.
        for (zero, gib) in [(1, 29.15777406692505), (3, 25.24621925354004)] {
            let printed = printed(&format!("params=7&zero={zero}&gpus=8&tp=2&pp=2&accum=4"));
            assert!((printed / gib - 1.0).abs() < 1e-12, "stage {zero}: {printed} for {gib}");
        }
        // FSDP of 47 billion parameters over 64 GPUs, 2 of 8 experts of width 14,336.
        let experts = printed("params=47&zero=3&gpus=64&experts=8&active=2&expert_ffn=14336");
        assert!((experts / 37.17664830207825 - 1.0).abs() < 1e-12, "{experts}");
    }
}
