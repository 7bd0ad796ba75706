//! Copies of weights and gradients that a pass makes: layers gathered under ZeRO 3, gradients before
//! they are divided, 16-bit casts, dequantized matrices.

use super::Assembly;
use super::encoder;
use super::forms;
use super::instants::StageInstants;
use super::stage::Stage;
use super::states::{
    Kind, StateBytes, by_bytes, frozen_bytes, gathered_bytes, gradients_persist, gradients_whole_until_the_last,
    is_tied_head, mean_in_blocks,
};
use super::types::{Types, base_bytes};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{DEEPSPEED, FSDP, PEFT, PYTORCH, QLORA, Source};
use crate::{
    Adapter, AdapterType, AdapterWeights, Engine, Kernels, Precision, Recomputation, Scenario, TaskKind, Weights,
    ZeroStage,
};

/// The copies of one stage.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    gathered(to, scenario, weights, stage);
    if scenario.recipe.adapter == Adapter::None {
        undivided_gradients(to, scenario, weights, stage);
    }
    if scenario.recipe.adapter.is_quantized() {
        dequantized(to, scenario, weights, stage);
    }
    if scenario.recipe.precision == Precision::Autocast {
        weight_casts(to, scenario, weights, &Stage { at: stage.at.of_decoder(), ..*stage });
        encoder::beside(scenario, stage, |scenario, weights, stage| weight_casts(to, scenario, weights, stage));
    }
    stacks_with_adapters(to, scenario, weights, stage);
    dense_embedding_gradient(to, scenario, stage);
    whole_embedding_gradient(to, scenario, stage);
}

/// A line with its own number of weights.
struct Copy {
    name: &'static str,
    bucket: Bucket,
    source: &'static Source,
    bytes: f64,
}

impl Copy {
    fn push(&self, to: &mut Assembly, weights: f64, alive: Instants) {
        to.own(self.name, self.bucket, self.bytes, weights, alive, self.source);
    }
}

/// While one layer computes the next is gathered, so that two are whole; embedding, head and last norm
/// are FSDP's root unit, which stays whole from its first use to the end of the backward pass.
fn gathered(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    // What lies in CPU memory is brought layer by layer, whether others have a part of it or not.
    let elsewhere = scenario.recipe.offload.takes_parameters();
    if scenario.cluster.zero != ZeroStage::Stage3 || to.has_weights_whole(scenario) {
        return;
    }
    let at = &stage.at;
    let live = stage.layers().min(2.0);
    // At the loss only the root is whole; layers are gathered again for their backward pass. Where they
    // are kept between the passes nothing is gathered a second time.
    let backward = at.in_backward();
    let resharded = scenario.cluster.reshard != 1;
    let compute = gathered_bytes(scenario, Kind::Attention);
    let layers = Copy { name: "Gathered layers", bucket: Bucket::Parameters, source: &FSDP, bytes: compute };
    let of_experts = gathered_bytes(scenario, Kind::Experts);
    if scenario.cluster.engine == Engine::DeepSpeed {
        let bytes = mean_in_blocks(to, weights, stage, |kind| gathered_bytes(scenario, kind));
        return gathered_by_trace(to, weights, stage, Copy { source: &DEEPSPEED, bytes, ..layers });
    }
    // Experts of which nobody else has a part are whole as they are.
    let expert = if to.expert_parameter_shards > 1.0 || elsewhere { to.expert_weights(weights, stage) } else { 0.0 };
    if resharded {
        if scenario.cluster.engine == Engine::Torch {
            // The loss is made inside the model, so that the last layer is gathered before its backward pass
            // (`_prefetch_unshard` in torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py).
            let shared = to.shared_layer_weights(weights, stage);
            for (bytes, last) in by_bytes([(compute, shared), (of_experts, expert)]) {
                let name = if bytes == compute { layers.name } else { "Gathered experts" };
                Copy { name, bytes, ..layers }.push(to, last, Instants::among(&[at.loss]));
            }
        }
        layers.push(to, live * to.shared_layer_weights(weights, stage), backward);
        let experts = Copy { name: "Gathered experts", bytes: of_experts, ..layers };
        let live = stage.expert_layers.min(2.0);
        experts.push(to, live * expert, backward);
    }
    if !resharded {
        return;
    }
    let ends = gathered_bytes(scenario, Kind::Embedding);
    let root = Copy { name: "Gathered embedding and head", bytes: ends, ..layers };
    let ends = to.end_weights(weights, stage);
    if scenario.cluster.engine == Engine::Torchtitan {
        // Its embedding and its head are units of their own, of which the head stays whole until its
        // gradient is there (apply_fsdp in torchtitan 0.2.2, models/llama3/infra/parallelize.py).
        let head = if stage.has_head { weights.embedding as f64 / to.tensor_parallel } else { 0.0 };
        Copy { name: "Gathered head", ..root }.push(to, head, at.around_loss());
        return;
    }
    // FSDP lets go of a unit before it reduces its gradients (`post_backward`, as above).
    root.push(to, ends, at.in_passes());
}

/// Elements within which ZeRO 3 keeps what it has gathered because they will be read again
/// (`stage3_max_reuse_distance`, runtime/zero/config.py, edaa7221267243).
const REUSE_DISTANCE: f64 = 1e9;
/// Elements that it gathers ahead (`stage3_prefetch_bucket_size`, as above).
const PREFETCHED: f64 = 5e7;

/// DeepSpeed gathers matrix by matrix along a trace of the step, and keeps a matrix if the trace reads it again
/// within [`REUSE_DISTANCE`]: when the forward pass ends, that many are whole (`__params_to_release` in
/// runtime/zero/partitioned_param_coordinator.py, and runs of it).
fn gathered_by_trace(to: &mut Assembly, weights: &Weights, stage: &Stage, copy: Copy) {
    let at = &stage.at;
    let all = to.stage_weights(weights, stage);
    let again = all.min(REUSE_DISTANCE);
    Copy { name: "Gathered weights that are read again soon", ..copy }.push(to, again, at.all_layers_kept());
    let layer = to.shared_layer_weights(weights, stage) + to.expert_weights(weights, stage);
    copy.push(to, (layer + PREFETCHED).min(all), at.behind_the_last_layer());
    if stage.has_embedding {
        let embedding = weights.embedding as f64 / to.tensor_parallel;
        Copy { name: "Gathered embedding", ..copy }.push(to, embedding, StageInstants::only(at.end));
    }
}

/// A whole layer's gradients are there before each device keeps its share of them; FSDP reduces them
/// from an fp32 buffer beside the 16-bit ones.
fn undivided_gradients(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    if scenario.cluster.zero < ZeroStage::Stage2 || to.gradient_shards <= 1.0 {
        return;
    }
    let bytes = match scenario.recipe.precision {
        Precision::Mixed => 6.0,
        Precision::Fp32 | Precision::Autocast => 8.0,
        // FSDP2 copies 16-bit gradients into one buffer as well; DeepSpeed's and Megatron's are counted as theirs.
        Precision::PureBf16 => 4.0,
        Precision::Bf16 | Precision::Fp16 => StateBytes::of(scenario).gradient,
    };
    let name = "Whole gradients and their reduction";
    let whole = Copy { name, bucket: Bucket::Temporary, source: &FSDP, bytes };
    if !gradients_whole_until_the_last(to, scenario) {
        let backward = stage.at.in_backward();
        whole.push(to, to.shared_layer_weights(weights, stage), backward);
        if to.expert_gradient_shards > 1.0 {
            whole.push(to, to.expert_weights(weights, stage), backward);
        }
    }
    let end = StageInstants::only(stage.at.end);
    // torchtitan's embedding is a unit of its own, and its head is through by then.
    let last_unit = if scenario.cluster.engine == Engine::Torchtitan {
        if stage.has_embedding { weights.embedding as f64 / to.tensor_parallel } else { 0.0 }
    } else {
        to.end_weights(weights, stage)
    };
    whole.push(to, last_unit, end);
}

/// Quantized matrices are brought back one at a time, for their product.
fn dequantized(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let largest = largest_quantized(scenario, weights, stage) / to.tensor_parallel;
    let copy = Copy {
        name: "One matrix, dequantized",
        bucket: Bucket::Temporary,
        source: &QLORA,
        bytes: Types::of(scenario).element,
    };
    copy.push(to, largest, stage.at.in_backward().or(stage.at.in_evaluated_layers()));
}

/// Elements of the largest matrix that is quantized: of a feed-forward block or of attention.
pub(super) fn largest_quantized(scenario: &Scenario, weights: &Weights, stage: &Stage) -> f64 {
    let model = &scenario.model;
    let matrices = f64::from(model.mlp.matrices());
    let routed = if scenario.recipe.stacks_experts(model) { 0 } else { weights.expert };
    let halves = if model.joins_gate() { 2 } else { 1 };
    let dense = if stage.dense_layers > 0.0 { halves * weights.dense_mlp } else { 0 };
    let experts = if stage.expert_layers > 0.0 { routed.max(weights.shared_experts) } else { 0 };
    let query = f64::from(model.hidden) * f64::from(model.heads) * f64::from(model.head_dim);
    (dense.max(experts) as f64 / matrices).max(query)
}

/// Whether the products of every layer run again in the backward pass: of a selection of operators as of whole layers.
fn runs_products_again(scenario: &Scenario, stage: &Stage) -> bool {
    stage.recomputed_part(scenario) >= 1.0 && scenario.recipe.recomputation != Recomputation::Selective
}

/// peft adds the adapters of a stack of experts to the whole of it, layer by layer, and the backward pass needs the sum, the
/// thin matrices in its type, and its gradient (`baddbmm` in `_LoraFactorsProxy`, peft/tuners/lora/layer.py, 0.21.2; runs of
/// it).
fn stacks_with_adapters(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let (recipe, model, at) = (&scenario.recipe, &scenario.model, &stage.at);
    let there = recipe.adapts_stacks(model) && stage.expert_layers > 0.0;
    let Some((bytes, _)) = frozen_bytes(scenario, Kind::Experts).filter(|_| there) else { return };
    let one = to.expert_weights(weights, stage);
    let routed = AdapterWeights::of(model, recipe).routed as f64 / to.expert_parallel / to.tensor_parallel;
    let cast = if recipe.adapter_type == AdapterType::Full && bytes < 4.0 { routed } else { 0.0 };
    let recomputed = runs_products_again(scenario, stage);
    for (name, one) in [("Stacks of experts, with their adapters", one), ("Adapters of stacks, cast", cast)] {
        let sum = Copy { name, bucket: Bucket::Temporary, source: &PEFT, bytes };
        let all = one * stage.expert_layers;
        if recomputed {
            sum.push(to, one, at.in_backward());
        } else {
            sum.push(to, all * stage.in_flight, at.all_layers_kept());
            sum.push(to, one + all * stage.waiting, StageInstants::only(at.first));
        }
        sum.push(to, one, at.in_evaluated_layers().or(at.scoring()).or(at.generating()));
    }
    // The stack of last matrices goes with its gradient before that of first ones has one, which is no larger than both.
    let part = 1.0 / f64::from(model.mlp.matrices());
    let gradient = Copy { name: "Gradient of a stack", bucket: Bucket::Temporary, source: &PEFT, bytes };
    gradient.push(to, part * one, at.in_backward());
}

/// Autocast's 16-bit copies of fp32 weights. Of those that are trained a cache holds all until the forward
/// pass ends; frozen ones are cast for their product alone (aten/src/ATen/autocast_mode.cpp, `cached_cast`:
/// leaves that require a gradient). From then on those live that the backward pass will read, which a
/// recomputed layer makes anew.
pub(super) fn weight_casts(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let at = &stage.at;
    let recipe = &scenario.recipe;
    let cast = |name, weights, alive| Line {
        coefficient: 2.0,
        weights,
        ..Line::new(name, Bucket::Temporary, &forms::OWN_WEIGHTS, &PYTORCH, alive)
    };
    let recomputed = runs_products_again(scenario, stage);
    let (cached, one) = match recipe.adapter {
        Adapter::None => (true, to.cast_weights(scenario, weights, stage)),
        Adapter::LoraFp32 => (false, to.cast_weights(scenario, weights, stage)),
        Adapter::Lora | Adapter::Lora8 | Adapter::Qlora => (true, 0.0),
    };
    let all = one * stage.layers();
    let held = match (recomputed, cached) {
        (false, _) => at.all_layers_kept(),
        (true, true) => StageInstants::only(at.logits),
        (true, false) => Instants::at(&[]),
    };
    to.lines.push(cast("16-bit casts of the layers’ matrices", all, held));
    let rest = if recomputed { at.in_backward() } else { StageInstants::only(at.first) };
    to.lines.push(cast("16-bit casts of one layer’s matrices", one, rest));
    if recipe.adapter != Adapter::None && recipe.adapter_type == AdapterType::Full {
        let adapters = to.adapter_weights(scenario, stage);
        let held = if recomputed { StageInstants::only(at.logits) } else { at.all_layers_kept() };
        to.lines.push(cast("16-bit casts of the adapters", adapters, held));
    }
    if stage.has_head && base_bytes(scenario) > 2.0 && scenario.task.kind != TaskKind::Reward {
        let head = weights.embedding as f64 / to.tensor_parallel;
        to.lines.push(cast("16-bit cast of the head", head, at.around_loss()));
    }
}

/// PyTorch's tensor parallelism computes the gradient of the whole embedding on every device of the group
/// and divides it then (`embedding_dense_backward` of DTensor gets the number of all rows).
fn whole_embedding_gradient(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let of_torch = scenario.cluster.engine.is_torch();
    if of_torch && stage.has_embedding && to.tensor_parallel > 1.0 && scenario.recipe.adapter == Adapter::None {
        let copy = Copy {
            name: "Embedding’s gradient, before the tensor-parallel group divides it",
            bucket: Bucket::Temporary,
            source: &PYTORCH,
            bytes: Types::of(scenario).element,
        };
        let embedding = f64::from(scenario.model.vocabulary) * f64::from(scenario.model.hidden);
        copy.push(to, embedding, StageInstants::only(stage.at.end));
    }
}

/// The embedding's gradient is computed in full before it is added to that of a tied head. Only under
/// autocast, which makes a fresh copy of the head's, is the sum taken in place; otherwise it is a third
/// tensor (`InputBuffer::accumulate` in torch/csrc/autograd/input_buffer.cpp).
pub(super) fn dense_embedding_gradient(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let bytes = StateBytes::of(scenario);
    let tied = is_tied_head(scenario) && stage.has_head;
    let adds_up = tied || gradients_persist(scenario);
    let fused_head = scenario.recipe.kernels == Kernels::Fused && !tied;
    if stage.has_embedding && adds_up && !fused_head && scenario.recipe.adapter == Adapter::None {
        let autocast = scenario.recipe.precision == Precision::Autocast;
        let element = if bytes.compute > 2.0 || autocast { 4.0 } else { 2.0 };
        let bytes = if tied && !autocast { 2.0 * element } else { element };
        let embedding = f64::from(scenario.model.vocabulary) * f64::from(scenario.model.hidden) / to.tensor_parallel;
        let name = "Embedding’s gradient before it is added";
        to.own(name, Bucket::Temporary, bytes, embedding, StageInstants::only(stage.at.end), &PYTORCH);
    }
}
